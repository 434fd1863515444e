"""``pykb edit``."""

from __future__ import annotations

from typing import Annotated

import typer

from pykb.cli import console
from pykb.cli.create import create, exit_code, from_working_directory
from pykb.cli.errors import report
from pykb.cli.options import Diff, DryRun, listed, plugin_args


def edit(
    multigroup: Annotated[
        bool | None,
        typer.Option("--multigroup/--no-multigroup", help="Give each API group its own folders, and move the files."),
    ] = None,
    plugins: Annotated[
        str,
        typer.Option(
            metavar="KEYS", help="Add plugins, or bring up to date what they wrote: helm, grafana, or your own."
        ),
    ] = "",
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Let plugins overwrite files that you edited. Keeps the old ones in .pykb/backup."
        ),
    ] = False,
    make: Annotated[bool, typer.Option("--make/--no-make", help="Generate the manifests afterwards.")] = True,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Change the layout of the project with its files, or its plugins.

    `--multigroup` moves modules and tests, and rewrites imports, manifests and PROJECT. Files without edits become
    those of `init --multigroup`. In edited files only the imports and unedited lines change. Code that cannot be
    followed stops the command.

    `--plugins helm` writes a Helm chart of config/, or brings it up to date. `--plugins grafana` writes a dashboard and
    alerts. What you edited in them stays.

    Examples:
      pykb edit --multigroup --diff
      pykb edit --multigroup
      pykb edit --plugins helm
    """
    from pykb.cli.project import require_project
    from pykb.commands.edit import Edits, plan_edit

    root, project = require_project(writes=not (dry_run or diff))
    plan, found = plan_edit(
        Edits(multigroup=multigroup, plugins=listed(plugins), force=force, args=plugin_args(console.settings.argv)),
        project,
        root,
    )
    report(from_working_directory(found, root))
    if plan is None:
        raise typer.Exit(exit_code(found))
    moved = multigroup is True  # only this changes what is generated
    create(
        plan,
        "this layout" if moved else "these plugins",
        root,
        listed(plugins),
        dry_run=dry_run,
        diff=diff,
        make=make and moved,
    )
