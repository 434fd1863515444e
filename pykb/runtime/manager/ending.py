"""The last resort of a program: it ends when it has to, also when a thread, a coroutine or the event loop hangs.

Nothing in the event loop can see to that, and no thread can be broken off. So a thread looks on from outside. Work that
must be done by a time is announced to it; when the time has passed, it ends the process. Only programs have one
(:meth:`Manager.run`), a manager in somebody's event loop has not.
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
"""How long an orderly stop may take after the graceful time. With the second look, a pod's 35 s are not reached."""

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
        """Look on from now on; before that, nothing here has an effect."""
        self._started = True
        threading.Thread(target=self._watch, name="ending", daemon=True).start()

    def within(self, limit: timedelta, why: str) -> None:
        """Have the process end within this time, unless the same reason is given a new limit, or lifted."""
        self._order(why, time.monotonic() + limit.total_seconds())

    def at_once(self, why: str) -> None:
        """End the process."""
        self._order(why, _NOW)

    def lift(self, why: str) -> None:
        """Forget a limit."""
        self._order(why, None)

    def leave(self) -> None:
        """Forget all limits: the manager has ended. Threads that are left may not keep the program from its own end."""
        self._order(_ALL, None)
        with contextlib.suppress(RuntimeError):  # it is at its end already
            # The interpreter joins all threads at its end. What is registered last comes before that, `atexit` after.
            threading._register_atexit(self.within, _EXIT, "threads still run at the end of the program")  # type: ignore[attr-defined] # noqa: SLF001

    def _order(self, why: str, due: float | None) -> None:
        if self._started:
            self._orders.put((why, due))

    def _watch(self) -> None:
        limits: dict[str, float] = {}
        while True:
            why, due = min(limits.items(), key=lambda limit: limit[1], default=(_ALL, None))
            if due is not None and due <= time.monotonic():
                # Twice: a process that was frozen as a whole finds the time gone, and may still end in order.
                if due == _NOW or not self._take(limits, _SECOND_LOOK):
                    _end(why)
                continue
            self._take(limits, None if due is None else due - time.monotonic())

    def _take(self, limits: dict[str, float], timeout: float | None) -> bool:
        """Wait for an order, and whether one came."""
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
    # Whoever hangs may hold the lock of the log, or of what it is written to.
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
