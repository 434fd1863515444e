"""Exceptions for the errors of an API server, and for a server that does not answer.

Source: https://github.com/kubernetes/community/blob/main/contributors/devel/sig-architecture/api-conventions.md#error-codes
(an error is a ``Status`` object with ``reason``, ``message``, ``details`` and ``code``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from pykb.api.safe_text import safe_text
from pykb.diagnostics import Diagnostic, EnvironmentProblem, PykbError
from pykb.reading import mapping

if TYPE_CHECKING:
    from pykb.client.codec import AnyObject
    from pykb.meta.gvk import GroupKind

# Errors of single fields, in the API server's wording.
#
# Source: https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation/field#Error


class FieldErrorType(StrEnum):
    """The type of a field's error: the ``reason`` of a cause."""

    INVALID = "FieldValueInvalid"
    TYPE_INVALID = "FieldValueTypeInvalid"
    REQUIRED = "FieldValueRequired"
    NOT_FOUND = "FieldValueNotFound"
    DUPLICATE = "FieldValueDuplicate"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


_WORDS = {
    FieldErrorType.INVALID: "Invalid value",
    FieldErrorType.TYPE_INVALID: "Invalid value",
    FieldErrorType.REQUIRED: "Required value",
    FieldErrorType.NOT_FOUND: "Not found",
    FieldErrorType.DUPLICATE: "Duplicate value",
    FieldErrorType.NOT_SUPPORTED: "Unsupported value",
    FieldErrorType.FORBIDDEN: "Forbidden",
    FieldErrorType.TOO_LONG: "Too long",
    FieldErrorType.TOO_MANY: "Too many",
}


class _NotSaid:
    """The absence of a value, which differs from ``None``."""

    def __repr__(self) -> str:
        return "not said"


_LONGEST_VALUE = 512

NOT_SAID: Final = _NotSaid()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field, for :meth:`Invalid.of <pykb.client.errors.Invalid.of>`.

    ::

        errors = [FieldError("spec.cpu", "must be even", value=machine.spec.cpu)]
        if not machine.spec.disk:
            errors.append(FieldError.required("spec.disk"))
        raise Invalid.of(machine, errors)

    ``FieldError("spec.cpu", "must be even", value=3)`` reads ``spec.cpu: Invalid value: 3: must be even``.

    Attributes:
        path: The field, as on the wire: ``spec.parts[2].weight``, ``metadata.labels[app]``.
        message: The error, for people.
        value: The value found. It is shown to the client, cut at 512 characters, so leave out secrets.
        type: The type of the error.
    """

    path: str
    message: str
    value: object = NOT_SAID
    type: FieldErrorType = FieldErrorType.INVALID

    @classmethod
    def required(cls, path: str, message: str = "") -> FieldError:
        """A required field that is missing."""
        return cls(path, message, type=FieldErrorType.REQUIRED)

    @classmethod
    def forbidden(cls, path: str, message: str) -> FieldError:
        """A field that must not be set or changed."""
        return cls(path, message, type=FieldErrorType.FORBIDDEN)

    @classmethod
    def duplicate(cls, path: str, value: object) -> FieldError:
        """A value that occurs more than once."""
        return cls(path, "", value, FieldErrorType.DUPLICATE)

    @classmethod
    def not_supported(cls, path: str, value: object, supported: Sequence[str]) -> FieldError:
        """A value that is not one of the known values."""
        known = ", ".join(json.dumps(each, ensure_ascii=False) for each in supported)
        return cls(path, f"supported values: {known}", value, FieldErrorType.NOT_SUPPORTED)

    @property
    def body(self) -> str:
        """The message without the path."""
        parts = [_WORDS[self.type]]
        if not isinstance(self.value, _NotSaid):
            parts.append(_shown(self.value))
        if self.message:
            parts.append(self.message)
        return ": ".join(parts)

    def __str__(self) -> str:
        return f"{self.path}: {self.body}" if self.path else self.body


def _shown(value: Any) -> str:
    from pykb.api.wire import encode

    return safe_text(json.dumps(encode(value), ensure_ascii=False, default=safe_text), _LONGEST_VALUE)


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an error, most often an invalid field."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class StatusDetails:
    """The details of an error."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: timedelta | None = None


