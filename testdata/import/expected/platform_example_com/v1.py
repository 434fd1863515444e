# Made by `pykb import crd`; checksum: bb589616df0cf62e
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of platform.example.com/v1: Settings."""

from datetime import date, datetime
from typing import Annotated, Any

from pykb.api import (
    CustomResource,
    Field,
    GroupVersion,
    Int64,
    ListAtomic,
    ListSet,
    MapAtomic,
    MapGranular,
    PreserveUnknown,
    SchemaPatch,
    ServerDefault,
    Struct,
    annotate,
)

GROUP_VERSION = GroupVersion("platform.example.com", "v1")


class Nothing(Struct):
    pass


@annotate(MapGranular())
class Granular(Struct):
    a: str | None = None


class Timeouts(Struct):
    connect: str = "5s"


class SettingsSpec(Struct):
    # +required
    tier: str = "basic"
    alpha: str
    beta: Annotated[str, SchemaPatch({"minLength": 0})]
    labels: Annotated[dict[str, str] | None, MapAtomic(), Field(min_length=1, max_length=5)] = None
    tags: Annotated[list[str] | None, ListSet(), Field(max_length=5), SchemaPatch({"minItems": 0})] = None
    open: Annotated[
        dict[str, Any] | None,
        SchemaPatch({"x-kubernetes-preserve-unknown-fields": None, "additionalProperties": True}),
    ] = None
    nothing: Nothing | None = None
    granular: Granular | None = None
    started: date | None = None
    moment: Annotated[datetime | None, ServerDefault("2026-01-31T12:00:00Z")] = None
    counters: Annotated[list[Annotated[Int64, Field(ge=0)]] | None, ListAtomic()] = None
    timeouts: Annotated[Timeouts | None, ServerDefault({})] = None


# +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=".spec.tier"
@annotate(PreserveUnknown())
class Settings(CustomResource, group_version=GROUP_VERSION):
    spec: SettingsSpec | None = None
