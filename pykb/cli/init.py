"""``pykb init``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, finish, report
from pykb.cli.options import Diff, DryRun, Plugins, listed, plugin_args
from pykb.diagnostics.codes.project import PROJECT_EXISTS
from pykb.diagnostics.codes.scaffold import DIRECTORY_FILE_TAKEN


def init(
    domain: Annotated[
        str, typer.Option(help="Domain of the API groups. With example.com, the group infra is infra.example.com.")
    ] = "",
    project_name: Annotated[
        str, typer.Option(help="Name of the project and prefix of deployed objects.  [default: this directory's name]")
    ] = "",
    owner: Annotated[str, typer.Option(help="Copyright holder.")] = "",
    license_name: Annotated[
        str, typer.Option("--license", metavar="apache2|none", help="Licence header of the code.")
    ] = "apache2",
    license_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with your own licence header. Overrides --license.")
    ] = None,
    namespaced: Annotated[
        bool, typer.Option("--namespaced/--no-namespaced", help="Deploy with permissions in one namespace only.")
    ] = False,
    multigroup: Annotated[
        bool, typer.Option("--multigroup/--no-multigroup", help="Support several API groups.")
    ] = False,
    template: Annotated[
        str, typer.Option(metavar="DIR|GIT", help="A cookiecutter template to use instead of pykb's own.")
    ] = "",
    plugins: Plugins = "",
    project_version: Annotated[str, typer.Option(hidden=True)] = "3",
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Start a project in this directory: code, manifests, Makefile, Dockerfile, tests.

    Examples:
      pykb init --domain example.com
      pykb init --domain example.com --owner "The authors" --license apache2
      pykb init --domain example.com --dry-run
    """
    from pykb.cli.changes import carry_out
    from pykb.cli.project import settle
    from pykb.commands.init import NewProject, plan_project
    from pykb.plugins.external import trust
    from pykb.scaffold.locate import WHEEL

    if project_version != "3":
        from pykb.diagnostics.codes.cli import FLAG_CONFLICT

        message = f"`--project-version {project_version}`: pykb writes version 3 of PROJECT only"
        finish([FLAG_CONFLICT.at(None, message, help=("leave the option out",))], code=EXIT_USAGE)
    root = Path.cwd()
    settle(root, writes=not (dry_run or diff))
    options = NewProject(
        domain=domain,
        project_name=project_name,
        owner=owner,
        license=license_name,
        license_file=license_file,
        namespaced=namespaced,
        multigroup=multigroup,
        template=template or None,
        plugins=listed(plugins),
        args=plugin_args(console.settings.argv),
    )
    plan, found = plan_project(options, root, year=this_year())
    in_the_way = any(d.code in {PROJECT_EXISTS, DIRECTORY_FILE_TAKEN} for d in found)
    if plan is None:
        report(found)
        raise typer.Exit(EXIT_FINDINGS if in_the_way else EXIT_USAGE)
    report(found)
    if carry_out(plan, dry_run=dry_run, diff=diff):
        trust(root, options.plugins)
        if (root / WHEEL).exists():
            console.say(
                f"\nnote: no package index has this version of pykb; commit {WHEEL}, so that a clone can install it"
            )
        console.say("\nNext: add a kind")
        console.say("  pykb create api --group infra --version v1 --kind Machine")


def this_year() -> str:
    """The year for a licence file.

    SOURCE_DATE_EPOCH makes it reproducible (reproducible-builds.org).
    """
    import datetime as dt

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    zone = dt.UTC
    now = dt.datetime.fromtimestamp(int(epoch), zone) if epoch.isdigit() else dt.datetime.now(zone)
    return str(now.year)
