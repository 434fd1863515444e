"""What a failure of a webhook's author is told to whom: the client its kind, the log everything but values."""

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
    """Stands in a log for Pydantic's error, whose text has the values; they may be secrets."""


def answer_to(error: BaseException, metrics: Metrics) -> AdmissionResponse:
    """The answer when a webhook raised."""
    error = alone(error)
    if isinstance(error, Denied):
        return denied(error.message, code=error.code, warnings=error.warnings)
    if isinstance(error, ApiError):
        return errored(error)
    metrics.webhook_panics.inc()
    logger.error("webhook failed", extra={"error": type(error).__name__}, exc_info=without_values(error))
    return errored("internal error")


def alone(error: BaseException) -> BaseException:
    """The error itself: a task group wraps even a single one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def unfit(error: UnreadableObject, name: str) -> Invalid:
    """The refusal of an object that does not fit its class, as the API server words it."""
    causes = [
        FieldError.required(problem.path)
        if problem.is_missing
        else FieldError(problem.path, problem.problem, type=FieldErrorType.TYPE_INVALID)
        for problem in error.problems
    ]
    return Invalid.for_kind(error.gvk.group_kind, name, causes)


def without_values(error: BaseException) -> BaseException:
    """The error to log: Pydantic's errors in its chain are replaced by what says the same without values."""
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
