"""Applies a plan as a transaction: all changes or none, even if the process is killed.

All new files and copies of all old ones are written below ``.pykb/transaction.new``. Renaming that folder to
``.pykb/transaction`` commits the transaction. Then the new files are renamed into place one by one. If the process is
killed, the next command completes the changes (:func:`recover`). A change that fails for another reason (no permission,
disk full, Ctrl-C) undoes those before it. A file that someone edited in the meantime is never overwritten.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.scaffold import (
    BUSY,
    FILE_CHANGED,
    RECOVERED,
    TRANSACTION_PENDING,
    TRANSACTION_UNUSABLE,
    WRITE_FAILED,
)
from pykb.files import _journal as journal
from pykb.files import durable
from pykb.files._journal import Step, content_of
from pykb.files.plan import Action, OutsideError, Plan, digest, locate
from pykb.files.state import STATE, UnusableError, check_owner, state_folder

_NEW, _DECIDED, _DONE = "transaction.new", "transaction", "transaction.done"


def apply(plan: Plan) -> Diagnostic | None:
    """Make all changes of a plan, or none. Returns a finding when a file changed since the plan was made.

    Raises:
        EnvironmentProblem: Another command writes to the project, or the system refuses a change. All changes are
            undone.
    """
    if plan.is_empty:
        return None
    state = plan.root / STATE
    state_is_ours = not state.exists()
    state_folder(plan.root)
    with _locked(state):
        _leftovers(state)
        try:
            steps = _stage(plan, state / _NEW)
            changed = _first_changed(plan)
            if changed is not None:
                return changed
            durable.replace(state / _NEW, state / _DECIDED)
            _forward_or_undo(plan.root, state, steps)
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
    """Complete or undo the changes of a killed command. Returns a note about it, or ``None`` when there are none.

    Raises:
        EnvironmentProblem: Another command writes to the project now, or no command of pykb left these files.
    """
    root = root.resolve()
    state = root / STATE
    if not _leftovers(state):
        return None
    with _locked(state):
        durable.remove_tree(state / _NEW)
        durable.remove_tree(state / _DONE)
        if not (state / _DECIDED).is_dir():
            _remove_if_unused(state)
            return None
        steps = _read_journal(root, state)
        edited = [step.path for step in steps if _hash(root, step) not in {step.before, step.after}]
        if edited or (state / _DECIDED / journal.UNDO).exists():
            _undo(root, state, steps)
            notes = tuple(f"`{path}` was edited in the meantime and stays as it is" for path in edited)
            return RECOVERED.at(None, "the previous command was interrupted; its changes were undone", notes=notes)
        try:
            _forward_or_undo(root, state, steps)
        except OutsideError as error:
            return error.diagnostic
        count = f"{len(steps)} files, `{steps[-1].path}` last"
        return RECOVERED.at(None, "the previous command was interrupted; its changes were completed", notes=(count,))


def pending(root: Path) -> Diagnostic | None:
    """A note about the work for :func:`recover`, for commands that do not write. ``None`` when there is none."""
    root = root.resolve()
    message = "the previous command was interrupted while it wrote"
    try:
        if _DECIDED not in _leftovers(root / STATE):
            return None
        _read_journal(root, root / STATE)
    except EnvironmentProblem as error:
        found = error.diagnostic
        return TRANSACTION_PENDING.at(None, message, notes=(found.message, *found.notes), help=found.help)
    return TRANSACTION_PENDING.at(None, message, help=("the next command that writes completes or undoes its changes",))


def backups(plan: Plan) -> dict[str, str]:
    """The backup paths of overwritten and edited files. Names contain the hash, so they do not replace each other."""
    kept: dict[str, str] = {}
    for change in plan.changes:
        if (change.backup or change.action is Action.OVERWRITE) and change.snapshot.content is not None:
            kept[change.path] = f"{STATE}/backup/{digest(change.snapshot.content)[:12]}/{change.path}"
    return kept


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    with durable.lock(state / "lock") as free:
        if not free:
            raise EnvironmentProblem(
                BUSY.at(None, "another pykb command writes to this project", help=("run the command again later",))
            )
        yield


def _leftovers(state: Path) -> list[str]:
    """The existing folders of a transaction. Checks that this user owns them and that they are not links."""
    if state.is_symlink():
        return []
    names = [name for name in (_NEW, _DECIDED, _DONE) if os.path.lexists(state / name)]
    for name in names:
        try:
            check_owner(state / name)
        except UnusableError as error:
            raise _unusable(state / name, error) from error
    return names


def _read_journal(root: Path, state: Path) -> list[Step]:
    try:
        return journal.read(root, state / _DECIDED)
    except (UnusableError, OSError) as error:
        raise _unusable(state / _DECIDED, error) from error


def _unusable(folder: Path, error: UnusableError | OSError) -> EnvironmentProblem:
    where = f"{STATE}/{folder.name}"
    why = (error.strerror or "it cannot be read") if isinstance(error, OSError) else str(error)
    return EnvironmentProblem(
        TRANSACTION_UNUSABLE.at(
            None,
            f"`{where}` was not left by an interrupted command of yours",
            notes=(why, "nothing was written"),
            help=(f"look at `git status`, then remove it: `rm -r {shlex.quote(where)}`",),
        )
    )


def _stage(plan: Plan, folder: Path) -> list[Step]:
    """Write everything to disk that is needed to complete or undo the plan."""
    durable.remove_tree(folder)
    folder.mkdir(mode=0o700)
    kept = backups(plan)
    steps: list[Step] = []
    for number, change in enumerate(plan.changes):
        snapshot = change.snapshot
        if change.after is not None:
            durable.write(folder / f"{number}.after", change.after, mode=change.mode)
        if snapshot.content is not None:
            durable.write(folder / f"{number}.before", snapshot.content, mode=snapshot.mode or change.mode)
        if change.path in kept:
            _keep(locate(plan.root, kept[change.path]), snapshot.content or b"")
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
    journal.write(folder, steps)
    durable.sync(folder)
    return steps


def _keep(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write(path, content)


def _first_changed(plan: Plan) -> Diagnostic | None:
    """The finding for the first file that changed since the plan was made."""
    for change in plan.changes:
        try:
            place = locate(plan.root, change.path)
        except OutsideError as error:
            return error.diagnostic
        if place != change.snapshot.target or content_of(place) != change.snapshot.content:
            return _changed(change.path, "nothing was written")
    return None


def _changed(path: str, note: str) -> Diagnostic:
    message = f"`{path}` changed while the command ran"
    return FILE_CHANGED.at(None, message, notes=(note,), help=("run the command again",))


def _forward_or_undo(root: Path, state: Path, steps: list[Step]) -> None:
    folder = state / _DECIDED
    try:
        for number, step in enumerate(steps):
            _forward(root, folder / f"{number}.after", step)
    except (OSError, OutsideError, KeyboardInterrupt):
        _undo(root, state, steps)
        raise
    with suppress(OSError, OutsideError):  # all changes are made; the next command removes the rest of the transaction
        _remove_emptied(root, steps)
        _close(state)


def _remove_emptied(root: Path, steps: list[Step]) -> None:
    """Remove the folders that have nothing but bytecode left after files were removed."""
    for step in steps:
        if step.after:
            continue
        for folder in locate(root, step.path).parents:
            if folder == root or not durable.remove_if_empty(folder):
                break


def _forward(root: Path, staged: Path, step: Step) -> None:
    """Rename one new file into place, or remove one. Skips a step already done. Raises if someone edited the file."""
    target = locate(root, step.path)
    now = digest(content_of(target))
    if now == step.after:
        return
    if now != step.before:
        raise OutsideError(_changed(step.path, "everything that had been written was undone"))
    try:
        if step.after:
            durable.move_below(root, staged, target)
        else:
            durable.unlink_below(root, target)
    except OSError as error:
        if error.errno != errno.EXDEV:  # a folder of the project is on another file system
            raise
        durable.put(target, staged.read_bytes(), mode=step.mode)


def _undo(root: Path, state: Path, steps: list[Step]) -> None:
    """Restore the old files. The mark is written first: if killed here, the next command continues to undo."""
    folder = state / _DECIDED
    durable.write(folder / journal.UNDO, b"")
    durable.sync(folder)
    for number, step in reversed(list(enumerate(steps))):
        if _hash(root, step) != step.after:
            continue
        target = locate(root, step.path)
        old = folder / f"{number}.before"
        if not step.before:
            durable.unlink_below(root, target)
        elif old.exists():
            beside = folder / f"{number}.back"
            durable.write(beside, old.read_bytes(), mode=step.before_mode)
            durable.move_below(root, beside, target)
    for step in reversed(steps):
        for made in reversed(step.made_folders):
            with suppress(OSError):  # it does not exist any more, or someone put a file into it
                (root / made).rmdir()
    _close(state)


def _close(state: Path) -> None:
    durable.remove_tree(state / _DONE)
    durable.replace(state / _DECIDED, state / _DONE)
    durable.remove_tree(state / _DONE)


def _remove_if_unused(state: Path) -> None:
    """Remove the state folder if this run made it and it is empty."""
    if {entry.name for entry in state.iterdir()} <= {"lock", ".gitignore"}:
        durable.remove_tree(state)


def _hash(root: Path, step: Step) -> str:
    try:
        return digest(content_of(locate(root, step.path)))
    except OutsideError:
        return "outside"


def _absent_folders(root: Path, target: Path) -> list[str]:
    found: list[str] = []
    for parent in target.parents:
        if parent == root or parent.exists():
            break
        found.append(os.path.relpath(parent, root))
    return sorted(found)
