"""Constraints of built-in types that OpenAPI leaves out and controller-gen writes into CRDs that embed them.

They were found by comparison with controller-gen's output (tests/differential). controller-gen reads them from markers
in the Go sources.
"""

from __future__ import annotations

from dataclasses import dataclass

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CORE = "io.k8s.api.core.v1."


@dataclass(frozen=True)
class Constraint:
    """Arguments for Field, a patch to the schema, a type in place of ``str``, a default (None: as in OpenAPI).

    All are Python text.
    """

    field: str = ""
    patch: str = ""
    type: str = ""
    default: str | None = None
    required: bool = False  # only in the schema: an object without it must still be readable


_QUALIFIED_NAME = (
    r'pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?'
    r'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"'
)
_PORT_ERROR = Constraint(f"max_length=316, {_QUALIFIED_NAME}", required=True)

CONSTRAINTS: dict[tuple[str, str], Constraint] = {
    (_META + "Condition", "lastTransitionTime"): Constraint(),
    (_META + "Condition", "message"): Constraint("max_length=32768"),
    (_META + "Condition", "observedGeneration"): Constraint("ge=0"),
    (_META + "Condition", "reason"): Constraint(
        'min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"'
    ),
    (_META + "Condition", "status"): Constraint(type='Literal["True", "False", "Unknown"]'),
    (_META + "Condition", "type"): Constraint(f"max_length=316, {_QUALIFIED_NAME}"),
}

_EMPTY = Constraint(default='""')
_NO_DEFAULT = Constraint(default="None")  # the Go marker names a constant, which controller-gen does not resolve
CONSTRAINTS |= {
    ("io.k8s.api.autoscaling.v1.ScaleSpec", "replicas"): Constraint(default="0"),
    (_CORE + "AzureDiskVolumeSource", "cachingMode"): _NO_DEFAULT,
    (_CORE + "AzureDiskVolumeSource", "kind"): _NO_DEFAULT,
    (_CORE + "AzureDiskVolumeSource", "readOnly"): Constraint(default="False"),
    (_CORE + "ConfigMapEnvSource", "name"): _EMPTY,
    (_CORE + "ConfigMapKeySelector", "name"): _EMPTY,
    (_CORE + "ConfigMapProjection", "name"): _EMPTY,
    (_CORE + "ConfigMapVolumeSource", "name"): _EMPTY,
    (_CORE + "FileKeySelector", "optional"): Constraint(default="False"),
    (_CORE + "GRPCAction", "service"): _EMPTY,
    (_CORE + "ImageVolumeStatus", "imageRef"): Constraint("max_length=256"),
    (_CORE + "LocalObjectReference", "name"): _EMPTY,
    (_CORE + "PortStatus", "error"): _PORT_ERROR,
    (_CORE + "ReplicationControllerSpec", "minReadySeconds"): Constraint(default="0"),
    (_CORE + "SecretEnvSource", "name"): _EMPTY,
    (_CORE + "SecretKeySelector", "name"): _EMPTY,
    (_CORE + "SecretProjection", "name"): _EMPTY,
    ("io.k8s.api.networking.v1.IngressPortStatus", "error"): _PORT_ERROR,
}

