"""What an operator did in a history outside of the virtual world."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes.explore import REAL_WORLD
from pykb.explore._gate import Sent, place_in
from pykb.explore._history import History
from pykb.explore._time import VirtualLoop, real_day

_CLOCKS = (
    "call `datetime.now(UTC)` or `time.time()` where you need the time: a default, a closure or a class keeps the "
    "function that was there before the explorer replaced it"
)


class _Change(Protocol):
    """A change of an object."""

    @property
    def after(self) -> bytes | None: ...

    @property
    def by(self) -> Sent | None: ...


def strays_of(root: Path | None, history: History, changes: Iterable[_Change]) -> Iterator[Diagnostic]:
    """Yield a warning for each thread, wait and time that is not the world's. Needs the loop of the history."""
    loop: Any = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        for stray in loop.threads.strays:
            if place := place_in(root, stray.stack):
                yield REAL_WORLD.at(place.span, f"this {stray.what}", help=(stray.remedy,))
    day, given = real_day(), repr([step.manifest for step in history.steps])
    for change in changes:
        place = change.by.place if change.by is not None else None
        if place is not None and change.after and day in change.after.decode() and day not in given:
            yield REAL_WORLD.at(place.span, "this writes the time of the real clock", help=(_CLOCKS,))
