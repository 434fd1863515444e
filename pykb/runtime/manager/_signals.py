"""SIGTERM and Ctrl-C: the first stops gracefully, a second one ends the process at once. SIGUSR1 logs where all stands.

The handlers are the interpreter's own, not the event loop's: those would wait until a blocked loop goes on.
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
_DUMP: signal.Signals | None = getattr(signal, "SIGUSR1", None)  # Windows has none


class StopSignals:
    """Sets an event when the process is told to stop, and has it end in time."""

    def __init__(
        self,
        stopping: asyncio.Event,
        ending: Ending,
        grace: timedelta,
        *,
        dump: Callable[[asyncio.AbstractEventLoop], None],
    ) -> None:
        """Remember what to do; ``dump`` is called in a thread of its own."""
        self._stopping = stopping
        self._ending = ending
        self._grace = grace
        self._dump = dump
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
        # Without a handler it would end the process; one that the program has set stays.
        if _DUMP is not None and signal.getsignal(_DUMP) is signal.SIG_DFL:
            signal.signal(_DUMP, self._asked)

    def reinstall(self) -> None:
        """Take the signals back from kopf, which stops only itself; they stay as they are where nobody listened."""
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
    numbers = _NUMBERS if _DUMP is None else (*_NUMBERS, _DUMP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
