"""``pykb update``."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.changes import accepted, carry_out
from pykb.cli.errors import EXIT_FINDINGS
from pykb.cli.options import Diff, DryRun
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.commands import UPDATE_CONFLICT

if TYPE_CHECKING:
    from pykb.project.file import Project


class Conflicts(StrEnum):
    """The values of ``--conflicts``."""

    REFUSE = "refuse"
    MARKERS = "markers"


def update(
    origin: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="VERSION|PATH",
            help="The pykb that made the project, or a wheel or a checkout of it.  [default: cliVersion of PROJECT]",
        ),
    ] = "",
    conflicts: Annotated[
        Conflicts, typer.Option(help="Write nothing if there are conflicts, or write them with git's markers.")
    ] = Conflicts.REFUSE,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Bring a project to what this version of pykb scaffolds. Your edits stay.

    pykb scaffolds the project twice: as the version that made it does, and as this one does. git merges the difference
    into your files. Where an edit and the difference meet in the same lines, that is a conflict. By default it stops
    the command and nothing is written.

    The project must be committed. PROJECT and the pin in pyproject.toml get the new version. Run it with the new pykb,
    not with that of the project.

    Examples:
      pykb update --diff
      pykb update
      pykb update --conflicts markers
      pykb update --from pykubebuilder-0.1.0-py3-none-any.whl
    """
    from pykb import __version__
    from pykb.cli.project import require_project
    from pykb.commands.update import Updates, plan_update

    root, project = require_project(writes=not (dry_run or diff), updates=True)
    options = Updates(origin=origin, markers=conflicts is Conflicts.MARKERS, writes=not (dry_run or diff))
    plan, found = plan_update(options, project, root)
    plan = accepted(plan, found, root)
    has_conflicts = any(each.code is UPDATE_CONFLICT for each in found)
    if not plan.is_empty and carry_out(plan, dry_run=dry_run, diff=diff):
        console.say(f"\nThe project is one of pykb {__version__}.")
        console.say(f"Next: {'resolve the conflicts' if has_conflicts else 'look at `git diff`'}, then `make all test`")
        for key in _of_their_own(project):
            console.say(f"  pykb edit --plugins {key}")
    if has_conflicts:
        raise typer.Exit(EXIT_FINDINGS)


def _of_their_own(project: Project) -> Iterator[str]:
    """The plugins of a project that bring their files up to date themselves."""
    from pykb.plugins.plugin import EditPlugin
    from pykb.plugins.registry import in_process

    for plugin in in_process(project.layout, Diagnostics()):
        if isinstance(plugin, EditPlugin):
            yield plugin.key.name.partition(".")[0]
