"""Plans ``create webhook``: finds the kind, checks the options, runs plugins, changes PROJECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands import webhook_checks
from pykb.commands.delete import nearest
from pykb.commands.options import NewWebhook
from pykb.commands.webhook_checks import making
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.commands import API_MISSING, CORE_WEBHOOK
from pykb.diagnostics.codes.project import RESOURCE_CONFLICT
from pykb.files.plan import Plan
from pykb.meta.plural import pluralize
from pykb.plugins.plugin import Plugin, WebhookPlugin
from pykb.plugins.registry import keys, resolve
from pykb.plugins.request import CommandLine, WebhookRequest
from pykb.project import FILE_NAME, Certificates
from pykb.project.file import Project
from pykb.project.resource import BUILTIN_GROUPS, Resource, Webhooks, merge
from pykb.project.writer import with_certificates, with_resource
from pykb.scaffold import naming
from pykb.scaffold.license import boilerplate
from pykb.scaffold.naming import find_builtin, short_group
from pykb.scaffold.plan import PlanBuilder

_NOTHING = ("nothing was written",)


@dataclass(frozen=True, slots=True)
class WebhookPlan:
    """A plan with its resource.

    Attributes:
        plan: The changes.
        resource: The kind, with all of its webhooks after the command.
        spokes: The versions that this command makes converters for.
        certificates: Who issues the certificates.
    """

    plan: Plan
    resource: Resource
    spokes: tuple[str, ...]
    certificates: Certificates


@dataclass(frozen=True, slots=True)
class _Checked:
    """A command without errors.

    Attributes:
        options: The options.
        chain: The plugins of the project.
        known: The existing entry in PROJECT, if any.
        entry: The entry with all of its webhooks after the command.
        wanted: The webhooks to make.
    """

    options: NewWebhook
    chain: Sequence[Plugin]
    known: Resource | None
    entry: Resource
    wanted: Webhooks


def plan_webhook(options: NewWebhook, project: Project, root: Path) -> tuple[WebhookPlan | None, Diagnostics]:
    """Plan the webhooks of a kind. Without errors among the findings the plan may be applied."""
    found = check_words(options)
    checked = _check(options, project, root, found)
    return (_plan(checked, project, root, found) if checked else None), found


def _check(options: NewWebhook, project: Project, root: Path, found: Diagnostics) -> _Checked | None:
    webhook_checks.check_options(options, found)
    chain = resolve(options.plugins, project.layout, root, found)
    if found.has_errors():
        return None
    resource = _find_target(options, project, found)
    if resource is None or found.has_errors():
        return None
    known = project.find(resource)
    wanted = _wanted(options, resource, project)
    webhook_checks.check(options, wanted, resource, project, found)
    present = known.webhooks if known and known.webhooks else Webhooks()
    entry = replace(resource, webhooks=present.merged(wanted))
    return None if found.has_errors() else _Checked(options, chain, known, entry, wanted)


def _plan(checked: _Checked, project: Project, root: Path, found: Diagnostics) -> WebhookPlan | None:
    plan = PlanBuilder(root)
    request = _request(checked, project, boilerplate(plan, found))
    if found.has_errors():
        return None
    line = CommandLine(checked.options.args, keys(checked.chain))
    request = replace(request, command_line=line)
    for plugin in checked.chain:
        if isinstance(plugin, WebhookPlugin):
            plugin.create_webhook(request, plan)
    known, wanted = checked.known, checked.wanted
    merged = merge(known, checked.entry) if known else checked.entry
    file = with_resource(project, merged) if merged != known else project
    if project.certificates is None:
        file = with_certificates(file, request.project.issuer)
    plan.update(FILE_NAME, file.text.encode())
    if checked.entry.core and (wanted.defaulting or wanted.validation):
        _say_core(checked.entry, project, found)
    found.extend(plan.diagnostics)
    return None if found.has_errors() else WebhookPlan(plan.build(), merged, wanted.spoke, request.project.issuer)


def check_words(options: NewWebhook) -> Diagnostics:
    """Find errors that do not depend on the project or on answers to questions."""
    found = Diagnostics()
    naming.check_version(options.version, found)
    naming.check_kind(options.kind, found)
    naming.check_plural(options.plural, options.kind, found)
    naming.check_import_path(options.external_api_path, found)
    naming.check_external_domain(options.external_api_domain, found)
    return found


def _wanted(options: NewWebhook, resource: Resource, project: Project) -> Webhooks:
    """The webhooks to make. ``--conversion`` alone means all other versions that are not converted yet."""
    spokes = tuple(dict.fromkeys(options.spoke))
    if options.conversion and not spokes:
        known = project.find(resource)
        converted = known.webhooks.spoke if known and known.webhooks and not options.force else ()
        versions = webhook_checks.versions(resource, project)
        spokes = tuple(v for v in versions if v != resource.version and v not in converted)
    return Webhooks(
        defaulting=options.defaulting,
        validation=options.validation,
        conversion=options.conversion,
        spoke=spokes,
        defaulting_path=options.defaulting_path,
        validation_path=options.validation_path,
    )


def _request(checked: _Checked, project: Project, header: str) -> WebhookRequest:
    """The request to the plugins. With ``--force``, the module is written again with all webhooks of the kind."""
    options, entry, wanted = checked.options, checked.entry, checked.wanted
    return WebhookRequest(
        project=replace(project, certificates=options.certificates or project.issuer),
        resource=entry,
        boilerplate=header,
        force=options.force,
        made=(entry.webhooks or wanted) if options.force else wanted,
        named=wanted.spoke,
    )


def _say_core(resource: Resource, project: Project, found: Diagnostics) -> None:
    selector = (
        '{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn",'
        f'"values":["{project.project_name}-system"]}}]}}}}'
    )
    found.add(
        CORE_WEBHOOK.at(
            None,
            f"while the manager does not answer, no {resource.kind} of the cluster can be created or changed",
            notes=("if the manager needs one to start, it can never start: only the running manager answers",),
            help=(
                f"exclude the manager's own namespace with this at the end of the marker:\n,patch=`{selector}`",
                "or allow changes while the manager does not answer: `failurePolicy=ignore` in the marker",
            ),
        )
    )


def _find_target(options: NewWebhook, project: Project, found: Diagnostics) -> Resource | None:
    """The kind from PROJECT, or a new entry for its first webhook. Reports a kind that does not exist."""
    if options.external_api_path:
        return _external(options, project, found)
    known = _known(options, project)
    if known is not None:
        _check_plural(options, known, project, found)
        return replace(known, controller=False, controllers=())
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


def _known(options: NewWebhook, project: Project) -> Resource | None:
    """The entry of a kind that can have webhooks. A kind of the project comes before others of the same name."""
    groups = {options.group, short_group(options.group)}
    named = [r for r in project.resources if (r.version, r.kind) == (options.version, options.kind)]
    usable = [r for r in named if r.group in groups and (r.api or r.core or r.external)]
    return min(usable, key=lambda r: not r.api, default=None)


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
    near = nearest((options.group, options.version, options.kind), own)
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
