"""The fence around a leader's work: no request that changes something leaves once the lease has run out.

A process that was stopped and goes on later (SIGSTOP, a paused virtual machine, a laptop's lid) continues in the middle
of a reconcile, before any timer has had a chance to end it; meanwhile another replica may lead. So the clock is looked
at once more where a request is sent. What was sent before the stop cannot be called back: for that there is the
``resourceVersion``.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable

_check: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("fence", default=None)


def fenced(check: Callable[[], None]) -> contextvars.Context:
    """A context, for a task, in which ``check`` is asked before each write; so it is in all tasks started in there.

    Args:
        check: Raises when writing is not allowed any more.
    """
    context = contextvars.copy_context()
    context.run(_check.set, check)
    return context


def check_fence() -> None:
    """Ask whether the work that runs now may still write; outside of any fence it may.

    Raises:
        LeadershipLost: It works for a leader that leads no more.
    """
    check = _check.get()
    if check is not None:
        check()
