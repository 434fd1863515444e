"""Injected clocks, so that tests need not wait.

Whatever waits or measures how long something takes (queues, rate limiters, reflectors, leader election) takes a
:class:`Clock`. The times of day in Leases, conditions and certificates are those of the system. The watchdog looks at
the event loop from outside, so it has the system's clock, too.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Protocol


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the call."""


class Clock(Protocol):
    """A monotonic clock. Only differences between its readings have a meaning.

    ::

        class Cooldown:
            def __init__(self, clock: Clock | None = None) -> None:
                self.clock = clock or SystemClock()  # a VirtualClock in tests
                self.end = self.clock.now() + 60

            def is_over(self) -> bool:
                return self.clock.now() >= self.end
    """

    def now(self) -> float:
        """Seconds since a fixed moment."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Schedule a call for a reading of :meth:`now`. Requires a running event loop."""

    async def sleep(self, delay: timedelta) -> None:
        """Wait."""


class SystemClock:
    """The machine's monotonic clock, which jumps of the wall clock do not affect."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Schedule a call in the running event loop."""
        return asyncio.get_running_loop().call_later(max(0.0, when - time.monotonic()), callback)

    async def sleep(self, delay: timedelta) -> None:
        """Wait in the running event loop."""
        await asyncio.sleep(delay.total_seconds())


class VirtualClock:
    """A clock for tests. It stands still until :meth:`advance` is called.

    ::

        clock = VirtualClock()
        manager = Manager(client=fake_client(machine), clock=clock)
        VirtulMachineReconciler(manager.client).setup(manager)
        async with running(manager):
            clock.advance(timedelta(minutes=10))  # what is due until then runs at once
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._order = count()
        self._timers: list[tuple[float, int, _VirtualTimer]] = []

    def now(self) -> float:
        """Seconds since it was made."""
        return self._now

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Schedule a call for the moment when the clock is advanced to it."""
        timer = _VirtualTimer(callback)
        heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    async def sleep(self, delay: timedelta) -> None:
        """Wait until the clock is advanced far enough."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self.call_at(self._now + delay.total_seconds(), wake)
        try:
            await woken
        finally:
            timer.cancel()

    def advance(self, by: timedelta) -> None:
        """Advance the clock, and make each call that falls due at its own time."""
        end = self._now + by.total_seconds()
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, when)
            timer.fire()
        self._now = end

    @property
    def pending(self) -> int:
        """How many calls are scheduled and not cancelled."""
        return sum(1 for _, _, timer in self._timers if not timer.cancelled)


class _VirtualTimer:
    __slots__ = ("_callback", "cancelled")

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def fire(self) -> None:
        if not self.cancelled:
            self._callback()
