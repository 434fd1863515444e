"""Shows a plan, or applies it and reports the changes. Every scaffolding command ends here."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, report
from pykb.files.apply import apply, backups
from pykb.files.plan import Action, Change, Plan


def carry_out(plan: Plan, *, dry_run: bool, diff: bool) -> bool:
    """Apply a plan, or only show it: ``--dry-run`` a list, ``--diff`` all changes.

    Returns whether anything was written.
    """
    if diff:
        console.raw(plan.diff())
        return False
    if dry_run:
        changes = [_described(change) for change in _shown(plan)]
        if not console.data({"changes": changes, "kept": list(plan.kept)}):
            for line in summary(plan):
                console.out(line)
        console.say("nothing was written (--dry-run)")
        return False
    _apply(plan)
    for line in summary(plan):
        console.say(line)
    for path, copy in backups(plan).items():
        console.say(f"the old `{path}` is kept as `{copy}`")
    return not plan.is_empty


def write(plan: Plan, *, seen_from: Path) -> None:
    """Apply a plan of generated files. Report each change, with its path from ``seen_from``."""
    _apply(plan)
    here = seen_from.resolve() == plan.root
    for change in plan.changes:
        path = change.path if here else os.path.relpath(plan.root / change.path, seen_from.resolve())
        console.say(f"{change.action.removesuffix('e')}ed {path}")


def _apply(plan: Plan) -> None:
    problem = apply(plan)
    if problem is not None:
        report([problem])
        raise typer.Exit(EXIT_FINDINGS)


def summary(plan: Plan) -> list[str]:
    """One line for each file: the action and the path."""
    lines = [f"{change.action:<9} {_places(change)}" for change in _shown(plan)]
    return [*lines, *(f"{Action.KEEP:<9} {path}" for path in plan.kept)]


def _shown(plan: Plan) -> list[Change]:
    """The changes, with a moved file once."""
    moved = {change.origin for change in plan.changes}
    return [change for change in plan.changes if change.path not in moved]


def _places(change: Change) -> str:
    return f"{change.origin} -> {change.path}" if change.origin else change.path


def _described(change: Change) -> dict[str, str]:
    """A change as JSON. A moved file also has its old path."""
    origin = {"from": change.origin} if change.origin else {}
    return {"action": str(change.action), "path": change.path, **origin}
