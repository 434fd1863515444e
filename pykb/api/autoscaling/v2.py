"""Built-in types of autoscaling/v2.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, Int64, ListAtomic, ListMap, PatchStrategy
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("autoscaling", "v2")


class MetricTarget(Struct):
    type: str
    average_utilization: Int32 | None = None
    average_value: Quantity | None = None
    value: Quantity | None = None


class ContainerResourceMetricSource(Struct):
    container: str
    name: str
    target: MetricTarget


class MetricValueStatus(Struct):
    average_utilization: Int32 | None = None
    average_value: Quantity | None = None
    value: Quantity | None = None


class ContainerResourceMetricStatus(Struct):
    container: str
    current: MetricValueStatus
    name: str


class CrossVersionObjectReference(Struct):
    kind: str
    name: str
    api_version: str | None = None


class MetricIdentifier(Struct):
    name: str
    selector: meta_v1.LabelSelector | None = None


class ExternalMetricSource(Struct):
    metric: MetricIdentifier
    target: MetricTarget


class ExternalMetricStatus(Struct):
    current: MetricValueStatus
    metric: MetricIdentifier


class HPAScalingPolicy(Struct):
    period_seconds: Int32
    type: str
    value: Int32


class HPAScalingRules(Struct):
    policies: Annotated[list[HPAScalingPolicy] | None, ListAtomic()] = None
    select_policy: str | None = None
    stabilization_window_seconds: Int32 | None = None
    tolerance: Quantity | None = None


class HorizontalPodAutoscalerBehavior(Struct):
    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None


class ObjectMetricSource(Struct):
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget


class PodsMetricSource(Struct):
    metric: MetricIdentifier
    target: MetricTarget


class ResourceMetricSource(Struct):
    name: str
    target: MetricTarget


class MetricSpec(Struct):
    type: str
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None


class HorizontalPodAutoscalerSpec(Struct):
    max_replicas: Int32
    scale_target_ref: CrossVersionObjectReference
    behavior: HorizontalPodAutoscalerBehavior | None = None
    metrics: Annotated[list[MetricSpec] | None, ListAtomic()] = None
    min_replicas: Int32 | None = None


class HorizontalPodAutoscalerCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    observed_generation: Int64 | None = None
    reason: str | None = None


class ObjectMetricStatus(Struct):
    current: MetricValueStatus
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier


class PodsMetricStatus(Struct):
    current: MetricValueStatus
    metric: MetricIdentifier


class ResourceMetricStatus(Struct):
    current: MetricValueStatus
    name: str


class MetricStatus(Struct):
    type: str
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None


class HorizontalPodAutoscalerStatus(Struct):
    desired_replicas: Int32
    conditions: Annotated[list[HorizontalPodAutoscalerCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    current_metrics: Annotated[list[MetricStatus] | None, ListAtomic()] = None
    current_replicas: Int32 | None = None
    last_scale_time: datetime | None = None
    observed_generation: Int64 | None = None


class HorizontalPodAutoscaler(
    Object, group_version=GROUP_VERSION, resource=namespaced("horizontalpodautoscalers", "status")
):
    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | None = None
