"""Webhooks: admission (defaulting and validation) and conversion, served over TLS.

What most programs need is in :mod:`pykb.runtime` (``Defaulter``, ``Validator``, ``WebhookBuilder``); here are also the
answers of the raw layer, for ``manager.webhook_server.register("/path", handler)``.
"""

from pykb.runtime.webhook._admission import AdmissionRequest, AdmissionResponse, Operation, UserInfo
from pykb.runtime.webhook._response import allowed, denied, errored, patched

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
