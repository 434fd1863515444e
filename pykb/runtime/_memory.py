"""The memory of a process that runs a manager: how often the collector looks, and what the heap gives back."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from typing import Any

THRESHOLDS = (10_000, 20, 50)
"""The thresholds for collecting the young, the middle and the old generation.

Python's own (700, 10, 10) suit programs that make few objects. Parsing one page of a list makes a
hundred thousand, and none is part of a cycle. Scanning them repeatedly takes a fifth of the CPU
time of a first list.
"""
LARGE_BLOCK = 128 * 1024
_MMAP_THRESHOLD = -3
"""``M_MMAP_THRESHOLD`` of ``mallopt``.

Source: https://man7.org/linux/man-pages/man3/mallopt.3.html
"""


def settle() -> None:
    """Make the program's own objects permanent, raise the collector's thresholds, and return large blocks.

    Call it in the entry point of a program, when everything is imported. Modules and classes live
    as long as the process, so they need not be scanned again.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        # By default, glibc raises this limit to the size of the largest block that was freed. Then pages
        # of lists, and buffers of TLS, come from the heap, which keeps the size of its peak.
        _call_glibc("mallopt", _MMAP_THRESHOLD, LARGE_BLOCK)


async def return_freed() -> None:
    """Return the free pages of glibc's heap to the system, also those between others. Takes milliseconds.

    Call it when many objects were forgotten. The heap keeps its size otherwise.
    Source: https://man7.org/linux/man-pages/man3/malloc_trim.3.html
    """
    await asyncio.to_thread(_call_glibc, "malloc_trim", 0)


def _call_glibc(name: str, *arguments: Any) -> None:
    if sys.platform != "linux":
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):  # no libffi, or another C library
        import ctypes

        getattr(ctypes.CDLL(None), name)(*arguments)
