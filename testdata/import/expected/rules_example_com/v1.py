# Made by `pykb import crd`; checksum: ba49d8d7068fe45e
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of rules.example.com/v1: Condition, Quantity."""

from datetime import datetime
from typing import Annotated, Literal

from pykb.api import CustomResource, Field, GroupVersion, Int64, Struct

GROUP_VERSION = GroupVersion("rules.example.com", "v1")


class SpecField(Struct):
    path: str | None = None


class SpecStruct(Struct):
    name: str | None = None


class SpecWarning(Struct):
    text: str | None = None


class Container(Struct):
    image: str | None = None


class SpecCondition(Struct):
    last_transition_time: datetime
    message: Annotated[str, Field(max_length=32768)]
    observed_generation: Annotated[Int64 | None, Field(ge=0)] = None
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    status: Literal["True", "False", "Unknown"]
    type: Annotated[
        str,
        Field(
            max_length=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    ]


class ConditionSpec(Struct):
    field: SpecField | None = None
    struct: SpecStruct | None = None
    warning: SpecWarning | None = None
    container: Container | None = None
    condition: SpecCondition | None = None


class QuantityKindSpec(Struct):
    unit: str | None = None


class Condition(CustomResource, group_version=GROUP_VERSION):
    spec: ConditionSpec | None = None


class QuantityKind(CustomResource, group_version=GROUP_VERSION, kind="Quantity"):
    spec: QuantityKindSpec | None = None
