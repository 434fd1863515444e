"""What the API server asks before it stores an object, and what it is answered.

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
"""What a validator has to say to the client although it allows the request."""


class Operation(StrEnum):
    """What the client asks for."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_NOBODY = UserInfo()
_NO_RESOURCE = GroupVersionResource("", "", "")
_NO_DETAILS = StatusDetails()


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One question of the API server.

    Attributes:
        uid: Tells this question from all others; the answer carries it.
        operation: What the client asks for.
        kind: The kind of the objects, in the version that the webhook is registered for.
        resource: The same as a resource.
        subresource: ``status``, ``scale``, ...; empty for the object itself.
        name: The object's name; empty when the server is still to make one.
        namespace: Its namespace; empty for cluster-scoped kinds.
        user: Who asks.
        object: The object to be, as JSON values; ``None`` for DELETE. It is not to be changed.
        old_object: The object as stored; ``None`` for CREATE and CONNECT. It is not to be changed.
        dry_run: Nothing will be stored: side effects are forbidden.
        options: The options of the client's request (``CreateOptions`` and its like).
        request_kind: The kind as the client wrote it, where that differs from ``kind``.
        request_resource: The same as a resource.
        request_subresource: The same of ``subresource``.
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
        """A name to show: before the server has made one, that of the object, or the prefix of the name to be."""
        if self.name:
            return self.name
        metadata = (self.object or {}).get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        return str(known.get("name") or known.get("generateName") or "")


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """One answer; made by :mod:`pykb.runtime.webhook`'s ``allowed``, ``denied``, ``errored`` and ``patched``.

    Attributes:
        allowed: Whether the request goes on.
        code: The HTTP code that the client gets when it does not.
        reason: The machine-readable word for it (``Forbidden``).
        message: Why, for people.
        details: What it is about, with a cause for each field.
        patch: Operations of RFC 6902 on the object, in order.
        warnings: Said to the client in any case, each in one line.
        audit_annotations: For the audit log of the API server.
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
    """The question that the running code is part of the answer to; ``None`` outside of any."""
    return _current.get()


@contextmanager
def answering(request: AdmissionRequest, webhook: str = "") -> Iterator[None]:
    """Make a request the current one for a block, which its log records then name.

    The server does so; a test may do it for a webhook that reads ``self.request``.
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
