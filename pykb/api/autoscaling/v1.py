"""Built-in types of autoscaling/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, Int64, MapAtomic, Wire, annotate
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("autoscaling", "v1")


@annotate(MapAtomic())
class CrossVersionObjectReference(Struct):
    kind: str
    name: str
    api_version: str | None = None


class HorizontalPodAutoscalerSpec(Struct):
    max_replicas: Int32
    scale_target_ref: CrossVersionObjectReference
    min_replicas: Int32 | None = None
    target_cpu_utilization_percentage: Annotated[Int32 | None, Wire("targetCPUUtilizationPercentage")] = None


class HorizontalPodAutoscalerStatus(Struct):
    current_replicas: Int32
    desired_replicas: Int32
    current_cpu_utilization_percentage: Annotated[Int32 | None, Wire("currentCPUUtilizationPercentage")] = None
    last_scale_time: datetime | None = None
    observed_generation: Int64 | None = None


class HorizontalPodAutoscaler(
    Object, group_version=GROUP_VERSION, resource=namespaced("horizontalpodautoscalers", "status")
):
    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | None = None


class ScaleSpec(Struct):
    replicas: Int32 = 0


class ScaleStatus(Struct):
    replicas: Int32
    selector: str | None = None


class Scale(Object, group_version=GROUP_VERSION):
    spec: ScaleSpec | None = None
    status: ScaleStatus | None = None
