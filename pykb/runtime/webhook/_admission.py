"""Admission requests of the API server, and the responses to them.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
(``AdmissionReview`` of ``admission.k8s.io/v1``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from pykb.meta.gvk import GroupVersionKind, GroupVersionResource
from pykb.runtime._logging import current_call
from pykb.runtime.errors import StatusDetails

Warnings: TypeAlias = Sequence[str] | None
"""Warnings of a validator for the client, with an allowed request."""


class Operation(StrEnum):
    """The operation of the client."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The user of the client."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_NOBODY = UserInfo()
_NO_RESOURCE = GroupVersionResource("", "", "")
_NO_DETAILS = StatusDetails()


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One admission request of the API server.

    Attributes:
        uid: The unique id of this request. The response repeats it.
        operation: The operation of the client.
        kind: The kind of the objects, in the version that the webhook is registered for.
        resource: The resource of that kind.
        subresource: ``status``, ``scale``, ...; empty for the object itself.
        name: The object's name; empty until the server generates one.
        namespace: Its namespace; empty for cluster-scoped kinds.
        user: The user of the client.
        object: The new object, as JSON values; ``None`` for DELETE. Do not change it.
        old_object: The stored object; ``None`` for CREATE and CONNECT. Do not change it.
        dry_run: Whether nothing will be stored. Side effects are then forbidden.
        options: The options of the client's request (``CreateOptions`` and its like).
        request_kind: The kind that the client used, if it differs from ``kind``.
        request_resource: The resource of that kind.
        request_subresource: The subresource that the client used.
    """

    uid: str
    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource = _NO_RESOURCE
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    user: UserInfo = _NOBODY
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_subresource: str = ""

    @property
    def object_name(self) -> str:
        """A name to show. Before the server generates one, the object's own name or ``generateName``."""
        if self.name:
            return self.name
        metadata = (self.object or {}).get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        return str(known.get("name") or known.get("generateName") or "")


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """One response. Make it by ``allowed``, ``denied``, ``errored`` or ``patched`` of :mod:`pykb.runtime.webhook`.

    Attributes:
        allowed: Whether the request is allowed.
        code: The HTTP code for the client if it is denied.
        reason: The machine-readable reason (``Forbidden``).
        message: The message for people.
        details: The details, with a cause for each field.
        patch: Operations of RFC 6902 on the object, in order.
        warnings: Warnings for the client, allowed or not, one line each.
        audit_annotations: Annotations for the audit log of the API server.
    """

    allowed: bool
    code: int = 200
    reason: str = ""
    message: str = ""
    details: StatusDetails = _NO_DETAILS
    patch: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)


_current: ContextVar[AdmissionRequest | None] = ContextVar("current_admission_request", default=None)


def current_admission_request() -> AdmissionRequest | None:
    """The admission request being answered by the running code; ``None`` outside of a webhook."""
    return _current.get()


@contextmanager
def answering(request: AdmissionRequest, webhook: str = "") -> Iterator[None]:
    """Set the current admission request for a block. Log records in the block name it.

    The webhook server does this. A test can do it for a webhook that reads ``self.request``.
    """
    identity = {
        "webhook": webhook,
        "kind": str(request.kind.group_kind),
        "namespace": request.namespace,
        "name": request.object_name,
        "operation": str(request.operation),
        "user": request.user.username,
        "uid": request.uid,
    }
    token = _current.set(request)
    token_of_logs = current_call.set({key: value for key, value in identity.items() if value})
    try:
        yield
    finally:
        current_call.reset(token_of_logs)
        _current.reset(token)
