"""The fence around a leader's work: no write is sent after the lease has expired.

A process can be paused (SIGSTOP, a paused virtual machine, a closed laptop). It then continues in
the middle of a reconcile, before any timer can end it. Meanwhile another replica may lead.
Therefore the clock is checked again when a request is sent. A request sent before the pause cannot
be recalled; the ``resourceVersion`` protects against it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable

_check: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("fence", default=None)


def fenced(check: Callable[[], None]) -> contextvars.Context:
    """Make a context for a task in which ``check`` is called before each write. Tasks started in it inherit the check.

    Args:
        check: Raises if writing is not allowed any more.
    """
    context = contextvars.copy_context()
    context.run(_check.set, check)
    return context


def check_fence() -> None:
    """Check that the running task may still write. Outside of a fence it always may.

    Raises:
        LeadershipLost: It belongs to a leader that has lost its lease.
    """
    check = _check.get()
    if check is not None:
        check()
