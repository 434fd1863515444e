"""Virtual time: an event loop that never waits, and clocks, dates and random values that follow from a seed.

A history of hours takes milliseconds, and the same history always has the same result. User code
needs no change: ``asyncio.sleep``, ``datetime.now``, ``time.time``, ``random`` and ``uuid.uuid4``
all belong to the virtual world while it exists.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import selectors
import sys
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Self, TypeVar
from unittest import mock

from pykb.runtime.clock import Timer

T = TypeVar("T")

START = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
"""The wall clock at the beginning of every history, in seconds since 1970."""

_THREAD_PATIENCE = 0.02
"""Real seconds to wait for a thread before virtual time moves on."""


class _Selector(selectors.SelectSelector):
    """Lets time pass in the loop instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Only threads use the loop's own socket. Without one at work, nothing can be ready.
        ready = super().select(_THREAD_PATIENCE if self.threads and timeout != 0 else 0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            if self.threads:
                return super().select(None)
            raise RuntimeError("the virtual world stands still: nothing is scheduled")
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    def run_in_executor(  # type: ignore[override] # typeshed spells its variadic form
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run a plain function in a thread. Time passes only while the thread waits."""
        self._virtual.threads += 1
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, _: object) -> None:
        self._virtual.threads -= 1


class LoopClock:
    """A :class:`~pykb.runtime.clock.Clock` on the time of a loop."""

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
            id(uuid.uuid4): lambda: uuid.UUID(int=chance.getrandbits(128), version=4),
            id(secrets.choice): chance.choice,
            id(secrets.token_hex): lambda count=None: chance.randbytes(count or 32).hex(),
        }
        state = random.getstate()
        self._stack.callback(random.setstate, state)
        for module, name, value in list(_places(replaced)):
            self._stack.enter_context(mock.patch.object(module, name, value))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

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

    def _monotonic(self) -> float:
        return self._loop.time() if self._loop is not None else _MONOTONIC()

    def _wall(self) -> float:
        return START + self._loop.time() if self._loop is not None else _WALL()


_MONOTONIC = time.monotonic
_WALL = time.time


def _places(replaced: dict[int, object]) -> Iterator[tuple[object, str, object]]:
    """Where modules keep what is replaced: `from datetime import datetime` makes a name of its own."""
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in _UNTOUCHED or name == __name__ or module is None:
            continue
        for attribute, value in list(vars(module).items()):
            if id(value) in replaced and not attribute.startswith("__"):
                yield module, attribute, replaced[id(value)]


_UNTOUCHED = frozenset(
    {"asyncio", "concurrent", "logging", "pydantic", "pydantic_core", "queue", "selectors", "threading"}
)
"""Packages that measure real time, or compare the classes of values."""


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