class ApiError(PykbError):
    """The API server answered with an error.

    ::

        try:
            await client.create(pod)
        except ApiError as error:
            self.recorder.event(machine, "Warning", error.reason or "Failed", error.message)
            raise  # the request is retried

    Attributes:
        status: The HTTP code.
        reason: The machine-readable reason (``NotFound``). Empty if the answer was not a
            ``Status``.
        message: The server's message.
        details: The object concerned, and a cause for each invalid field.
    """

    def __init__(self, status: int, reason: str, message: str, details: StatusDetails | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or StatusDetails()

    def __str__(self) -> str:
        return f"{self.message} ({self.reason or type(self).__name__}, {self.status})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.status, self.reason, self.message, self.details))

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of :attr:`details`."""
        return self.details.causes

    @property
    def retry_after(self) -> timedelta | None:
        """How long the server asks to wait, if it does. At most an hour."""
        return self.details.retry_after


class BadRequest(ApiError):  # noqa: N818 - the names are Kubernetes' reasons
    """400: the request itself is wrong."""


class Unauthorized(ApiError):  # noqa: N818
    """401: the credentials are not accepted, even after they were renewed."""


class Forbidden(ApiError):  # noqa: N818
    """403: RBAC, admission or quota does not allow it."""

    def __str__(self) -> str:
        return with_rule(super().__str__())


class NotFound(ApiError):  # noqa: N818
    """404: the object or the resource does not exist.

    ::

        try:
            await client.patch(pod, MergePatch({"metadata": {"labels": {"seen": "true"}}}))
        except NotFound:
            return Result()  # it was deleted meanwhile

    ``client.find`` and ``client.delete(pod, missing_ok=True)`` do not raise it.
    """


class MethodNotSupported(ApiError):  # noqa: N818
    """405: the resource does not have this verb."""


class NotAcceptable(ApiError):  # noqa: N818
    """406: the server cannot answer in the requested format."""


class Conflict(ApiError):  # noqa: N818
    """409: the object has changed since it was read, or another manager owns a field that is applied.

    ::

        try:
            await client.apply(config, field_manager="painter")
        except Conflict as error:
            for cause in error.causes:
                print(cause.field, cause.message)  # who owns the field
    """


class AlreadyExists(ApiError):  # noqa: N818
    """409: an object of this name exists already.

    ::

        with contextlib.suppress(AlreadyExists):
            await client.create(Namespace(metadata=ObjectMeta(name="builds")))
    """


class Gone(ApiError):  # noqa: N818
    """410: the resource version is too old to continue from. List again.

    ::

        while True:
            with contextlib.suppress(Gone):
                async for event in client.watch(Pod, namespace="default"):  # begins with a list
                    print(event.type, event.object.metadata.name)
    """


class Expired(Gone):
    """410 ``Expired``: a watch or a continue token is older than the server's history."""


class RequestEntityTooLarge(ApiError):  # noqa: N818
    """413: the object is larger than the server accepts."""


class UnsupportedMediaType(ApiError):  # noqa: N818
    """415: the resource does not know this kind of patch."""


class Invalid(ApiError):  # noqa: N818
    """422: the object violates its schema or a rule. ``causes`` name the fields."""

    @classmethod
    def of(cls, obj: AnyObject, errors: Sequence[FieldError]) -> Self:
        """Make the error with which a webhook refuses an object.

        ::

            raise Invalid.of(machine, [FieldError("spec.cpu", "must be even", value=3)])

        Raises:
            ValueError: The list of errors is empty.
        """
        from pykb.client.codec import gvk_of, name_of

        return cls.for_kind(gvk_of(obj).group_kind, name_of(obj), errors)

    @classmethod
    def for_kind(cls, kind: GroupKind, name: str, errors: Sequence[FieldError]) -> Self:
        """Make the error with which a webhook refuses an object of a kind.

        Raises:
            ValueError: The list of errors is empty.
        """
        if not errors:
            raise ValueError("an object without a field error is not invalid: raise only when there is one")
        texts = list(dict.fromkeys(map(str, errors)))
        told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        causes = tuple(Cause(str(error.type), error.body, error.path) for error in errors)
        details = StatusDetails(name=name, group=kind.group, kind=kind.kind, causes=causes)
        return cls(422, "Invalid", f'{kind} "{name}" is invalid: {told}', details)


class TooManyRequests(ApiError):  # noqa: N818
    """429: the server is busy, or a disruption budget does not allow an eviction.

    ::

        try:
            await client.subresource("eviction").create(pod, eviction)
        except TooManyRequests as error:
            return Result(requeue_after=error.retry_after or timedelta(seconds=10))
    """


class InternalServerError(ApiError):
    """500: the server or a webhook failed."""


class ServerTimeout(ApiError):  # noqa: N818
    """500 ``ServerTimeout``: the server could not finish in time. The request may be retried."""


class ServiceUnavailable(ApiError):  # noqa: N818
    """503: the server is not ready."""


class Timeout(ApiError):  # noqa: N818
    """504: the request took too long. It may or may not have had an effect."""


class ServerUnreachable(EnvironmentProblem):
    """No answer: the connection failed, broke or timed out. A write may or may not have had an effect.

    ``connected`` is false if the connection itself failed. The request then had no effect.
    """

    def __init__(self, diagnostic: Diagnostic, *, connected: bool = False) -> None:
        super().__init__(diagnostic)
        self.connected = connected


class NoKindMatch(PykbError):  # noqa: N818
    """The API server does not serve a kind.

    ::

        try:
            certificates = await client.list(Certificate, namespace="default")
        except NoKindMatch:
            return Result(requeue_after=timedelta(minutes=1))  # until cert-manager is installed
    """

    def __init__(self, kind: str, message: str, help: str) -> None:  # noqa: A002 - as in diagnostics
        super().__init__(f"{message}; {help}")
        self.kind = kind
        self.message = message
        self.help = help

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.kind, self.message, self.help))


