"""Webhooks: admission (defaulting and validation) and conversion, served over TLS."""

from pykb.webhook._admission import (
    AdmissionRequest,
    AdmissionResponse,
    Operation,
    UserInfo,
    allowed,
    denied,
    errored,
    patched,
)

__all__ = [
    "AdmissionRequest",
    "AdmissionResponse",
    "Operation",
    "UserInfo",
    "allowed",
    "denied",
    "errored",
    "patched",
]
