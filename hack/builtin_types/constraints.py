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
    """Arguments for Field, a type in place of ``str``, a default as Python text (None: as in OpenAPI)."""

    field: str = ""
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
