"""What a task carries: for whom it works, and whether it may still write.

A controller sets a witness for each reconcile, which learns what the task sends to the API server and what the server
has stored. So the client knows nothing of controllers.

A fence is around a leader's work: no write is sent after the lease has expired. A process can be paused (SIGSTOP, a
paused virtual machine, a closed laptop). It then continues in the middle of a reconcile, before any timer can end it.
Meanwhile another replica may lead. Therefore the clock is checked again when a request is sent. A request sent before
the pause cannot be recalled; the ``resourceVersion`` protects against it.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader, Call


T = TypeVar("T")


class Witness(Protocol):
    """Learns of the requests of a task. Each method gets the cache from which the client reads, if it has one."""

    @property
    def wants_requests(self) -> bool:
        """Whether :meth:`sent` is called for each request. Most witnesses only want to know what was written."""

    async def sent(
        self, answer: Awaitable[dict[str, Any]], call: Call, gvk: GroupVersionKind, cache: CacheReader | None
    ) -> dict[str, Any]:
        """Await the answer to a request and return it."""

    def stored(
        self,
        cache: CacheReader | None,
        gvk: GroupVersionKind,
        obj: dict[str, Any],
        query: Iterable[tuple[str, str]] = (),
    ) -> None:
        """The server has answered a write with this object. ``query`` is that of the request."""

    def deleted(
        self, cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, answer: dict[str, Any]
    ) -> None:
        """The server has accepted the deletion of an object."""

    def conflicted(self, cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, version: str) -> None:
        """The server has refused a write: the object has changed since it had this version."""


current_witness: ContextVar[Witness | None] = ContextVar("witness", default=None)
"""The witness of the running task."""

current_call: ContextVar[Mapping[str, str] | None] = ContextVar("current_call", default=None)
"""The identity of the call that the running task serves, as fields of its log lines."""


trace_parent: ContextVar[str] = ContextVar("trace_parent", default="")
"""The header ``traceparent`` of the requests of the running task. The API server passes it on to the admission
webhooks that it calls for them, also if it makes no traces. A program that makes some has its own.

Source: https://www.w3.org/TR/trace-context/#traceparent-header
"""


def reset(variable: ContextVar[T], token: contextvars.Token[T]) -> None:
    """Give a variable the value that it had. A coroutine that is closed with its event loop is in another context."""
    with contextlib.suppress(ValueError):
        variable.reset(token)


_fence: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("fence", default=None)


def fenced(check: Callable[[], None]) -> contextvars.Context:
    """Make a context for a task in which ``check`` is called before each write. Tasks started in it inherit the check.

    Args:
        check: Raises if writing is not allowed any more.
    """
    context = contextvars.copy_context()
    context.run(_fence.set, check)
    return context


@contextlib.contextmanager
def fence(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` before each write of a part of a task, in place of the task's own check."""
    token = _fence.set(check)
    try:
        yield
    finally:
        reset(_fence, token)


def check_fence() -> None:
    """Check that the running task may still write. Outside of a fence it always may.

    Raises:
        LeadershipLost: It belongs to a leader that has lost its lease.
    """
    check = _fence.get()
    if check is not None:
        check()
