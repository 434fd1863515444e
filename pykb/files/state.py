"""The folder of pykb's own files in a project, ``.pykb``. git ignores it, but a repository can still contain one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.scaffold import NOT_A_FILE
from pykb.files import origin
from pykb.files.durable import Folder
from pykb.files.origin import UnusableError

STATE = ".pykb"
EXPLORED = "explore"
"""The subfolder with the histories of the explorer's last findings."""
_IGNORE = ".gitignore"
_MOST_BYTES = 1024 * 1024


def check_owner(name: str, status: os.stat_result, *, folder: bool = True) -> None:
    """Raise :class:`UnusableError` unless this is a real folder (a plain file) of the user who runs pykb."""
    if stat.S_ISLNK(status.st_mode):
        raise UnusableError(f"`{name}` is a symbolic link")
    if not (stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)):
        raise UnusableError(f"`{name}` is not a {'folder' if folder else 'file'}")
    if status.st_uid != os.geteuid():
        raise UnusableError(f"`{name}` belongs to another user (uid {status.st_uid})")


@contextmanager
def opened(root: Path, *names: str) -> Iterator[Folder]:
    """Open pykb's folder in a project, or a private folder below it. Makes what does not exist.

    Raises:
        EnvironmentProblem: A link or a file has the name of a folder, or a private one belongs to another user.
    """
    with ExitStack() as stack:
        project = stack.enter_context(Folder.open(root.resolve()))
        folder = stack.enter_context(_made(project, STATE, "pykb prepares there what it writes"))
        if folder.status(_IGNORE) is None:
            folder.write(_IGNORE, b"*\n!/wheels/\n!/wheels/*\n", mode=0o644)
        for depth, name in enumerate(names):
            folder = stack.enter_context(_made(folder, name))
            try:
                check_owner(name, folder.own_status)
            except UnusableError as error:
                raise _in_the_way("/".join((STATE, *names[: depth + 1])), str(error)) from error
        yield folder


def _made(parent: Folder, name: str, why: str = "") -> Folder:
    found = parent.status(name)
    if found is not None and not stat.S_ISDIR(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a folder"
        shown = f"{parent.path.name}/{name}" if name != STATE else name
        raise _in_the_way(shown, why or f"`{name}` is {what}")
    return parent.inner(name, make=0o777 if name == STATE else 0o700)


def remember(root: Path, name: str, words: Iterable[str]) -> None:
    """Keep words of this user about this copy of the project, in addition to those that are kept.

    Raises:
        EnvironmentProblem: A link or a file has the folder's name.
    """
    kept = sorted({*remembered(root, name), *words})
    with opened(root) as state:
        state.put(name, origin.seal(name, root, state, kept))


def remembered(root: Path, name: str) -> frozenset[str]:
    """The words that this user kept in this copy of the project. A file that came with a repository does not count."""
    try:
        with Folder.open(root.resolve() / STATE) as state:
            found = state.status(name)
            if found is None or found.st_size > _MOST_BYTES:
                return frozenset()
            check_owner(name, found, folder=False)
            return frozenset(map(str, origin.unseal(name, root, state, state.read(name) or b"")))
    except (OSError, UnusableError, TypeError):
        return frozenset()


def _in_the_way(name: str, why: str) -> EnvironmentProblem:
    return NOT_A_FILE.problem(
        f"`{name}` must be a folder of yours: {why}",
        f"move it away: `mv {name} {name}.old`",
        notes="nothing was written",
    )
