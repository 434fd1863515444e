"""``pykb edit``."""

from __future__ import annotations

from typing import Annotated

import typer

from pykb.cli.create import create, exit_code, from_working_directory
from pykb.cli.errors import report
from pykb.cli.options import Diff, DryRun


def edit(
    multigroup: Annotated[
        bool | None,
        typer.Option("--multigroup/--no-multigroup", help="Give each API group its own folders, and move the files."),
    ] = None,
    make: Annotated[bool, typer.Option("--make/--no-make", help="Generate the manifests afterwards.")] = True,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Change the layout of the project, with its files.

    `--multigroup` moves modules and tests, and rewrites imports, manifests and PROJECT. Files without edits become
    those of `init --multigroup`. In edited files only the imports and unedited lines change. Code that cannot be
    followed stops the command.

    Examples:
      pykb edit --multigroup --diff
      pykb edit --multigroup
    """
    from pykb.cli.project import require_project
    from pykb.commands.edit import Edits, plan_edit

    root, project = require_project(writes=not (dry_run or diff))
    plan, found = plan_edit(Edits(multigroup=multigroup), project, root)
    report(from_working_directory(found, root))
    if plan is None:
        raise typer.Exit(exit_code(found))
    create(plan, "this layout", root, (), dry_run=dry_run, diff=diff, make=make)
