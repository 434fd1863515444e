"""Webhooks: admission (defaulting and validation) and conversion, served over TLS.

Most programs only need ``Defaulter``, ``Validator`` and ``WebhookBuilder`` from
:mod:`pykb.runtime`. This package adds the responses for raw handlers:
``manager.webhook_server.register("/path", handler)``.
"""

from pykb.runtime.webhook._admission import (
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
