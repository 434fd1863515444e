"""Shows a plan, or applies it and reports the changes. Every command that writes ends here, also `generate --fix`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, finish, refuse, report, report_rendered
from pykb.cli.options import How, Preview
from pykb.cli.project import own_pykb
from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.codes import cli as usage_codes
from pykb.diagnostics.codes.cli import FLAG_CONFLICT, FLAG_REQUIRED
from pykb.files.apply import apply, backups
from pykb.files.plan import Action, Change, Draft, Plan, add_fixes
from pykb.files.state import missing_key
from pykb.project.settings import placed

if TYPE_CHECKING:
    from pykb.gen.run import GenerateResult


PlanT = TypeVar("PlanT")


def accepted(plan: PlanT | None, diagnostics: Diagnostics, root: Path) -> PlanT:
    """Report what was found. Ends the command if it has no plan."""
    report(_from_working_directory(placed(diagnostics, root), root))
    if plan is None:
        raise typer.Exit(_exit_code(diagnostics))
    return plan


def _exit_code(diagnostics: Diagnostics) -> int:
    """The exit code of a refused command: for usage if only names are wrong, else for findings."""
    about_usage = {value.slug for value in vars(usage_codes).values() if hasattr(value, "slug")}
    only_words = all(d.code.slug in about_usage | {"nothing-to-do", "plugin-unknown"} for d in diagnostics)
    return EXIT_USAGE if only_words else EXIT_FINDINGS


def _from_working_directory(diagnostics: Diagnostics, root: Path) -> Diagnostics:
    """Findings with paths relative to the working directory."""
    prefix = os.path.relpath(root)
    if prefix == ".":
        return diagnostics
    moved = (
        replace(d, span=replace(d.span, path=f"{prefix}/{d.span.path}")) if d.span is not None else d
        for d in diagnostics
    )
    return Diagnostics(moved)


def carry_out(plan: Plan, how: Preview) -> bool:
    """Apply a plan, or only show it: ``--dry-run`` a list, ``--diff`` all changes.

    Returns whether anything was written.
    """
    if how.diff:
        console.raw(plan.diff())
        return False
    if how.dry_run:
        changes = [_described(change) for change in _shown(plan)]
        if not console.data({"changes": changes, "kept": list(plan.kept)}):
            for line in _summary(plan):
                console.out(line)
        console.say("nothing was written (--dry-run)")
        return False
    _apply(plan)
    for line in _summary(plan):
        console.say(line)
    for path, copy in backups(plan).items():
        console.say(f"the old `{path}` is kept as `{copy}`")
    return not plan.is_empty


def scaffold(plan: Plan, what: str, root: Path, plugins: Sequence[str], how: How) -> bool:
    """Apply or show a plan, then run the generator. Returns whether anything was written."""
    wrote = carry_out(plan, how)
    if not how.writes:
        return False
    if not wrote:
        from pykb.diagnostics.codes.project import UNCHANGED

        report([UNCHANGED.at(None, f"nothing was changed: everything for {what} already exists")])
        return False
    if plugins:
        from pykb.plugins.external import trust

        note = trust(root, plugins)
        report([note] if note else [])
    if how.make:
        _generate(root)
    _say_chart(plan, root)
    return True


def _generate(root: Path) -> None:
    """Run the generator, with the project's own pykb if it is installed. Installs nothing."""
    program = own_pykb(root) or (sys.executable, "-P", "-m", "pykb")
    sys.stdout.flush()
    style = console.settings.format
    kept = subprocess.PIPE if style.is_document else None  # merged with the findings of this process
    words = (*program, "generate", "--format", style)
    try:
        done = subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, stderr=kept, check=False, encoding="utf-8")
    except KeyboardInterrupt:
        console.say("the files were written, but not the manifests: `pykb generate`")
        raise
    if done.stderr:
        report_rendered(done.stderr)
    if done.returncode != 0:
        from pykb.diagnostics.codes.scaffold import GENERATE_FAILED

        message = "the files were written, but the manifests could not be generated"
        report([GENERATE_FAILED.at(None, message, "see above; then: `pykb generate`")])
        raise typer.Exit(EXIT_FINDINGS)


def _say_chart(plan: Plan, root: Path) -> None:
    """Say that the project's Helm chart is out of date now, unless the plan has it."""
    from pykb.plugins.helm_v1 import HelmV1
    from pykb.project.file import read

    project, _ = read(root)
    folder = f"charts/{project.project_name}"
    is_written = any(change.path.startswith(f"{folder}/") for change in plan.changes)
    if str(HelmV1.key) in project.layout and (root / folder).is_dir() and not is_written:
        console.say(f"note: `{folder}` is older than this change: `pykb edit --plugins helm` brings it up to date")


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
    note = missing_key("the next command does not complete the changes of one that is killed while it writes")
    report([note] if note and not plan.is_empty else [])


def _summary(plan: Plan) -> list[str]:
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


def check_options(*, fix: bool, shows: str, reads: str) -> None:
    """Report options that do not go together. ``shows`` and ``reads`` are those that were given."""
    if shows and not fix:
        remedy = f"`pykb generate --fix {shows}`, or `--check` for a diff of the manifests"
        refuse(f"`{shows}` shows what `--fix` would change", remedy, kind=FLAG_REQUIRED)
    if reads and fix:
        message = f"`{reads}` writes nothing, but `--fix` changes the source"
        refuse(message, f"run `pykb generate --fix` before it, without `{reads}`", kind=FLAG_CONFLICT)


def fixed(root: Path, result: GenerateResult, again: Callable[[], GenerateResult]) -> GenerateResult:
    """Apply the fixes of all findings, run again, and repeat while something changes.

    Returns the last result.
    """
    seen: set[str] = set()
    while not (plan := _plan(root, result)).is_empty and plan.diff() not in seen:
        seen.add(plan.diff())
        write(plan, seen_from=root)
        result = again()
    return result


def show_fixes(root: Path, result: GenerateResult, how: Preview) -> None:
    """Show what the first run of fixes would change, and the findings that it would leave."""
    carry_out(_plan(root, result), how)
    left = [each for each in result.diagnostics if not each.fix]
    report(left)
    raise typer.Exit(EXIT_FINDINGS if any(each.severity is Severity.ERROR for each in left) else 0)


def _plan(root: Path, result: GenerateResult) -> Plan:
    draft = Draft(root)
    add_fixes(draft, result.diagnostics)
    finish(Diagnostics(draft.diagnostics))
    return draft.build()
