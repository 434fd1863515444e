"""Status conditions, as the API conventions define them.

https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, Protocol, TypeVar

from pykb.api.meta.v1 import Condition
from pykb.api.safe_text import safe_text

Status = Literal["True", "False", "Unknown"]


class AnyCondition(Protocol):
    """A condition of any class: ``Condition``, ``PodCondition``, ``DeploymentCondition``."""

    @property
    def type(self) -> str | None:
        """What it is about."""

    @property
    def status(self) -> str | None:
        """``True``, ``False`` or ``Unknown``."""


ConditionT = TypeVar("ConditionT", bound=AnyCondition)

# The patterns of metav1.Condition. Its class does not check them, since the server itself violates
# them.
_LONGEST_MESSAGE = 32768
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_TYPE = re.compile(rf"({_DNS}(\.{_DNS})*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")


def set_condition(
    conditions: Iterable[Condition] | None,
    type: str,  # noqa: A002 - the field's name
    status: Status | bool,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: datetime | None = None,
) -> list[Condition]:
    """Return the conditions with one of them added or updated. The argument is not changed.

    ``lastTransitionTime`` changes only when the status changes. Setting the same condition again
    therefore makes no difference::

        status.conditions = set_condition(status.conditions, "Ready", True, reason="Running")

    Args:
        conditions: The present conditions. None means that there are none.
        type: The type of the condition to set.
        status: The new status. True and False stand for ``"True"`` and ``"False"``.
        reason: The reason, one word in CamelCase. The API requires it.
        message: A message for people. Cut at 32768 characters, without the values that Pydantic quotes.
        observed_generation: The ``metadata.generation`` of the object that the status describes.
        now: The time of a transition. Defaults to the current time.

    Raises:
        ValueError: The API server would refuse the type or the reason.
    """
    if not _REASON.fullmatch(reason) or len(reason) > 1024:
        raise ValueError(f"{reason!r} is not a valid reason: expected one word in CamelCase")
    if not _TYPE.fullmatch(type) or len(type) > 316:
        raise ValueError(f"{type!r} is not a condition type: expected a word such as Ready or example.com/Ready")
    message = safe_text(message, _LONGEST_MESSAGE)
    text: Status = status if isinstance(status, str) else "True" if status else "False"
    result = list(conditions or ())
    for index, old in enumerate(result):
        if old.type == type:
            result[index] = new = old.model_copy()
            if old.status != text:
                new.last_transition_time = _now(now)
            new.status, new.reason, new.message = text, reason, message
            if observed_generation is not None:
                new.observed_generation = observed_generation
            return result
    result.append(
        Condition(
            type=type,
            status=text,
            reason=reason,
            message=message,
            observed_generation=observed_generation,
            last_transition_time=_now(now),
        )
    )
    return result


def find_condition(conditions: Iterable[ConditionT] | None, type: str) -> ConditionT | None:  # noqa: A002
    """Return the condition of a type, or None.

    All functions but :func:`set_condition` take conditions of any class::

        ready = find_condition(pod.status.conditions if pod.status else None, "Ready")  # a PodCondition
    """
    return next((condition for condition in conditions or () if condition.type == type), None)


def remove_condition(conditions: Iterable[ConditionT] | None, type: str) -> list[ConditionT]:  # noqa: A002
    """Return the conditions without the one of a type.

    ::

        status.conditions = remove_condition(status.conditions, "Degraded")
    """
    return [condition for condition in conditions or () if condition.type != type]


def is_condition_true(conditions: Iterable[AnyCondition] | None, type: str) -> bool:  # noqa: A002
    """Report whether the condition of a type exists and is ``True``.

    ::

        if not is_condition_true(status.conditions, "Ready"):
            return Result(requeue_after=timedelta(seconds=10))
    """
    found = find_condition(conditions, type)
    return found is not None and found.status == "True"


def is_condition_false(conditions: Iterable[AnyCondition] | None, type: str) -> bool:  # noqa: A002
    """Report whether the condition of a type exists and is ``False``.

    ::

        if is_condition_false(status.conditions, "Ready"):  # not if it is missing or Unknown
            self.recorder.event(machine, "Warning", "NotReady", "the machine does not run")
    """
    found = find_condition(conditions, type)
    return found is not None and found.status == "False"


def _now(now: datetime | None) -> datetime:
    return (now or datetime.now(UTC)).replace(microsecond=0)
