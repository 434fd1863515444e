"""Writes that survive a power cut, and the lock of a project: what a transaction is made of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a new file and force it to the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, mode)
        os.fsync(handle)
    finally:
        os.close(handle)


def sync(folder: Path) -> None:
    """Force the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(source: Path, target: Path) -> None:
    """Rename over ``target``, and force the names to the disk."""
    os.replace(source, target)  # noqa: PTH105 - the system call, by its name
    sync(target.parent)
    if source.parent != target.parent:
        sync(source.parent)


def remove_tree(folder: Path) -> None:
    """Remove a folder of plain files and folders; one that is gone is fine."""
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        else:
            entry.unlink(missing_ok=True)
    folder.rmdir()


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold the lock file; gives ``False`` at once when another process has it. Freed by the system when we die."""
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)
