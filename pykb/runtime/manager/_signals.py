"""Signals. The first SIGTERM or Ctrl-C stops gracefully, the second ends the process at once. SIGUSR1 logs a dump.

The handlers belong to the interpreter, not to the event loop: a blocked loop would delay them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import FrameType

from pykb.runtime.manager.ending import MARGIN, Ending

logger = logging.getLogger(__name__)

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_DUMP: signal.Signals | None = getattr(signal, "SIGUSR1", None)  # Windows does not have it


class StopSignals:
    """Sets an event at a stop signal, and ensures that the process ends in time."""

    def __init__(
        self,
        stopping: asyncio.Event,
        ending: Ending,
        grace: timedelta,
        *,
        dump: Callable[[asyncio.AbstractEventLoop], None],
    ) -> None:
        """Prepare the handlers. ``dump`` is called in its own thread."""
        self._stopping = stopping
        self._ending = ending
        self._grace = grace
        self._dump = dump
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = False

    def install(self) -> None:
        """Install the handlers. Only the main thread can do this."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._loop = asyncio.get_running_loop()
        for number in _NUMBERS:
            with contextlib.suppress(NotImplementedError):  # Windows
                self._loop.remove_signal_handler(number)
            signal.signal(number, self._signalled)
        # Without a handler, the signal would end the process. A handler that the program has set
        # stays.
        if _DUMP is not None and signal.getsignal(_DUMP) is signal.SIG_DFL:
            signal.signal(_DUMP, self._asked)

    def reinstall(self) -> None:
        """Take the signals back from kopf, which stops only itself. Do nothing if the handlers were not installed."""
        if self._loop is not None:
            self.install()

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=self._dump, args=(self._loop,), name="dump", daemon=True).start()

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._told or self._stopping.is_set() or self._loop is None:
            self._ending.at_once(f"second signal: {name}")
            return
        self._told = True
        self._ending.within(self._grace + MARGIN, f"not stopped in time after {name}")
        # This runs between two lines of any code. Logging here could collide with a half-written
        # line.
        threading.Thread(target=_say, args=(name,), daemon=True).start()
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._stopping.set)


def _say(name: str) -> None:
    logger.info("signal received, stopping", extra={"signal": name})


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Restore the previous handlers of the signals at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = _NUMBERS if _DUMP is None else (*_NUMBERS, _DUMP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
