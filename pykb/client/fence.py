"""The fence around a leader's work: no write is sent after the lease has expired.

A process can be paused (SIGSTOP, a paused virtual machine, a closed laptop). It then continues in
the middle of a reconcile, before any timer can end it. Meanwhile another replica may lead.
Therefore the clock is checked again when a request is sent. A request sent before the pause cannot
be recalled; the ``resourceVersion`` protects against it.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator

_check: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("fence", default=None)


def fenced(check: Callable[[], None]) -> contextvars.Context:
    """Make a context for a task in which ``check`` is called before each write. Tasks started in it inherit the check.

    Args:
        check: Raises if writing is not allowed any more.
    """
    context = contextvars.copy_context()
    context.run(_check.set, check)
    return context


@contextlib.contextmanager
def fence(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` before each write of a part of a task, in place of the task's own check."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_fence() -> None:
    """Check that the running task may still write. Outside of a fence it always may.

    Raises:
        LeadershipLost: It belongs to a leader that has lost its lease.
    """
    check = _check.get()
    if check is not None:
        check()
