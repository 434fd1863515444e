"""Somebody else who may write into a project swaps one of its folders for a link, just before one system call.

The calls are seen through Python's audit events. Nothing of pykb is replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


class Swapper:
    """Counts the events of the file system, and swaps ``folder`` for a link to ``victim`` before one of them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._victim = Path()
        self._left = -1
        sys.addaudithook(self._hook)  # no hook can be removed

    def run(self, action: Callable[[], object], folder: Path, victim: Path, *, at: int) -> bool:
        """Run an action with a swap before event ``at``. Returns whether there was such an event."""
        self._folder, self._victim, self._left = folder, victim, at
        try:
            action()
        finally:
            self._folder = None
        return self._left < 0

    def _hook(self, event: str, _: tuple[Any, ...]) -> None:
        if self._folder is None or not event.startswith(("os.", "open", "shutil.")):
            return
        self._left -= 1
        if self._left == -1:
            folder, self._folder = self._folder, None  # it makes events itself
            aside = folder.with_name(f"{folder.name}.aside")
            with suppress(FileNotFoundError, NotADirectoryError):
                folder.rename(aside)
            with suppress(OSError):
                folder.symlink_to(self._victim)
            self._folder = folder
