"""Configures Python's garbage collector for a manager."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (10_000, 20, 50)
"""The thresholds for collecting the young, the middle and the old generation.

Python's own (700, 10, 10) suit programs that make few objects. Parsing one page of a list makes a
hundred thousand, and none is part of a cycle. Scanning them repeatedly takes a fifth of the CPU
time of a first list.
"""


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Disable the collector while modules are imported. They make no garbage. Scanning takes a tenth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """Make the program's own objects permanent, and raise the collector's thresholds.

    Call it in the entry point of a program, when everything is imported. Modules and classes live
    as long as the process, so they need not be scanned again.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
