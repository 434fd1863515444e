"""Plans `delete api` and `delete webhook`: the inverse of `create`, by what PROJECT lists before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pykb.commands.options import OfKind, OldApi, OldWebhook
from pykb.commands.transition import State, between, carry_out, say_lost, with_styles
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics
from pykb.diagnostics.codes.cli import FLAG_CONFLICT
from pykb.diagnostics.codes.commands import (
    API_MISSING,
    CONTROLLER_MISSING,
    CONTROLLER_SHARED,
    WEBHOOK_MISSING,
)
from pykb.diagnostics.codes.project import NOTHING_TO_DO
from pykb.diagnostics.suggest import closest
from pykb.files.plan import Plan
from pykb.plugins.plugin import AnyPlugin, call
from pykb.plugins.registry import external, in_process, keys
from pykb.plugins.request import CommandLine, DeleteRequest
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.resource import Resource, Webhooks
from pykb.project.writer import with_certificates, with_resource, without_resource
from pykb.scaffold import naming
from pykb.scaffold.license import boilerplate
from pykb.scaffold.naming import short_group
from pykb.scaffold.plan import PlanBuilder

Old = OldApi | OldWebhook


def plan_delete(options: Old, project: Project, root: Path) -> tuple[Plan | None, Diagnostics]:
    """Plan to delete an API or webhooks. Without errors among the findings the plan may be applied."""
    diagnostics = Diagnostics()
    project = with_styles(project, root)
    resource = _find(options, project, diagnostics)
    if resource is None:
        return None, diagnostics
    if isinstance(options, OldApi):
        _check_controller(options, resource, project, diagnostics)
        after = project if diagnostics.has_errors() else _without_api(options, resource, project)
    else:
        options = _with_every_type(options, resource.webhooks or Webhooks())
        _check_webhooks(options, resource, project, diagnostics)
        left = _webhooks_kept(options, resource.webhooks or Webhooks())
        after = _with(project, replace(resource, webhooks=left if left != Webhooks() else None))
    return (None, diagnostics) if diagnostics.has_errors() else _plan(options, project, after, root, diagnostics)


def _without_api(options: OldApi, resource: Resource, project: Project) -> Project:
    """PROJECT without an API, or without its controllers."""
    kept = _controllers_kept(options, resource)
    if not options.resource:
        return _with(project, kept)
    after = _without_version(project, resource)
    kept = replace(kept, api=False, webhooks=None)
    heir = after.other_versions(resource)[-1:] if kept.has_controller and resource.api else []
    if heir:  # the controller serves another version from now on
        made = {name: getattr(kept, name) for name in ("controller", "controllers", "handlers", "operand")}
        after, kept = with_resource(after, replace(heir[0], **made)), replace(kept, controller=False, controllers=())
    return _with(after, kept)


def _with_every_type(options: OldWebhook, present: Webhooks) -> OldWebhook:
    """The options with the types that they mean if they name none."""
    if options.defaulting or options.validation or options.conversion or options.spoke:
        return options
    return replace(options, defaulting=present.defaulting, validation=present.validation, conversion=present.conversion)


def _webhooks_kept(options: OldWebhook, present: Webhooks) -> Webhooks:
    """The webhooks that stay. Without a spoke, conversion goes as well."""
    if options.spoke:
        spoke = tuple(version for version in present.spoke if version not in options.spoke)
        conversion = present.conversion and bool(spoke)
    else:
        conversion = present.conversion and not options.conversion
        spoke = present.spoke if conversion else ()
    return Webhooks(
        defaulting=present.defaulting and not options.defaulting,
        validation=present.validation and not options.validation,
        conversion=conversion,
        spoke=spoke,
        defaulting_path="" if options.defaulting else present.defaulting_path,
        validation_path="" if options.validation else present.validation_path,
    )


def _controllers_kept(options: OldApi, resource: Resource) -> Resource:
    """The entry with the controllers that stay."""
    if options.controller is False:
        return resource
    left = [name for name in resource.controllers if options.controller_name and name != options.controller_name]
    if left == [resource.singular]:  # a single controller of the kind's name is listed without a name
        return replace(resource, controller=True, controllers=())
    return replace(resource, controller=False, controllers=tuple(left))


def _without_version(project: Project, resource: Resource) -> Project:
    """PROJECT without the converter of a version in its hub."""
    for hub in project.resources:
        if hub.webhooks and hub.is_same_kind(resource) and resource.version in hub.webhooks.spoke:
            spoke = tuple(version for version in hub.webhooks.spoke if version != resource.version)
            webhooks = replace(hub.webhooks, spoke=spoke, conversion=bool(spoke))
            none = replace(webhooks, defaulting_path="", validation_path="") == Webhooks()
            return with_resource(project, replace(hub, webhooks=None if none else webhooks))
    return project


def _with(project: Project, resource: Resource) -> Project:
    """PROJECT with an entry changed, or without it if nothing of it is left."""
    is_used = resource.api or resource.has_controller or resource.webhooks
    return with_resource(project, resource) if is_used else without_resource(project, resource)


def _plan(
    options: Old, project: Project, after: Project, root: Path, diagnostics: Diagnostics
) -> tuple[Plan | None, Diagnostics]:
    chain = in_process(project.layout, diagnostics)
    plan = PlanBuilder(root)
    header = boilerplate(plan, diagnostics)
    if diagnostics.has_errors():
        return None, diagnostics
    change = between(State(project, chain, header), State(after, chain, header), root)
    gone = carry_out(plan, change, project, diagnostics, force=options.force)
    request = DeleteRequest(project=project, after=after, boilerplate=header)
    call(chain, "delete", request, plan)
    if not after.has_webhooks and after.certificates is not None:
        after = with_certificates(after, None)
    plan.update(FILE_NAME, after.text.encode())
    _ask_others(options, request, chain, plan, diagnostics)
    say_lost(plan, gone, diagnostics, force=options.force)
    diagnostics.extend(plan.diagnostics)
    return (None if diagnostics.has_errors() else plan.build()), diagnostics


def _ask_others(
    options: Old, request: DeleteRequest, chain: Sequence[AnyPlugin], plan: PlanBuilder, diagnostics: Diagnostics
) -> None:
    """Let external plugins change what depends on the deleted entries. They see the project without them."""
    others = external(request.project.layout, plan.root, diagnostics)
    line = CommandLine(options.args, keys((*chain, *others)))
    command = "delete api" if isinstance(options, OldApi) else "delete webhook"
    call(others, "delete", replace(request, command=command, command_line=line), plan)


def _find(options: Old, project: Project, diagnostics: Diagnostics) -> Resource | None:
    """The entry of PROJECT that the options name. Reports a missing one, with the most similar one."""
    if not (options.version and options.kind):
        naming.check_version(options.version, diagnostics)
        naming.check_kind(options.kind, diagnostics)
        return None
    groups = {options.group, short_group(options.group)}
    alike = [r for r in project.resources if (r.version, r.kind) == (options.version, options.kind)]
    alike = [r for r in alike if r.group in groups]
    if alike:
        return min(alike, key=lambda r: not r.api)
    say_missing(options, project, project.resources, diagnostics)
    return None


def say_missing(
    named: OfKind, project: Project, known: Sequence[Resource], diagnostics: Diagnostics, helps: Sequence[str] = ()
) -> None:
    """Report a kind that the project does not have, with the most similar one of those that it has."""
    given = {"group": named.group, "version": named.version, "kind": named.kind}
    near = _nearest(named, known)
    if near is not None:
        flags = {"group": near.group, "version": near.version, "kind": near.kind}
        helps = (" ".join(f"`--{flag} {value}`" for flag, value in flags.items() if given[flag] != value), *helps)
    have = ", ".join(f"`{each}`" for each in known) or "no API yet"
    message = f"the project has no API `{Resource(named.group, project.domain, named.version, named.kind, plural='')}`"
    place, label = (project.span(near), "the nearest one") if near is not None else (None, "")
    diagnostics.report(API_MISSING, place, message, *helps, label=label, notes=(f"it has {have}", NOTHING_WRITTEN))


def _nearest(named: OfKind, resources: Sequence[Resource]) -> Resource | None:
    """The entry whose kind has the most similar name to the one that is named."""
    name = closest(named.kind, (r.kind for r in resources))
    alike = [r for r in resources if r.kind == name]
    return min(alike, key=lambda r: (r.group != named.group, r.version != named.version), default=None)


def _check_controller(options: OldApi, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Check that the controllers to delete exist, and that it is clear whether they go with the version."""
    if not _agree(options, diagnostics):
        return
    names = resource.controller_names
    _check_is_there(options, names, resource, project, diagnostics)
    others = project.other_versions(resource)
    if options.resource and resource.api and names and others and options.controller is None:
        message = f"`{resource}` has the controller of `{resource.kind}`, which also serves {others[-1].version}"
        helps = ("to keep it: `--no-controller`", "to delete it as well: `--controller`")
        diagnostics.report(
            CONTROLLER_SHARED, project.span(resource, "controller"), message, *helps, notes=NOTHING_WRITTEN
        )


