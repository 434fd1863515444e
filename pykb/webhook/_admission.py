"""Admission: requests of the API server and their endpoint, responses with patches, and who learns what of a failure.

The client gets the type of an error. The log gets everything except values.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
(``AdmissionReview`` of ``admission.k8s.io/v1``).
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from pykb.api.safe_text import safe_text, without_values
from pykb.api.unreadable import UnreadableObject
from pykb.client.errors import REASONS, ApiError, FieldError, FieldErrorType, Invalid, StatusDetails
from pykb.client.guard import ends_task
from pykb.client.json_text import CUT, read_around, storable
from pykb.client.task import current_call, reset
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind, GroupVersionResource
from pykb.meta.json_diff import MISSING, Change, Parts, Path, changes, fields_of
from pykb.reading import mapping
from pykb.serving import JSON, HttpRequest, HttpResponse
from pykb.webhook.steps import Steps, WebhookMetrics, call, following

if TYPE_CHECKING:
    from pykb.webhook.steps import WebhookMetrics

logger = logging.getLogger(__name__)


# Makes a JSON patch of a defaulter's changes, for the object that the API server sent.
#
# The object that a defaulter gets differs from the object that was sent: numbers may have another
# form, nulls may be missing, sets may be sorted. Therefore, only the difference between before and
# after is applied to the original.
#
# Source: RFC 6902 (JSON Patch), RFC 6901 (JSON Pointer).


Patch = tuple[Mapping[str, Any], ...]


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal. Unlike in Python, ``1``, ``1.0`` and ``true`` are three different values.

    Raises:
        TypeError: A value has no JSON form.
    """
    if left is right:
        return True
    if type(left) is not type(right) or left != right:
        return False
    # Compared by their texts: a walk in Python takes more time than the rest of the response.
    return not isinstance(left, (dict, list)) or _text(left) == _text(right)


