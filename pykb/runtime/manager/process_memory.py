"""How the process of a manager uses Python's garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (10_000, 20, 50)
"""Allocations before the young, the middle and the old generation are looked through.

Python's own (700, 10, 10) are for programs that make few objects. Parsing one page of a list makes a hundred thousand,
none of which is part of a cycle: looking through them time and again is a fifth of the CPU time of a first list.
"""


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage while modules are imported: they make none, and looking takes a tenth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """Make what a program consists of permanent, and the collector less eager.

    For the entry point of a program, when everything is imported: modules and classes live as long as the process, and
    need not be looked through ever again.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
