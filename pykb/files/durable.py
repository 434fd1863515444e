"""The operations of a transaction: writes that survive a power cut, and the lock of a project."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def write(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file and force it to disk. Refuses a link in its place."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, mode)
        os.fsync(handle)
    finally:
        os.close(handle)


def sync(folder: Path) -> None:
    """Force the entries of a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(source: Path, target: Path) -> None:
    """Rename over ``target``, and force the entries to disk."""
    os.replace(source, target)  # noqa: PTH105 - the system call, by its name
    sync(target.parent)
    if source.parent != target.parent:
        sync(source.parent)


def put(path: Path, content: bytes, *, mode: int) -> None:
    """Replace a file atomically. Readers see either the old or the new file."""
    beside = path.with_name(f".{path.name}.pykb")
    write(beside, content, mode=mode)
    replace(beside, path)


def move_below(root: Path, source: Path, target: Path) -> None:
    """Rename over ``target``, below ``root``, and force the entries to disk. Makes missing folders."""
    with _parent(root, target, make=True) as handle:
        os.replace(source, target.name, dst_dir_fd=handle)
        os.fsync(handle)
    sync(source.parent)


def unlink_below(root: Path, target: Path) -> None:
    """Remove a file below ``root``."""
    with _parent(root, target) as handle:
        os.unlink(target.name, dir_fd=handle)


@contextmanager
def _parent(root: Path, target: Path, *, make: bool = False) -> Iterator[int]:
    """Open the folder of ``target`` step by step from ``root``, so that no new link on the path is followed."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in target.relative_to(root).parts[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
                    os.fsync(handle)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def remove_tree(folder: Path) -> None:
    """Remove a folder with its content. Ignores a missing folder and refuses a link."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def remove_if_empty(folder: Path) -> bool:
    """Remove a folder without files, or with bytecode only. Returns whether it is gone."""
    if not folder.is_dir():
        return True
    entries = [*folder.iterdir()]
    caches = [entry for entry in entries if entry.name == "__pycache__" and entry.is_dir() and not entry.is_symlink()]
    if len(caches) < len(entries) or any(each.suffix != ".pyc" for cache in caches for each in cache.iterdir()):
        return False
    for cache in caches:
        remove_tree(cache)
    folder.rmdir()
    return True


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold the lock file. Gives ``False`` at once when another process has it.

    The system frees the lock if this process dies. Refuses a link in its place.
    """
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK | os.O_NONBLOCK, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)
