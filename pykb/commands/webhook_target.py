"""Finds the kind of a webhook: one of the project, of Kubernetes, or of another package."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pykb.commands.builtin_kind import find_builtin, short_group
from pykb.commands.webhook_checks import making
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.create_webhook import API_MISSING
from pykb.diagnostics.codes.project import RESOURCE_CONFLICT
from pykb.diagnostics.suggest import closest
from pykb.meta.plural import pluralize
from pykb.project.file import Project
from pykb.project.resource import BUILTIN_GROUPS, Resource
from pykb.scaffold import naming

if TYPE_CHECKING:
    from pykb.commands.create_webhook import NewWebhook

_NOTHING = ("nothing was written",)


def find_target(options: NewWebhook, project: Project, found: Diagnostics) -> Resource | None:
    """The kind from PROJECT, or a new entry for its first webhook. Reports a kind that does not exist."""
    groups = {options.group, short_group(options.group)}
    known = [r for r in project.resources if (r.version, r.kind) == (options.version, options.kind)]
    known = [r for r in known if r.group in groups and (r.api or r.core or r.external)]
    known.sort(key=lambda r: not r.api)
    if options.external_api_path:
        return _external(options, project, found)
    if known:
        _check_plural(options, known[0], project, found)
        return replace(known[0], controller=False, controllers=())
    own = {r.kind for r in project.resources if r.group == options.group and r.api}
    short = short_group(options.group)
    if short in BUILTIN_GROUPS and options.kind not in own:
        problems = Diagnostics()
        builtin = _builtin(options, short, problems)
        if builtin is not None:
            return builtin
        if not own:  # a group of the project may have the name of a built-in one
            found.extend(problems)
            return None
    _say_missing(options, project, found)
    return None


def _builtin(options: NewWebhook, group: str, found: Diagnostics) -> Resource | None:
    plural = options.plural or pluralize(options.kind)
    looked_up = Resource(group, BUILTIN_GROUPS[group], options.version, options.kind, plural, core=True)
    return find_builtin(looked_up, found)


def _is_core(options: NewWebhook) -> bool:
    """Whether the kind is in the core group."""
    return _builtin(options, "core", Diagnostics()) is not None


def _external(options: NewWebhook, project: Project, found: Diagnostics) -> Resource | None:
    naming.check_external_group(options.group, options.external_api_domain, found)
    resource = Resource(
        group=options.group,
        domain=options.external_api_domain,
        version=options.version,
        kind=options.kind,
        plural=options.plural or pluralize(options.kind),
        path=options.external_api_path,
        external=True,
    )
    own = project.find(resource)
    if own is not None and own.api:
        message = f"`{resource}` is a kind of this project, not of another package"
        helps = ("leave `--external-api-path` and `--external-api-domain` out",)
        found.add(RESOURCE_CONFLICT.at(project.span(own), message, notes=_NOTHING, help=helps))
    return resource


def _check_plural(options: NewWebhook, known: Resource, project: Project, found: Diagnostics) -> None:
    if options.plural and options.plural != known.plural:
        message = f"`{known}` has the plural `{known.plural}`, not `{options.plural}`"
        helps = (f"`--plural {known.plural}`, or leave it out",)
        found.add(RESOURCE_CONFLICT.at(project.span(known), message, notes=_NOTHING, help=helps))


def _say_missing(options: NewWebhook, project: Project, found: Diagnostics) -> None:
    """Report a missing kind, with the most similar one of the project, or the command that creates it."""
    own = [r for r in project.resources if r.api]
    wanted = Resource(options.group, project.domain, options.version, options.kind, plural="")
    near = _nearest(options, own)
    helps: list[str] = []
    if near is not None:
        flags = {"group": near.group, "version": near.version, "kind": near.kind}
        given = {"group": options.group, "version": options.version, "kind": options.kind}
        helps.append(" ".join(f"`--{flag} {value}`" for flag, value in flags.items() if given[flag] != value))
    if not options.group and _is_core(options):
        helps.append("`--group core`")
    kind = Resource(options.group, project.domain, options.version, options.kind, pluralize(options.kind))
    like = next((r for r in own if (r.group, r.kind) == (options.group, options.kind)), kind)
    helps.append(f"to create it: `{making(like, options.version)}`")
    helps.append("for a kind of another package: `--external-api-path some.module`")
    have = ", ".join(f"`{r}`" for r in own)
    notes = ((f"it has {have}",) if have else ()) + _NOTHING
    place = project.span(near) if near is not None else None
    label = "the nearest one" if near is not None else ""
    message = f"the project has no API `{wanted}`"
    found.add(API_MISSING.at(place, message, label=label, notes=notes, help=tuple(helps)))


def _nearest(options: NewWebhook, own: list[Resource]) -> Resource | None:
    name = closest(options.kind, (r.kind for r in own))
    alike = [r for r in own if r.kind == name]
    alike.sort(key=lambda r: (r.group != options.group, r.version != options.version))
    return alike[0] if alike else None
