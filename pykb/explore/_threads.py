"""The threads of a virtual world. Its time stands while one of them works, and passes while all wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 2.0
"""Real seconds after which time passes although a thread neither ends nor waits for the world."""

SLOW_STEP = 0.05
"""Real seconds that each step of time takes from then on, so that hours do not pass meanwhile."""

_LOOK = 1.0
"""Real seconds between checks that the event loop is still open."""

Stack = tuple[tuple[str, int], ...]
"""Files and lines, the innermost first."""


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


def _suspended(coroutine: object) -> Stack:
    """Where a coroutine waits, the innermost first."""
    found: list[tuple[str, int]] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            found.insert(0, (frame.f_code.co_filename, frame.f_lineno))
        coroutine = getattr(coroutine, "cr_await", None)
    return tuple(found)


STEP = asyncio.Handle._run.__code__  # noqa: SLF001 - one step of the loop
_WAIT = concurrent.futures.wait