# Required since Kubernetes 1.37. An older server may leave them out, and so does a program that fills in an object
# later (create_or_update).
_APPS, _FLOWCONTROL = "io.k8s.api.apps.v1.", "io.k8s.api.flowcontrol.v1."
CONSTRAINTS |= dict.fromkeys(
    (
        *((_APPS + kind, "spec") for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
        (_APPS + "ControllerRevision", "data"),
        (_FLOWCONTROL + "FlowSchema", "spec"),
        (_FLOWCONTROL + "FlowSchemaCondition", "type"),
        (_FLOWCONTROL + "LimitedPriorityLevelConfiguration", "limitResponse"),
        (_FLOWCONTROL + "PriorityLevelConfiguration", "spec"),
        (_FLOWCONTROL + "PriorityLevelConfigurationCondition", "type"),
    ),
    Constraint(default="None", required=True),
)

# From markers that begin with +k8s, which controller-gen reads in Kubernetes' own types since 1.37.
_SCHEDULING = "io.k8s.api.scheduling.v1alpha3."
_DEVICES = "io.k8s.api.resource.v1."
_FILLED = Constraint("min_length=1")
_CONDITIONS = Constraint("max_length=16")
_OPERATIONS = Constraint(patch='{"items": {"enum": ["*", "NodePrepareResources", "NodeUnprepareResources"]}}')
_FIXED = '{"x-kubernetes-validations": [{"message": "field is immutable", "rule": "self == oldSelf"}]}'
_JOB_SCHEDULING = "io.k8s.api.batch.v1.JobSchedulingConfiguration"
_SET_ONCE = ", ".join(
    f'{{"message": "field {name} is immutable once set", "rule": "!has(oldSelf.{name}) || has(self.{name})"}}'
    for name in ("schedulingConstraints", "disruptionMode", "resourceClaims")
)
CONSTRAINTS |= {
    ("io.k8s.api.batch.v1.JobSpec", "scheduling"): Constraint(patch=f'{{"x-kubernetes-validations": [{_SET_ONCE}]}}'),
    (_JOB_SCHEDULING, "disruptionMode"): Constraint(patch=_FIXED),
    (_JOB_SCHEDULING, "resourceClaims"): Constraint("max_length=4", patch=_FIXED),
    (_JOB_SCHEDULING, "schedulingConstraints"): Constraint(patch=_FIXED),
    (_CORE + "EvictionResponder", "name"): _FILLED,
    (_CORE + "EvictionResponder", "priority"): Constraint("ge=0, le=100000"),
    (_CORE + "NodeAllocatableMappedResources", "name"): _FILLED,
    (_CORE + "NodeAllocatableMappedResources", "quantity"): Constraint(patch='{"minProperties": 1}'),
    (_CORE + "NodeAllocatableOverheadResources", "name"): _FILLED,
    (_CORE + "NodeAllocatableResourceClaimStatus", "resourceClaimName"): _FILLED,
    (_CORE + "NodePodPreemptionPolicy", "disableResizePreemption"): Constraint("max_length=20"),
    (_CORE + "PodSpec", "evictionResponders"): Constraint("max_length=10"),
    (_CORE + "PodVolumeHealth", "healthConditions"): _CONDITIONS,
    (_CORE + "PodVolumeHealth", "name"): _FILLED,
    (_CORE + "VolumeHealthCondition", "reason"): _FILLED,
    (_CORE + "VolumeHealthCondition", "status"): Constraint(
        "min_length=1", patch='{"enum": ["DataLoss", "Degraded", "Inaccessible"]}'
    ),
    (_CORE + "VolumeHealthStatus", "healthConditions"): _CONDITIONS,
    (_DEVICES + "DeviceCounterConsumption", "compatibilityGroups"): Constraint("max_length=2"),
    (_DEVICES + "DeviceDerivedAttribute", "expression"): _FILLED,
    (_DEVICES + "DeviceDerivedAttribute", "name"): _FILLED,
    (_DEVICES + "DeviceRequestAllocationResult", "skipNodeOperations"): _OPERATIONS,
    (_DEVICES + "DeviceSubRequest", "derivedAttributes"): Constraint("max_length=32"),
    (_DEVICES + "ExactDeviceRequest", "derivedAttributes"): Constraint("max_length=32"),
    (_DEVICES + "ResourceSliceSpec", "skipNodeOperations"): _OPERATIONS,
    (_SCHEDULING + "TopologyConstraint", "key"): _FILLED,
    (_SCHEDULING + "WorkloadPodGroupGangSchedulingPolicy", "minCount"): Constraint("ge=1"),
    (_SCHEDULING + "WorkloadPodGroupResourceClaim", "name"): _FILLED,
    (_SCHEDULING + "WorkloadPodGroupSchedulingConstraints", "topology"): Constraint("max_length=1"),
}

# Optional in OpenAPI since Kubernetes 1.37, and always there. An API server refuses a CRD with an optional map key.
REQUIRED = {
    (f"{_APPS}{kind}Condition", field)
    for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
    for field in ("status", "type")
}

# Structs that are atomic because the LocalObjectReference inside them is.
ATOMIC = {
    _CORE + name
    for name in (
        "ConfigMapEnvSource",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "SecretEnvSource",
        "SecretProjection",
    )
}

# Values that must not appear in logs and tracebacks.
HIDDEN = {(_CORE + "Secret", "data"), (_CORE + "Secret", "stringData")}
