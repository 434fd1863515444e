"""Ends a history that takes too long, even if the operator lets nothing else run in it."""

from __future__ import annotations

import asyncio
import bdb
import contextlib
import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Self

MOST_CPU_SECONDS = 10.0
"""Of one history. Usual ones take some hundredths of a second."""

_LOOK_SECONDS = 0.05
_MOST_LINES = 100
"""Of a stack. It may change while it is read."""

STEP = asyncio.Handle._run.__code__  # noqa: SLF001 - one step of an event loop: what runs the loop does not matter
_now, _cpu = time.monotonic, time.process_time


def is_debugged() -> bool:
    """Whether pdb, debugpy or the like follows this program. What measures coverage does not count."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    if monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID):
        return True
    return isinstance(getattr(sys.gettrace(), "__self__", None), bdb.Bdb) or "pydevd" in sys.modules


class Interrupted(BaseException):
    """A history has taken too long. Not an error that an operator catches.

    Attributes:
        lines: The files and lines where the thread of the history was, the innermost first.
    """

    lines: tuple[tuple[str, int], ...] = ()


class Watch:
    """Interrupts what its thread runs, from a thread of its own.

    Attributes:
        until: The moment of the real clock at which everything must end.
        most: Seconds of CPU that each piece of work may take.
    """

    def __init__(self) -> None:
        self.until = float("inf")
        self.most = MOST_CPU_SECONDS
        self._watched = threading.get_ident()
        self._lock = threading.Lock()
        self._end = float("inf")
        self._stop: Callable[[], None] | None = None
        self._lines: tuple[tuple[str, int], ...] = ()
        self._is_raised = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="explorer-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def is_over(self) -> bool:
        """Whether the time for everything is up."""
        return _now() > self.until

    @contextlib.contextmanager
    def over(self, stop: Callable[[], None], most: float) -> Iterator[None]:
        """Interrupt what runs meanwhile if it takes too long.

        Args:
            stop: Asks it to end. If it does not, :class:`Interrupted` is raised wherever it is. Called in a thread.
            most: Seconds of CPU that it may take.
        """
        if is_debugged():  # a person looks at each line, and sees what never ends
            yield
            return
        with self._lock:
            self._stop, self._end, self._lines, self._is_raised = stop, _cpu() + most, (), False
        try:
            yield
        except Interrupted as error:
            error.lines = self._lines
            raise
        finally:
            with self._lock:
                self._stop = None
            if self._is_raised:
                _clear()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            with self._lock:
                if self._stop is None or not (self.is_over or _cpu() > self._end):
                    continue
                if not self._lines:
                    self._lines = tuple(islice(_lines_of(self._watched), _MOST_LINES))
                    self._stop()
                elif not _looks_for_garbage(self._watched):
                    self._is_raised = True
                    raise_in(self._watched)


def _lines_of(thread: int) -> Iterator[tuple[str, int]]:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only way to see other threads
    while frame is not None and frame.f_code is not STEP:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


def _looks_for_garbage(thread: int) -> bool:
    """Whether a thread is in a callback of the garbage collector. Python prints what it raises there, and goes on.

    A collection keeps all other threads waiting, so this one runs again just when such a callback begins.
    """
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only way to see other threads
    functions = (getattr(each, "__func__", each) for each in gc.callbacks)
    return frame is not None and frame.f_code in [getattr(each, "__code__", None) for each in functions]


def raise_in(thread: int) -> None:
    """Raise :class:`Interrupted` in another thread, at its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))


def _clear() -> None:
    """Let nothing be raised in this thread any more. What was not raised yet is replaced by an error that is caught.

    Python could take it back. Python 3.11 would then look for it at each call, and never get past one that is traced.
    """
    try:
        raise_in(threading.get_ident())
        while True:
            pass
    except Interrupted:
        pass
