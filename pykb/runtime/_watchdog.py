"""Watches a program from threads: reports a blocked event loop, and ends the program in time even if something hangs.

All parts of a manager share one event loop: watches, probes, the renewal of the lease, reconciles. A
coroutine that waits or computes without ``await`` blocks all of them. Code in the loop cannot detect
that. Nor can it end a program in which a thread hangs, because a thread cannot be cancelled.

One thread asks the loop whether it answers. Another one watches time limits. Each limit is announced
to it, and it ends the process when a limit has passed. Only programs have this thread
(:meth:`Manager.run`). A manager in another program's event loop does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import timedelta

from pykb.client.clock import Clock, SystemClock

logger = logging.getLogger(__name__)

STALL_LIMIT = timedelta(seconds=2)
"""A loop that does not answer for this long is reported. The leader's lease is renewed every 2 s."""

_FRAMES = 6
_HELP = "write it as a plain `def` with `client.sync`, or call `await asyncio.to_thread(...)`"

MARGIN = timedelta(seconds=3)
"""How long an orderly stop may take after the graceful time. With the second check, it stays below a pod's 35 s."""

_SECOND_LOOK = 1.0
_EXIT = timedelta(seconds=1)
_ALL = ""
_NOW = float("-inf")


class StallWatch:
    """A runnable that watches its event loop from its own thread."""

    needs_leader_election = False

    def __init__(
        self,
        *,
        limit: timedelta | None = None,
        observer: Callable[[float], None] | None = None,
    ) -> None:
        """Prepare the watch.

        Args:
            limit: How long the loop may take to answer. Defaults to :data:`STALL_LIMIT`. The loop is asked again after
                half of it.
            observer: Called after a block, with its length in seconds.
        """
        self._limit = (limit or STALL_LIMIT).total_seconds()
        self._interval = self._limit / 2
        self._observer = observer or (lambda _seconds: None)
        self._clock: Clock = SystemClock()
        self._ended = threading.Event()

    async def run(self) -> None:
        """Watch until cancelled."""
        loop = asyncio.get_running_loop()
        arguments = (loop, threading.get_ident())
        threading.Thread(target=self._watch, args=arguments, name="stall-watch", daemon=True).start()
        try:
            await loop.create_future()
        finally:
            self._ended.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._ended.wait(self._interval):
            answered = threading.Event()
            asked = self._clock.now()
            try:
                loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop was closed
                return
            # Check twice: in a process that was frozen as a whole, the time has passed, but the
            # loop answers at once.
            if answered.wait(self._limit) or answered.wait(self._limit / 10):
                continue
            where = _where_stands(thread)
            logger.error(
                "event loop is blocked: a coroutine waits or computes without `await`, and holds up everything else",
                extra={"at": where, "help": _HELP},
            )
            while not answered.wait(self._interval):
                if self._ended.is_set():
                    return
            stood = self._clock.now() - asked
            self._observer(stood)
            logger.warning("event loop continues", extra={"blocked_seconds": round(stood, 1), "at": where})


def _where_stands(thread: int) -> str:
    """The innermost calls of a thread, innermost first."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented, and the only way
    if frame is None:
        return "unknown"
    calls = traceback.extract_stack(frame)[-_FRAMES:]
    return " < ".join(f"{call.filename}:{call.lineno} {call.name}" for call in reversed(calls))


class Ending:
    """Ends the process with exit code 1 when a time limit passes. Its methods may be called anywhere.

    They take no lock, so a signal handler may call them at any moment.
    """

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[str, float | None]] = queue.SimpleQueue()
        self._reasons: queue.SimpleQueue[str] = queue.SimpleQueue()
        # Python 3.12 starts no thread while the interpreter ends, so this one waits from the start.
        self._saying = threading.Thread(target=_say, args=(self._reasons,), name="ending-log", daemon=True)
        self._started = False

    def start(self) -> None:
        """Start watching. Before this call, the other methods have no effect."""
        self._started = True
        self._saying.start()
        threading.Thread(target=self._watch, name="ending", daemon=True).start()

    def within(self, limit: timedelta, why: str) -> None:
        """End the process after this time, unless the limit of this reason is renewed or lifted."""
        self._order(why, time.monotonic() + limit.total_seconds())

    def at_once(self, why: str) -> None:
        """End the process."""
        self._order(why, _NOW)

    def lift(self, why: str) -> None:
        """Forget a limit."""
        self._order(why, None)

    def leave(self) -> None:
        """Lift all limits, because the manager has ended. Remaining threads must not keep the program from ending."""
        self._order(_ALL, None)
        with contextlib.suppress(RuntimeError):  # the interpreter is already ending
            # The interpreter joins all threads at its end. The last registered call runs before
            # that, `atexit` after it.
            threading._register_atexit(self.within, _EXIT, "threads still run at the end of the program")  # type: ignore[attr-defined] # noqa: SLF001

    def _order(self, why: str, due: float | None) -> None:
        if self._started:
            self._orders.put((why, due))

    def _watch(self) -> None:
        limits: dict[str, float] = {}
        while True:
            why, due = min(limits.items(), key=lambda limit: limit[1], default=(_ALL, None))
            if due is not None and due <= time.monotonic():
                # Check twice: in a process that was frozen as a whole, the time has passed, but it
                # may still end in order.
                if due == _NOW or not self._take(limits, _SECOND_LOOK):
                    self._end(why)
                continue
            self._take(limits, None if due is None else due - time.monotonic())

    def _take(self, limits: dict[str, float], timeout: float | None) -> bool:
        """Wait for an order. Return whether one came."""
        try:
            why, due = self._orders.get(timeout=None if timeout is None else max(0.0, timeout))
        except queue.Empty:
            return False
        if why == _ALL:
            limits.clear()
        elif due is None:
            limits.pop(why, None)
        else:
            limits[why] = due
        return True

    def _end(self, why: str) -> None:
        # The hanging thread may hold the lock of the log or of its stream.
        self._reasons.put(why)
        self._saying.join(1.0)
        os._exit(1)


def _say(reasons: queue.SimpleQueue[str]) -> None:
    why = reasons.get()
    main = threading.main_thread()
    threads = ", ".join(sorted(one.name for one in threading.enumerate() if one is not main and not one.daemon))
    shown = {"why": why, "at": _where_stands(main.ident or 0)} | ({"threads": threads} if threads else {})
    logger.error("ending at once", extra=shown)
    logging.shutdown()
