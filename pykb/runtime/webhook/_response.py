"""Responses to admission requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pykb.diagnostics import PykbError
from pykb.runtime.errors import ApiError
from pykb.runtime.webhook._admission import AdmissionRequest, AdmissionResponse
from pykb.runtime.webhook._jsonpatch import operations

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Denied(PykbError):  # noqa: N818 - says what the request is
    """Raised by a webhook to refuse a request. The default code is 403."""

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
    reason = _REASONS.get(code, "")
    return AdmissionResponse(allowed=False, code=code, reason=reason, message=message, warnings=tuple(warnings))


def errored(error: ApiError | str, code: int = 500) -> AdmissionResponse:
    """Report a failure of the webhook: an error of the API, whose status is returned, or a message."""
    if isinstance(error, str):
        return denied(error, code=code)
    return AdmissionResponse(
        allowed=False,
        code=error.status,
        reason=error.reason or _REASONS.get(error.status, ""),
        message=error.message,
        details=error.details,
    )


def patched(request: AdmissionRequest, changed: Mapping[str, Any], *warnings: str) -> AdmissionResponse:
    """Allow the request with a changed object. The patch is the difference from the request's object."""
    return AdmissionResponse(allowed=True, patch=operations(request.object or {}, changed), warnings=warnings)
