"""Who learns what when a webhook fails: the client gets the type of the error, the log gets all but values."""

from __future__ import annotations

import logging
from typing import Any

from pydantic import ValidationError

from pykb.api.unreadable import UnreadableObject, problems_of
from pykb.runtime._field_error import FieldError, FieldErrorType
from pykb.runtime._metrics import Metrics
from pykb.runtime.errors import ApiError, Invalid
from pykb.runtime.webhook._admission import AdmissionResponse
from pykb.runtime.webhook._response import Denied, denied, errored

logger = logging.getLogger(__name__)


class ValuesLeftOut(Exception):  # noqa: N818 - stands for another error
    """Replaces Pydantic's error in the log. The text of that error contains values, which may be secrets."""


def answer_to(error: BaseException, metrics: Metrics) -> AdmissionResponse:
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


def without_values(error: BaseException) -> BaseException:
    """Return the error to log. Pydantic's errors in its chain are replaced by equal ones without values."""
    made: BaseException = error
    if isinstance(error, ValidationError):
        told = "; ".join(map(str, problems_of(error)))
        made = ValuesLeftOut(f"{error.title}: {told}").with_traceback(error.__traceback__)
    if isinstance(error, BaseExceptionGroup):
        made = error.derive([without_values(each) for each in error.exceptions]).with_traceback(error.__traceback__)
    cause, context = error.__cause__, error.__context__
    suppressed: Any = error.__suppress_context__
    made.__cause__ = without_values(cause) if cause is not None else None
    made.__context__ = without_values(context) if context is not None and context is not cause else None
    made.__suppress_context__ = suppressed
    return made
