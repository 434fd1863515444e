"""Ends a program in time, even if a thread, a coroutine or the event loop hangs.

Code in the event loop cannot ensure this, and a thread cannot be cancelled. A separate thread
therefore watches time limits. Each limit is announced to it, and it ends the process when a limit
has passed. Only programs have this thread (:meth:`Manager.run`). A manager in another program's
event loop does not.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
from datetime import timedelta

from pykb.runtime.manager._stall import where_stands

logger = logging.getLogger(__name__)

MARGIN = timedelta(seconds=3)
"""How long an orderly stop may take after the graceful time. With the second check, it stays below a pod's 35 s."""

_SECOND_LOOK = 1.0
_EXIT = timedelta(seconds=1)
_ALL = ""
_NOW = float("-inf")


class Ending:
    """Ends the process with exit code 1 when a time limit passes. Its methods may be called anywhere.

    They take no lock, so a signal handler may call them at any moment.
    """

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[str, float | None]] = queue.SimpleQueue()
        self._started = False

    def start(self) -> None:
        """Start watching. Before this call, the other methods have no effect."""
        self._started = True
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
                    _end(why)
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


def _end(why: str) -> None:
    # The hanging thread may hold the lock of the log or of its stream.
    saying = threading.Thread(target=_say, args=(why,), daemon=True)
    saying.start()
    saying.join(1.0)
    os._exit(1)


def _say(why: str) -> None:
    main = threading.main_thread()
    threads = ", ".join(sorted(one.name for one in threading.enumerate() if one is not main and not one.daemon))
    shown = {"why": why, "at": where_stands(main.ident or 0)} | ({"threads": threads} if threads else {})
    logger.error("ending at once", extra=shown)
    logging.shutdown()
