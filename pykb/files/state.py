"""The folder of pykb's own files in a project, ``.pykb``, and the proof that this user wrote what lies there."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, EnvironmentProblem, Severity
from pykb.diagnostics.codes.environment import ORIGIN_KEY
from pykb.diagnostics.codes.scaffold import NOT_A_FILE
from pykb.files.durable import Folder
from pykb.reading import read_json

# Proves that this user wrote a record, and wrote it here.
#
# Records lie in folders that anybody can fill: a repository, an archive, a copy. Each contains a MAC over its content
# and its place. The key is a secret of the user, outside of all projects. Somebody else can copy a record, but neither
# make one nor take it to another folder.


_KEY = "key"
_BYTES = 32


class UnusableError(Exception):
    """Something that pykb must not use. The message says why."""


def user_state() -> Path:
    """The folder of pykb's state of this user (XDG base directories)."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path.home` raises where there is none
    state = Path(chosen) if Path(chosen).is_absolute() else Path(home) / ".local" / "state"
    return state / "pykubebuilder"


def seal(kind: str, place: Path, folder: Folder, content: object) -> bytes:
    """The text of a record, to be kept in a folder.

    Without a key it has a MAC that no other process accepts: see :func:`missing_key`.

    Args:
        kind: What the record is for. A record of another kind does not count.
        place: The path that it is for, such as that of the project.
        folder: The folder that it lies in. A copy of the folder has another number.
        content: Data that JSON has.
    """
    try:
        key = _made_key()
    except OSError:
        key = _own_key()
    return json.dumps({"content": content, "mac": _mac(key, kind, place, folder, content)}, indent=1).encode()


def unseal(kind: str, place: Path, folder: Folder, text: bytes) -> Any:
    """The content of a record, for the same kind, place and folder.

    Raises:
        UnusableError: It is not a record, or this user did not write it there.
    """
    try:
        record = read_json(text)
    except ValueError as error:
        raise UnusableError("it is not JSON") from error
    if not isinstance(record, dict) or set(record) != {"content", "mac"} or not isinstance(record["mac"], str):
        raise UnusableError("it has another form than pykb writes")
    keys = [_own_key()]
    with suppress(OSError):
        keys.append(_key())
    given = record["mac"].encode("utf-8", "replace")
    macs = (_mac(key, kind, place, folder, record["content"]).encode() for key in keys)
    if not any(hmac.compare_digest(given, mac) for mac in macs):
        raise UnusableError("you did not write it here: it came with a copy, or the project was moved")
    return record["content"]


def missing_key(follows: str, *, severity: Severity = Severity.NOTE) -> Diagnostic | None:
    """Why this user has no key, with what follows from that. ``None`` if there is one. Makes it if possible."""
    try:
        _made_key()
    except OSError as error:
        message = f"pykb cannot keep its key in `{user_state()}`: {error.strerror or error}"
        helps = ("name a folder of yours that lasts: `export XDG_STATE_HOME=FOLDER`",)
        return ORIGIN_KEY.at(None, message, *helps, notes=follows, severity=severity)
    return None


def require_key(follows: str) -> None:
    """Make the key of this user.

    Raises:
        EnvironmentProblem: It cannot be kept.
    """
    problem = missing_key(follows, severity=Severity.ERROR)
    if problem is not None:
        raise EnvironmentProblem(problem)


def _mac(key: bytes, kind: str, place: Path, folder: Folder, content: object) -> str:
    where = [os.fsencode(os.path.realpath(place)).hex(), folder.own_status.st_ino]
    text = json.dumps([kind, where, content], sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@cache
def _own_key() -> bytes:
    """A key of this process."""
    return secrets.token_bytes(_BYTES)


def _key() -> bytes:
    """The key of this user.

    Raises:
        OSError: There is none, or others could know it.
    """
    with Folder.open(user_state()) as folder:
        found = folder.status(_KEY)
        if found is None:
            raise FileNotFoundError
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise OSError(f"`{_KEY}` is not a file that only you can read; remove it")
        key = folder.read(_KEY) or b""
    if len(key) != _BYTES:
        raise OSError(f"`{_KEY}` is damaged; remove it")
    return key


def _made_key() -> bytes:
    """The key of this user, made if there is none. Of several processes that make one, the first decides."""
    with suppress(FileNotFoundError):
        return _key()
    place = user_state()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = f".{_KEY}-{secrets.token_hex(8)}"
    with Folder.open(place) as folder:
        folder.write(draft, secrets.token_bytes(_BYTES))
        try:
            with suppress(FileExistsError):
                os.link(draft, _KEY, src_dir_fd=folder.handle, dst_dir_fd=folder.handle)
        finally:
            folder.remove(draft)
        folder.sync()
    return _key()


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
        state.put(name, seal(name, root, state, kept))


def remembered(root: Path, name: str) -> frozenset[str]:
    """The words that this user kept in this copy of the project. A file that came with a repository does not count."""
    try:
        with Folder.open(root.resolve() / STATE) as state:
            found = state.status(name)
            if found is None or found.st_size > _MOST_BYTES:
                return frozenset()
            check_owner(name, found, folder=False)
            return frozenset(map(str, unseal(name, root, state, state.read(name) or b"")))
    except (OSError, UnusableError, TypeError):
        return frozenset()


def _in_the_way(name: str, why: str) -> EnvironmentProblem:
    return NOT_A_FILE.problem(
        f"`{name}` must be a folder of yours: {why}",
        f"move it away: `mv {name} {name}.old`",
        notes=NOTHING_WRITTEN,
    )
