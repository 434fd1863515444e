"""Built-in types of policy/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, Int64, IntOrString, KnownValues, ListMap, PatchStrategy
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("policy", "v1")


class Eviction(Object, group_version=GROUP_VERSION):
    delete_options: meta_v1.DeleteOptions | None = None


class PodDisruptionBudgetSpec(Struct):
    max_unavailable: IntOrString | None = None
    min_available: IntOrString | None = None
    selector: Annotated[meta_v1.LabelSelector | None, PatchStrategy("replace")] = None
    unhealthy_pod_eviction_policy: Annotated[str | None, KnownValues(("AlwaysAllow", "IfHealthyBudget"))] = None


class PodDisruptionBudgetStatus(Struct):
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type"), PatchStrategy("merge")] = None
    current_healthy: Int32 | None = None
    desired_healthy: Int32 | None = None
    disrupted_pods: dict[str, datetime] | None = None
    disruptions_allowed: Int32 | None = None
    expected_pods: Int32 | None = None
    observed_generation: Int64 | None = None


class PodDisruptionBudget(Object, group_version=GROUP_VERSION, resource=namespaced("poddisruptionbudgets", "status")):
    spec: PodDisruptionBudgetSpec | None = None
    status: PodDisruptionBudgetStatus | None = None
