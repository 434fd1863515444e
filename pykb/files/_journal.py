"""The record of a transaction. It is written before the first change, and trusted only if this user wrote it here.

:mod:`pykb.files.origin` proves that, so a record that came with a repository is not mistaken for the work of a killed
command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from pykb.files import origin
from pykb.files.durable import Folder
from pykb.files.origin import UnusableError
from pykb.files.plan import OutsideError, digest, locate
from pykb.files.state import check_owner

UNDO = "undo"
_RECORD = "changes.json"
_KIND = "transaction"
_FILE = re.compile(rf"\d+\.(after|before|back)|{UNDO}|{re.escape(_RECORD)}")
_DIGEST = re.compile(r"([0-9a-f]{64})?")
_MOST_STEPS, _MOST_BYTES = 10_000, 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a transaction. Hashes are SHA-256; an empty hash means that the file did not, or will not, exist.

    No part of ``path`` and ``made_folders`` is a link.
    """

    path: str
    before: str
    after: str
    mode: int
    before_mode: int
    made_folders: tuple[str, ...]


def write(root: Path, folder: Folder, steps: Sequence[Step]) -> None:
    """Write the record into the folder of the transaction."""
    folder.write(_RECORD, origin.seal(_KIND, root, folder, [asdict(step) for step in steps]))


def read(root: Folder, folder: Folder) -> list[Step]:
    """Read the steps of a transaction. Each can be undone, and completed if its new file is still staged.

    Raises:
        UnusableError: The folder has something that a killed command of this user did not leave.
    """
    check_owner(folder.path.name, folder.own_status)
    for name in folder.names():
        if not _FILE.fullmatch(name):
            raise UnusableError(f"`{name}` does not belong there")
        found = folder.status(name)
        if found is not None:
            check_owner(name, found, folder=False)
    steps = [_step(entry) for entry in _entries(root, folder)]
    if len({step.path for step in steps}) != len(steps):
        raise UnusableError("a path is listed twice")
    for number, step in enumerate(steps):
        _check(root, folder, number, step)
    return steps


def content_of(root: Folder, path: str) -> bytes | None:
    """The content of a file below the project; ``None`` when it does not exist. No part of its path is a link."""
    *folders, name = PurePosixPath(path).parts
    try:
        with root.below(folders) as folder:
            return folder.read(name)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _entries(root: Folder, folder: Folder) -> list[Any]:
    found = folder.status(_RECORD)
    if found is None or found.st_size > _MOST_BYTES:
        raise UnusableError(f"`{_RECORD}` is missing or too large")
    try:
        entries = origin.unseal(_KIND, root.path, folder, folder.read(_RECORD) or b"")
    except UnusableError as error:
        raise UnusableError(f"`{_RECORD}`: {error}") from error
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST_STEPS:
        raise UnusableError(f"`{_RECORD}` has no list of changes, or one that is too long")
    return entries


def _step(entry: object) -> Step:
    names = [field.name for field in fields(Step)]
    if not isinstance(entry, dict) or set(entry) != set(names):
        raise UnusableError(f"`{_RECORD}` has a change of an unknown form")
    path, before, after, mode, before_mode, made = (entry[name] for name in names)
    texts = [path, before, after, *made] if isinstance(made, list) else [None]
    modes = (mode, before_mode)
    if not all(isinstance(text, str) for text in texts) or not all(type(m) is int and 0 <= m <= 0o777 for m in modes):
        raise UnusableError(f"`{_RECORD}` has a change of an unknown form")
    if not _DIGEST.fullmatch(before) or not _DIGEST.fullmatch(after) or before == after:
        raise UnusableError(f"`{_RECORD}` has an invalid hash")
    return Step(path, before, after, mode, before_mode, tuple(made))


def _check(root: Folder, folder: Folder, number: int, step: Step) -> None:
    """Check that the step stays in the project, and that its files have the recorded content."""
    for path in (step.path, *step.made_folders):
        try:
            place = locate(root.path, path)
        except OutsideError as error:
            raise UnusableError(error.diagnostic.message) from error
        if place != root.path / path:
            raise UnusableError(f"`{path}` leads through a symbolic link")
    for name, expected, needed in (
        (f"{number}.after", step.after, False),
        (f"{number}.before", step.before, bool(step.before)),
    ):
        content = folder.read(name)
        if content is None and needed:
            raise UnusableError(f"`{name}` is missing")
        if content is not None and digest(content) != expected:
            raise UnusableError(f"`{name}` is damaged")
