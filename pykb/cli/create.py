"""``pykb create api`` and ``pykb create webhook``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
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
    Plugins,
    complete_versions,
    listed,
    plugin_args,
    taking_recorded,
)
from pykb.plugins import Style
from pykb.project import Certificates
from pykb.project.options import NONE, ApiOptions

if TYPE_CHECKING:
    from pykb.commands.api_checks import NewApi
    from pykb.commands.create_api import ApiPlan
    from pykb.commands.create_webhook import WebhookPlan
    from pykb.commands.webhook_checks import NewWebhook
    from pykb.diagnostics import Diagnostics
    from pykb.project.file import Project
    from pykb.project.resource import Resource


@taking_recorded
def api(
    group: Group = "",
    version: Annotated[
        str, typer.Option(help="API version: v1, v1beta1, v1alpha1.", autocompletion=complete_versions)
    ] = "",
    kind: Kind = "",
    plural: Annotated[str, typer.Option(help="The plural, if the default is wrong.")] = "",
    namespaced: Annotated[
        bool | None, typer.Option("--namespaced/--no-namespaced", help="Make the kind namespaced.  [default: yes]")
    ] = None,
    resource: Annotated[
        bool | None, typer.Option("--resource/--no-resource", help="Create types and a CRD.  [default: asks, else yes]")
    ] = None,
    controller: Annotated[
        bool | None,
        typer.Option("--controller/--no-controller", help="Create a controller.  [default: asks, else yes]"),
    ] = None,
    controller_name: Annotated[str, typer.Option(help="Name for a second controller of the same kind.")] = "",
    style: Annotated[Style, typer.Option(help="A Reconciler class, or plain kopf handlers.")] = Style.RECONCILER,
    recorded: ApiOptions = NONE,
    external_api_path: Annotated[str, typer.Option(metavar="MODULE", help="Python module of an external type.")] = "",
    external_api_domain: Annotated[
        str, typer.Option(metavar="DOMAIN", help="Domain of the external type's group.")
    ] = "",
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="With --plugins deploy-image: the image that the controller deploys.")
    ] = "",
    image_container_command: Annotated[
        str, typer.Option(metavar="WORDS", help="Command of its container, with commas between the words.")
    ] = "",
    image_container_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Port of its container.")
    ] = None,
    run_as_user: Annotated[
        int | None, typer.Option(metavar="UID", min=1, max=2**31 - 1, help="User id of its container; not 0, root.")
    ] = None,
    plugins: Plugins = "",
    make: Make = True,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files of the API. Keeps the old ones in .pykb/backup.")
    ] = False,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Add a kind to the project: types, controller, sample, roles, tests.

    A type of Kubernetes itself or of another package gets a controller without a CRD.

    Examples:
      pykb create api --group infra --version v1 --kind Machine
      pykb create api --group infra --version v2 --kind Machine --from v1 --no-controller
      pykb create api --group cache --version v1 --kind Memcached --plugins deploy-image --image memcached:1.6
          --image-container-command memcached,--memory-limit=64,-v --image-container-port 11211 --run-as-user 1001
      pykb create api --group apps --version v1 --kind Deployment --no-resource
      pykb create api --group infra --version v1 --kind Machine --no-resource --controller-name machine-cleaner
      pykb create api --group cert-manager --version v1 --kind Issuer --no-resource --external-api-path certs.api
          --external-api-domain io
    """
    from pykb.cli.changes import accepted, scaffold
    from pykb.cli.project import require_project
    from pykb.commands.api_checks import NewApi
    from pykb.commands.create_api import plan_api
    from pykb.project.resource import Operand, command_of

    root, project = require_project(writes=not (dry_run or diff))
    operand = Operand(image, command_of(image_container_command), image_container_port, run_as_user)
    if resource is None and (any(recorded.given()) or operand != Operand("")):
        resource = True
    if controller is None and operand != Operand(""):
        controller = True
    if controller is None and controller_name:
        controller = True  # a name implies a controller
    options = NewApi(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=namespaced,
        resource=not external_api_path if resource is None else resource,
        api=recorded,
        controller=not _has_controller(project, group, kind) if controller is None else controller,
        controller_name=controller_name,
        style=style,
        operand=operand if operand != Operand("") else None,
        external_api_path=external_api_path,
        external_api_domain=external_api_domain,
        force=force,
        plugins=listed(plugins),
        args=plugin_args(console.settings.argv),
    )

    @cache  # `_asked` plans every answer, and one of these plans is used afterwards
    def plan(options: NewApi) -> tuple[ApiPlan | None, Diagnostics]:
        return plan_api(options, project, root)

    options = _asked_api(
        options,
        plan,
        about_resource=resource is None and not external_api_path,
        about_controller=controller is None,
    )
    planned = accepted(*plan(options), root)
    if scaffold(planned.plan, f"`{planned.resource}`", root, options.plugins, dry_run=dry_run, diff=diff, make=make):
        _say_next_api(planned.resource)


