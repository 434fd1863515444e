"""Virtual time: an event loop that never waits, and clocks, dates and random values that follow from a seed.

A history of hours takes milliseconds, and the same history always has the same result. User code
needs no change: ``asyncio.sleep``, ``time.sleep``, ``datetime.now``, ``time.time``, ``random``,
``secrets`` and ``uuid.uuid4`` all belong to the virtual world while it exists.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import ctypes
import os
import random
import selectors
import signal
import ssl
import sys
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, TypeVar
from unittest import mock
from weakref import WeakSet

from pydantic._internal import _generate_schema

from pykb.client.clock import Timer
from pykb.explore._watch import STEP, Interrupted, Watch, raise_in
from pykb.runtime._awaiting import close_unbegun
from pykb.runtime.controller import controller

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike


T = TypeVar("T")

PATIENCE = 2.0
"""Real seconds after which time passes although a thread neither ends nor waits for the world."""

SLOW_STEP = 0.05
"""Real seconds that each step of time takes from then on, so that hours do not pass meanwhile."""

_MOST_CANCELLATIONS = 10
_CLOSING_SECONDS = 1.0
"""Of CPU, for the end of the tasks of a history."""

_LOOK = 1.0
"""Real seconds between checks that the event loop is still open."""

tasks_of_process: contextvars.ContextVar[WeakSet[asyncio.Task[Any]] | None] = contextvars.ContextVar(
    "tasks_of_process", default=None
)
"""Where to add the tasks that are made by a process, if it must be able to end them all."""

Stack = tuple[tuple[str, int], ...]
"""Files and lines, the innermost first."""


class StandstillError(RuntimeError):
    """The virtual world waits for what nobody does."""


class TooLong(Exception):  # noqa: N818 - what happened
    """A coroutine has taken too long.

    Attributes:
        stack: Where it was.
    """

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack


@dataclass(frozen=True, slots=True)
class Stray:
    """Something that the world does not control.

    Attributes:
        what: What the code does.
        remedy: What its author can do.
        stack: Where.
    """

    what: str
    remedy: str
    stack: Stack


_SLOW = "takes seconds of real time"
_OUTSIDE = "give the reconciler a double of systems outside the cluster in `register`"
_OWN = "starts a thread of its own, which runs in real time"
_POOLED = "call `asyncio.to_thread` instead, or add a runnable with `manager.add`"


class _Work:
    """One call in a thread."""

    def __init__(self, wake: Callable[[], None], stack: Stack) -> None:
        self.wake = wake
        self.stack = stack
        self.thread = 0
        self.waits_for: concurrent.futures.Future[Any] | None = None
        self.is_stuck = False

    @property
    def is_busy(self) -> bool:
        """Whether time must stand: it neither waits for the world, nor is it known not to."""
        return not self.is_stuck and (self.waits_for is None or self.waits_for.done())


class Threads:
    """The calls that run in threads of one loop.

    Args:
        wake: Makes the loop look again. Called in threads.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.strays: list[Stray] = []
        self._wake = wake
        self._works: set[_Work] = set()

    def begin(self, function: Callable[..., T]) -> tuple[Callable[..., T], Callable[[object], None]]:
        """Note a call. Gives the function to call in the thread, and one to call at its end, in any thread."""
        work = _Work(self._wake, stack_of(sys._getframe(1)))  # noqa: SLF001 - the caller
        self._works.add(work)

        def run(*arguments: Any) -> T:
            work.thread = threading.get_ident()
            _here.work = work
            try:
                return function(*arguments)
            finally:
                _here.work = None

        def ended(_: object = None) -> None:
            self._works.discard(work)
            self._wake()

        return run, ended

    def started(self, thread: threading.Thread, caller: FrameType) -> None:
        """Note a thread that is about to start outside of a pool."""
        if caller.f_globals.get("__name__", "").startswith("asyncio."):  # it waits for a process
            run, ended = self.begin(thread.run)

            def wait_for_process() -> None:
                try:
                    run()
                finally:
                    ended(None)

            thread.run = wait_for_process  # type: ignore[method-assign]
        else:
            self.strays.append(Stray(_OWN, _POOLED, stack_of(caller)[:1]))

    @property
    def any(self) -> bool:
        """Whether there are calls at all."""
        return bool(self._works)

    @property
    def busy(self) -> bool:
        """Whether a call works, so that time must stand."""
        return any(work.is_busy for work in tuple(self._works))

    @property
    def stuck(self) -> bool:
        """Whether time passes although a call works."""
        return any(work.is_stuck for work in tuple(self._works))

    def give_up(self) -> None:
        """Let time pass although calls are busy, and note where they are."""
        frames = sys._current_frames()  # noqa: SLF001 - the only way to see other threads
        for work in tuple(self._works):
            if work.is_busy:
                work.is_stuck = True
                self.strays.append(Stray(_SLOW, _OUTSIDE, stack_of(frames.get(work.thread)) + work.stack))

    def where(self) -> Stack:
        """Where the calls are that have not ended."""
        frames = sys._current_frames()  # noqa: SLF001 - as above
        works = sorted(self._works, key=lambda work: work.stack)
        return tuple(line for work in works for line in stack_of(frames.get(work.thread)))

    def end(self) -> None:
        """End calls that work on and on, at their next step: they would take the time of what comes next."""
        for work in tuple(self._works):
            if work.thread and (work.is_stuck or work.is_busy):
                raise_in(work.thread)

    def waited_outside(self, stack: Stack) -> None:
        """Note that the loop waited long for a real socket.

        Args:
            stack: Where the loop was asked to watch it. If no line of the user's code is there, one that waits may do.
        """
        waiting = (frame for task in asyncio.all_tasks() for frame in _suspended(task.get_coro()))
        self.strays.append(Stray(_SLOW, _OUTSIDE, (*stack, *waiting)))


