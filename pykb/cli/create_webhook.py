"""``pykb create webhook``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.create import create, exit_code, from_working_directory
from pykb.cli.errors import report
from pykb.cli.options import (
    Diff,
    DryRun,
    Group,
    HubVersion,
    Kind,
    Make,
    Plugins,
    complete_versions,
    listed,
    plugin_args,
)
from pykb.project import Certificates

if TYPE_CHECKING:
    from pykb.commands.create_webhook import NewWebhook, WebhookPlan
    from pykb.diagnostics import Diagnostics
    from pykb.project.file import Project


def webhook(
    group: Group = "",
    version: HubVersion = "",
    kind: Kind = "",
    plural: Annotated[str, typer.Option(help="The plural, if the default is wrong.")] = "",
    defaulting: Annotated[bool, typer.Option("--defaulting", help="Create a defaulting webhook.")] = False,
    validation: Annotated[bool, typer.Option("--programmatic-validation", help="Create a validating webhook.")] = False,
    conversion: Annotated[bool, typer.Option("--conversion", help="Create a conversion webhook.")] = False,
    spoke: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VERSION",
            help="A version to convert. Repeatable.  [default: all others]",
            autocompletion=complete_versions,
        ),
    ] = None,
    defaulting_path: Annotated[str, typer.Option(metavar="PATH", help="Path of the defaulting webhook.")] = "",
    validation_path: Annotated[str, typer.Option(metavar="PATH", help="Path of the validating webhook.")] = "",
    external_api_path: Annotated[str, typer.Option(metavar="MODULE", help="Python module of an external type.")] = "",
    external_api_domain: Annotated[
        str, typer.Option(metavar="DOMAIN", help="Domain of the external type's group.")
    ] = "",
    certificates: Annotated[
        Certificates | None,
        typer.Option(help="Who issues the certificates of the webhooks.  [default: built-in, or as before]"),
    ] = None,
    plugins: Plugins = "",
    make: Make = True,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files of the webhooks. Keeps the old ones in .pykb/backup.")
    ] = False,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Add webhooks to a kind of the project, of Kubernetes itself, or of another package.

    Run it again to add another type of webhook or another version to convert.

    Examples:
      pykb create webhook --group infra --version v1 --kind Machine --defaulting --programmatic-validation
      pykb create webhook --group infra --version v2 --kind Machine --conversion --spoke v1
      pykb create webhook --group core --version v1 --kind Pod --defaulting
    """
    from pykb.cli.project import require_project
    from pykb.commands.create_webhook import NewWebhook, plan_webhook

    root, project = require_project(writes=not (dry_run or diff))
    options = NewWebhook(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        defaulting=defaulting,
        validation=validation,
        conversion=conversion,
        spoke=tuple(version for given in spoke or () for version in listed(given)),
        defaulting_path=defaulting_path,
        validation_path=validation_path,
        external_api_path=external_api_path,
        external_api_domain=external_api_domain,
        certificates=certificates,
        force=force,
        plugins=listed(plugins),
        args=plugin_args(console.settings.argv),
    )

    @cache  # `_asked` plans every answer, and one of these plans is used afterwards
    def plan(options: NewWebhook) -> tuple[WebhookPlan | None, Diagnostics]:
        return plan_webhook(options, project, root)

    options = _asked(options, plan)
    planned, found = plan(options)
    report(from_working_directory(found, root))
    if planned is None:
        raise typer.Exit(exit_code(found))
    if options.conversion and not options.spoke:
        console.say(
            f"no `--spoke` was given, so all versions without a converter are used: {', '.join(planned.spokes)}"
        )
    what = f"the webhooks of `{planned.resource}`"
    if create(planned.plan, what, root, options.plugins, dry_run=dry_run, diff=diff, make=make):
        _say_next(planned, project, options, made=make)


def _asked(options: NewWebhook, plan: Callable[[NewWebhook], tuple[WebhookPlan | None, Diagnostics]]) -> NewWebhook:
    """The options, with the types of webhook that the user chooses if the command line names none.

    Asks only about types that the command could make.
    """
    named = options.defaulting or options.validation or options.conversion
    others = options.spoke or options.defaulting_path or options.validation_path
    if named or others or not console.is_interactive():
        return options
    questions = {
        "defaulting": "Create a defaulting webhook?",
        "validation": "Create a validating webhook?",
        "conversion": "Create a conversion webhook?",
    }
    answers = {
        name: console.confirm(question, default=name != "conversion")
        for name, question in questions.items()
        if plan(_chosen(options, {name: True}))[0] is not None
    }
    return _chosen(options, answers)


def _chosen(options: NewWebhook, answers: dict[str, bool]) -> NewWebhook:
    return replace(
        options,
        defaulting=answers.get("defaulting", False),
        validation=answers.get("validation", False),
        conversion=answers.get("conversion", False),
    )


def _say_next(planned: WebhookPlan, project: Project, options: NewWebhook, *, made: bool) -> None:
    resource = planned.resource
    package = project.package
    group = f"{resource.group_package}/" if project.multigroup else ""
    places = []
    if options.defaulting or options.validation:
        places.append(f"{package}/webhooks/{group}{resource.version}/{resource.singular}_webhook.py")
    places += [f"{package}/api/{group}{spoke}/{resource.singular}_conversion.py" for spoke in planned.spokes]
    console.say(f"\nNext: implement them in {', '.join(places)}, then")
    console.say("  make test" if made else "  make manifests test")
    say_needed(planned.certificates)
    console.say("`ENABLE_WEBHOOKS=false make run` runs without webhooks")


def say_needed(certificates: Certificates | None) -> None:
    """Say what a cluster needs for these certificates."""
    if certificates is Certificates.CERT_MANAGER:
        console.say(
            "`make deploy` needs cert-manager in the cluster: https://cert-manager.io/docs/installation"
            " (`make dev` and `make test` do not)"
        )
