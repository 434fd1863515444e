"""Runs a manager as a program, with its own event loop, its signals and a guaranteed end.

The first SIGTERM or Ctrl-C stops gracefully, the second ends the process at once. SIGUSR1 logs a dump.

The handlers belong to the interpreter, not to the event loop: a blocked loop would delay them. Python runs them in the
main thread and checks for signals before it enters a system call again. A signal that comes between this check and a
call that blocks would wait for the end of the call. So a thread sees each stop signal as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from types import FrameType

from pykb.api.safe_text import error_text, safe_text, without_values
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime._memory import settle
from pykb.runtime._watchdog import MARGIN, Ending

logger = logging.getLogger(__name__)

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_DUMP: signal.Signals | None = getattr(signal, "SIGUSR1", None)  # Windows does not have it


def run_program(main: Callable[[], Coroutine[None, None, None]], ending: Ending, logger: logging.Logger) -> None:
    """Run a manager's coroutine function as the whole program, and log its error.

    Args:
        main: The function.
        ending: Ends a process that hangs.
        logger: Logs the error.

    Raises:
        SystemExit: With 1, after an error.
    """
    settle()
    ending.start()
    try:
        with handlers_kept(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(main())
    except EnvironmentProblem as problem:
        diagnostic = problem.diagnostic
        for text in (*diagnostic.notes, *diagnostic.help):
            logger.info(text)
        logger.error("manager failed", extra={"error": safe_text(diagnostic.message)})  # noqa: TRY400 - the message says it all
        raise SystemExit(1) from None
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        logger.error("manager failed", extra={"error": error_text(error)}, exc_info=without_values(error))  # noqa: TRY400 - no values
        raise SystemExit(1) from None
    finally:
        ending.leave()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


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
        self._watch: _Watch | None = None
        self._turns = [True]
        self._handled = self._seen = 0

    def install(self) -> None:
        """Install the handlers. Only the main thread can do this."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._loop = asyncio.get_running_loop()
        for number in _NUMBERS:
            with contextlib.suppress(NotImplementedError):  # Windows
                self._loop.remove_signal_handler(number)
            signal.signal(number, self._signalled)
        if sys.platform != "win32":
            self._watch = self._watch or _Watch(self._see)
            self._watch.connect()
        # Without a handler, the signal would end the process. A handler that the program has set
        # stays.
        if _DUMP is not None and signal.getsignal(_DUMP) is signal.SIG_DFL:
            signal.signal(_DUMP, self._asked)

    def reinstall(self) -> None:
        """Take the signals back from kopf, which stops only itself. Do nothing if the handlers were not installed."""
        if self._loop is not None:
            self.install()

    def release(self) -> None:
        """End the thread. The handlers stay."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=self._dump, args=(self._loop,), name="dump", daemon=True).start()

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._handled += 1
        self._stop(number, self._handled)

    def _see(self, number: int) -> None:
        """Take a signal in the watching thread."""
        if number in _NUMBERS:
            self._seen += 1
            self._stop(number, self._seen)

    def _stop(self, number: int, count: int) -> None:
        """Take a signal. The handler and the thread count them, and whoever is first stops the manager."""
        name = signal.Signals(number).name
        is_stopping = self._stopping.is_set()  # before the turn: the first signal sets it
        is_first = self._takes_turn()
        if count > 1 or (is_first and is_stopping) or self._loop is None:
            self._ending.at_once(f"second signal: {name}")
            return
        if not is_first:
            return
        self._ending.within(self._grace + MARGIN, f"not stopped in time after {name}")
        # This runs between two lines of any code. Logging here could collide with a half-written
        # line.
        threading.Thread(target=_say, args=(name,), daemon=True).start()
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._stopping.set)

    def _takes_turn(self) -> bool:
        """Whether this is the first call. A handler must not wait for a lock; `pop` is atomic."""
        try:
            return self._turns.pop()
        except IndexError:
            return False


class _Watch:
    """Reads the number of each signal in a thread, as soon as the process gets it.

    Event loops also want these numbers, to run handlers while they wait for events. So they get them afterwards.
    """

    def __init__(self, see: Callable[[int], None]) -> None:
        self._see = see
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._behind = -1
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._thread.start()
        os.register_at_fork(after_in_child=self._leave)

    def connect(self) -> None:
        """Get the numbers from now on. Only the main thread can do this."""
        before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        if before != self._writer.fileno():
            self._behind = before

    def close(self) -> None:
        """Give the numbers back, and end the thread."""
        signal.set_wakeup_fd(self._behind)
        self._writer.close()
        self._thread.join()

    def _leave(self) -> None:
        """In a forked child, which has the same socket: its signals are not those of this process."""
        if self._writer.fileno() >= 0:
            signal.set_wakeup_fd(-1)

    def _run(self) -> None:
        with self._reader:
            while numbers := self._reader.recv(64):
                if self._behind >= 0:
                    with contextlib.suppress(OSError):
                        os.write(self._behind, numbers)
                for number in numbers:
                    self._see(number)


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
