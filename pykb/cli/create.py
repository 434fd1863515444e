"""``pykb create api`` and ``pykb create webhook``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pykb.cli import console
from pykb.cli.options import How, taking
from pykb.commands.options import NewApi, NewWebhook
from pykb.project import Certificates
from pykb.project.options import NONE
from pykb.project.resource import NO_OPERAND

if TYPE_CHECKING:
    from pykb.commands.create_api import ApiPlan
    from pykb.commands.create_webhook import WebhookPlan
    from pykb.diagnostics import Diagnostics
    from pykb.project.file import Project
    from pykb.project.resource import Resource


@taking(How, "how")
@taking(NewApi)
def api(options: NewApi, how: How) -> None:
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
    from pykb.commands.create_api import plan_api

    root, project = require_project(writes=how.writes)
    resource, controller = options.resource, options.controller
    if resource is None and (options.api != NONE or options.operand != NO_OPERAND):
        resource = True
    if controller is None and (options.controller_name or options.operand != NO_OPERAND):
        controller = True  # a name implies a controller
    about_resource, about_controller = resource is None and not options.external_api_path, controller is None
    options = replace(
        options,
        resource=not options.external_api_path if resource is None else resource,
        controller=not _has_controller(project, options) if controller is None else controller,
    )

    @cache  # `_asked` plans every answer, and one of these plans is used afterwards
    def plan(options: NewApi) -> tuple[ApiPlan | None, Diagnostics]:
        return plan_api(options, project, root)

    options = _asked_api(options, plan, about_resource=about_resource, about_controller=about_controller)
    planned = accepted(*plan(options), root)
    if scaffold(planned.plan, f"`{planned.resource}`", root, options.plugins, how):
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
        wanted = console.confirm("Create the resource: types and CRD?", default=options.resource is not False)
        options = replace(options, resource=wanted)
    if about_controller:
        wanted = console.confirm("Create a controller?", default=options.controller is not False)
        options = replace(options, controller=wanted)
    return options


def _has_controller(project: Project, named: NewApi) -> bool:
    """Whether another version of the kind has a controller, which then serves all of them."""
    alike = (r for r in project.resources if (r.group, r.kind) == (named.group, named.kind))
    return any(r.has_controller for r in alike)


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


@taking(How, "how")
@taking(NewWebhook)
def webhook(options: NewWebhook, how: How) -> None:
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

    root, project = require_project(writes=how.writes)

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
    if scaffold(planned.plan, what, root, options.plugins, how):
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


def _chosen(options: NewWebhook, answers: Mapping[str, Any]) -> NewWebhook:
    return replace(options, **{"defaulting": False, "validation": False, "conversion": False, **answers})


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
