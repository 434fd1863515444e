"""The signals by which somebody ends a command that runs until then."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupted() -> Iterator[asyncio.Event]:
    """Give an event that SIGINT, SIGTERM and SIGHUP set."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in _ENDS:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in _ENDS:
            loop.remove_signal_handler(number)
