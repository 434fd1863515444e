"""The record of a transaction. It is written before the first change, and trusted only if this user wrote it here.

A record contains the inode number of its folder. A folder that was cloned, unpacked or copied has another number, so a
record that came with a repository is not mistaken for the work of a killed command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pykb.files import durable
from pykb.files.plan import OutsideError, digest, locate
from pykb.files.state import UnusableError, check_owner
from pykb.reading import read_json

UNDO = "undo"
_RECORD = "changes.json"
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


def write(folder: Path, steps: Sequence[Step]) -> None:
    """Write the record into the folder of the transaction."""
    record = {"folder": folder.stat().st_ino, "steps": [asdict(step) for step in steps]}
    durable.write(folder / _RECORD, json.dumps(record, indent=1).encode())


def read(root: Path, folder: Path) -> list[Step]:
    """Read the steps of a transaction. Each can be completed and undone.

    Raises:
        UnusableError: The folder has something that a killed command of this user did not leave.
    """
    check_owner(folder)
    for entry in folder.iterdir():
        if not _FILE.fullmatch(entry.name):
            raise UnusableError(f"`{entry.name}` does not belong there")
        check_owner(entry, folder=False)
    steps = [_step(entry) for entry in _entries(folder)]
    if len({step.path for step in steps}) != len(steps):
        raise UnusableError("a path is listed twice")
    for number, step in enumerate(steps):
        _check(root, folder, number, step)
    return steps


def content_of(path: Path) -> bytes | None:
    """The content of a file; ``None`` when it does not exist."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _entries(folder: Path) -> list[Any]:
    path = folder / _RECORD
    if not path.exists() or path.stat().st_size > _MOST_BYTES:
        raise UnusableError(f"`{_RECORD}` is missing or too large")
    try:
        record = read_json(path.read_bytes())
    except ValueError as error:
        raise UnusableError(f"`{_RECORD}` is not JSON") from error
    if not isinstance(record, dict) or set(record) != {"folder", "steps"}:
        raise UnusableError(f"`{_RECORD}` has another form than pykb writes")
    if record["folder"] != folder.stat().st_ino:
        raise UnusableError("it was not written here, but came with a copy of the project")
    entries = record["steps"]
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


def _check(root: Path, folder: Path, number: int, step: Step) -> None:
    """Check that the step stays in the project, and that its files exist with the recorded content."""
    for path in (step.path, *step.made_folders):
        try:
            place = locate(root, path)
        except OutsideError as error:
            raise UnusableError(error.diagnostic.message) from error
        if place != root / path:
            raise UnusableError(f"`{path}` leads through a symbolic link")
    for name, expected, needed in _staged(root, number, step):
        content = content_of(folder / name)
        if content is None and needed:
            raise UnusableError(f"`{name}` is missing")
        if content is not None and digest(content) != expected:
            raise UnusableError(f"`{name}` is damaged")


def _staged(root: Path, number: int, step: Step) -> Iterator[tuple[str, str, bool]]:
    """Each file of a step with its hash, and whether the step needs it."""
    not_done = digest(content_of(root / step.path)) == step.before
    yield f"{number}.after", step.after, not_done and bool(step.after)
    yield f"{number}.before", step.before, bool(step.before)
