"""A plan becomes files, all of them or none, also when the process is killed at any moment.

How: everything new is written below ``.pykb/transaction.new``, with a copy of everything old; renaming that folder to
``.pykb/transaction`` is the decision. From then on the changes are renamed into place one by one, and whoever comes
next (:func:`recover`) goes on where a killed process stopped. A change that fails for another reason (no permission,
disk full, Ctrl-C) undoes those before it. A file that someone edited in the meantime is never written over.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.scaffold import BUSY, FILE_CHANGED, NOT_A_FILE, RECOVERED, WRITE_FAILED
from pykb.scaffold import durable
from pykb.scaffold.plan import Action, Plan
from pykb.scaffold.workspace import OutsideError, locate

STATE = ".pykb"
_NEW, _DECIDED, _DONE = "transaction.new", "transaction", "transaction.done"
_RECORD, _UNDO = "changes.json", "undo"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file of a transaction. Hashes are SHA-256; an empty ``before`` means that there was no file."""

    path: str
    before: str
    after: str
    mode: int
    before_mode: int
    made_folders: tuple[str, ...]


def apply(plan: Plan) -> Diagnostic | None:
    """Make all changes of a plan, or none; a finding when a file changed since the plan was made.

    Raises:
        EnvironmentProblem: Another command writes to the project, or the system refuses; what was done is undone.
    """
    if plan.is_empty:
        return None
    state = plan.root / STATE
    state_is_ours = not state.exists()
    _prepare(state)
    with durable.lock(state / "lock") as free:
        if not free:
            raise EnvironmentProblem(
                BUSY.at(None, "another pykb command writes to this project", help=("run the command again later",))
            )
        try:
            _stage(plan, state / _NEW)
            changed = _first_changed(plan)
            if changed is not None:
                return changed
            durable.replace(state / _NEW, state / _DECIDED)
            _forward_or_undo(plan.root, state)
        except OutsideError as error:
            return error.diagnostic
        except OSError as error:
            where = f" `{os.path.relpath(error.filename, plan.root)}`" if isinstance(error.filename, str) else ""
            message = f"cannot write{where}: {error.strerror}"
            raise EnvironmentProblem(WRITE_FAILED.at(None, message, notes=("nothing was written",))) from error
        finally:
            with suppress(OSError):
                durable.remove_tree(state / _NEW)
                if state_is_ours:
                    _remove_if_unused(state)
    return None


def recover(root: Path) -> Diagnostic | None:
    """Complete or undo what a killed command left; a note about it, or ``None`` when there is nothing.

    Raises:
        EnvironmentProblem: Another command writes to the project right now.
    """
    state = root / STATE
    if not any((state / name).is_dir() for name in (_NEW, _DECIDED, _DONE)):
        return None
    with durable.lock(state / "lock") as free:
        if not free:
            raise EnvironmentProblem(
                BUSY.at(None, "another pykb command writes to this project", help=("run the command again later",))
            )
        durable.remove_tree(state / _NEW)
        durable.remove_tree(state / _DONE)
        if not (state / _DECIDED).is_dir():
            _remove_if_unused(state)
            return None
        steps = _load(state / _DECIDED)
        edited = [step.path for step in steps if _hash(root, step) not in {step.before, step.after}]
        if edited or (state / _DECIDED / _UNDO).exists():
            _undo(root, state, steps)
            notes = tuple(f"`{path}` was edited in the meantime and stays as it is" for path in edited)
            return RECOVERED.at(None, "the command before was interrupted; its changes were undone", notes=notes)
        try:
            _forward_or_undo(root, state)
        except OutsideError as error:
            return error.diagnostic
        count = f"{len(steps)} files, `{steps[-1].path}` last"
        return RECOVERED.at(None, "the command before was interrupted; its changes were completed", notes=(count,))


def backups(plan: Plan) -> dict[str, str]:
    """Where the old content of each overwritten file is kept: by its hash, so that no backup replaces another."""
    kept: dict[str, str] = {}
    for change in plan.changes:
        if change.action is Action.OVERWRITE and change.snapshot.content is not None:
            digest = hashlib.sha256(change.snapshot.content).hexdigest()[:12]
            kept[change.path] = f"{STATE}/backup/{digest}/{change.path}"
    return kept


def _prepare(state: Path) -> None:
    if state.is_symlink() or (state.exists() and not state.is_dir()):
        raise EnvironmentProblem(
            NOT_A_FILE.at(
                None,
                f"`{STATE}` must be a folder: pykb prepares there what it writes",
                notes=("nothing was written",),
                help=(f"move it away: `mv {STATE} {STATE}.old`",),
            )
        )
    state.mkdir(exist_ok=True)
    ignore = state / ".gitignore"
    if not ignore.exists():
        durable.write(ignore, b"*\n", mode=0o644)


