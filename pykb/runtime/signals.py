"""SIGTERM and Ctrl-C: the first stops gracefully, a second one ends the process at once.

The handlers are the interpreter's own, not the event loop's: those would wait until a blocked loop goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from types import FrameType

from pykb.runtime.ending import MARGIN, Ending

logger = logging.getLogger(__name__)

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Sets an event when the process is told to stop, and has it end in time."""

    def __init__(self, stopping: asyncio.Event, ending: Ending, grace: timedelta) -> None:
        self._stopping = stopping
        self._ending = ending
        self._grace = grace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = False

    def install(self) -> None:
        """Listen from now on; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._loop = asyncio.get_running_loop()
        for number in _NUMBERS:
            with contextlib.suppress(NotImplementedError):  # Windows
                self._loop.remove_signal_handler(number)
            signal.signal(number, self._signalled)

    def reinstall(self) -> None:
        """Take the signals back from kopf, which stops only itself; they stay as they are where nobody listened."""
        if self._loop is not None:
            self.install()

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._told or self._stopping.is_set() or self._loop is None:
            self._ending.at_once(f"second signal: {name}")
            return
        self._told = True
        self._ending.within(self._grace + MARGIN, f"not stopped in time after {name}")
        # Between two lines of any code: logging here could meet a log line half written.
        threading.Thread(target=_say, args=(name,), daemon=True).start()
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._stopping.set)


def _say(name: str) -> None:
    logger.info("signal received, stopping", extra={"signal": name})


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Put the handlers of the signals back at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
