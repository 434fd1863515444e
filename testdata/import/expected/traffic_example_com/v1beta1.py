# Made by `pykb import crd`; checksum: f87c56525105423d
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of traffic.example.com/v1beta1: Route."""

from typing import Annotated

from pykb.api import (
    CustomResource,
    Field,
    Format,
    GroupVersion,
    Int32,
    IntOrString,
    ListSet,
    SchemaPatch,
    Struct,
    annotate,
)
from pykb.api.meta.v1 import ObjectMeta

GROUP_VERSION = GroupVersion("traffic.example.com", "v1beta1")


@annotate(SchemaPatch({"oneOf": [{"required": ["prefix"]}, {"required": ["regex"]}, {"required": ["exact"]}]}))
class Match(Struct):
    """Exactly one way to match."""

    prefix: Annotated[str | None, Field(min_length=1)] = None
    regex: str | None = None
    exact: str | None = None


@annotate(
    SchemaPatch(
        {"anyOf": [{"required": ["service"]}, {"required": ["host"]}], "not": {"required": ["service", "host"]}},
    ),
)
class Target(Struct):
    service: str | None = None
    host: Annotated[str | None, Format("hostname")] = None
    port: IntOrString
    weight: Annotated[Int32, Field(ge=0, le=100)] = 1


class Rule(Struct):
    """A rule sends what matches to one of its targets."""

    match: Match | None = None
    targets: list[Target] | None = None
    max_body_size: Annotated[IntOrString | None, SchemaPatch({"anyOf": None})] = None
    share: int | Annotated[str, Field(max_length=4, pattern="^([0-9]{1,2}|100)%$")] = "50%"
    retries: Annotated[
        IntOrString | None,
        SchemaPatch(
            {
                "allOf": [
                    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                    {"anyOf": [{"maximum": 5}, {"maxLength": 5}]},
                ],
                "anyOf": None,
            },
        ),
    ] = None


@annotate(SchemaPatch({"maxProperties": 4, "not": {"required": ["deny", "allow"]}}))
class Filters(Struct):
    allow: Annotated[list[Annotated[str, SchemaPatch({"not": {"enum": ["*"]}})]] | None, ListSet()] = None
    deny: Annotated[list[str] | None, ListSet()] = None


class RouteSpec(Struct):
    rules: Annotated[list[Rule], Field(min_length=1, max_length=16)]
    filters: Filters | None = None


class Route(CustomResource, group_version=GROUP_VERSION):
    # +required
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: RouteSpec
