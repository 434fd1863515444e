"""``pykb edit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pykb.cli import console
from pykb.cli.options import Diff, DryRun, Make, listed, plugin_args
from pykb.project import Certificates
from pykb.runtime.sharding.ranges import MOST


def edit(
    multigroup: Annotated[
        bool | None,
        typer.Option("--multigroup/--no-multigroup", help="Give each API group its own folders, and move the files."),
    ] = None,
    namespaced: Annotated[
        bool | None,
        typer.Option("--namespaced/--no-namespaced", help="Let the manager watch one namespace, with its permissions."),
    ] = None,
    license_name: Annotated[str, typer.Option("--license", help="Licence of the headers: apache2, none.")] = "",
    license_file: Annotated[Path | None, typer.Option(help="File with the header, for another licence.")] = None,
    owner: Annotated[str, typer.Option(help="Owner in the headers.")] = "",
    certificates: Annotated[
        Certificates | None, typer.Option(help="Who issues the certificates of the webhooks.")
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=MOST,
            help="Let all replicas work, each on its share of N ranges. 0 for one replica.",
        ),
    ] = None,
    plugins: Annotated[
        str,
        typer.Option(
            metavar="KEYS", help="Add plugins, or bring up to date what they wrote: helm, grafana, olm, or your own."
        ),
    ] = "",
    remove_plugins: Annotated[str, typer.Option(metavar="KEYS", help="Remove plugins, with what they wrote.")] = "",
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Overwrite or remove files that you edited, for --shards, --certificates, --plugins, "
            "--remove-plugins. Keeps the old ones in .pykb/backup.",
        ),
    ] = False,
    make: Make = True,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Change options of `init` in the project, with all files that depend on them, or its plugins.

    Files without edits become those of a new scaffold. In edited files only what the options concern changes, and
    edited lines stay. `--multigroup` moves modules and tests, and rewrites imports. Code that it cannot follow stops
    the command.

    `--certificates` replaces the manifests of the certificates. It stops at edits that it would lose.

    `--shards` sets the manager's flag, the replicas and their permissions, and adds a disruption budget and an
    autoscaler, which is off. `--shards 0` removes all of it.

    `--plugins helm` writes a Helm chart of config/, or brings it up to date. `--plugins grafana` writes a dashboard and
    alerts, `--plugins olm` a bundle for OLM. What you edited in them stays.

    `--remove-plugins` removes what a plugin wrote. Files that you edited stop the command.

    Examples:
      pykb edit --multigroup --diff
      pykb edit --namespaced
      pykb edit --certificates cert-manager
      pykb edit --shards 16 --diff
      pykb edit --license apache2 --owner "The authors"
      pykb edit --plugins helm
      pykb edit --remove-plugins grafana --diff
    """
    from pykb.cli.changes import accepted, scaffold
    from pykb.cli.create import say_needed
    from pykb.cli.init import this_year
    from pykb.cli.project import require_project
    from pykb.commands.edit import Edits, plan_edit

    root, project = require_project(writes=not (dry_run or diff))
    options = Edits(
        multigroup=multigroup,
        namespaced=namespaced,
        license=license_name,
        license_file=license_file,
        owner=owner,
        certificates=certificates,
        shards=shards,
        plugins=listed(plugins),
        removed_plugins=listed(remove_plugins),
        force=force,
        args=plugin_args(console.settings.argv),
    )
    plan, found = plan_edit(options, project, root, year=this_year())
    plan = accepted(plan, found, root)
    wrote = scaffold(
        plan,
        "these options" if options.is_about_init or shards is not None else "these plugins",
        root,
        listed(plugins),
        dry_run=dry_run,
        diff=diff,
        make=make and options.is_about_init,  # neither shards nor plugins change what is generated
    )
    if wrote:
        say_needed(certificates)