def _asked_api(
    options: NewApi,
    plan: Callable[[NewApi], tuple[ApiPlan | None, Diagnostics]],
    *,
    about_resource: bool,
    about_controller: bool,
) -> NewApi:
    """The options, with the user's answers to questions that they leave open.

    Asks nothing if every answer leads to an error.
    """
    resources = (options.resource, not options.resource) if about_resource else (options.resource,)
    controllers = (options.controller, not options.controller) if about_controller else (options.controller,)
    answers = (replace(options, resource=r, controller=c) for r in resources for c in controllers)
    if not about_resource and not about_controller:
        return options
    if all(plan(answer)[0] is None for answer in answers):
        return options
    if about_resource:
        wanted = console.confirm("Create the resource: types and CRD?", default=options.resource)
        options = replace(options, resource=wanted)
    if about_controller:
        wanted = console.confirm("Create a controller?", default=options.controller)
        options = replace(options, controller=wanted)
    return options


def _has_controller(project: Project, group: str, kind: str) -> bool:
    """Whether another version of the kind has a controller, which then serves all of them."""
    return any(r.group == group and r.kind == kind and r.has_controller for r in project.resources)


def _say_next_api(resource: Resource) -> None:
    if not resource.api:
        console.say(f"\nNext: write the reconcile logic of {resource.kind} in its controller")
        return
    console.say(
        f"\nNext: define the fields of {resource.kind} in "
        f"{resource.path.replace('.', '/')}/{resource.singular}_types.py, then"
    )
    console.say("  make dev              # on a control plane of its own")
    console.say("  make install run      # or in the cluster of your kubeconfig")


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
    from pykb.cli.changes import accepted, scaffold
    from pykb.cli.project import require_project
    from pykb.commands.create_webhook import plan_webhook
    from pykb.commands.webhook_checks import NewWebhook

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

    options = _asked_webhook(options, plan)
    planned = accepted(*plan(options), root)
    if options.conversion and not options.spoke:
        console.say(
            f"no `--spoke` was given, so all versions without a converter are used: {', '.join(planned.spokes)}"
        )
    what = f"the webhooks of `{planned.resource}`"
    if scaffold(planned.plan, what, root, options.plugins, dry_run=dry_run, diff=diff, make=make):
        _say_next_webhook(planned, project, options)


def _asked_webhook(
    options: NewWebhook, plan: Callable[[NewWebhook], tuple[WebhookPlan | None, Diagnostics]]
) -> NewWebhook:
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


def _say_next_webhook(planned: WebhookPlan, project: Project, options: NewWebhook) -> None:
    resource = planned.resource
    package = project.package
    group = f"{resource.group_package}/" if project.multigroup else ""
    places = []
    if options.defaulting or options.validation:
        places.append(f"{package}/webhooks/{group}{resource.version}/{resource.singular}_webhook.py")
    places += [f"{package}/api/{group}{spoke}/{resource.singular}_conversion.py" for spoke in planned.spokes]
    console.say(f"\nNext: implement them in {', '.join(places)}, then")
    console.say("  make test")
    say_needed(planned.certificates)
    console.say("`ENABLE_WEBHOOKS=false make run` runs without webhooks")


def say_needed(certificates: Certificates | None) -> None:
    """Say what a cluster needs for these certificates."""
    if certificates is Certificates.CERT_MANAGER:
        console.say(
            "`make deploy` needs cert-manager in the cluster: https://cert-manager.io/docs/installation"
            " (`make dev` and `make test` do not)"
        )
