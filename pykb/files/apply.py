"""Applies a plan as a transaction: all changes or none, even if the process is killed.

All new files and copies of all old ones are written below ``.pykb/transaction.new``. Renaming that folder to
``.pykb/transaction`` commits the transaction. Then the new files are renamed into place one by one. If the process is
killed, the next command completes the changes (:func:`recover`). A change that fails for another reason (no permission,
disk full, Ctrl-C) undoes those before it. A file that someone edited in the meantime is never overwritten.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes import scaffold as codes
from pykb.files.durable import Folder
from pykb.files.plan import Action, OutsideError, Plan, digest, locate
from pykb.files.state import STATE, UnusableError, check_owner, opened, seal, unseal

_NEW, _DECIDED, _DONE = "transaction.new", "transaction", "transaction.done"


def apply(plan: Plan) -> Diagnostic | None:
    """Make all changes of a plan, or none. Returns a finding when a file changed since the plan was made.

    Raises:
        EnvironmentProblem: Another command writes to the project, or the system refuses a change. All changes are
            undone.
    """
    if plan.is_empty:
        return None
    with Folder.open(plan.root) as root:
        is_new = root.status(STATE) is None
        try:
            with opened(plan.root) as state, _locked(state):
                _leftovers(state)
                try:
                    return _carry_out(plan, root, state)
                finally:
                    with suppress(OSError):
                        state.remove_tree(_NEW)
                        if is_new:
                            _remove_if_unused(root, state)
        except OutsideError as error:
            return error.diagnostic
        except OSError as error:
            where = f" `{os.path.relpath(error.filename, plan.root)}`" if isinstance(error.filename, str) else ""
            message = f"cannot write{where}: {error.strerror}"
            raise codes.WRITE_FAILED.problem(message, notes=NOTHING_WRITTEN) from error


def _carry_out(plan: Plan, root: Folder, state: Folder) -> Diagnostic | None:
    state.remove_tree(_NEW)
    with state.inner(_NEW, make=0o700) as folder:
        steps = _stage(plan, state, folder)
        changed = _first_changed(plan, root)
        if changed is not None:
            return changed
        state.rename(_NEW, _DECIDED)
        _forward_or_undo(root, state, folder, steps)
    return None


def recover(root: Path, *, completes: Callable[[str], bool] = lambda _: True) -> Diagnostic | None:
    """Complete or undo the changes of a killed command. Returns a note about it, or ``None`` when there are none.

    Nothing that somebody edited or took back in the meantime is written again: then the rest is undone.

    Args:
        root: The folder of the project.
        completes: Asked with what would be completed. If it says no, the changes are undone.

    Raises:
        EnvironmentProblem: Another command writes to the project now, or no command of pykb left these files.
    """
    with Folder.open(root.resolve()) as project, _existing(project) as state:
        if state is None or not _leftovers(state):
            return None
        with _locked(state):
            state.remove_tree(_NEW)
            state.remove_tree(_DONE)
            if state.status(_DECIDED) is None:
                _remove_if_unused(project, state)
                return None
            with state.inner(_DECIDED) as folder:
                return _settle(project, state, folder, completes)


def _settle(root: Folder, state: Folder, folder: Folder, completes: Callable[[str], bool]) -> Diagnostic | None:
    steps = _read_journal(root, folder)
    hashes = [_hash(root, step) for step in steps]
    done = [_is_done(folder, number, steps[number], now) for number, now in enumerate(hashes)]
    started = folder.status(_UNDO) is not None
    if not any(done) and not started and all(now == step.before for now, step in zip(hashes, steps, strict=True)):
        _undo(root, state, folder, steps)  # it may have made folders
        message = "the previous command was interrupted before it changed a file; its changes were left out"
        return codes.RECOVERED.at(None, message, "run it again if you want them")
    last = max((number for number, each in enumerate(done) if each), default=-1)
    edited = [step.path for step, now in zip(steps, hashes, strict=True) if now not in {step.before, step.after}]
    taken_back = [step.path for step, now in list(zip(steps, hashes, strict=True))[: last + 1] if now == step.before]
    left = f"{done.count(False)} of {len(steps)} files are left, `{steps[-1].path}` last"
    if edited or taken_back or started or not completes(left):
        _undo(root, state, folder, steps)
        notes = [f"`{path}` was edited in the meantime and stays as it is" for path in edited]
        if taken_back:
            notes.append(f"{_number(taken_back)} been taken back already, such as `{taken_back[0]}`")
        message = "the previous command was interrupted; its changes were undone"
        return codes.RECOVERED.at(None, message, notes=tuple(notes))
    try:
        _forward_or_undo(root, state, folder, steps)
    except OutsideError as error:
        return error.diagnostic
    count = f"{len(steps)} files, `{steps[-1].path}` last"
    return codes.RECOVERED.at(None, "the previous command was interrupted; its changes were completed", notes=count)


def _is_done(folder: Folder, number: int, step: Step, now: str) -> bool:
    """Whether a step was carried out, also if somebody took it back."""
    return now == step.after or (bool(step.after) and folder.status(f"{number}.after") is None)


def _number(paths: Sequence[str]) -> str:
    return "1 file had" if len(paths) == 1 else f"{len(paths)} files had"


def pending(root: Path) -> Diagnostic | None:
    """A note about the work for :func:`recover`, for commands that do not write. ``None`` when there is none."""
    message = "the previous command was interrupted while it wrote"
    try:
        with Folder.open(root.resolve()) as project, _existing(project) as state:
            if state is None or _DECIDED not in _leftovers(state):
                return None
            with state.inner(_DECIDED) as folder:
                _read_journal(project, folder)
    except EnvironmentProblem as error:
        found = error.diagnostic
        return codes.TRANSACTION_PENDING.at(None, message, *found.help, notes=(found.message, *found.notes))
    return codes.TRANSACTION_PENDING.at(None, message, "the next command that writes completes or undoes its changes")


def backups(plan: Plan) -> dict[str, str]:
    """The backup paths of overwritten and edited files. Names contain the hash, so they do not replace each other."""
    kept: dict[str, str] = {}
    for change in plan.changes:
        if (change.backup or change.action is Action.OVERWRITE) and change.snapshot.content is not None:
            kept[change.path] = f"{STATE}/backup/{digest(change.snapshot.content)[:12]}/{change.path}"
    return kept


@contextmanager
def _locked(state: Folder) -> Iterator[None]:
    with state.lock("lock") as free:
        if not free:
            raise codes.BUSY.problem("another pykb command writes to this project", "run the command again later")
        yield


@contextmanager
def _existing(project: Folder) -> Iterator[Folder | None]:
    """Open pykb's folder. ``None`` if there is none, or a link or a file in its place."""
    try:
        state = project.inner(STATE)
    except OSError:
        yield None
        return
    with state:
        yield state


