"""Virtual time: an event loop that never waits, and clocks, dates and random values that follow from a seed.

A history of hours takes milliseconds, and the same history always has the same result. User code
needs no change: ``asyncio.sleep``, ``time.sleep``, ``datetime.now``, ``time.time``, ``random``,
``secrets`` and ``uuid.uuid4`` all belong to the virtual world while it exists.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import random
import selectors
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from datetime import UTC, date, datetime, timedelta, tzinfo
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, TypeVar
from unittest import mock

from pydantic._internal import _generate_schema

from pykb.client.clock import Timer
from pykb.explore._threads import PATIENCE, SLOW_STEP, Stack, Threads, sleep, stack_of, wait

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")

START = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
"""The wall clock at the beginning of every history, in seconds since 1970."""


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
            self._outside[key.fd] = stack_of(sys._getframe(1))  # noqa: SLF001 - the caller
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._outside.pop(key.fd, None)
        self._given_up.discard(key.fd)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0 and not (self._threads.any or self._outside or self._given_up):
            return []  # nobody else uses the loop's own socket
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


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer."""

    def __init__(self) -> None:
        self.threads = Threads(self._wake)
        """The plain functions that run in threads."""
        self._virtual = _Selector(self.threads)
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        super().__init__(self._virtual)

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


class LoopClock:
    """A :class:`~pykb.client.clock.Clock` on the time of a loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        """Seconds of the loop's time."""
        return self._loop.time()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Schedule a call."""
        return self._loop.call_at(when, callback)

    async def sleep(self, delay: timedelta) -> None:
        """Wait."""
        await asyncio.sleep(delay.total_seconds())


class _AnyDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, datetime)


def _virtual_datetime(now: Callable[[], float]) -> type[datetime]:
    class VirtualDatetime(datetime, metaclass=_AnyDatetime):  # the metaclass only answers isinstance
        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, handler: Callable[[type], Any]) -> Any:
            return handler(datetime)

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # plain, as the rest expects
            return datetime.fromtimestamp(now(), tz)

        @classmethod
        def utcnow(cls) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(now(), UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(now())  # noqa: DTZ006 - local time, as the original

    return VirtualDatetime


def _virtual_date(now: Callable[[], float]) -> type[date]:
    class AnyDate(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, date)

    class VirtualDate(date, metaclass=AnyDate):
        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, handler: Callable[[type], Any]) -> Any:
            return handler(date)

        @classmethod
        def today(cls) -> date:  # type: ignore[override]
            return datetime.fromtimestamp(now(), UTC).date()

    return VirtualDate


class VirtualTime:
    """Runs coroutines, each in a loop and a world of its own. In between, all clocks are the real ones."""

    def __init__(self) -> None:
        self._loop: VirtualLoop | None = None
        self._chance = random.Random(0)  # noqa: S311 - the values are to be the same each time
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Replace clocks and random values in all modules that are imported by now."""
        chance = self._chance
        replaced: dict[int, object] = {
            id(datetime): _virtual_datetime(self._wall),
            id(date): _virtual_date(self._wall),
            id(time.time): self._wall,
            id(time.time_ns): lambda: int(self._wall() * 1e9),
            id(time.monotonic): self._monotonic,
            id(time.monotonic_ns): lambda: int(self._monotonic() * 1e9),
            id(time.perf_counter): self._monotonic,
            id(time.perf_counter_ns): lambda: int(self._monotonic() * 1e9),
            id(time.gmtime): lambda seconds=None: _GMTIME(self._wall() if seconds is None else seconds),
            id(time.localtime): lambda seconds=None: _LOCALTIME(self._wall() if seconds is None else seconds),
            id(time.strftime): lambda text, moment=None: _STRFTIME(text, moment or _LOCALTIME(self._wall())),
            id(os.urandom): chance.randbytes,  # `secrets`, `uuid` and `random.SystemRandom` call it
        }
        self._stack.callback(random.setstate, random.getstate())
        self._stack.enter_context(self.waiting())
        # Pydantic completes a class at its first use. Before 2.14, it asks then whether a type `is datetime.datetime`.
        real = SimpleNamespace(**vars(sys.modules["datetime"]))
        self._stack.enter_context(mock.patch.object(_generate_schema, "datetime", real))
        self._stack.enter_context(_replacing(replaced))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Replace only what waits, so that modules imported meanwhile keep the real clocks."""
        replaced: dict[int, object] = {id(time.sleep): self._sleep, id(concurrent.futures.wait): wait}
        with _replacing(replaced), mock.patch.object(threading.Thread, "start", self._note_thread()):
            yield

    def run(self, main: Callable[[], Coroutine[Any, Any, T]], seed: int) -> T:
        """Run a coroutine from the beginning of time."""
        loop = self._loop = VirtualLoop()
        random.seed(seed)
        self._chance.seed(seed)
        try:
            return loop.run_until_complete(main())
        finally:
            _close(loop)
            self._loop = None

    def _sleep(self, seconds: float) -> None:
        loop = self._loop
        if loop is None or sys._getframe(1).f_globals.get("__name__") in _UNTOUCHED:  # noqa: SLF001 - the caller
            _SLEEP(seconds)
        elif seconds < 0:
            raise ValueError("sleep length must be non-negative")
        elif _runs(loop):
            loop.pass_time(seconds)
        else:
            sleep(loop, seconds)

    def _note_thread(self) -> Callable[[threading.Thread], None]:
        original = threading.Thread.start

        def start(thread: threading.Thread) -> None:
            caller = sys._getframe(1)  # noqa: SLF001
            if self._loop is not None and not caller.f_globals.get("__name__", "").startswith("concurrent."):
                self._loop.threads.started(thread, caller)
            original(thread)

        return start

    def _monotonic(self) -> float:
        return self._loop.time() if self._loop is not None else _MONOTONIC()

    def _wall(self) -> float:
        return START + self._loop.time() if self._loop is not None else _WALL()


def _runs(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop runs in this thread."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def real_day() -> str:
    """The beginning of present times of the real clock, as text."""
    return _STRFTIME("%Y-%m-%dT", _GMTIME(_WALL()))


_MONOTONIC, _WALL, _SLEEP = time.monotonic, time.time, time.sleep
_GMTIME, _LOCALTIME, _STRFTIME = time.gmtime, time.localtime, time.strftime


@contextlib.contextmanager
def _replacing(replaced: dict[int, object]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for module, name, value in list(_places(replaced)):
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def _places(replaced: dict[int, object]) -> Iterator[tuple[object, str, object]]:
    """Where modules keep what is replaced: `from datetime import datetime` makes a name of its own."""
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in _UNTOUCHED or name in _OURS or module is None:
            continue
        for attribute, value in list(vars(module).items()):
            if id(value) in replaced and not attribute.startswith("__"):
                yield module, attribute, replaced[id(value)]


_UNTOUCHED = frozenset(
    {
        *("asyncio", "concurrent", "logging", "pydantic", "pydantic_core", "queue", "selectors", "subprocess"),
        "threading",
    }
)
"""Packages that measure real time, or compare the classes of values."""

_OURS = frozenset({__name__, wait.__module__})


def _close(loop: asyncio.AbstractEventLoop) -> None:
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
