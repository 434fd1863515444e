"""Admission requests of the API server, the responses to them, and who learns what when a webhook fails.

The client gets the type of an error. The log gets everything except values.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
(``AdmissionReview`` of ``admission.k8s.io/v1``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from pykb.api.safe_text import without_values
from pykb.api.unreadable import UnreadableObject
from pykb.client.errors import REASONS, ApiError, FieldError, FieldErrorType, Invalid, StatusDetails
from pykb.client.json_text import storable
from pykb.client.witness import current_call
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind, GroupVersionResource
from pykb.webhook._jsonpatch import operations, same

if TYPE_CHECKING:
    from pykb.webhook.steps import WebhookMetrics

logger = logging.getLogger(__name__)

Warnings: TypeAlias = Sequence[str] | None
"""Warnings of a validator for the client, with an allowed request.

::

    class VirtulMachineValidator(Validator[VirtulMachine]):
        async def validate_create(self, obj: VirtulMachine) -> Warnings:
            return ["`spec.disk` is deprecated"] if obj.spec.disk else None
"""


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

    ::

        class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
            async def default(self, obj: VirtulMachine) -> None:
                if self.request.operation is Operation.CREATE:
                    author = {"example.com/author": self.request.user.username}
                    obj.metadata.annotations = {**(obj.metadata.annotations or {}), **author}

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
    """One response. Make it by ``allowed``, ``denied``, ``errored`` or ``patched`` of :mod:`pykb.webhook`.

    ::

        from pykb.runtime.webhook import allowed, denied

        async def guard_shells(request: AdmissionRequest) -> AdmissionResponse:
            if request.subresource == "exec" and "system:masters" not in request.user.groups:
                return denied("only administrators may open a shell")
            return allowed()

        manager.webhook_server.register("/guard-shells", guard_shells)

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


class TypedHandler:
    """The base of pykb's own handlers. They call the methods of an author."""


_current: ContextVar[AdmissionRequest | None] = ContextVar("current_admission_request", default=None)


def current_admission_request() -> AdmissionRequest | None:
    """The admission request being answered by the running code; ``None`` outside of a webhook.

    ::

        def author() -> str:
            request = current_admission_request()
            return request.user.username if request else ""
    """
    return _current.get()


@contextmanager
def answering(request: AdmissionRequest, webhook: str = "") -> Iterator[None]:
    """Set the current admission request for a block. Log records in the block name it.

    ::

        creation = AdmissionRequest("1", Operation.CREATE, VirtulMachine.gvk, user=UserInfo("ann"))
        with answering(creation):
            await VirtulMachineDefaulter().default(machine)
        assert machine.metadata.annotations == {"example.com/author": "ann"}

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


def is_as_stored(request: AdmissionRequest) -> bool:
    """Whether only metadata is changed, for example to remove a finalizer.

    The API server accepts other invalid fields in such a change.
    """
    new, old = request.object or {}, request.old_object
    if request.operation is not Operation.UPDATE or old is None:
        return False
    try:
        return _same_but_for_metadata(new, old)
    except (TypeError, RecursionError):  # they are nested too deeply to be compared
        return _same_but_for_metadata(storable(new), storable(old))


def _same_but_for_metadata(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    return all(same(new.get(key), old.get(key)) for key in {*new, *old} - {"metadata"})


class Denied(PykbError):  # noqa: N818 - says what the request is
    """Raised by a webhook to refuse a request. The default code is 403.

    ::

        class VirtulMachineValidator(Validator[VirtulMachine]):
            async def validate_create(self, obj: VirtulMachine) -> Warnings:
                machines = await self.client.list(VirtulMachine, namespace=obj.metadata.namespace)
                if len(machines) >= 10:
                    raise Denied("a namespace has at most 10 machines")
                return None
    """

    def __init__(self, message: str, *, code: int = 403, warnings: Sequence[str] = ()) -> None:
        """Make the error.

        Args:
            message: The reason, for the client. The API server adds the webhook's name in front.
            code: The HTTP code, 400 to 599.
            warnings: Warnings for the client.

        Raises:
            ValueError: The code is not the code of an error.
        """
        if not 400 <= code <= 599:
            raise ValueError(f"a refusal has a code from 400 to 599, got {code}")
        super().__init__(message)
        self.message = message
        self.code = code
        self.warnings = tuple(warnings)


def allowed(*warnings: str) -> AdmissionResponse:
    """Allow the request."""
    return AdmissionResponse(allowed=True, warnings=warnings)


def denied(message: str, *, code: int = 403, warnings: Sequence[str] = ()) -> AdmissionResponse:
    """Refuse the request."""
    reason = REASONS.get(code, "")
    return AdmissionResponse(allowed=False, code=code, reason=reason, message=message, warnings=tuple(warnings))


def errored(error: ApiError | str, code: int = 500) -> AdmissionResponse:
    """Report a failure of the webhook: an error of the API, whose status is returned, or a message."""
    if isinstance(error, str):
        return denied(error, code=code)
    return AdmissionResponse(
        allowed=False,
        code=error.status,
        reason=error.reason or REASONS.get(error.status, ""),
        message=error.message,
        details=error.details,
    )


def patched(request: AdmissionRequest, changed: Mapping[str, Any], *warnings: str) -> AdmissionResponse:
    """Allow the request with a changed object. The patch is the difference from the request's object."""
    return AdmissionResponse(allowed=True, patch=operations(request.object or {}, changed), warnings=warnings)


def answer_to(error: BaseException, metrics: WebhookMetrics) -> AdmissionResponse:
    """Make the response after a webhook raised an error."""
    error = alone(error)
    if isinstance(error, Denied):
        return denied(error.message, code=error.code, warnings=error.warnings)
    if isinstance(error, ApiError):
        return errored(error)
    metrics.webhook_panics.inc()
    logger.error("webhook failed", extra={"error": type(error).__name__}, exc_info=without_values(error))
    return errored("internal error")


def alone(error: BaseException) -> BaseException:
    """Return the error itself, because a task group wraps even a single one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def unfit(error: UnreadableObject, name: str) -> Invalid:
    """Make the error for an object that does not fit its class, in the API server's wording."""
    causes = [
        FieldError.required(problem.path)
        if problem.is_missing
        else FieldError(problem.path, problem.problem, type=FieldErrorType.TYPE_INVALID)
        for problem in error.problems
    ]
    return Invalid.for_kind(error.gvk.group_kind, name, causes)