def _leftovers(state: Folder) -> list[str]:
    """The existing folders of a transaction. Checks that this user owns them and that they are not links."""
    found = {name: state.status(name) for name in (_NEW, _DECIDED, _DONE)}
    names = [name for name, status in found.items() if status is not None]
    for name, status in found.items():
        try:
            if status is not None:
                check_owner(name, status)
        except UnusableError as error:
            raise _unusable(name, error) from error
    return names


def _read_journal(root: Folder, folder: Folder) -> list[Step]:
    try:
        return _read(root, folder)
    except (UnusableError, OSError) as error:
        raise _unusable(_DECIDED, error) from error


def _unusable(name: str, error: UnusableError | OSError) -> EnvironmentProblem:
    where = f"{STATE}/{name}"
    why = (error.strerror or "it cannot be read") if isinstance(error, OSError) else str(error)
    return codes.TRANSACTION_UNUSABLE.problem(
        f"`{where}` was not left by an interrupted command of yours",
        f"look at `git status`, then remove it: `rm -r {shlex.quote(where)}`",
        notes=(why, NOTHING_WRITTEN),
    )


def _stage(plan: Plan, state: Folder, folder: Folder) -> list[Step]:
    """Write everything to disk that is needed to complete or undo the plan."""
    kept = backups(plan)
    steps: list[Step] = []
    for number, change in enumerate(plan.changes):
        snapshot = change.snapshot
        if change.after is not None:
            folder.write(f"{number}.after", change.after, mode=change.mode)
        if snapshot.content is not None:
            folder.write(f"{number}.before", snapshot.content, mode=snapshot.mode or change.mode)
        if change.path in kept:
            _, *parts, name = PurePosixPath(kept[change.path]).parts
            with state.below(parts, make=True) as place:
                place.put(name, snapshot.content or b"")
        steps.append(
            Step(
                path=snapshot.target.relative_to(plan.root).as_posix(),
                before=digest(snapshot.content),
                after=digest(change.after),
                mode=change.mode,
                before_mode=snapshot.mode or 0,
                made_folders=tuple(_absent_folders(plan.root, snapshot.target)),
            )
        )
    _write(plan.root, folder, steps)
    folder.sync()
    return steps


