"""Commands about the project as a whole: ``pykb init``, ``pykb edit`` and ``pykb update``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, refuse, report
from pykb.cli.options import How, Preview, taking
from pykb.commands.options import Edits, NewProject, Updates
from pykb.diagnostics.codes.project import PROJECT_EXISTS
from pykb.diagnostics.codes.scaffold import DIRECTORY_FILE_TAKEN

if TYPE_CHECKING:
    from pykb.project.file import Project


@taking(Preview, "how")
@taking(NewProject)
def init(options: NewProject, how: Preview) -> None:
    """Start a project in this directory: code, manifests, Makefile, Dockerfile, tests.

    With `--kubernetes`, `pykb generate` warns of what an older API server lacks, and `pykb deploy` refuses an older
    cluster.

    Examples:
      pykb init --domain example.com
      pykb init --domain example.com --owner "The authors" --license apache2
      pykb init --domain example.com --kubernetes 1.33 --replicas 2
      pykb init --domain example.com --dry-run
    """
    from pykb.cli.changes import carry_out
    from pykb.cli.project import settle
    from pykb.commands.init import plan_project
    from pykb.plugins.external import trust
    from pykb.scaffold.locate import WHEEL

    if options.project_version != "3":
        from pykb.diagnostics.codes.cli import FLAG_CONFLICT

        message = f"`--project-version {options.project_version}`: pykb writes version 3 of PROJECT only"
        refuse(message, "leave the option out", kind=FLAG_CONFLICT)
    root = Path.cwd()
    settle(root, writes=how.writes)
    plan, found = plan_project(options, root, year=_this_year())
    in_the_way = any(d.code in {PROJECT_EXISTS, DIRECTORY_FILE_TAKEN} for d in found)
    if plan is None:
        report(found)
        raise typer.Exit(EXIT_FINDINGS if in_the_way else EXIT_USAGE)
    report(found)
    if carry_out(plan, how):
        note = trust(root, options.plugins)
        report([note] if note else [])
        if (root / WHEEL).exists():
            console.say(
                f"\nnote: no package index has this version of pykb; commit {WHEEL}, so that a clone can install it"
            )
        console.say("\nNext: add a kind")
        console.say("  pykb create api --group infra --version v1 --kind Machine")


def _this_year() -> str:
    """The year for a licence file.

    SOURCE_DATE_EPOCH makes it reproducible (reproducible-builds.org).
    """
    import datetime as dt

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    zone = dt.UTC
    now = dt.datetime.fromtimestamp(int(epoch), zone) if epoch.isdigit() else dt.datetime.now(zone)
    return str(now.year)


@taking(How, "how")
@taking(Edits)
def edit(options: Edits, how: How) -> None:
    """Change options of `init` in the project, with all files that depend on them, or its plugins.

    Files without edits become those of a new scaffold. In edited files only what the options concern changes, and
    edited lines stay. `--multigroup` moves modules and tests, and rewrites imports. Code that it cannot follow stops
    the command.

    `--certificates` replaces the manifests of the certificates. It stops at edits that it would lose.

    `--replicas` adds config/availability with the number, a disruption budget and a spread over nodes. `--replicas 1`
    removes it.

    `--shards` sets the manager's flag, the replicas and their permissions, and adds a disruption budget and an
    autoscaler, which is off. `--shards 0` removes all of it.

    `--plugins helm` writes a Helm chart of config/, or brings it up to date. `--plugins grafana` writes a dashboard and
    alerts, `--plugins olm` a bundle for OLM. What you edited in them stays.

    `--remove-plugins` removes what a plugin wrote. Files that you edited stop the command.

    Examples:
      pykb edit --multigroup --diff
      pykb edit --namespaced
      pykb edit --certificates cert-manager
      pykb edit --replicas 2
      pykb edit --shards 16 --diff
      pykb edit --license apache2 --owner "The authors"
      pykb edit --plugins helm
      pykb edit --remove-plugins grafana --diff
    """
    from pykb.cli.changes import accepted, scaffold
    from pykb.cli.create import say_needed
    from pykb.cli.project import require_project
    from pykb.commands.edit import plan_edit

    root, project = require_project(writes=how.writes)
    plan, found = plan_edit(options, project, root, year=_this_year())
    plan = accepted(plan, found, root)
    what = "these options" if options.is_about_files else "these plugins"
    # Neither the number of replicas nor plugins change what is generated.
    how = replace(how, make=how.make and options.is_about_code)
    if scaffold(plan, what, root, options.plugins, how):
        say_needed(options.certificates)


@taking(Preview, "how")
@taking(Updates)
def update(options: Updates, how: Preview) -> None:
    """Bring a project to what this version of pykb scaffolds. Your edits stay.

    pykb scaffolds the project twice: as the version that made it does, and as this one does. It gets the former from
    the package index, into a temporary environment. git merges the difference into your files. Where an edit and the
    difference meet in the same lines, that is a conflict. By default it stops the command and nothing is written.

    The project must be committed. PROJECT and the pin in pyproject.toml get the new version. Run it with the new pykb,
    not with that of the project.

    Examples:
      pykb update --diff
      pykb update
      pykb update --conflicts markers
      pykb update --from pykubebuilder-0.1.0-py3-none-any.whl
    """
    from pykb import __version__
    from pykb.cli.changes import accepted, carry_out
    from pykb.cli.project import require_project
    from pykb.commands.update import plan_update
    from pykb.diagnostics.codes.commands import UPDATE_CONFLICT

    root, project = require_project(writes=how.writes, updates=True)
    plan, found = plan_update(options, project, root, writes=how.writes)
    plan = accepted(plan, found, root)
    has_conflicts = any(each.code is UPDATE_CONFLICT for each in found)
    if not plan.is_empty and carry_out(plan, how):
        console.say(f"\nThe project is one of pykb {__version__}.")
        console.say(f"Next: {'resolve the conflicts' if has_conflicts else 'look at `git diff`'}, then `make all test`")
        for key in _of_their_own(project):
            console.say(f"  pykb edit --plugins {key}")
    if has_conflicts:
        raise typer.Exit(EXIT_FINDINGS)


def _of_their_own(project: Project) -> Iterator[str]:
    """The plugins of a project that bring their files up to date themselves."""
    from pykb.diagnostics import Diagnostics
    from pykb.plugins.plugin import has_step
    from pykb.plugins.registry import in_process

    for plugin in in_process(project.layout, Diagnostics()):
        if has_step(plugin, "edit"):
            yield plugin.key.name.partition(".")[0]
