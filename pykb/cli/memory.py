"""The garbage collector in commands that make much and throw nothing away."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """The time of a command whose objects live as long as it does.

    Looking for garbage again and again among a million schemas takes a third of the time and finds none.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