def _first_changed(plan: Plan, root: Folder) -> Diagnostic | None:
    """The finding for the first file that changed since the plan was made."""
    for change in plan.changes:
        snapshot = change.snapshot
        try:
            place = locate(plan.root, change.path)
        except OutsideError as error:
            return error.diagnostic
        path = place.relative_to(plan.root).as_posix()
        if place != snapshot.target or content_of(root, path) != snapshot.content:
            return _changed(change.path, NOTHING_WRITTEN)
    return None


def _changed(path: str, note: str) -> Diagnostic:
    message = f"`{path}` changed while the command ran"
    return codes.FILE_CHANGED.at(None, message, "run the command again", notes=note)


def _forward_or_undo(root: Folder, state: Folder, folder: Folder, steps: Sequence[Step]) -> None:
    try:
        for number, step in enumerate(steps):
            _forward(root, folder, f"{number}.after", step)
    except (OSError, OutsideError, KeyboardInterrupt):
        _undo(root, state, folder, steps)
        raise
    with suppress(OSError):  # all changes are made; the next command removes the rest of the transaction
        _remove_emptied(root, steps)
        _close(state)


def _remove_emptied(root: Folder, steps: Sequence[Step]) -> None:
    """Remove the folders that have nothing but bytecode left after files were removed."""
    for step in steps:
        if step.after:
            continue
        for path in PurePosixPath(step.path).parents[:-1]:
            try:
                with root.below(path.parts[:-1]) as parent:
                    if not parent.remove_if_empty(path.name):
                        break
            except FileNotFoundError:
                continue  # it went with the files of another step


def _forward(root: Folder, folder: Folder, staged: str, step: Step) -> None:
    """Rename one new file into place, or remove one. Skips a step already done. Raises if someone edited the file."""
    locate(root.path, step.path)
    now = digest(content_of(root, step.path))
    if now == step.after:
        return
    if now != step.before:
        raise OutsideError(_changed(step.path, "everything that had been written was undone"))
    *parts, name = PurePosixPath(step.path).parts
    with root.below(parts, make=bool(step.after)) as place:
        if not step.after:
            place.remove(name)
            return
        try:
            folder.rename(staged, name, place)
        except OSError as error:
            if error.errno != errno.EXDEV:  # a folder of the project is on another file system
                raise
            place.put(name, folder.read(staged) or b"", mode=step.mode)


def _undo(root: Folder, state: Folder, folder: Folder, steps: Sequence[Step]) -> None:
    """Restore the old files. The mark is written first: if killed here, the next command continues to undo."""
    if folder.status(_UNDO) is None:
        folder.write(_UNDO, b"")
        folder.sync()
    for number, step in reversed(list(enumerate(steps))):
        if _hash(root, step) != step.after:
            continue
        *parts, name = PurePosixPath(step.path).parts
        with root.below(parts, make=bool(step.before)) as place:
            if not step.before:
                place.remove(name)
            elif (old := folder.read(f"{number}.before")) is not None:
                beside = f"{number}.back"
                folder.remove(beside)
                folder.write(beside, old, mode=step.before_mode)
                folder.rename(beside, name, place)
    for step in reversed(steps):
        for made in reversed(step.made_folders):
            *parts, name = PurePosixPath(made).parts
            # It does not exist any more, or someone put a file into it.
            with suppress(OSError), root.below(parts) as place:
                place.remove_folder(name)
    _close(state)


def _close(state: Folder) -> None:
    state.remove_tree(_DONE)
    state.rename(_DECIDED, _DONE)
    state.remove_tree(_DONE)


def _remove_if_unused(root: Folder, state: Folder) -> None:
    """Remove the state folder if this run made it and it is empty."""
    own = {"lock", ".gitignore"}
    if {*state.names()} <= own:
        for name in own:
            state.remove(name)
        root.remove_folder(STATE)


def _hash(root: Folder, step: Step) -> str:
    try:
        locate(root.path, step.path)
        return digest(content_of(root, step.path))
    except (OutsideError, OSError):
        return "outside"


def _absent_folders(root: Path, target: Path) -> list[str]:
    found: list[str] = []
    for parent in target.parents:
        if parent == root or parent.exists():
            break
        found.append(os.path.relpath(parent, root))
    return sorted(found)


_UNDO = "undo"
_RECORD = "changes.json"
_KIND = "transaction"
_FILE = re.compile(rf"\d+\.(after|before|back)|{_UNDO}|{re.escape(_RECORD)}")
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


def _write(root: Path, folder: Folder, steps: Sequence[Step]) -> None:
    """Write the record into the folder of the transaction."""
    folder.write(_RECORD, seal(_KIND, root, folder, [asdict(step) for step in steps]))


def _read(root: Folder, folder: Folder) -> list[Step]:
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
        entries = unseal(_KIND, root.path, folder, folder.read(_RECORD) or b"")
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
