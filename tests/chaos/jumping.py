"""Run a module with a wall clock that jumps: ``python -m tests.chaos.jumping FILE MODULE ARGUMENTS``.

The file holds the seconds by which the clock is off; it is read each time somebody asks what time it is. The monotonic
clock is the machine's, as it is when an administrator or NTP sets the time.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import gc
import runpy
import sys
import time
from pathlib import Path
from typing import Any


def install(path: Path) -> None:
    """Put every question for the wall clock in this process through the file."""
    true_time, true_now = time.time, dt.datetime.now

    def offset() -> float:
        return float(path.read_text(encoding="utf-8") or 0)

    def now(kind: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
        return true_now(tz) + dt.timedelta(seconds=offset())

    time.time = lambda: true_time() + offset()
    time.time_ns = lambda: int(time.time() * 1_000_000_000)
    # A type of C takes no attributes by the front door, and a subclass would not reach those who have the type already.
    methods: dict[str, Any] = gc.get_referents(dt.datetime.__dict__)[0]
    methods["now"] = classmethod(now)
    methods["utcnow"] = classmethod(lambda kind: now(kind, dt.UTC).replace(tzinfo=None))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))


if __name__ == "__main__":
    install(Path(sys.argv[1]))
    module, sys.argv[1:] = sys.argv[2], sys.argv[3:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
