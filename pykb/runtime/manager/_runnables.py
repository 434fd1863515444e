"""Runnables, which run as long as the manager, in groups that start and stop in order."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol, TypeAlias, runtime_checkable

from pykb.runtime._bridge import Bridge

logger = logging.getLogger(__name__)


@runtime_checkable
class Runnable(Protocol):
    """Something that runs until it is cancelled.

    It may end by itself. If it ends with an error, so does the manager. Only the leader runs it,
    unless its attribute ``needs_leader_election`` is false. Then every replica runs it.
    """

    async def run(self) -> None:
        """Run until cancelled."""
        ...


RunFunction: TypeAlias = Callable[[], Awaitable[object]]


class RunnableGroup:
    """Runnables that start and stop together. Those added while the group runs start at once."""

    def __init__(self, name: str, failed: Callable[[BaseException], None]) -> None:
        self.name = name
        self._failed = failed
        self._waiting: list[tuple[str, RunFunction]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = False
        self._context = contextvars.Context()

    def add(self, function: RunFunction, *, name: str) -> None:
        """Add a runnable to the group."""
        if self._running:
            self._spawn(function, name)
        else:
            self._waiting.append((name, function))

    def start(self) -> None:
        """Start the runnables that were added."""
        self._running = True
        self._context = contextvars.copy_context()
        Bridge().enter(self._context)  # for threads that kopf or `asyncio.to_thread` starts
        waiting, self._waiting = self._waiting, []
        for name, function in waiting:
            self._spawn(function, name)

    async def stop(self, deadline: float) -> bool:
        """Cancel all and wait until ``deadline`` (a time of the event loop). Return whether all have ended.

        A runnable that has not ended by then is cancelled once more and left behind.
        """
        self._running = False
        tasks = set(self._tasks)
        if not tasks:
            return True
        for task in tasks:
            task.cancel()
        left = deadline - asyncio.get_running_loop().time()
        _, pending = await asyncio.wait(tasks, timeout=max(0.0, left))
        if not pending:
            return True
        for task in pending:
            task.cancel()
        # The second cancellation stops the draining. The runnable gets a short time to clean up.
        _, pending = await asyncio.wait(pending, timeout=LAST_MOMENT.total_seconds())
        names = ", ".join(sorted(task.get_name() for task in tasks))
        logger.error("not stopped in time", extra={"group": self.name, "runnables": names})
        return False

    def _spawn(self, function: RunFunction, name: str) -> None:
        task: asyncio.Task[None] = asyncio.create_task(
            _awaited(function, name),
            name=name,
            # A runnable added later runs in the group's context, not in its caller's.
            context=self._context.copy(),
        )
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        # A task group wraps even a single error. People need to see the error itself.
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if error is not None:
            self._failed(error)


LAST_MOMENT = timedelta(seconds=1)


async def _awaited(function: RunFunction, name: str) -> None:
    running: object = function()
    if not inspect.isawaitable(running):
        raise TypeError(f"runnable `{name}` must be a coroutine function: write `async def`")
    await running
