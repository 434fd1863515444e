"""Reads the current files of a project's folder, and nothing outside of it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath

from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes.scaffold import NOT_A_FILE, PATH_OUTSIDE
from pykb.files.state import STATE


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was when first read. ``content`` is ``None`` when it did not exist."""

    path: str
    target: Path
    content: bytes | None
    mode: int | None

    @property
    def exists(self) -> bool:
        """Whether the file existed."""
        return self.content is not None


class OutsideError(Exception):
    """A path that no command may write to. Carries the finding to show."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def snapshot(root: Path, path: str) -> Snapshot:
    """Read the file at a path below ``root``. The path has forward slashes.

    Raises:
        OutsideError: The path, or a symbolic link on it, leads out of the folder or to something other than a file.
    """
    target = locate(root, path)
    try:
        status = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Snapshot(path, target, None, None)
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
        raise OutsideError(_in_the_way(f"`{path}` is {what}, but must be a file"))
    return Snapshot(path, target, target.read_bytes(), stat.S_IMODE(status.st_mode))


def locate(root: Path, path: str) -> Path:
    """Resolve a path below ``root``. Follows links inside the folder and refuses others.

    Raises:
        OutsideError: The path is not below ``root``, belongs to git or to a transaction, or goes through a file.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\\" in path or not path.isprintable():
        raise OutsideError(_outside(f"`{path}` is not a path below the project"))
    place = root / pure
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(root) or real == root:
        raise OutsideError(_leads_out(root, place))
    if _is_reserved(real.relative_to(root).parts):
        raise OutsideError(_outside(f"`{path}` is where git or pykb keeps its own files"))
    for parent in takewhile(lambda parent: parent != root, real.parents):
        if parent.exists() and not parent.is_dir():
            shown = parent.relative_to(root).as_posix()
            raise OutsideError(_in_the_way(f"`{shown}` is a file, but must be a folder"))
    return real


def _leads_out(root: Path, place: Path) -> Diagnostic:
    """The finding for the symbolic link on the path to ``place``."""
    parts = (*reversed(place.parents), place)
    link = next(part for part in parts if part.is_relative_to(root) and part.is_symlink())
    shown = link.relative_to(root).as_posix()
    helps = (f"replace the link with its target: `rm {shown}`",)
    return _outside(f"`{shown}` is a symbolic link that leads out of the project", helps)


def _outside(message: str, helps: tuple[str, ...] = ()) -> Diagnostic:
    return PATH_OUTSIDE.at(None, message, notes=("nothing was written",), help=helps)


def _in_the_way(message: str) -> Diagnostic:
    return NOT_A_FILE.at(None, message, notes=("nothing was written",), help=("move it away",))


def _is_reserved(parts: tuple[str, ...]) -> bool:
    """Whether the path belongs to git, which could run a file there, or to a transaction."""
    own = parts[1] if parts[0] == STATE and len(parts) > 1 else ""
    is_git = any(part.casefold() == ".git" for part in parts)
    return is_git or parts == (STATE,) or own == "lock" or own.startswith("transaction")
