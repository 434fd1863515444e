"""Built-in types of scheduling/v1alpha3.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pydantic import Field

from pykb.api.annotations import Int32, ListAtomic, SchemaOnly
from pykb.api.struct import Struct


class TopologyConstraint(Struct):
    key: Annotated[str, SchemaOnly(Field(min_length=1))]


class WorkloadPodGroupAllDisruptionMode(Struct):
    pass


class WorkloadPodGroupBasicSchedulingPolicy(Struct):
    pass


class WorkloadPodGroupSingleDisruptionMode(Struct):
    pass


class WorkloadPodGroupDisruptionMode(Struct):
    all: WorkloadPodGroupAllDisruptionMode | None = None
    single: WorkloadPodGroupSingleDisruptionMode | None = None


class WorkloadPodGroupGangSchedulingPolicy(Struct):
    min_count: Annotated[Int32 | None, SchemaOnly(Field(ge=1))] = None


class WorkloadPodGroupResourceClaim(Struct):
    name: Annotated[str, SchemaOnly(Field(min_length=1))]
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class WorkloadPodGroupSchedulingConstraints(Struct):
    topology: Annotated[list[TopologyConstraint] | None, ListAtomic(), SchemaOnly(Field(max_length=1))] = None


class WorkloadPodGroupSchedulingPolicy(Struct):
    basic: WorkloadPodGroupBasicSchedulingPolicy | None = None
    gang: WorkloadPodGroupGangSchedulingPolicy | None = None