def _agree(options: OldApi, diagnostics: Diagnostics) -> bool:
    """Whether the options name something to delete, and do not contradict each other."""
    if not options.resource and options.controller is False:
        message = "with `--no-resource` and `--no-controller` there is nothing to delete"
        diagnostics.report(NOTHING_TO_DO, None, message, "leave out one of the two")
        return False
    if options.controller_name and (options.resource or options.controller is False):
        message = "`--controller-name` deletes one controller and keeps the API"
        diagnostics.report(FLAG_CONFLICT, None, message, f"`--no-resource --controller-name {options.controller_name}`")
        return False
    return True


def _check_is_there(
    options: OldApi, names: Sequence[str], resource: Resource, project: Project, diagnostics: Diagnostics
) -> None:
    """Check that an API has the controller that the options name, or any."""
    if options.controller_name and options.controller_name not in names:
        message = f"`{resource}` has no controller `{options.controller_name}`"
        near = closest(options.controller_name, names)
        advice = (f"`--controller-name {near}`",) if near else ()
        notes = (f"it has {', '.join(f'`{name}`' for name in names) or 'no controller'}", NOTHING_WRITTEN)
        diagnostics.report(CONTROLLER_MISSING, project.span(resource), message, *advice, notes=notes)
    elif not options.resource and not names:
        message = f"`{resource}` has no controller"
        diagnostics.report(CONTROLLER_MISSING, project.span(resource), message, notes=NOTHING_WRITTEN)


def _check_webhooks(options: OldWebhook, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Check that the webhooks to delete exist."""
    present = resource.webhooks or Webhooks()
    if present == Webhooks():
        _say_missing(f"`{resource}` has no webhooks", resource, project, diagnostics)
    for name, wanted, is_there in (
        ("defaulting", options.defaulting, present.defaulting),
        ("validating", options.validation, present.validation),
        ("conversion", options.conversion or bool(options.spoke), present.conversion),
    ):
        if wanted and not is_there and present != Webhooks():
            _say_missing(f"`{resource}` has no {name} webhook", resource, project, diagnostics)
    for spoke in options.spoke:
        if present.conversion and spoke not in present.spoke:
            _say_missing(
                f"`--spoke {spoke}`: `{resource}` has no converter for {spoke}", resource, project, diagnostics
            )


def _say_missing(message: str, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    helps: tuple[str, ...] = ()
    alike = [r for r in project.resources if r.is_same_kind(resource) and r.webhooks and r.version != resource.version]
    if alike:
        helps = (f"the webhooks of `{resource.kind}` are in {alike[0].version}: `--version {alike[0].version}`",)
    diagnostics.report(WEBHOOK_MISSING, project.span(resource), message, *helps, notes=NOTHING_WRITTEN)
