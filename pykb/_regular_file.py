"""Reads the files of a project: regular files only, and no more than a bound.

What lies in a repository is untrusted. A link can lead to a device that never ends, or to a pipe that nobody writes to.
Links to regular files are followed, since people share settings by them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 16 * 1024 * 1024
"""The largest file that is read. Manifests and modules have a few hundred kB; all CRDs of a full cluster, 30 MB."""

SETTINGS = "pyproject.toml"
_MOST_SETTINGS = 1024 * 1024
"""The largest pyproject.toml. Python's reader of TOML takes about ten seconds for 16 MiB, and each command reads it."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class UnsuitableFileError(OSError):
    """What has this path is not a file to read, or too large. ``strerror`` says which."""


def read_settings(root: Path) -> bytes:
    """Read the pyproject.toml of a project. Each command does, so its bound is smaller than that of other files.

    Raises:
        OSError: See :func:`read_bytes`.
    """
    return read_bytes(root / SETTINGS, most=_MOST_SETTINGS)


def read_bytes(path: Path, *, most: int = MOST_BYTES, anything: bool = False) -> bytes:
    """Read a file.

    Args:
        path: The file, or a link to it.
        most: The largest size in bytes.
        anything: Whether pipes and devices are read, too, up to ``most``. For files that the user named, since shells
            make a pipe of ``<(command)``.

    Raises:
        UnsuitableFileError: It is not a regular file, or larger than ``most``.
        OSError: It cannot be opened or read.
    """
    with open_file(path, most=most, anything=anything) as file:
        content = file.read(most + 1)  # it may grow, and files of /proc have a size of 0
    if len(content) > most:
        raise _too_large(path, most)
    return content


@contextmanager
def open_file(path: Path, *, most: int, anything: bool = False) -> Iterator[BinaryIO]:
    """Open a file as :func:`read_bytes` does. The caller reads no more than ``most``, since the file may grow."""
    if not anything:
        _check(path, path.stat())  # not opened then: to open a device can have effects
    with os.fdopen(os.open(path, os.O_RDONLY | (0 if anything else os.O_NONBLOCK | os.O_NOCTTY)), "rb") as file:
        if not anything:
            status = os.fstat(file.fileno())
            _check(path, status)
            if status.st_size > most:
                raise _too_large(path, most)
        yield file


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """Read a text in UTF-8. Each line end is a line feed, as in :meth:`pathlib.Path.read_text`.

    Raises:
        UnsuitableFileError: It is not a regular file, or larger than ``most`` bytes.
        OSError: It cannot be opened or read.
        UnicodeDecodeError: It is not UTF-8.
    """
    return read_bytes(path, most=most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def check_folder(folder: Path, *, most: int = MOST_BYTES) -> None:
    """Check a folder that another program reads: it has only regular files, links to such, and further folders.

    Links that lead nowhere are left to that program.

    Args:
        folder: The folder. One that does not exist has no files.
        most: The largest size of a file in bytes.

    Raises:
        UnsuitableFileError: A file is not a regular one, or larger than ``most``.
    """
    for place, _, names in os.walk(folder):
        for path in (Path(place) / name for name in names):
            try:
                status = path.stat()
            except OSError:
                continue
            _check(path, status)
            if status.st_size > most:
                raise _too_large(path, most)


def is_bytecode(path: Path) -> bool:
    """Whether a path is bytecode, or its folder. Bytecode has paths of the machine that it was made on."""
    return "__pycache__" in path.parts or path.suffix in {".pyc", ".pyo"}


def real_path(path: Path) -> Path:
    """The path without links. What exists of it is enough, and a loop of links stays as it is.

    :meth:`pathlib.Path.resolve` raises a ``RuntimeError`` for a loop, before Python 3.13.
    """
    return Path(os.path.realpath(path))


def _check(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        what = next((name for holds, name in _KINDS if holds(status.st_mode)), "something else")
        raise UnsuitableFileError(errno.EINVAL, f"it is {what}, expected a file", str(path))


def _too_large(path: Path, most: int) -> UnsuitableFileError:
    size = f"{most // 1024**2} MiB" if most >= 1024**2 else f"{most // 1024} KiB"
    return UnsuitableFileError(errno.EFBIG, f"it is larger than {size}", str(path))