def _stage(plan: Plan, folder: Path) -> None:
    """Everything that is needed to go forward or back, on the disk."""
    durable.remove_tree(folder)
    folder.mkdir(mode=0o700)
    kept = backups(plan)
    steps: list[_Step] = []
    for number, change in enumerate(plan.changes):
        snapshot = change.snapshot
        durable.write(folder / f"{number}.after", change.after, mode=change.mode)
        if snapshot.content is not None:
            durable.write(folder / f"{number}.before", snapshot.content, mode=snapshot.mode or change.mode)
        if change.path in kept:
            _keep(plan.root / kept[change.path], snapshot.content or b"")
        steps.append(
            _Step(
                path=change.path,
                before=_digest(snapshot.content),
                after=_digest(change.after),
                mode=change.mode,
                before_mode=snapshot.mode or 0,
                made_folders=tuple(_absent_folders(plan.root, snapshot.target)),
            )
        )
    durable.write(folder / _RECORD, json.dumps([asdict(step) for step in steps], indent=1).encode())
    durable.sync(folder)


def _keep(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write(path, content)


def _first_changed(plan: Plan) -> Diagnostic | None:
    """Whether each file still is what the plan was made from."""
    for change in plan.changes:
        try:
            now = _read(locate(plan.root, change.path))
        except OutsideError as error:
            return error.diagnostic
        if now != change.snapshot.content:
            return FILE_CHANGED.at(
                None,
                f"`{change.path}` changed while the command ran",
                notes=("nothing was written",),
                help=("run the command again",),
            )
    return None


def _forward_or_undo(root: Path, state: Path) -> None:
    folder = state / _DECIDED
    steps = _load(folder)
    try:
        for number, step in enumerate(steps):
            _forward(root, folder / f"{number}.after", step)
    except (OSError, OutsideError, KeyboardInterrupt):
        _undo(root, state, steps)
        raise
    with suppress(OSError):  # everything is in place; what is left of the transaction goes with the next command
        _close(state)


def _forward(root: Path, staged: Path, step: _Step) -> None:
    """Rename one new file into place. Done already: nothing. Edited by another: an error."""
    target = locate(root, step.path)
    now = _digest(_read(target))
    if now == step.after:
        return
    if now != step.before:
        raise OutsideError(
            FILE_CHANGED.at(
                None,
                f"`{step.path}` changed while the command ran",
                notes=("everything that had been written was undone",),
                help=("run the command again",),
            )
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        durable.replace(staged, target)
    except OSError as error:
        if error.errno != 18:  # EXDEV: a folder of the project is another file system
            raise
        beside = target.with_name(f".{target.name}.pykb")
        shutil.copy2(staged, beside)
        durable.replace(beside, target)


def _undo(root: Path, state: Path, steps: list[_Step]) -> None:
    """Put back what was there. The mark comes first: killed here, the next command goes on undoing."""
    folder = state / _DECIDED
    durable.write(folder / _UNDO, b"")
    durable.sync(folder)
    for number, step in reversed(list(enumerate(steps))):
        if _hash(root, step) != step.after:
            continue
        target = locate(root, step.path)
        old = folder / f"{number}.before"
        if not step.before:
            target.unlink()
        elif old.exists():
            beside = folder / f"{number}.back"
            durable.write(beside, old.read_bytes(), mode=step.before_mode)
            durable.replace(beside, target)
    for step in reversed(steps):
        for made in reversed(step.made_folders):
            place = root / made
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
    _close(state)


def _close(state: Path) -> None:
    durable.remove_tree(state / _DONE)
    durable.replace(state / _DECIDED, state / _DONE)
    durable.remove_tree(state / _DONE)


def _remove_if_unused(state: Path) -> None:
    """Take away the state folder where this run made it and nothing is left in it."""
    if {entry.name for entry in state.iterdir()} <= {"lock", ".gitignore"}:
        durable.remove_tree(state)


def _load(folder: Path) -> list[_Step]:
    record = json.loads((folder / _RECORD).read_bytes())
    return [_Step(**{**entry, "made_folders": tuple(entry["made_folders"])}) for entry in record]


def _hash(root: Path, step: _Step) -> str:
    try:
        return _digest(_read(locate(root, step.path)))
    except OutsideError:
        return "outside"


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _absent_folders(root: Path, target: Path) -> list[str]:
    found: list[str] = []
    for parent in target.parents:
        if parent == root or parent.exists():
            break
        found.append(os.path.relpath(parent, root))
    return sorted(found)
