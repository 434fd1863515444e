"""The guard around calls of the program's own code: whatever a function raises is its failure, and nobody else's.

A reconciler, a webhook or a map function may raise anything: an error, ``SystemExit``, a group, the panic of a
library in Rust. It may also cancel the task that calls it. None of this may end a watch, a worker or the manager,
which call the functions of all authors in turn. So each caller catches ``BaseException`` and asks :func:`is_end`, or
:func:`ends_task` if it waits for the function. A function that is called in the event loop, in somebody else's task, is
called through :func:`outside_task`.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def is_end(error: BaseException) -> bool:
    """Whether an error comes from a signal or from somebody who leaves the debugger.

    Then the program is to end, and the error is not a failure of its code.
    """
    debugger = sys.modules.get("bdb")
    if debugger is not None and isinstance(error, debugger.BdbQuit):
        return True
    if not isinstance(error, (KeyboardInterrupt, SystemExit)):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False  # only the main thread handles signals
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    if isinstance(error, KeyboardInterrupt) and handlers[0] is signal.default_int_handler:
        return True  # nothing tells it from one that a function raised
    codes = [_code_of(handler) for handler in handlers]
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _code_of(handler: Any) -> object:
    while isinstance(handler, functools.partial):
        handler = handler.func
    return getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", handler)


def ends_task(error: BaseException, task: asyncio.Task[Any] | None, *, is_cancelled: bool) -> bool:
    """Whether an error ends the running task or the program, and is not the failure of a function that it waits for.

    Args:
        error: The error.
        task: The task, asked for before the call: none runs when a coroutine is closed with its event loop.
        is_cancelled: Whether whoever runs the task has cancelled it, and not the function.
    """
    if isinstance(error, asyncio.CancelledError):
        return is_cancelled
    is_closed = isinstance(error, GeneratorExit) and (running_loop() is None or asyncio.current_task() is not task)
    return is_closed or is_end(error)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread, if one does."""
    return asyncio._get_running_loop()  # noqa: SLF001 - public, but for its name: it does not raise


def outside_task(function: Callable[P, R], /, *arguments: P.args, **keywords: P.kwargs) -> R:
    """Call a plain function as if no task ran, so that it cannot cancel the task of its caller."""
    loop = running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    if loop is None or task is None:
        return function(*arguments, **keywords)
    # For implementers of tasks: https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support
    asyncio._leave_task(loop, task)  # noqa: SLF001
    try:
        return function(*arguments, **keywords)
    finally:
        asyncio._enter_task(loop, task)  # noqa: SLF001


async def take_back_cancellation(task: asyncio.Task[Any]) -> None:
    """Let the running task continue after code that it called has cancelled it."""
    while task.cancelling():
        task.uncancel()
    try:
        await asyncio.sleep(0)  # before Python 3.13, the next `await` gets the cancellation nevertheless
    except asyncio.CancelledError:
        return


class OwnCancellations:
    """Counts how often a coroutine has cancelled the task that runs it, to take that back.

    What cancels the task within a step is the coroutine. Its caller and time limits do so between two steps.
    """

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._before = 0
        self._count = 0

    def begin_step(self) -> None:
        """The coroutine runs."""
        if self._task is not None:
            self._before = self._task.cancelling()

    def end_step(self) -> None:
        """The coroutine waits, or has ended."""
        if self._task is not None:
            self._count = max(0, self._count + self._task.cancelling() - self._before)

    def arrived(self, error: BaseException) -> None:
        """The task has got an error where the coroutine waits."""
        if isinstance(error, asyncio.CancelledError):
            self._forget()

    async def outcome(self, end: BaseException) -> Any:
        """Return the result of the coroutine, which has ended with this error. Its task continues in any case.

        Raises:
            CancelledError: It has cancelled its task.
            BaseException: The error, if it is not the one that has the result.
        """
        self.end_step()
        has_cancelled = self._count > 0
        try:
            if has_cancelled:
                await self._take_back()
            if not isinstance(end, StopIteration):
                raise end
            if has_cancelled:
                raise asyncio.CancelledError("it cancelled its own task") from None
            return end.value
        finally:
            del end  # its traceback refers to this call: free the memory at once

    async def _take_back(self) -> None:
        self._forget()
        try:
            await asyncio.sleep(0)  # before Python 3.13, the next `await` gets the cancellation nevertheless
        except asyncio.CancelledError:
            if self._task is not None and self._task.cancelling():
                raise  # somebody else has cancelled it as well

    def _forget(self) -> None:
        while self._count and self._task is not None:
            self._count -= 1
            self._task.uncancel()


@types.coroutine
def keeping_its_task(
    coroutine: Coroutine[Any, Any, T],
    own: OwnCancellations | None = None,
    pause: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> Generator[Any, Any, T]:
    """Await a coroutine that may cancel the running task. It raises ``CancelledError`` then, and the task continues.

    Args:
        coroutine: The coroutine.
        own: Counts its cancellations, and is told of each step.
        pause: Awaited before each step that it takes without an error.
    """
    own = own or OwnCancellations()
    raised: BaseException | None = None
    while True:
        if pause is not None and raised is None:
            try:
                yield from pause().__await__()
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's, which ends by it
                raised = error
        own.begin_step()
        try:
            waits_for = coroutine.send(None) if raised is None else coroutine.throw(raised)
        except BaseException as end:  # noqa: BLE001 - it is raised, unless it has the result
            answer: T = yield from own.outcome(end).__await__()
            return answer
        finally:
            raised = None
        own.end_step()
        try:
            yield waits_for
        except BaseException as error:  # noqa: BLE001 - a cancellation, for one
            raised = error
            own.arrived(error)


def call_for_future(function: Callable[[], T]) -> T:
    """Call a function whose outcome goes into a future.

    No future takes ``StopIteration``: before Python 3.13, its waiter would wait forever. ``GeneratorExit`` of a future
    closes the coroutines that wait for it.

    Raises:
        RuntimeError: The function raised one of these, as a coroutine does for ``StopIteration``.
        Exception: What else it raised.
    """
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError("a function raised StopIteration, most often by `next()` without a default") from error
    except GeneratorExit as error:
        raise RuntimeError("a function raised GeneratorExit") from error
