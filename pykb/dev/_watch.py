"""Detects changes of files by polling.

Polling the 60 files of a project takes 0.4 ms, three times a second. This is a thousandth of a core. A native file
watcher would be a dependency with limits of its own (inotify's watches, container mounts, network folders).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

INTERVAL = timedelta(seconds=0.3)
QUIET = timedelta(seconds=0.15)
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
SKIPPED_ENDINGS = (".pyc", ".pyo", "~", ".swp", ".swx", ".tmp")

Stamps = dict[str, tuple[int, int]]
"""Paths with their modification time and size."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The files to watch: all files below these folders, and these files.

    Hidden files, caches and editors' temporary files are excluded.
    """

    places: tuple[Path, ...]

    def stamps(self) -> Stamps:
        """The current state of the files."""
        found: Stamps = {}
        for place in self.places:
            if place.is_dir():
                _scan(place, found)
            else:
                _stamp(place, found)
        return found


def changed(before: Stamps, after: Stamps) -> list[str]:
    """The files that were added, removed or written, sorted."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


async def next_change(
    watched: Watched, known: Stamps, *, interval: timedelta = INTERVAL, quiet: timedelta = QUIET
) -> tuple[list[str], Stamps]:
    """Wait until files differ from ``known``, and then until they stop changing.

    Editors and version control change several files at once. The caller gets them as one change.

    Args:
        watched: Where to look.
        known: The state that the caller last acted on, so that no change is missed.
        interval: The time between two polls.
        quiet: How long the files must be unchanged.

    Returns:
        The changed paths, and the current state of the files.
    """
    now = watched.stamps()
    while now == known:
        await asyncio.sleep(interval.total_seconds())
        now = watched.stamps()
    while True:
        await asyncio.sleep(quiet.total_seconds())
        later = watched.stamps()
        if later == now:
            return changed(known, now), now
        now = later


def _scan(folder: Path | str, found: Stamps) -> None:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return  # it was removed in the meantime
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS or entry.name.endswith(SKIPPED_ENDINGS):
            continue
        if entry.is_dir(follow_symlinks=False):
            _scan(entry.path, found)
        else:
            _stamp(entry.path, found)


def _stamp(path: Path | str, found: Stamps) -> None:
    try:
        status = Path(path).stat()
    except OSError:
        return
    found[os.fspath(path)] = (status.st_mtime_ns, status.st_size)


def shown(paths: Iterable[str], root: Path) -> str:
    """A few changed paths as one line of text."""
    names = [os.path.relpath(path, root) for path in paths]
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest
