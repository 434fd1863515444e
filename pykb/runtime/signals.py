"""SIGTERM and Ctrl-C: the first stops gracefully, a second one ends the process at once."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading

logger = logging.getLogger(__name__)


class StopSignals:
    """Sets an event when the process is told to stop."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self._installed = False

    def install(self) -> None:
        """Listen from now on; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        self._installed = True
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled, number)

    def reinstall(self) -> None:
        """Take the signals back from kopf, which stops only itself; they stay as they are where nobody listened."""
        if self._installed:
            self.install()

    def _signalled(self, number: signal.Signals) -> None:
        name = signal.Signals(number).name
        if self._stopping.is_set():
            logger.error("second signal, ending at once", extra={"signal": name})
            logging.shutdown()
            os._exit(1)
        logger.info("signal received, stopping", extra={"signal": name})
        self._stopping.set()
