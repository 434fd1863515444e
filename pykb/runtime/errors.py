"""What an API server refuses, as exceptions to catch by kind; and the server that does not answer.

Source: https://github.com/kubernetes/community/blob/main/contributors/devel/sig-architecture/api-conventions.md#error-codes
(an error is a ``Status`` object with ``reason``, ``message``, ``details`` and ``code``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from pykb.diagnostics import Diagnostic, EnvironmentProblem, PykbError

if TYPE_CHECKING:
    from pykb.meta.gvk import GroupKind
    from pykb.runtime._field_error import FieldError
    from pykb.runtime.client.codec import AnyObject


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason among several, most often a field that does not fit."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class StatusDetails:
    """What an error is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: timedelta | None = None


class ApiError(PykbError):
    """The API server answered with an error.

    Attributes:
        status: The HTTP code.
        reason: The machine-readable word (``NotFound``), empty when the answer was no ``Status``.
        message: The server's words.
        details: What it is about, with a cause for each field of an invalid object.
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
        """How long the server asks to wait, where it does."""
        return self.details.retry_after


class BadRequest(ApiError):  # noqa: N818 - the names are Kubernetes' reasons
    """400: the request itself is wrong."""


class Unauthorized(ApiError):  # noqa: N818
    """401: the credentials are not accepted, also after they were renewed."""


class Forbidden(ApiError):  # noqa: N818
    """403: RBAC, admission or quota does not allow it."""

    def __str__(self) -> str:
        return with_rule(super().__str__())

    @property
    def missing_rule(self) -> str:
        """The marker of the RBAC rule that would have allowed it; empty where no rule is what is missing."""
        return _rule_for(self.message)


class NotFound(ApiError):  # noqa: N818
    """404: there is no such object, or no such resource."""


class MethodNotSupported(ApiError):  # noqa: N818
    """405: the resource does not have this verb."""


class NotAcceptable(ApiError):  # noqa: N818
    """406: the server cannot answer in the format asked for."""


class Conflict(ApiError):  # noqa: N818
    """409: the object has changed since it was read, or another manager owns a field that is applied."""


class AlreadyExists(ApiError):  # noqa: N818
    """409: an object of this name is there already."""


class Gone(ApiError):  # noqa: N818
    """410: the resource version is too old to go on from; list again."""


class Expired(Gone):
    """410 ``Expired``: a watch or a continue token has outlived the server's history."""


class RequestEntityTooLarge(ApiError):  # noqa: N818
    """413: the object is larger than the server takes."""


class UnsupportedMediaType(ApiError):  # noqa: N818
    """415: the resource does not know this kind of patch."""


class Invalid(ApiError):  # noqa: N818
    """422: the object breaks its schema or a rule; ``causes`` say where."""

    @classmethod
    def of(cls, obj: AnyObject, errors: Sequence[FieldError]) -> Self:
        """The refusal of an object, for a webhook to raise.

        ::

            raise Invalid.of(machine, [FieldError("spec.cpu", "must be even", value=3)])

        Raises:
            ValueError: There are no errors, so there is nothing to refuse.
        """
        from pykb.runtime.client.codec import gvk_of, name_of

        return cls.for_kind(gvk_of(obj).group_kind, name_of(obj), errors)

    @classmethod
    def for_kind(cls, kind: GroupKind, name: str, errors: Sequence[FieldError]) -> Self:
        """The refusal of an object of a kind.

        Raises:
            ValueError: There are no errors, so there is nothing to refuse.
        """
        if not errors:
            raise ValueError("an object without a field error is not invalid: raise only when there is one")
        texts = list(dict.fromkeys(map(str, errors)))
        told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        causes = tuple(Cause(str(error.type), error.body, error.path) for error in errors)
        details = StatusDetails(name=name, group=kind.group, kind=kind.kind, causes=causes)
        return cls(422, "Invalid", f'{kind} "{name}" is invalid: {told}', details)


