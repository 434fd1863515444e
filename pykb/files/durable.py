"""Operations on folders: writes that survive a power cut, below folders that are open, locks, and temporary folders."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_PLAIN_MODE = 0o777
_CACHE = "__pycache__"


class Folder:
    """An open folder. All that is done through it happens there, even if its path leads elsewhere by now.

    Names are single names, without slashes. No link is followed. An ``OSError`` has the path by which the folder was
    opened, and the name.
    """

    def __init__(self, handle: int, path: Path) -> None:
        self.handle = handle
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a folder by its path, whose last part must not be a link."""
        return cls(os.open(path, _FOLDER), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it. Its folders that were opened stay open."""
        os.close(self.handle)

    def inner(self, name: str, *, make: int | None = None) -> Folder:
        """Open a folder in this one, made with the mode ``make`` if it does not exist."""
        with naming(self.path / name):
            if make is not None:
                with suppress(FileExistsError):
                    os.mkdir(name, make, dir_fd=self.handle)
                    os.fsync(self.handle)
            return Folder(os.open(name, _FOLDER, dir_fd=self.handle), self.path / name)

    @contextmanager
    def below(self, parts: Sequence[str], *, make: bool = False) -> Iterator[Folder]:
        """Open a folder below this one, step by step."""
        with ExitStack() as opened:
            folder = self
            for part in parts:
                folder = opened.enter_context(folder.inner(part, make=_PLAIN_MODE if make else None))
            yield folder

    @property
    def own_status(self) -> os.stat_result:
        """The status of the open folder."""
        return os.fstat(self.handle)

    @property
    def reached(self) -> Path:
        """A path of this process that leads to the open folder, on Linux. Elsewhere the path that it was opened by."""
        path = Path("/proc/self/fd") / str(self.handle)
        return path if path.is_dir() else self.path

    def status(self, name: str) -> os.stat_result | None:
        """The status of an entry, also of a link. ``None`` if there is none."""
        try:
            return os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """The names of the entries."""
        return sorted(os.listdir(self.handle))  # noqa: PTH208 - of a handle

    def read(self, name: str, *, most: int = -1) -> bytes | None:
        """The content of a plain file, or its first ``most`` bytes. ``None`` if there is none."""
        with naming(self.path / name):
            try:
                handle = os.open(name, _READ, dir_fd=self.handle)
            except FileNotFoundError:
                return None
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise OSError("it is not a file")
                return file.read(most)

    def write(self, name: str, content: bytes, *, mode: int = 0o600) -> None:
        """Write a new file and force it to disk. Refuses an entry in its place."""
        with naming(self.path / name):
            handle = os.open(name, _WRITE, 0o600, dir_fd=self.handle)
            try:
                view = memoryview(content)
                while view:
                    view = view[os.write(handle, view) :]
                os.fchmod(handle, mode)
                os.fsync(handle)
            finally:
                os.close(handle)

    def put(self, name: str, content: bytes, *, mode: int = 0o600) -> None:
        """Write or replace a file atomically. Readers see either the old or the new one."""
        draft = f".{name}.pykb"
        self.remove(draft)
        self.write(draft, content, mode=mode)
        self.rename(draft, name)

    def rename(self, name: str, new: str, into: Folder | None = None) -> None:
        """Rename over ``new``, in another folder if given, and force the entries to disk. An error names ``new``."""
        target = into or self
        with naming(target.path / new):
            os.replace(name, new, src_dir_fd=self.handle, dst_dir_fd=target.handle)
            os.fsync(target.handle)
        if target is not self:
            os.fsync(self.handle)

    def remove(self, name: str) -> None:
        """Remove a file or a link. Ignores a missing one."""
        with naming(self.path / name), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        with naming(self.path / name):
            os.rmdir(name, dir_fd=self.handle)

    def remove_tree(self, name: str) -> None:
        """Remove a folder with its content. Ignores a missing one and refuses a link."""
        with naming(self.path / name), suppress(FileNotFoundError):
            shutil.rmtree(name, dir_fd=self.handle)

    def clear(self, *, but: Sequence[str] = ()) -> None:
        """Remove all entries, as far as possible. Ignores failures."""
        for name in self.names():
            if name not in but:
                with suppress(OSError):
                    found = self.status(name)
                    remove = self.remove_tree if found is not None and stat.S_ISDIR(found.st_mode) else self.remove
                    remove(name)

    def remove_if_empty(self, name: str) -> bool:
        """Remove a folder without files, or with bytecode only. Returns whether it is gone."""
        if self.status(name) is None:
            return True
        with self.inner(name) as folder:
            entries = folder.names()
            if entries == [_CACHE]:
                with folder.inner(_CACHE) as cache:
                    compiled = cache.names()
                    if not all(each.endswith(".pyc") for each in compiled):
                        return False
                    for each in compiled:
                        cache.remove(each)
                folder.remove_folder(_CACHE)
            elif entries:
                return False
        self.remove_folder(name)
        return True

    def sync(self) -> None:
        """Force the entries to disk."""
        os.fsync(self.handle)

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Hold a lock file. Gives ``False`` at once when another process has it.

        The system frees the lock if this process dies.
        """
        with naming(self.path / name):
            handle = os.open(name, _LOCK, 0o600, dir_fd=self.handle)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error name a whole path."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


# Private folders in the system's temporary folder. Those of commands that were killed go with the next one.


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
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent.path))
        try:
            folder = Folder.open(path)
        except FileNotFoundError:
            continue
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
