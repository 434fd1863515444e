"""``pykb delete api`` and ``pykb delete webhook``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.options import (
    Diff,
    DryRun,
    Group,
    HubVersion,
    Kind,
    Make,
    complete_controllers,
    complete_versions,
    listed,
    plugin_args,
)

if TYPE_CHECKING:
    from pykb.diagnostics import Diagnostics
    from pykb.files.plan import Plan

Version = Annotated[str, typer.Option(help="API version.", autocompletion=complete_versions)]
Force = Annotated[
    bool, typer.Option("--force", help="Delete edited files as well. Keeps copies of them in .pykb/backup.")
]


def api(
    group: Group = "",
    version: Version = "",
    kind: Kind = "",
    resource: Annotated[
        bool, typer.Option("--resource/--no-resource", help="Delete types, CRD, sample, roles and webhooks.")
    ] = True,
    controller: Annotated[
        bool | None,
        typer.Option(
            "--controller/--no-controller",
            help="Delete the controller.  [default: yes, unless other versions of the kind stay]",
        ),
    ] = None,
    controller_name: Annotated[
        str,
        typer.Option(help="With --no-resource: the only controller to delete.", autocompletion=complete_controllers),
    ] = "",
    make: Make = True,
    force: Force = False,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Delete a version of a kind: what `create api` and `create webhook` made, and their lines in shared files.

    Files that you edited, and lines of yours that use the kind, stop the command. Nothing is changed then. Objects and
    CRDs in a cluster stay until you delete them there.

    Examples:
      pykb delete api --group infra --version v1 --kind Machine --diff
      pykb delete api --group infra --version v1alpha1 --kind Machine --no-controller
      pykb delete api --group infra --version v1 --kind Machine --no-resource --controller-name machine-cleaner
    """
    from pykb.cli.project import require_project
    from pykb.commands.delete import OldApi, plan_delete_api

    root, project = require_project(writes=not (dry_run or diff))
    options = OldApi(
        group=group,
        version=version,
        kind=kind,
        force=force,
        args=plugin_args(console.settings.argv),
        resource=resource,
        controller=controller,
        controller_name=controller_name,
    )
    plan, found = plan_delete_api(options, project, root)
    _carry_out(plan, found, root, f"`{kind}`", make=make, dry_run=dry_run, diff=diff)


def webhook(
    group: Group = "",
    version: HubVersion = "",
    kind: Kind = "",
    defaulting: Annotated[bool, typer.Option("--defaulting", help="Delete the defaulting webhook.")] = False,
    validation: Annotated[
        bool, typer.Option("--programmatic-validation", help="Delete the validating webhook.")
    ] = False,
    conversion: Annotated[bool, typer.Option("--conversion", help="Delete the conversion webhook.")] = False,
    spoke: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VERSION",
            help="A version to stop converting. Repeatable.  [default: all]",
            autocompletion=complete_versions,
        ),
    ] = None,
    make: Make = True,
    force: Force = False,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Delete webhooks of a kind: all of them, or those of the given types.

    The last webhook of the project takes Service, certificates and network policy with it, unless you edited them.

    Examples:
      pykb delete webhook --group infra --version v1 --kind Machine
      pykb delete webhook --group infra --version v1 --kind Machine --programmatic-validation
      pykb delete webhook --group infra --version v2 --kind Machine --conversion --spoke v1
    """
    from pykb.cli.project import require_project
    from pykb.commands.delete import OldWebhook, plan_delete_webhook

    root, project = require_project(writes=not (dry_run or diff))
    options = OldWebhook(
        group=group,
        version=version,
        kind=kind,
        force=force,
        args=plugin_args(console.settings.argv),
        defaulting=defaulting,
        validation=validation,
        conversion=conversion,
        spoke=tuple(version for given in spoke or () for version in listed(given)),
    )
    plan, found = plan_delete_webhook(options, project, root)
    _carry_out(plan, found, root, f"the webhooks of `{kind}`", make=make, dry_run=dry_run, diff=diff)


def _carry_out(
    plan: Plan | None, found: Diagnostics, root: Path, what: str, *, make: bool, dry_run: bool, diff: bool
) -> None:
    from pykb.cli.changes import accepted, scaffold

    plan = accepted(plan, found, root)
    scaffold(plan, what, root, (), dry_run=dry_run, diff=diff, make=make)
