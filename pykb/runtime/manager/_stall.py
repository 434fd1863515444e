"""Detects a blocked event loop and reports where it is blocked.

All parts of a manager share one loop: watches, probes, the renewal of the lease, reconciles. A
coroutine that waits or computes without ``await`` blocks all of them. Only another thread can
detect this.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import timedelta

from pykb.runtime.clock import Clock, SystemClock

logger = logging.getLogger(__name__)

LIMIT = timedelta(seconds=2)
"""A loop that does not answer for this long is reported. The leader's lease is renewed every 2 s."""

_INTERVAL = timedelta(seconds=1)
_SECOND_LOOK = timedelta(milliseconds=200)
_FRAMES = 6
_HELP = "write it as a plain `def` with `client.sync`, or call `await asyncio.to_thread(...)`"


class StallWatch:
    """A runnable that watches its event loop from its own thread."""

    needs_leader_election = False

    def __init__(
        self,
        *,
        limit: timedelta | None = None,
        observer: Callable[[float], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare the watch.

        Args:
            limit: How long the loop may take to answer. Defaults to :data:`LIMIT`.
            observer: Called after a block, with its length in seconds.
            clock: Measures the time.
        """
        self._limit = limit or LIMIT
        self._observer = observer or (lambda _seconds: None)
        self._clock: Clock = clock or SystemClock()
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
        while not self._ended.wait(_INTERVAL.total_seconds()):
            answered = threading.Event()
            asked = self._clock.now()
            try:
                loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop was closed
                return
            # Check twice: in a process that was frozen as a whole, the time has passed, but the
            # loop answers at once.
            if answered.wait(self._limit.total_seconds()) or answered.wait(_SECOND_LOOK.total_seconds()):
                continue
            where = where_stands(thread)
            logger.error(
                "event loop is blocked: a coroutine waits or computes without `await`, and holds up everything else",
                extra={"at": where, "help": _HELP},
            )
            while not answered.wait(_INTERVAL.total_seconds()):
                if self._ended.is_set():
                    return
            stood = self._clock.now() - asked
            self._observer(stood)
            logger.warning("event loop continues", extra={"blocked_seconds": round(stood, 1), "at": where})


def where_stands(thread: int) -> str:
    """The innermost calls of a thread, innermost first."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented, and the only way
    if frame is None:
        return "unknown"
    calls = traceback.extract_stack(frame)[-_FRAMES:]
    return " < ".join(f"{call.filename}:{call.lineno} {call.name}" for call in reversed(calls))
