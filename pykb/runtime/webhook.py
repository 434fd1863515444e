"""Responses for raw handlers of webhooks: ``manager.webhook_server.register("/path", handler)``.

Most programs only need ``Defaulter``, ``Validator`` and ``WebhookBuilder`` from :mod:`pykb.runtime`.
"""

from pykb.webhook import (
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
