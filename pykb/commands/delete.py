"""Plans `delete api` and `delete webhook`: the inverse of `create`, by what PROJECT lists before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands import delete_checks
from pykb.commands.boilerplate import boilerplate
from pykb.commands.remaining_uses import remaining_uses
from pykb.commands.requests import scaffold_of
from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.commands import EDITED_BY_HAND, STILL_USED
from pykb.diagnostics.model import Severity
from pykb.files.plan import Plan
from pykb.plugins.plugin import DeletePlugin, Plugin
from pykb.plugins.registry import external, in_process, keys
from pykb.plugins.rendering import style_of
from pykb.plugins.request import CommandLine, DeleteRequest
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.resource import Resource, Webhooks
from pykb.project.writer import with_certificates, with_resource, without_resource
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.record import Scaffold
from pykb.scaffold.withdraw import withdraw


@dataclass(frozen=True, slots=True)
class Target:
    """What the options of both commands name."""

    group: str
    version: str
    kind: str
    force: bool = False
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OldApi(Target):
    """The options of ``delete api``. ``controller=None`` means that the command line does not say it."""

    resource: bool = True
    controller: bool | None = None
    controller_name: str = ""


@dataclass(frozen=True, slots=True)
class OldWebhook(Target):
    """The options of ``delete webhook``. No type at all means every type."""

    defaulting: bool = False
    validation: bool = False
    conversion: bool = False
    spoke: Sequence[str] = ()


def plan_delete_api(options: OldApi, project: Project, root: Path) -> tuple[Plan | None, Diagnostics]:
    """Plan to delete an API. Without errors among the findings the plan may be applied."""
    found = Diagnostics()
    resource = delete_checks.find(options, project, found)
    if resource is None:
        return None, found
    delete_checks.check_controller(options, resource, project, found)
    if found.has_errors():
        return None, found
    kept = _controllers_kept(options, resource)
    after = project
    if options.resource:
        after = _without_version(after, resource)
        kept = replace(kept, api=False, webhooks=None)
        heir = delete_checks.other_versions(resource, after)[-1:] if kept.has_controller and resource.api else []
        if heir:  # the controller serves another version from now on
            own = replace(heir[0], controller=kept.controller, controllers=kept.controllers, operand=kept.operand)
            after, kept = with_resource(after, own), replace(kept, controller=False, controllers=())
    return _plan(options, project, _with(after, kept), root, found)


def plan_delete_webhook(options: OldWebhook, project: Project, root: Path) -> tuple[Plan | None, Diagnostics]:
    """Plan to delete webhooks. Without errors among the findings the plan may be applied."""
    found = Diagnostics()
    resource = delete_checks.find(options, project, found)
    if resource is None:
        return None, found
    present = resource.webhooks or Webhooks()
    options = _with_every_type(options, present)
    delete_checks.check_webhooks(options, resource, project, found)
    if found.has_errors():
        return None, found
    left = _webhooks_kept(options, present)
    after = _with(project, replace(resource, webhooks=left if left != Webhooks() else None))
    return _plan(options, project, after, root, found)


def _with_every_type(options: OldWebhook, present: Webhooks) -> OldWebhook:
    """The options with the types that they mean if they name none."""
    if options.defaulting or options.validation or options.conversion or options.spoke:
        return options
    return replace(options, defaulting=present.defaulting, validation=present.validation, conversion=present.conversion)


def _webhooks_kept(options: OldWebhook, present: Webhooks) -> Webhooks:
    """The webhooks that stay. Without a spoke, conversion goes as well."""
    spoke = tuple(version for version in present.spoke if version not in options.spoke) if options.spoke else ()
    conversion = present.conversion and (bool(spoke) or not (options.conversion or options.spoke))
    return Webhooks(
        defaulting=present.defaulting and not options.defaulting,
        validation=present.validation and not options.validation,
        conversion=conversion,
        spoke=spoke if options.spoke else present.spoke * conversion,
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
    options: Target, project: Project, after: Project, root: Path, found: Diagnostics
) -> tuple[Plan | None, Diagnostics]:
    chain = in_process(project.layout, found)
    plan = PlanBuilder(root)
    header = boilerplate(plan, found)
    if found.has_errors():
        return None, found
    gone = _gone(project, after, chain, root, header)
    withdraw(plan, gone, style_of(root, project))
    request = DeleteRequest(project=project, after=after, boilerplate=header)
    for plugin in chain:
        if isinstance(plugin, DeletePlugin):
            plugin.delete(request, plan)
    if not after.has_webhooks and after.certificates is not None:
        after = with_certificates(after, None)
    plan.update(FILE_NAME, after.text.encode())
    _ask_others(options, request, chain, plan, found)
    say_edited(plan, found, force=options.force)
    say_used(plan, gone, found, force=options.force)
    found.extend(plan.diagnostics)
    return (None if found.has_errors() else plan.build()), found


def _ask_others(
    options: Target, request: DeleteRequest, chain: Sequence[Plugin], plan: PlanBuilder, found: Diagnostics
) -> None:
    """Let external plugins change what depends on the deleted entries. They see the project without them."""
    others = external(request.project.layout, plan.root, found)
    line = CommandLine(options.args, keys((*chain, *others)))
    command = "delete api" if isinstance(options, OldApi) else "delete webhook"
    for plugin in others:
        if isinstance(plugin, DeletePlugin):
            plugin.delete(replace(request, command=command, command_line=line), plan)


def _gone(project: Project, after: Project, chain: Sequence[Plugin], root: Path, header: str) -> Scaffold:
    """What only the entries that change or go have scaffolded."""
    before, kept = Scaffold(), Scaffold()
    for resource in project.resources:
        if resource not in after.resources:
            before.add(scaffold_of(resource, project, chain, root, header))
    for resource in after.resources:
        kept.add(scaffold_of(resource, after, chain, root, header))
    return before.without(kept)


def say_edited(plan: PlanBuilder, found: Diagnostics, *, force: bool) -> None:
    """Report the edits that the plan loses, unless ``force`` is set."""
    for edit in () if force else plan.edits:
        what = "this line" if edit.line else "the file"
        message = f"`{edit.path}` was edited by hand, and {what} would be deleted"
        helps = ("`--diff --force` shows what goes; `--force` deletes it and keeps a copy in `.pykb/backup`",)
        line = (plan.before(edit.path) or b"").decode("utf-8", "replace").splitlines()[edit.line - 1 : edit.line]
        column = len(line[0]) - len(line[0].lstrip()) + 1 if line else 1
        span = Span(edit.path, edit.line or 1, column)
        found.add(EDITED_BY_HAND.at(span, message, notes=("nothing was written",), help=helps))


def say_used(plan: PlanBuilder, gone: Scaffold, found: Diagnostics, *, force: bool) -> None:
    """Report lines that stay and use what goes: an error, or with ``force`` a warning."""
    for span, name in remaining_uses(plan, gone):
        if force:
            found.add(STILL_USED.at(span, f"`{name}` was deleted", severity=Severity.WARNING))
            continue
        helps = ("change this line first; `--force` deletes anyway",)
        message = f"`{name}` would be deleted, but this line uses it"
        found.add(STILL_USED.at(span, message, notes=("nothing was written",), help=helps))
