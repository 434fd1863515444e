"""An event loop whose time is virtual: it never waits, but jumps to the next timer."""

# ruff: noqa: SLF001 - it replaces inner parts of asyncio's

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import heapq
import selectors
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar

from pykb.explore._threads import PATIENCE, SLOW_STEP, STEPS, Stack, Threads, stack_of

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")

_SOON = 1e-9
"""Seconds to the next timer that count as none: the resolution of the clock."""

_MANY = 100
"""Timers from which on asyncio looks for those that were cancelled."""


class _Selector(selectors.SelectSelector):
    """Lets time pass in the loop instead of waiting for it."""

    def __init__(self, threads: Threads) -> None:
        super().__init__()
        self.now = 0.0
        self._threads = threads
        self._outside: dict[int, Stack] = {}
        self._given_up: set[int] = set()

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        if len(self.get_map()) > 1:  # the first is the loop's own
            self._outside[key.fd] = stack_of(sys._getframe(1))
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._outside.pop(key.fd, None)
        self._given_up.discard(key.fd)
        return key

    @property
    def is_real(self) -> bool:
        """Whether something outside of the virtual world may wake the loop."""
        threads = self._threads
        return bool(threads.any or self._outside or self._given_up or threads.strays)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # While a thread works, the loop does nothing. So they always alternate in the same way.
        waits = self._threads.busy or (self._outside and timeout != 0)
        slows = (self._threads.stuck or self._given_up) and timeout != 0
        ready = super().select(PATIENCE if waits else SLOW_STEP if slows else 0)
        if waits and not ready:
            self._give_up()
        if ready or timeout == 0:
            return ready
        if timeout is None:
            if self._threads.any:
                return super().select(None)
            raise RuntimeError("the virtual world stands still: nothing is scheduled")
        self.now += timeout
        return ready

    def _give_up(self) -> None:
        self._threads.give_up()
        for stack in self._outside.values():
            self._threads.waited_outside(stack)
        self._given_up |= self._outside.keys()
        self._outside.clear()


class _Call(asyncio.Handle):
    """What a loop calls soon: the original, without its support for debugging."""

    __slots__ = ()
    _loop: Any
    _callback: Any
    _args: Any

    def __init__(self, callback: object, args: object, loop: object, context: contextvars.Context | None) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None


class _Timer(asyncio.TimerHandle):
    """The same of what it calls later."""

    __slots__ = ()
    _loop: Any
    _callback: Any
    _args: Any
    _when: float

    def __init__(
        self, when: float, callback: object, args: object, loop: object, context: contextvars.Context | None
    ) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None
        self._when = when
        self._scheduled = True

    def __lt__(self, other: _Timer) -> bool:  # type: ignore[override] # there are no others in the loop
        return self._when < other._when

    def cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._loop._timer_cancelled_count += self._scheduled
            self._callback = self._args = None


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer.

    It does the same as asyncio's, in the same order. It asks the system for nothing while nobody but its own tasks can
    wake it.
    """

    _ready: deque[Any]
    _scheduled: list[Any]
    _stopping: bool
    _timer_cancelled_count: int

    def __init__(self) -> None:
        self.threads = Threads(self._wake)
        """The plain functions that run in threads."""
        self._virtual = _Selector(self.threads)
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        super().__init__(self._virtual)

    def call_soon(  # type: ignore[override] # typeshed spells its variadic form
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Call a function in the next step."""
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        call = _Call(callback, args, self, context)
        self._ready.append(call)
        return call

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Call a function at a time."""
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        timer = _Timer(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        return timer

    def _run_once(self) -> None:
        ready, timers, virtual = self._ready, self._scheduled, self._virtual
        if virtual.is_real or len(timers) > _MANY or not (timers or ready):
            super()._run_once()  # type: ignore[misc]
            return
        while timers and timers[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(timers)._scheduled = False
        if timers:
            if not ready and not self._stopping:
                virtual.now += max(0.0, timers[0]._when - virtual.now)
            due = virtual.now + _SOON
            while timers and timers[0]._when < due:
                timer = heapq.heappop(timers)
                timer._scheduled = False
                ready.append(timer)
        for _ in range(len(ready)):
            call = ready.popleft()
            if call._cancelled:
                continue
            try:
                call._context.run(call._callback, *call._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - as asyncio does
                self.call_exception_handler({"message": "Exception in callback", "exception": error, "handle": call})

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    def run_in_executor(  # type: ignore[override] # typeshed spells its variadic form
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run a plain function in a thread. Time passes only while the thread waits."""
        pool = executor or self._own_pool()
        run, ended = self.threads.begin(func)
        running = pool.submit(run, *args)
        future = asyncio.wrap_future(running, loop=self)
        running.add_done_callback(ended)  # after the loop has learnt of it: no time passes in between
        return future

    def pass_time(self, seconds: float) -> None:
        """Let time pass while nothing else runs, as after a blocking call."""
        self._virtual.now += seconds

    def _own_pool(self) -> Executor:
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor()
            self.set_default_executor(self._pool)
        return self._pool

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # closed
            self.call_soon_threadsafe(lambda: None)


STEPS.add(VirtualLoop._run_once.__code__)
