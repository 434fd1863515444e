"""Built-in types of apps/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import (
    Int32,
    Int64,
    IntOrString,
    KnownValues,
    ListAtomic,
    ListMap,
    PatchStrategy,
    RawExtension,
    SchemaRequired,
)
from pykb.api.core import v1 as core_v1
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("apps", "v1")


class ControllerRevision(Object, group_version=GROUP_VERSION, resource=namespaced("controllerrevisions")):
    data: Annotated[RawExtension | None, SchemaRequired()] = None
    revision: Int64 | None = None


class RollingUpdateDaemonSet(Struct):
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class DaemonSetUpdateStrategy(Struct):
    rolling_update: RollingUpdateDaemonSet | None = None
    type: Annotated[str | None, KnownValues(("OnDelete", "RollingUpdate"))] = None


class DaemonSetSpec(Struct):
    selector: meta_v1.LabelSelector
    template: core_v1.PodTemplateSpec
    min_ready_seconds: Int32 | None = None
    revision_history_limit: Int32 | None = None
    update_strategy: DaemonSetUpdateStrategy | None = None


class DaemonSetCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class DaemonSetStatus(Struct):
    current_number_scheduled: Int32
    desired_number_scheduled: Int32
    number_misscheduled: Int32
    number_ready: Int32
    collision_count: Int32 | None = None
    conditions: Annotated[list[DaemonSetCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    number_available: Int32 | None = None
    number_unavailable: Int32 | None = None
    observed_generation: Int64 | None = None
    updated_number_scheduled: Int32 | None = None


class DaemonSet(Object, group_version=GROUP_VERSION, resource=namespaced("daemonsets", "status")):
    spec: Annotated[DaemonSetSpec | None, SchemaRequired()] = None
    status: DaemonSetStatus | None = None


class RollingUpdateDeployment(Struct):
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class DeploymentStrategy(Struct):
    rolling_update: RollingUpdateDeployment | None = None
    type: Annotated[str | None, KnownValues(("Recreate", "RollingUpdate"))] = None


class DeploymentSpec(Struct):
    selector: meta_v1.LabelSelector
    template: core_v1.PodTemplateSpec
    min_ready_seconds: Int32 | None = None
    paused: bool | None = None
    progress_deadline_seconds: Int32 | None = None
    replicas: Int32 | None = None
    revision_history_limit: Int32 | None = None
    strategy: Annotated[DeploymentStrategy | None, PatchStrategy("retainKeys")] = None


class DeploymentCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    last_update_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class DeploymentStatus(Struct):
    available_replicas: Int32 | None = None
    collision_count: Int32 | None = None
    conditions: Annotated[list[DeploymentCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    observed_generation: Int64 | None = None
    ready_replicas: Int32 | None = None
    replicas: Int32 | None = None
    terminating_replicas: Int32 | None = None
    unavailable_replicas: Int32 | None = None
    updated_replicas: Int32 | None = None


class Deployment(Object, group_version=GROUP_VERSION, resource=namespaced("deployments", "scale", "status")):
    spec: Annotated[DeploymentSpec | None, SchemaRequired()] = None
    status: DeploymentStatus | None = None


class ReplicaSetSpec(Struct):
    selector: meta_v1.LabelSelector
    min_ready_seconds: Int32 | None = None
    replicas: Int32 | None = None
    template: core_v1.PodTemplateSpec | None = None


class ReplicaSetCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class ReplicaSetStatus(Struct):
    replicas: Int32
    available_replicas: Int32 | None = None
    conditions: Annotated[list[ReplicaSetCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    fully_labeled_replicas: Int32 | None = None
    observed_generation: Int64 | None = None
    ready_replicas: Int32 | None = None
    terminating_replicas: Int32 | None = None


class ReplicaSet(Object, group_version=GROUP_VERSION, resource=namespaced("replicasets", "scale", "status")):
    spec: Annotated[ReplicaSetSpec | None, SchemaRequired()] = None
    status: ReplicaSetStatus | None = None


class RollingUpdateStatefulSetStrategy(Struct):
    max_unavailable: IntOrString | None = None
    partition: Int32 | None = None


class StatefulSetOrdinals(Struct):
    start: Int32 | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(Struct):
    when_deleted: str | None = None
    when_scaled: str | None = None


class StatefulSetUpdateStrategy(Struct):
    rolling_update: RollingUpdateStatefulSetStrategy | None = None
    type: Annotated[str | None, KnownValues(("OnDelete", "Recreate", "RollingUpdate"))] = None


class StatefulSetSpec(Struct):
    selector: meta_v1.LabelSelector
    template: core_v1.PodTemplateSpec
    min_ready_seconds: Int32 | None = None
    ordinals: StatefulSetOrdinals | None = None
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    pod_management_policy: Annotated[str | None, KnownValues(("OrderedReady", "Parallel"))] = None
    replicas: Int32 | None = None
    revision_history_limit: Int32 | None = None
    service_name: str | None = None
    update_strategy: StatefulSetUpdateStrategy | None = None
    volume_claim_templates: Annotated[list[core_v1.PersistentVolumeClaim] | None, ListAtomic()] = None


class StatefulSetCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class StatefulSetStatus(Struct):
    replicas: Int32
    available_replicas: Int32 | None = None
    collision_count: Int32 | None = None
    conditions: Annotated[list[StatefulSetCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    current_replicas: Int32 | None = None
    current_revision: str | None = None
    observed_generation: Int64 | None = None
    ready_replicas: Int32 | None = None
    update_revision: str | None = None
    updated_replicas: Int32 | None = None


class StatefulSet(Object, group_version=GROUP_VERSION, resource=namespaced("statefulsets", "scale", "status")):
    spec: Annotated[StatefulSetSpec | None, SchemaRequired()] = None
    status: StatefulSetStatus | None = None
