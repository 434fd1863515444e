"""Checks the options of `delete` against PROJECT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pykb.commands.builtin_kind import short_group
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.commands import API_MISSING, CONTROLLER_MISSING, CONTROLLER_SHARED, WEBHOOK_MISSING
from pykb.diagnostics.codes.names import FLAG_CONFLICT
from pykb.diagnostics.codes.project import NOTHING_TO_DO
from pykb.diagnostics.suggest import closest
from pykb.project.file import Project
from pykb.project.resource import Resource, Webhooks
from pykb.scaffold import naming

if TYPE_CHECKING:
    from pykb.commands.delete import OldApi, OldWebhook, Target

_NOTHING = ("nothing was written",)


def find(options: Target, project: Project, found: Diagnostics) -> Resource | None:
    """The entry of PROJECT that the options name. Reports a missing one, with the most similar one."""
    if not (options.version and options.kind):
        naming.check_version(options.version, found)
        naming.check_kind(options.kind, found)
        return None
    groups = {options.group, short_group(options.group)}
    alike = [r for r in project.resources if (r.version, r.kind) == (options.version, options.kind)]
    alike = [r for r in alike if r.group in groups]
    if alike:
        return min(alike, key=lambda r: not r.api)
    near = nearest((options.group, options.version, options.kind), project.resources)
    given = {"group": options.group, "version": options.version, "kind": options.kind}
    helps: tuple[str, ...] = ()
    if near is not None:
        flags = {"group": near.group, "version": near.version, "kind": near.kind}
        helps = (" ".join(f"`--{flag} {value}`" for flag, value in flags.items() if given[flag] != value),)
    have = ", ".join(f"`{r}`" for r in project.resources) or "no API yet"
    shown = Resource(options.group, project.domain, options.version, options.kind, plural="")
    message = f"the project has no API `{shown}`"
    place = project.span(near) if near is not None else None
    label = "the nearest one" if near is not None else ""
    found.add(API_MISSING.at(place, message, label=label, notes=(f"it has {have}", *_NOTHING), help=helps))
    return None


def nearest(named: tuple[str, str, str], resources: Sequence[Resource]) -> Resource | None:
    """The entry whose kind has the most similar name to that of a group, version and kind."""
    group, version, kind = named
    name = closest(kind, (r.kind for r in resources))
    alike = [r for r in resources if r.kind == name]
    alike.sort(key=lambda r: (r.group != group, r.version != version))
    return alike[0] if alike else None


def other_versions(resource: Resource, project: Project) -> list[Resource]:
    """The other versions of a kind in the project."""
    return [r for r in project.resources if r.api and r.is_same_kind(resource) and r.version != resource.version]


def check_controller(options: OldApi, resource: Resource, project: Project, found: Diagnostics) -> None:
    """Check that the controllers to delete exist, and that it is clear whether they go with the version."""
    if not _agree(options, found):
        return
    names = [resource.singular] * resource.controller + list(resource.controllers)
    _check_is_there(options, names, resource, project, found)
    others = other_versions(resource, project)
    if options.resource and resource.api and names and others and options.controller is None:
        message = f"`{resource}` has the controller of `{resource.kind}`, which also serves {others[-1].version}"
        helps = ("to keep it: `--no-controller`", "to delete it as well: `--controller`")
        found.add(CONTROLLER_SHARED.at(project.span(resource, "controller"), message, notes=_NOTHING, help=helps))


def _agree(options: OldApi, found: Diagnostics) -> bool:
    """Whether the options name something to delete, and do not contradict each other."""
    if not options.resource and options.controller is False:
        message = "with `--no-resource` and `--no-controller` there is nothing to delete"
        found.add(NOTHING_TO_DO.at(None, message, help=("leave out one of the two",)))
        return False
    if options.controller_name and (options.resource or options.controller is False):
        message = "`--controller-name` deletes one controller and keeps the API"
        helps = (f"`--no-resource --controller-name {options.controller_name}`",)
        found.add(FLAG_CONFLICT.at(None, message, help=helps))
        return False
    return True


def _check_is_there(
    options: OldApi, names: Sequence[str], resource: Resource, project: Project, found: Diagnostics
) -> None:
    """Check that an API has the controller that the options name, or any."""
    if options.controller_name and options.controller_name not in names:
        message = f"`{resource}` has no controller `{options.controller_name}`"
        near = closest(options.controller_name, names)
        advice = (f"`--controller-name {near}`",) if near else ()
        notes = (f"it has {', '.join(f'`{name}`' for name in names) or 'no controller'}", *_NOTHING)
        found.add(CONTROLLER_MISSING.at(project.span(resource), message, notes=notes, help=advice))
    elif not options.resource and not names:
        message = f"`{resource}` has no controller"
        found.add(CONTROLLER_MISSING.at(project.span(resource), message, notes=_NOTHING))


def check_webhooks(options: OldWebhook, resource: Resource, project: Project, found: Diagnostics) -> None:
    """Check that the webhooks to delete exist."""
    present = resource.webhooks or Webhooks()
    if present == Webhooks():
        _say_missing(f"`{resource}` has no webhooks", resource, project, found)
    for name, wanted, is_there in (
        ("defaulting", options.defaulting, present.defaulting),
        ("validating", options.validation, present.validation),
        ("conversion", options.conversion or bool(options.spoke), present.conversion),
    ):
        if wanted and not is_there and present != Webhooks():
            _say_missing(f"`{resource}` has no {name} webhook", resource, project, found)
    for spoke in options.spoke:
        if present.conversion and spoke not in present.spoke:
            _say_missing(f"`--spoke {spoke}`: `{resource}` has no converter for {spoke}", resource, project, found)


def _say_missing(message: str, resource: Resource, project: Project, found: Diagnostics) -> None:
    helps: tuple[str, ...] = ()
    alike = [r for r in project.resources if r.is_same_kind(resource) and r.webhooks and r.version != resource.version]
    if alike:
        helps = (f"the webhooks of `{resource.kind}` are in {alike[0].version}: `--version {alike[0].version}`",)
    found.add(WEBHOOK_MISSING.at(project.span(resource), message, notes=_NOTHING, help=helps))
