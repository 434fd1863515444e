"""Lets pdb stop in a history that is run again."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stopping_at(file: str, line: int) -> Iterator[None]:
    """Stop at a line each time that it is reached, also in threads.

    Args:
        file: The absolute path. With an empty one, only ``breakpoint()`` stops.
        line: The line, from 1.

    Raises:
        bdb.BdbQuit: Somebody has left the debugger.
    """
    import pdb  # noqa: T100 - late: it takes time, and few histories need it

    debugger = pdb.Pdb(nosigint=True)
    debugger.reset()
    if file:
        debugger.set_break(file, line)
    debugger.botframe = sys._getframe()  # noqa: SLF001 - as `Bdb.run` notes where debugging begins
    debugger.set_continue()
    sys.settrace(debugger.trace_dispatch)
    try:
        with traced_threads():
            yield
    finally:
        sys.settrace(None)


@contextlib.contextmanager
def traced_threads() -> Iterator[None]:
    """Let what traces this thread trace new threads, too: plain functions run in some."""
    before = threading.gettrace()
    threading.settrace(sys.gettrace() or before)
    try:
        yield
    finally:
        threading.settrace(before)