_here = threading.local()


def wait(
    futures: Iterable[concurrent.futures.Future[Any]], timeout: float | None = None, return_when: str = "ALL_COMPLETED"
) -> Any:
    """Stands for :func:`concurrent.futures.wait`, where threads wait for the loop."""
    every = tuple(futures)
    work: _Work | None = getattr(_here, "work", None)
    if work is not None and every:
        work.waits_for, work.is_stuck = every[0], False
        work.wake()
    return _WAIT(every, timeout, return_when)


def sleep(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """Sleep in a thread, in the time of a loop.

    Raises:
        asyncio.CancelledError: The history has ended meanwhile.
    """
    woken: concurrent.futures.Future[None] = concurrent.futures.Future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    try:
        loop.call_soon_threadsafe(loop.call_later, seconds, wake)
        while not wait((woken,), _LOOK).done:
            if loop.is_closed():
                raise asyncio.CancelledError
    except RuntimeError:
        raise asyncio.CancelledError from None


def stack_of(frame: FrameType | None) -> Stack:
    """The files and lines of a frame and its callers."""
    found: list[tuple[str, int]] = []
    while frame is not None and frame.f_code is not STEP:  # what runs the loop has nothing to do with it
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def reconciling(loop: asyncio.AbstractEventLoop) -> Stack:
    """Where the tasks of a loop wait, those of controllers first."""
    stacks = [_suspended(task.get_coro()) for task in asyncio.all_tasks(loop)]
    stacks.sort(key=lambda stack: (not any(file == _CONTROLLER for file, _ in stack), stack))
    return tuple(line for stack in stacks for line in stack)


def _suspended(coroutine: object) -> Stack:
    """Where a coroutine waits, the innermost first."""
    found: list[tuple[str, int]] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            found.insert(0, (frame.f_code.co_filename, frame.f_lineno))
        coroutine = getattr(coroutine, "cr_await", None)
    return tuple(found)


_CONTROLLER = controller.__file__
_WAIT = concurrent.futures.wait
_EXIT, _KILL = os._exit, os.kill


START = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
"""The wall clock at the beginning of every history, in seconds since 1970."""


class _Selector(selectors.SelectSelector):
    """Lets time pass in the loop instead of waiting for it."""

    def __init__(self, threads: Threads) -> None:
        super().__init__()
        self.now = 0.0
        self.is_interrupted = False
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
        if self.is_interrupted:
            raise Interrupted
        if timeout is not None and not (self._threads.any or self._outside or self._given_up):
            self.now += timeout
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
            raise StandstillError("the virtual world stands still: nothing is scheduled")
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
        self.blocked: tuple[float, float, Stack] = (0.0, 0.0, ())
        """The longest call that blocked the loop: when it ended, how many seconds it took, and where it was."""
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Make a task, and add it to those of its process."""
        task = super().create_task(coro, **options)
        every = tasks_of_process.get()
        if every is not None:
            every.add(task)
        return task

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        """Do nothing: the signals are for the program that explores."""

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

    def interrupt(self, *, now: bool = True) -> None:
        """End what runs, at its next step. Any thread may call it."""
        self._virtual.is_interrupted = now
        self._wake()

    def pass_time(self, seconds: float) -> None:
        """Let time pass while nothing else runs, as after a blocking call."""
        self._virtual.now += seconds
        if seconds > self.blocked[1]:
            self.blocked = (self._virtual.now, seconds, stack_of(sys._getframe(1)))  # noqa: SLF001 - the caller

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


class _Virtual(type):
    """Of a class that stands for its base: whatever is an instance or a subclass of the base is one of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__bases__[0])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__bases__[0])


