# Made by `pykb import crd`; checksum: ed1926e6cfaff6dd
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of data.example.com/v1: Database."""

from typing import Annotated, Literal

from pykb.api import (
    CEL,
    CustomResource,
    Field,
    Format,
    GroupVersion,
    Int32,
    ListMap,
    Quantity,
    SchemaPatch,
    Struct,
    annotate,
)

GROUP_VERSION = GroupVersion("data.example.com", "v1")


class User(Struct):
    name: Annotated[str, Field(max_length=32)]
    host: Annotated[str, Field(max_length=60)] = "%"
    admin: bool = False


@annotate(SchemaPatch({"minProperties": 1}))
class Window(Struct):
    """When it may be restarted."""

    start: Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")] = "02:00"
    hours: Annotated[float | None, Field(gt=0, le=24, multiple_of=0.5)] = None


@annotate(
    CEL(
        "self.replicas >= self.quorum",
        message_expression="self.quorum > 3 ? 'so many votes need as many replicas' : 'fewer replicas than votes'",
        reason="FieldValueInvalid",
        field_path=".quorum",
    ),
    CEL("!has(oldSelf.engine) || has(self.engine)", message="the engine cannot be taken away"),
)
class DatabaseSpec(Struct):
    engine: Annotated[
        Literal["postgres", "mysql", "sqlite"],
        CEL("self == oldSelf", message="the engine cannot change"),
    ]

    # +required
    size: Annotated[Quantity, SchemaPatch({"maxLength": 20})] = Quantity("10Gi")
    replicas: Annotated[
        Int32,
        Field(ge=1, le=9),
        CEL(
            "!oldSelf.hasValue() || self >= oldSelf.value() - 2",
            optional_old_self=True,
            message="at most two go at a time",
        ),
    ] = 3
    quorum: Annotated[Int32, Field(ge=1)] = 2
    users: Annotated[
        list[User] | None,
        CEL("self.exists_one(u, u.admin)", message="there is one administrator"),
        ListMap("name", "host"),
        Field(max_length=20),
    ] = None
    window: Window | None = None
    ratio: Annotated[float, Format("double")] = 0.75


# +kubebuilder:resource:shortName=db
@annotate(
    CEL("self.metadata.name.size() <= 40", message="a name has at most 40 characters"),
    SchemaPatch({"properties": {"metadata": {"properties": {"name": {"type": "string", "maxLength": 40}}}}}),
)
class Database(CustomResource, group_version=GROUP_VERSION):
    spec: DatabaseSpec
