# Made by `pykb import crd`; checksum: cd2ccf6a5847a6cd
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of guard.example.com/v1: Policy."""

from typing import Annotated, Any, Literal

from pykb.api import (
    CustomResource,
    EmbeddedResource,
    GroupVersion,
    Nullable,
    PreserveUnknown,
    SchemaPatch,
    ServerDefault,
    Struct,
    Wire,
    annotate,
)

GROUP_VERSION = GroupVersion("guard.example.com", "v1")


@annotate(PreserveUnknown())
class Parameters(Struct):
    """The schema of the parameters, as in a CRD; it may contain itself."""

    open_apiv3_schema: Annotated[dict[str, Any] | None, Wire("openAPIV3Schema")] = None


@annotate(EmbeddedResource())
class SpecObject(Struct):
    spec: dict[str, Any]


class Fallback(Struct):
    action: str = "deny"


class PolicySpec(Struct):
    parameters: Parameters | None = None
    template: Annotated[dict[str, Any] | None, EmbeddedResource()] = None
    object: SpecObject | None = None
    anything: Any = None
    values: dict[str, Annotated[Any, PreserveUnknown()]] | None = None
    mode: Annotated[
        Literal["audit", "enforce"] | None,
        SchemaPatch({"enum": ["audit", "enforce", None]}),
        Nullable(),
    ] = None
    limit: Annotated[int | None, Nullable()]
    exemptions: Annotated[list[str | None] | None, Nullable()] = None
    fallback: Annotated[Fallback | None, ServerDefault(None), Nullable()] = None


# +kubebuilder:subresource:status
# +kubebuilder:resource:scope=Cluster
class Policy(CustomResource, group_version=GROUP_VERSION):
    spec: PolicySpec | None = None
    status: dict[str, Any] | None = None
