"""Private folders in the system's temporary folder. Those of commands that were killed go with the next one."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pykb.files.durable import Folder

_SUFFIX = r"[A-Za-z0-9_]{8}"
"""What ``mkdtemp`` appends."""


@contextmanager
def temporary(kind: str) -> Iterator[Path]:
    """Make a folder for as long as the context lasts, and remove those of the same kind that nobody uses any more.

    A lock on the folder shows that it is in use. The system frees it if this process dies.

    Args:
        kind: What it is for. The name begins with ``pykb-`` and this word.
    """
    prefix = f"pykb-{kind}-"
    place = Path(tempfile.gettempdir()).resolve()
    with Folder.open(place) as parent:
        _remove_unused(parent, prefix)
        folder = _locked(parent, prefix)
        try:
            yield folder.path
        finally:
            with suppress(OSError):
                parent.remove_tree(folder.path.name)
            folder.close()


def _locked(parent: Folder, prefix: str) -> Folder:
    """A new folder with a lock. Another command may take it for an unused one before it is locked: then another one."""
    while True:
        folder = Folder.open(Path(tempfile.mkdtemp(prefix=prefix, dir=parent.path)))
        fcntl.flock(folder.handle, fcntl.LOCK_EX)
        if parent.status(folder.path.name) is not None:
            return folder
        folder.close()


def _remove_unused(parent: Folder, prefix: str) -> None:
    for name in parent.names():
        if not re.fullmatch(re.escape(prefix) + _SUFFIX, name):
            continue
        found = parent.status(name)
        if found is None or not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            continue
        with suppress(OSError), parent.inner(name) as folder:
            fcntl.flock(folder.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            parent.remove_tree(name)