_REFUSAL = re.compile(r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"')
_READING = ("get", "list", "watch")


def _rule_for(message: str) -> str:
    """The marker of the RBAC rule that the refused request needs, or nothing.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/ (the message of the authorizer).
    """
    match = _REFUSAL.search(message)
    if match is None:
        return ""
    return rule_marker([match["verb"]], match["group"], match["resource"])


def rule_marker(verbs: Iterable[str], group: str, resource: str) -> str:
    """The marker of the RBAC rule that allows these verbs. Whoever reads objects through a cache needs three."""
    needed = dict.fromkeys(verbs)
    if needed.keys() & set(_READING) and "/" not in resource:
        needed = dict.fromkeys((*_READING, *needed))
    return f"""# +kubebuilder:rbac:groups={group or '""'},resources={resource},verbs={";".join(needed)}"""


def allows(rule: Mapping[str, Any], verb: str, group: str, resource: str) -> bool:
    """Whether an RBAC rule allows a verb on objects of any name, or of the names that it lists.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
    """
    asked = {"verbs": verb, "apiGroups": group, "resources": resource}
    lists = ((rule.get(key), value) for key, value in asked.items())
    return all(isinstance(values, list | tuple) and ("*" in values or value in values) for values, value in lists)


def with_rule(message: str) -> str:
    """The message of a refused request, with the RBAC rule that would have allowed it."""
    rule = _rule_for(message)
    return f"{message}; to allow it: `{rule}`" if rule else message


_LONGEST_PAGE = 1024
_LONGEST_NAME = 512
_MOST_CAUSES = 1000
_LONGEST_WAIT = 3600

_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotSupported,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalServerError,
    503: ServiceUnavailable,
    504: Timeout,
}
_BY_REASON: Mapping[str, type[ApiError]] = {
    **{kind.__name__: kind for kind in (*_BY_STATUS.values(), AlreadyExists, Expired, ServerTimeout)},
    "MethodNotAllowed": MethodNotSupported,
    "InternalError": InternalServerError,
}
REASONS: Mapping[int, str] = {
    **{status: kind.__name__ for status, kind in _BY_STATUS.items()},
    405: "MethodNotAllowed",
    500: "InternalError",
}
"""The reason of each status code, if it has one."""


def status_of(error: ApiError) -> dict[str, Any]:
    """The ``Status`` that tells an error, as an API server writes it."""
    details = error.details
    causes = [{"reason": each.reason, "message": each.message, "field": each.field} for each in details.causes]
    told = {"name": details.name, "group": details.group, "kind": details.kind, "uid": details.uid, "causes": causes}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "details": {name: value for name, value in told.items() if value},
        "code": error.status,
    }


def error_from_status(code: int, body: object, *, retry_after: timedelta | None = None) -> ApiError:
    """Make the exception for an answer.

    Args:
        code: The HTTP code.
        body: The decoded body. It is a ``Status`` from the API server, and anything from a proxy.
        retry_after: The value of the ``Retry-After`` header. It overrides the body.
    """
    if not isinstance(body, dict) or body.get("kind") != "Status":
        text = body if isinstance(body, str) and body.strip() else f"the server answered with {code}"
        text = safe_text(text.strip(), _LONGEST_PAGE)
        return _BY_STATUS.get(code, ApiError)(code, "", text, StatusDetails(retry_after=retry_after))
    reason = safe_text(body.get("reason") or "", _LONGEST_NAME)
    found = body.get("code")
    status = found if isinstance(found, int) and 400 <= found < 600 else code
    message = safe_text(body.get("message") or reason or f"the server answered with {status}")
    kind = _BY_REASON.get(reason) or _BY_STATUS.get(status, ApiError)
    return kind(status, reason, message, _details(body.get("details"), retry_after))


def _details(raw: object, retry_after: timedelta | None) -> StatusDetails:
    details = mapping(raw)
    causes = details.get("causes")
    if retry_after is None:
        retry_after = seconds_to_wait(details.get("retryAfterSeconds"))
    named = {key: safe_text(details.get(key) or "", _LONGEST_NAME) for key in ("name", "group", "kind", "uid")}
    found = tuple(
        Cause(*(safe_text(cause.get(key) or "") for key in ("reason", "message", "field")))
        for cause in (causes if isinstance(causes, list) else [])[:_MOST_CAUSES]
        if isinstance(cause, dict)
    )
    return StatusDetails(**named, causes=found, retry_after=retry_after)


def seconds_to_wait(found: object) -> timedelta | None:
    """The time that a server asks to wait: a number of seconds, or its text. At most an hour."""
    if isinstance(found, str):
        if not (found.isascii() and found.isdigit() and len(found) < 10):
            return None
        return timedelta(seconds=min(int(found), _LONGEST_WAIT))
    if not isinstance(found, (int, float)) or not 0 < found < float("inf"):
        return None
    return timedelta(seconds=min(float(found), _LONGEST_WAIT))