def carried(original: Any, before: Any, after: Any) -> Any:
    """Apply the changes between two versions to the original.

    Args:
        original: The value as sent. It is not changed.
        before: The original, as the program reads it.
        after: The value after the program changed it.
    """
    if same(before, after):
        return original
    if isinstance(original, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _carried_object(original, before, after)
    if isinstance(original, list) and isinstance(before, list) and isinstance(after, list):
        return _carried_list(original, before, after)
    return after


def _carried_object(original: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in original.items() if key in after or key not in before}
    for key, value in after.items():
        if key not in before:
            made[key] = value
        elif key in original:
            made[key] = carried(original[key], before[key], value)
        elif not same(before[key], value):
            made[key] = value
    return made


def _carried_list(original: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    if len(original) != len(before) or _is_reordered(original, before):
        return _carried_set(original, before, after)
    places = _places(before, after)
    moved = {place for place in places if place is not None}
    made: list[Any] = []
    for index, (place, value) in enumerate(zip(places, after, strict=True)):
        if place is not None:
            made.append(original[place])
        elif index < len(before) and index not in moved:  # neither moved nor kept: it was changed in place
            made.append(carried(original[index], before[index], value))
        else:
            made.append(value)
    return made


def _places(before: list[Any], after: list[Any]) -> list[int | None]:
    """The previous position of each unchanged item. An item at the same position keeps it."""
    known, wanted = list(map(_text, before)), list(map(_text, after))
    stayed = [index for index, (old, new) in enumerate(zip(known, wanted, strict=False)) if old == new]
    places: list[int | None] = [None] * len(after)
    for index in stayed:
        places[index] = index
    left: dict[bytes, list[int]] = {}
    for index in sorted(set(range(len(before))) - set(stayed), reverse=True):
        left.setdefault(known[index], []).append(index)
    for index, text in enumerate(wanted):
        if places[index] is None and left.get(text):
            places[index] = left[text].pop()
    return places


def _text(value: Any) -> bytes:
    """A text that is equal only for equal values."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _is_reordered(original: list[Any], before: list[Any]) -> bool:
    """Whether the program reads a set, whose items it sorts."""
    if any(isinstance(item, (dict, list)) for item in (*original, *before)) or same(original, before):
        return False
    return sorted(map(repr, original)) == sorted(map(repr, before))


def _carried_set(original: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    if any(isinstance(item, (dict, list)) for item in original) or set(map(repr, original)) != set(map(repr, before)):
        return after
    kept = set(map(repr, after))
    known = set(map(repr, before))
    return [*(x for x in original if repr(x) in kept), *(x for x in after if repr(x) not in known)]


def operations(original: Any, target: Any) -> Patch:
    """The operations that make the original the target, in order."""
    return tuple(map(_operation, changes(original, target, _parts)))


def _operation(change: Change) -> Mapping[str, Any]:
    path = "".join([f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in change.path])
    if change.after is MISSING:
        return {"op": "remove", "path": path}
    return {"op": "add" if change.before is MISSING else "replace", "path": path, "value": change.after}


def _parts(_path: Path, original: Any, target: Any) -> Parts | None:
    """Compare the items of lists between their equal beginnings and ends. Further ones are removed from the back."""
    if isinstance(original, dict) and isinstance(target, dict):
        return fields_of(original, target, same)
    if not (isinstance(original, list) and isinstance(target, list)):
        return None
    most = min(len(original), len(target))
    start = next((i for i in range(most) if not same(original[i], target[i])), most)
    most -= start
    tail = next((i for i in range(most) if not same(original[-1 - i], target[-1 - i])), most)
    old, new = len(original) - tail, len(target) - tail
    common = min(old, new)
    return [
        *((i, original[i], target[i]) for i in range(start, common) if not same(original[i], target[i])),
        *((i, original[i], MISSING) for i in reversed(range(common, old))),
        *((i, MISSING, target[i]) for i in range(common, new)),
    ]


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
        known = mapping((self.object or {}).get("metadata"))
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

    type: str
    """What they do, as ``WebhookType`` spells it."""


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
        reset(current_call, token_of_logs)
        reset(_current, token)


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


# The endpoint for admission requests at one path, and `AdmissionReview` as JSON.
#
# Source: https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/


_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_OPERATIONS = tuple(Operation)

# Of texts in an answer: values of an object may be part of them. The API server passes them on to its client.
_MOST = 50
_LONGEST_CAUSE = 1024
_LONGEST_WARNING = 1024
_LONGEST_NAME = 256
_LONGEST_UID = 256
PLACES = (("request", "object"), ("request", "oldObject"))


@dataclass(slots=True, eq=False)
class AdmissionEndpoint:
    """Reads the review, calls the handler and always returns a response."""

    path: str
    handler: Callable[[AdmissionRequest], Awaitable[AdmissionResponse]]
    metrics: WebhookMetrics
    steps: Steps | None = None
    failed: Callable[[BaseException], None] = lambda _: None

    @property
    def author(self) -> Callable[..., Any]:
        """The function that its author wrote."""
        return getattr(self.handler, "author", self.handler)

    @property
    def type(self) -> str:
        """What it does, as ``WebhookType`` spells it."""
        return getattr(self.handler, "type", "admission")

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the review with the response."""
        try:
            review = read_around(request.body, *PLACES)
            asked = read_request(mapping(review))
        except ValueError as error:
            review = None if isinstance(error, orjson.JSONDecodeError) else review
            reason = "the body is not JSON" if review is None else safe_text(error)
            logger.warning("admission request not understood", extra={"webhook": self.path, "error": reason})
            return _written(_uid_of(review), errored(reason, 400), status=400)
        with answering(asked, self.path), following(self.steps):
            response = await self._decide(asked)
            if not response.allowed:
                logger.info("admission refused", extra={"code": response.code, "reason": response.reason})
            try:
                return _written(asked.uid, response)
            except Exception as error:  # noqa: BLE001 - a handler's patch or warning has no JSON form
                self.failed(error)
                return _written(asked.uid, answer_to(error, self.metrics))

    async def _decide(self, asked: AdmissionRequest) -> AdmissionResponse:
        obj = asked.object
        if obj is not None and CUT in obj and not is_as_stored(asked):
            return errored(unfit(UnreadableObject.too_deep(asked.kind, obj, obj[CUT]), asked.object_name))
        task = asyncio.current_task()
        try:
            handler: Any = self.handler
            is_ours = isinstance(handler, TypedHandler)  # they call their author's methods
            response: object = await (handler(asked) if is_ours else call(handler, asked))
            if not isinstance(response, AdmissionResponse):
                raise TypeError(f"a handler must return an AdmissionResponse, got {type(response).__name__}")  # noqa: TRY301
        except BaseException as error:
            # It is cancelled when the time limit has passed, or the server stops.
            if ends_task(error, task, is_cancelled=bool(task and task.cancelling())):
                raise
            self.failed(error)
            return answer_to(error, self.metrics)
        return response


def _written(uid: str, response: AdmissionResponse, *, status: int = 200) -> HttpResponse:
    return HttpResponse(_write_response(uid, response), status, JSON)


def read_request(review: Mapping[str, Any]) -> AdmissionRequest:
    """Read the request of a review.

    Raises:
        ValueError: It is not a review, or has no request.
    """
    if review.get("apiVersion") != _API_VERSION or review.get("kind") != _KIND:
        found = safe_text(f"{review.get('apiVersion')} {review.get('kind')}", _LONGEST_NAME)
        raise ValueError(f"expected `{_API_VERSION} {_KIND}`, found `{found}`")
    request = review.get("request")
    if not isinstance(request, dict):
        raise ValueError("the review has no `request`")  # noqa: TRY004 - what came is wrong, not the call
    operation = request.get("operation")
    if operation not in _OPERATIONS:
        found = safe_text(operation, _LONGEST_NAME)
        raise ValueError(f"expected one of {', '.join(Operation)} as `operation`, found `{found}`")
    if len(_string(request, "uid")) > _LONGEST_UID:
        raise ValueError(f"the `uid` has more than {_LONGEST_UID} characters")
    kind, resource = request.get("requestKind"), request.get("requestResource")
    return AdmissionRequest(
        uid=_string(request, "uid"),
        operation=Operation(operation),
        kind=_kind(request.get("kind")),
        resource=_resource(request.get("resource")),
        subresource=_string(request, "subResource"),
        name=_string(request, "name"),
        namespace=_string(request, "namespace"),
        user=_user(mapping(request.get("userInfo"))),
        object=_object(request, "object"),
        old_object=_object(request, "oldObject"),
        dry_run=request.get("dryRun") is True,
        options=mapping(request.get("options")),
        request_kind=_kind(kind) if kind else None,
        request_resource=_resource(resource) if resource else None,
        request_subresource=_string(request, "requestSubResource"),
    )


def _uid_of(review: object) -> str:
    """Return the uid of a review that may be invalid otherwise."""
    return _string(mapping(mapping(review).get("request")), "uid")[:_LONGEST_UID]


def _write_response(uid: str, response: AdmissionResponse) -> bytes:
    """Make the review with the response to a request."""
    answer: dict[str, Any] = {"uid": uid, "allowed": bool(response.allowed)}
    if not response.allowed or response.message:
        answer["status"] = _status(response)
    if response.allowed and response.patch:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = base64.b64encode(orjson.dumps(response.patch)).decode("ascii")
    if response.warnings:
        answer["warnings"] = [safe_text(warning, _LONGEST_WARNING) for warning in response.warnings[:_MOST]]
    if response.audit_annotations:
        found = dict(response.audit_annotations)
        answer["auditAnnotations"] = {safe_text(key, _LONGEST_NAME): safe_text(value) for key, value in found.items()}
    return orjson.dumps({"apiVersion": _API_VERSION, "kind": _KIND, "response": answer})


def _status(response: AdmissionResponse) -> dict[str, Any]:
    status: dict[str, Any] = {
        "status": "Success" if response.allowed else "Failure",
        "message": safe_text(response.message),
        "reason": safe_text(response.reason, _LONGEST_NAME),
        "code": response.code,
    }
    details = _details(response.details)
    return {**status, "details": details} if details else status


def _details(details: StatusDetails) -> dict[str, Any]:
    named = {"name": details.name, "group": details.group, "kind": details.kind, "uid": details.uid}
    made: dict[str, Any] = {key: safe_text(value, _LONGEST_NAME) for key, value in named.items() if value}
    if details.causes:
        causes = map(asdict, details.causes[:_MOST])
        made["causes"] = [{key: safe_text(text, _LONGEST_CAUSE) for key, text in cause.items()} for cause in causes]
    if details.retry_after is not None:
        made["retryAfterSeconds"] = round(details.retry_after.total_seconds())
    return made


def _kind(raw: object) -> GroupVersionKind:
    found = mapping(raw)
    return GroupVersionKind(_string(found, "group"), _string(found, "version"), _string(found, "kind"))


def _resource(raw: object) -> GroupVersionResource:
    found = mapping(raw)
    return GroupVersionResource(_string(found, "group"), _string(found, "version"), _string(found, "resource"))


def _user(raw: Mapping[str, Any]) -> UserInfo:
    extra = {str(key): _texts(values, "extra") for key, values in mapping(raw.get("extra")).items()}
    groups = _texts(raw.get("groups"), "groups")
    return UserInfo(username=_string(raw, "username"), uid=_string(raw, "uid"), groups=groups, extra=extra)


def _object(request: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    found = request.get(key)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"expected an object as `{key}`, found `{type(found).__name__}`")
    return found


def _texts(raw: object, key: str) -> tuple[str, ...]:
    if raw is not None and not isinstance(raw, list):
        raise ValueError(f"expected a list as `{key}` of the user, found `{type(raw).__name__}`")
    return tuple(map(str, raw or ()))


def _string(raw: Mapping[str, Any], key: str) -> str:
    return str(raw.get(key) or "")