def _virtual_datetime(now: Callable[[], float]) -> type[datetime]:
    class VirtualDatetime(datetime, metaclass=_Virtual):
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
    class VirtualDate(date, metaclass=_Virtual):
        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, handler: Callable[[type], Any]) -> Any:
            return handler(date)

        @classmethod
        def today(cls) -> date:  # type: ignore[override]
            return datetime.fromtimestamp(now(), UTC).date()

    return VirtualDate


def _virtual_random(chance: random.Random) -> type[random.Random]:
    class VirtualRandom(random.Random, metaclass=_Virtual):
        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(chance.getrandbits(64) if a is None else a, version)

    return VirtualRandom


class VirtualTime:
    """Runs coroutines, each in a loop and a world of its own. In between, all clocks are the real ones."""

    def __init__(self) -> None:
        self._loop: VirtualLoop | None = None
        self._before = 0.0
        self._chance = random.Random(0)  # noqa: S311 - the values are to be the same each time
        self._stack = contextlib.ExitStack()
        self.watch = Watch()
        """Interrupts what runs too long, between its ``__enter__`` and ``__exit__``."""

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
            id(random.Random): _virtual_random(chance),
            id(ssl.RAND_bytes): chance.randbytes,
        }
        if getrandom := getattr(os, "getrandom", None):  # on Linux
            replaced[id(getrandom)] = lambda size, _flags=0: chance.randbytes(size)
        self._stack.callback(random.setstate, random.getstate())
        # Pydantic completes a class at its first use. Before 2.14, it asks then whether a type `is datetime.datetime`.
        self._stack.enter_context(mock.patch.object(_generate_schema, "datetime", real_datetime()))
        self._stack.enter_context(self._replacing({**replaced, **self._waits()}))
        # Without a function of the system, `uuid1` is made from the time and from chance.
        self._stack.enter_context(mock.patch.object(uuid, "_generate_time_safe", None))
        self._stack.enter_context(mock.patch.object(uuid, "_last_timestamp", None))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Replace only what waits or ends the process, so that modules imported meanwhile keep the real clocks."""
        with self._replacing(self._waits()):
            yield

    def _waits(self) -> dict[int, object]:
        return {id(time.sleep): self._sleep, id(concurrent.futures.wait): wait, **_ends()}

    @contextlib.contextmanager
    def _replacing(self, replaced: dict[int, object]) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for module, name, value in list(_places(replaced)):
                stack.enter_context(mock.patch.object(module, name, value))
            stack.enter_context(mock.patch.object(threading.Thread, "start", self._note_thread()))
            yield

    def run(self, main: Callable[[], Coroutine[Any, Any, T]], seed: int, before: float = 0.0) -> T:
        """Run a coroutine from the beginning of time.

        Args:
            main: Makes the coroutine.
            seed: Selects the random values.
            before: How many seconds before the beginning of histories the wall clock is.

        Raises:
            TooLong: It takes too long.
        """
        loop = self._loop = VirtualLoop()
        self._before = before
        random.seed(seed)
        self._chance.seed(seed)
        uuid._last_timestamp = None  # type: ignore[attr-defined] # noqa: SLF001 - that of another world
        try:
            with self.watch.over(loop.interrupt, self.watch.most):
                return loop.run_until_complete(main())
        except Interrupted as error:
            raise TooLong(error.lines + loop.threads.where() + reconciling(loop)) from None
        finally:
            loop.interrupt(now=False)
            with contextlib.suppress(Interrupted), self.watch.over(loop.interrupt, _CLOSING_SECONDS):
                _end_tasks(loop)
            _abandon(asyncio.all_tasks(loop))
            loop.threads.end()
            loop.close()
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
        return START - self._before + self._loop.time() if self._loop is not None else _WALL()


def _runs(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop runs in this thread."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def real_datetime() -> SimpleNamespace:
    """The module ``datetime`` with its own classes, for modules that compare types with them."""
    return SimpleNamespace(**{**vars(sys.modules["datetime"]), "datetime": datetime, "date": date})


def real_day() -> str:
    """The beginning of present times of the real clock, as text."""
    return _STRFTIME("%Y-%m-%dT", _GMTIME(_WALL()))


_MONOTONIC, _WALL, _SLEEP = time.monotonic, time.time, time.sleep
_GMTIME, _LOCALTIME, _STRFTIME = time.gmtime, time.localtime, time.strftime


def _ends() -> dict[int, object]:
    """What would end this process, and what raises an error with the line instead, by the id of the first."""
    own, thread = os.getpid(), threading.get_ident()

    def is_of_world() -> bool:
        is_ours = threading.get_ident() == thread or getattr(_here, "work", None) is not None
        return os.getpid() == own and is_ours

    def leave(code: int) -> None:
        if is_of_world():
            raise SystemExit(code)
        _EXIT(code)

    def kill(pid: int, number: int) -> None:
        if pid == own and number and is_of_world():
            raise SystemExit(128 + number)
        _KILL(pid, number)

    return {id(_EXIT): leave, id(os.abort): lambda: leave(128 + signal.SIGABRT), id(_KILL): kill}


def _places(replaced: dict[int, object]) -> Iterator[tuple[object, str, object]]:
    """Where modules keep what is replaced: `from datetime import datetime` makes a name of its own."""
    for name, module in sorted(sys.modules.copy().items()):  # other threads may import
        if name.partition(".")[0] in _UNTOUCHED or name in (__name__, Watch.__module__) or module is None:
            continue
        variables = vars(module).copy()
        if replaced.keys().isdisjoint(map(id, variables.values())):  # as most: a loop here takes five times as long
            continue
        for attribute, value in variables.items():
            if id(value) in replaced and not attribute.startswith("__"):
                yield module, attribute, replaced[id(value)]


_UNTOUCHED = frozenset(
    {
        *("asyncio", "concurrent", "logging", "pydantic", "pydantic_core", "queue", "selectors", "subprocess"),
        "threading",
    }
)
"""Packages that measure real time, or compare the classes of values."""


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel all tasks, also those that wait for others when they are cancelled for the first time."""
    for _ in range(_MOST_CANCELLATIONS):
        left = asyncio.all_tasks(loop)
        for task in left:
            close_unbegun(task)
            task.cancel()
        if not left:
            break
        with contextlib.suppress(StandstillError):
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    with contextlib.suppress(StandstillError):
        loop.run_until_complete(loop.shutdown_asyncgens())


def _abandon(tasks: set[asyncio.Task[Any]]) -> None:
    """Keep tasks for ever that do not end. Their destruction would run the operator's code, at any later moment."""
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001 - nobody waits for it
    if tasks:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tasks))