class TooManyRequests(ApiError):  # noqa: N818
    """429: the server is busy, or a disruption budget stands against an eviction."""


class InternalServerError(ApiError):
    """500: the server failed, or a webhook did."""


class ServerTimeout(ApiError):  # noqa: N818
    """500 ``ServerTimeout``: the server could not do it in time; it may be tried again."""


class ServiceUnavailable(ApiError):  # noqa: N818
    """503: the server is not ready."""


class Timeout(ApiError):  # noqa: N818
    """504: it took too long; whether it was done is unknown."""


class ServerUnreachable(EnvironmentProblem):
    """No answer: no connection, a broken one, or none in time. Whether a write was done is unknown.

    ``connected`` is false when the connection itself failed, so that nothing can have been done.
    """

    def __init__(self, diagnostic: Diagnostic, *, connected: bool = False) -> None:
        super().__init__(diagnostic)
        self.connected = connected


class NoKindMatch(PykbError):  # noqa: N818
    """The API server does not serve a kind."""

    def __init__(self, kind: str, message: str, help: str) -> None:  # noqa: A002 - as in diagnostics
        super().__init__(f"{message}; {help}")
        self.kind = kind
        self.message = message
        self.help = help

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.kind, self.message, self.help))


_REFUSAL = re.compile(r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"')
_READING = {"get", "list", "watch"}


def _rule_for(message: str) -> str:
    """The marker of the RBAC rule that an API server's refusal asks for, or nothing.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/ (the message of the authorizer).
    """
    found = _REFUSAL.search(message)
    if found is None:
        return ""
    group = found["group"] or '""'
    verbs = "get;list;watch" if found["verb"] in _READING and "/" not in found["resource"] else found["verb"]
    return f"# +kubebuilder:rbac:groups={group},resources={found['resource']},verbs={verbs}"


def with_rule(message: str) -> str:
    """An API server's refusal, and the RBAC rule that would have allowed it."""
    rule = _rule_for(message)
    return f"{message}; to allow it: `{rule}`" if rule else message


_BY_REASON: Mapping[str, type[ApiError]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotSupported,
    "NotAcceptable": NotAcceptable,
    "Conflict": Conflict,
    "AlreadyExists": AlreadyExists,
    "Gone": Gone,
    "Expired": Expired,
    "RequestEntityTooLarge": RequestEntityTooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": InternalServerError,
    "ServerTimeout": ServerTimeout,
    "ServiceUnavailable": ServiceUnavailable,
    "Timeout": Timeout,
}
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


def error_from_status(code: int, body: object, *, retry_after: timedelta | None = None) -> ApiError:
    """The exception for an answer.

    Args:
        code: The HTTP code.
        body: The decoded body; a ``Status`` where the API server itself answered, anything else from a proxy.
        retry_after: What the header of that name said; stronger than the body.
    """
    if not isinstance(body, dict) or body.get("kind") != "Status":
        text = body if isinstance(body, str) and body.strip() else f"the server answered with {code}"
        return _BY_STATUS.get(code, ApiError)(code, "", text.strip(), StatusDetails(retry_after=retry_after))
    reason = str(body.get("reason") or "")
    status = int(body.get("code") or code)
    message = str(body.get("message") or reason or f"the server answered with {status}")
    kind = _BY_REASON.get(reason) or _BY_STATUS.get(status, ApiError)
    return kind(status, reason, message, _details(body.get("details"), retry_after))


def _details(raw: object, retry_after: timedelta | None) -> StatusDetails:
    details = raw if isinstance(raw, dict) else {}
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = timedelta(seconds=float(details["retryAfterSeconds"]))
    return StatusDetails(
        name=str(details.get("name") or ""),
        group=str(details.get("group") or ""),
        kind=str(details.get("kind") or ""),
        uid=str(details.get("uid") or ""),
        causes=tuple(
            Cause(str(cause.get("reason") or ""), str(cause.get("message") or ""), str(cause.get("field") or ""))
            for cause in details.get("causes") or ()
        ),
        retry_after=retry_after,
    )
