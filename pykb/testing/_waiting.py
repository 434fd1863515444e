"""Waits until a cluster reaches a state."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar, overload

from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.errors import NotFound

T = TypeVar("T")

RETRIED = (AssertionError, NotFound)


@overload
async def eventually(
    check: Callable[[], Awaitable[T]],
    timeout: timedelta = ...,  # noqa: ASYNC109
    interval: timedelta = ...,
    *,
    clock: Clock | None = ...,
) -> T: ...
@overload
async def eventually(
    check: Callable[[], T],
    timeout: timedelta = ...,  # noqa: ASYNC109
    interval: timedelta = ...,
    *,
    clock: Clock | None = ...,
) -> T: ...
async def eventually(
    check: Callable[[], Awaitable[T] | T],
    timeout: timedelta = timedelta(seconds=10),  # noqa: ASYNC109 - the time for all tries, not for one
    interval: timedelta = timedelta(milliseconds=50),
    *,
    clock: Clock | None = None,
) -> T:
    """Call ``check`` until it passes, and return its result.

    It does not pass if it raises ``AssertionError`` or ``NotFound``, or returns ``False``. Any
    other error ends the wait::

        async def is_running() -> None:
            machine = await client.get(VirtulMachine, "default/vm")
            assert machine.status.phase == "Running"

        await eventually(is_running)

    Args:
        check: A function, async or not.
        timeout: How long to try. A try that is still running is then cancelled.
        interval: How long to wait between tries.
        clock: The clock for waiting. Defaults to the system's clock.

    Raises:
        AssertionError: It did not pass in time. The message has the reason of the last try.
    """
    clock = clock or SystemClock()
    deadline = clock.now() + timeout.total_seconds()
    while True:
        last: BaseException | None = None
        try:
            async with asyncio.timeout(timeout.total_seconds() if isinstance(clock, SystemClock) else None):
                answer = check()
                result: T = await answer if inspect.isawaitable(answer) else answer
            if result is not False:
                return result
        except RETRIED as error:
            last = error
        except TimeoutError as error:
            last = error
        if clock.now() >= deadline:
            reason = str(last) if last else "it returned False"
            raise AssertionError(f"not within {timeout.total_seconds():g} s: {reason}") from last
        await clock.sleep(interval)
