"""The folder of pykb's own files in a project, ``.pykb``. git ignores it, but a repository can still contain one."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.scaffold import NOT_A_FILE
from pykb.files import durable
from pykb.reading import read_json

STATE = ".pykb"
EXPLORED = "explore"
"""The subfolder with the histories of the explorer's last findings."""
_MOST_BYTES = 1024 * 1024


class UnusableError(Exception):
    """Something in the folder that pykb must not use. The message says why."""


def check_owner(path: Path, *, folder: bool = True) -> None:
    """Raise :class:`UnusableError` unless this is a real folder (a plain file) of the user who runs pykb."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise UnusableError(f"`{path.name}` is a symbolic link")
    if not (stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)):
        raise UnusableError(f"`{path.name}` is not a {'folder' if folder else 'file'}")
    if status.st_uid != os.geteuid():
        raise UnusableError(f"`{path.name}` belongs to another user (uid {status.st_uid})")


def state_folder(root: Path) -> Path:
    """The folder, created if it does not exist.

    Raises:
        EnvironmentProblem: A link or a file has its name.
    """
    state = root / STATE
    if state.is_symlink() or (state.exists() and not state.is_dir()):
        raise _in_the_way(STATE, "pykb prepares there what it writes")
    state.mkdir(exist_ok=True)
    ignore = state / ".gitignore"
    if not os.path.lexists(ignore):
        durable.write(ignore, b"*\n!/wheels/\n!/wheels/*\n", mode=0o644)
    return state


def private_folder(root: Path, name: str) -> Path:
    """A subfolder that only this user can read, created if it does not exist.

    Raises:
        EnvironmentProblem: A link or a file has its name, or it belongs to another user.
    """
    folder = state_folder(root) / name
    if not os.path.lexists(folder):
        folder.mkdir(mode=0o700)
    try:
        check_owner(folder)
    except UnusableError as error:
        raise _in_the_way(f"{STATE}/{name}", str(error)) from error
    return folder


def remember(root: Path, name: str, words: Iterable[str]) -> None:
    """Keep words of this user about this copy of the project, in addition to those that are kept.

    Raises:
        EnvironmentProblem: A link or a file has the folder's name.
    """
    state = state_folder(root)
    kept = sorted({*remembered(root, name), *words})
    durable.write(state / name, json.dumps({"folder": state.stat().st_ino, "words": kept}).encode())


def remembered(root: Path, name: str) -> frozenset[str]:
    """The words that this user kept in this copy of the project. A file that came with a repository does not count."""
    path = root / STATE / name
    try:
        check_owner(path.parent)
        check_owner(path, folder=False)
        if path.stat().st_size > _MOST_BYTES:
            return frozenset()
        kept = read_json(path.read_bytes())
        return frozenset(map(str, kept["words"])) if kept["folder"] == path.parent.stat().st_ino else frozenset()
    except (OSError, UnusableError, ValueError, LookupError, TypeError):
        return frozenset()


def _in_the_way(name: str, why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        NOT_A_FILE.at(
            None,
            f"`{name}` must be a folder of yours: {why}",
            notes=("nothing was written",),
            help=(f"move it away: `mv {name} {name}.old`",),
        )
    )
