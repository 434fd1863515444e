"""Plans ``create webhook``: finds the kind, checks the options, runs plugins, changes PROJECT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands.create_api import check_type
from pykb.commands.delete import say_missing
from pykb.commands.options import NewWebhook
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics
from pykb.diagnostics.codes.cli import FLAG_CONFLICT, FLAG_REQUIRED
from pykb.diagnostics.codes.commands import CONVERSION_SPOKE, CORE_WEBHOOK, SERVED_PATH, WEBHOOK_EXISTS
from pykb.diagnostics.codes.project import RESOURCE_CONFLICT
from pykb.diagnostics.suggest import closest
from pykb.files.plan import Plan
from pykb.meta.gvk import CONVERT, is_served_path, mutate_path, validate_path
from pykb.meta.names import SUBDOMAIN_LENGTH, as_subdomain, pluralize
from pykb.plugins.plugin import call
from pykb.plugins.registry import keys, resolve
from pykb.plugins.request import CommandLine, WebhookRequest
from pykb.project import FILE_NAME, Certificates
from pykb.project.file import CERTIFICATES, Project
from pykb.project.resource import BUILTIN_GROUPS, Resource, Webhooks, merge
from pykb.project.writer import with_certificates, with_resource
from pykb.scaffold import naming
from pykb.scaffold.license import boilerplate
from pykb.scaffold.naming import find_builtin, short_group
from pykb.scaffold.plan import PlanBuilder


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


def plan_webhook(options: NewWebhook, project: Project, root: Path) -> tuple[WebhookPlan | None, Diagnostics]:
    """Plan the webhooks of a kind. Without errors among the findings the plan may be applied."""
    found = check_type(options)
    _check_options(options, found)
    chain = resolve(options.plugins, project.layout, root, found)
    resource = None if found.has_errors() else _find_target(options, project, found)
    if resource is None or found.has_errors():
        return None, found
    known, wanted = project.find(resource), _wanted(options, resource, project)
    _check_project(options, wanted, resource, project, found)
    plan = PlanBuilder(root)
    header = boilerplate(plan, found)
    if found.has_errors():
        return None, found
    present = known.webhooks if known and known.webhooks else Webhooks()
    entry = replace(resource, webhooks=present.merged(wanted))
    certificates = options.certificates or project.issuer
    request = WebhookRequest(
        project=replace(project, certificates=certificates),
        resource=entry,
        boilerplate=header,
        force=options.force,
        command_line=CommandLine(options.args, keys(chain)),
        made=(entry.webhooks or wanted) if options.force else wanted,  # then the module is written again
        named=wanted.spoke,
    )
    call(chain, "create_webhook", request, plan)
    merged = merge(known, entry) if known else entry
    file = with_resource(project, merged) if merged != known else project
    if project.certificates is None:
        file = with_certificates(file, certificates)
    plan.update(FILE_NAME, file.text.encode())
    if entry.core and (wanted.defaulting or wanted.validation):
        _say_core(entry, project, found)
    found.extend(plan.diagnostics)
    planned = WebhookPlan(plan.build(), merged, wanted.spoke, certificates)
    return (None if found.has_errors() else planned), found


def _wanted(options: NewWebhook, resource: Resource, project: Project) -> Webhooks:
    """The webhooks to make. ``--conversion`` alone means all other versions that are not converted yet."""
    spokes = tuple(dict.fromkeys(options.spoke))
    if options.conversion and not spokes:
        known = project.find(resource)
        converted = known.webhooks.spoke if known and known.webhooks and not options.force else ()
        spokes = tuple(r.version for r in project.other_versions(resource) if r.version not in converted)
    return Webhooks(
        defaulting=options.defaulting,
        validation=options.validation,
        conversion=options.conversion,
        spoke=spokes,
        defaulting_path=options.defaulting_path,
        validation_path=options.validation_path,
    )


def _say_core(resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    selector = (
        '{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn",'
        f'"values":["{project.project_name}-system"]}}]}}}}'
    )
    message = f"while the manager does not answer, no {resource.kind} of the cluster can be created or changed"
    helps = (
        f"exclude the manager's own namespace with this at the end of the marker:\n,patch=`{selector}`",
        "or allow changes while the manager does not answer: `failurePolicy=ignore` in the marker",
    )
    notes = ("if the manager needs one to start, it can never start: only the running manager answers",)
    diagnostics.report(CORE_WEBHOOK, None, message, *helps, notes=notes)


def _find_target(options: NewWebhook, project: Project, diagnostics: Diagnostics) -> Resource | None:
    """The kind from PROJECT, or a new entry for its first webhook. Reports a kind that does not exist."""
    if options.external_api_path:
        return _external(options, project, diagnostics)
    known = _known(options, project)
    if known is not None:
        _check_plural(options, known, project, diagnostics)
        return replace(known, controller=False, controllers=())
    own = {r.kind for r in project.resources if r.group == options.group and r.api}
    short = short_group(options.group)
    if short in BUILTIN_GROUPS and options.kind not in own:
        problems = Diagnostics()
        builtin = _builtin(options, short, problems)
        if builtin is not None:
            return builtin
        if not own:  # a group of the project may have the name of a built-in one
            diagnostics.extend(problems)
            return None
    _say_missing(options, project, diagnostics)
    return None


def _known(options: NewWebhook, project: Project) -> Resource | None:
    """The entry of a kind that can have webhooks. A kind of the project comes before others of the same name."""
    groups = {options.group, short_group(options.group)}
    named = [r for r in project.resources if (r.version, r.kind) == (options.version, options.kind)]
    usable = [r for r in named if r.group in groups and (r.api or r.core or r.external)]
    return min(usable, key=lambda r: not r.api, default=None)


def _builtin(options: NewWebhook, group: str, diagnostics: Diagnostics) -> Resource | None:
    plural = options.plural or pluralize(options.kind)
    looked_up = Resource(group, BUILTIN_GROUPS[group], options.version, options.kind, plural, core=True)
    return find_builtin(looked_up, diagnostics)


def _external(options: NewWebhook, project: Project, diagnostics: Diagnostics) -> Resource | None:
    naming.check_external_group(options.group, options.external_api_domain, diagnostics)
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
        diagnostics.report(RESOURCE_CONFLICT, project.span(own), message, *helps, notes=NOTHING_WRITTEN)
    return resource


def _check_plural(options: NewWebhook, known: Resource, project: Project, diagnostics: Diagnostics) -> None:
    if options.plural and options.plural != known.plural:
        message = f"`{known}` has the plural `{known.plural}`, not `{options.plural}`"
        helps = (f"`--plural {known.plural}`, or leave it out",)
        diagnostics.report(RESOURCE_CONFLICT, project.span(known), message, *helps, notes=NOTHING_WRITTEN)


def _say_missing(options: NewWebhook, project: Project, diagnostics: Diagnostics) -> None:
    """Report a missing kind, with the most similar one of the project, and the command that creates it."""
    own = [r for r in project.resources if r.api]
    is_core = not options.group and _builtin(options, "core", Diagnostics()) is not None
    helps = ["`--group core`"] if is_core else []
    kind = Resource(options.group, project.domain, options.version, options.kind, pluralize(options.kind))
    like = next((r for r in own if (r.group, r.kind) == (options.group, options.kind)), kind)
    helps.append(f"to create it: `{_making(like, options.version)}`")
    helps.append("for a kind of another package: `--external-api-path some.module`")
    say_missing(options, project, own, diagnostics, helps)


def _making(like: Resource, version: str) -> str:
    """The command that adds a version to a kind, with the kind's scope and plural."""
    words = ["pykb create api", *([f"--group {like.group}"] if like.group else []), f"--version {version}"]
    words += [f"--kind {like.kind}"]
    words += [f"--plural {like.plural}"] if like.plural != pluralize(like.kind) else []
    words += [] if like.namespaced else ["--no-namespaced"]
    return " ".join(words)


def _check_options(options: NewWebhook, diagnostics: Diagnostics) -> None:
    """Report missing options, contradictions, and invalid paths."""
    _check_type(options, diagnostics)
    defaulting, validation = options.defaulting_path, options.validation_path
    _check_path("--defaulting-path", defaulting, "--defaulting", options.defaulting, diagnostics)
    _check_path("--validation-path", validation, "--programmatic-validation", options.validation, diagnostics)
    if defaulting and defaulting == validation:
        message = f"`--defaulting-path` and `--validation-path` are both `{defaulting}`"
        diagnostics.report(SERVED_PATH, None, message, "give each webhook its own path")
    if options.spoke and not options.conversion:
        message = "`--spoke` names a version to convert, which needs `--conversion`"
        diagnostics.report(FLAG_REQUIRED, None, message, f"`--conversion --spoke {options.spoke[0]}`")
    naming.check_own_kind(options.kind, diagnostics)


def _check_type(options: NewWebhook, diagnostics: Diagnostics) -> None:
    """Report a command without a type of webhook. Each of these options implies a type."""
    types = (options.defaulting, options.validation, options.conversion)
    implied = (options.spoke, options.defaulting_path, options.validation_path)
    if any((*types, *implied)):
        return
    helps = (
        "`--defaulting` sets fields that an object leaves out",
        "`--programmatic-validation` refuses invalid objects",
        "`--conversion` converts between versions of the kind",
    )
    diagnostics.report(FLAG_REQUIRED, None, "no type of webhook was given", *helps)


def _check_path(flag: str, path: str, type_flag: str, wanted: bool, diagnostics: Diagnostics) -> None:
    if not path:
        return
    if not wanted:
        diagnostics.report(FLAG_REQUIRED, None, f"`{flag}` needs `{type_flag}`", f"`{type_flag} {flag} {path}`")
    _check_path_form(flag, path, diagnostics)


def _check_path_form(flag: str, path: str, diagnostics: Diagnostics) -> None:
    if path == CONVERT:
        message = f"`{flag} {path}` is the path of the conversion webhook of all kinds"
        diagnostics.report(SERVED_PATH, None, message, "use another path, or omit the option")
        return
    if is_served_path(path):
        return
    near = "/" + "/".join(filter(None, (as_subdomain(part) for part in path.split("/"))))
    message = f"`{flag} {path}`: expected `/` and then lower case letters, digits, hyphens and dots"
    diagnostics.report(SERVED_PATH, None, message, f"`{flag} {near}`" if len(near) > 1 else "")


def _check_project(
    options: NewWebhook, wanted: Webhooks, resource: Resource, project: Project, diagnostics: Diagnostics
) -> None:
    """Report conflicts with PROJECT."""
    _check_certificates(options, project, diagnostics)
    known = project.find(resource)
    present = known.webhooks if known and known.webhooks else Webhooks()
    if known is not None and not options.force:
        _check_exists(wanted, present, known, project, diagnostics)
    if wanted.conversion:
        _check_conversion(wanted, resource, project, diagnostics)
    _check_paths_taken(wanted, resource, project, diagnostics)


def _check_certificates(options: NewWebhook, project: Project, diagnostics: Diagnostics) -> None:
    present = project.issuer
    is_open = project.certificates is None and not project.has_webhooks
    if is_open or options.certificates in (None, present):
        return
    message = f"`--certificates {options.certificates}`: the project's webhooks have `{present}` certificates"
    helps = (
        f"`--certificates {present}`, or leave it out",
        f"to switch all webhooks of the project: `pykb edit --certificates {options.certificates}`",
    )
    diagnostics.report(FLAG_CONFLICT, project.place(*CERTIFICATES), message, *helps, notes=NOTHING_WRITTEN)


def _check_exists(
    wanted: Webhooks, present: Webhooks, known: Resource, project: Project, diagnostics: Diagnostics
) -> None:
    again = []
    if wanted.defaulting and present.defaulting:
        again.append("a defaulting")
    if wanted.validation and present.validation:
        again.append("a validating")
    if wanted.conversion and present.conversion and not set(wanted.spoke) - set(present.spoke):
        again.append("a conversion")
    for name in again:
        helps = ["to overwrite its files: `--force` (the old ones are kept in `.pykb/backup`)"]
        others = [r.version for r in project.other_versions(known) if r.version not in present.spoke]
        if name == "a conversion":
            text = "to convert another version, create it first: `pykb create api`"
            helps.insert(0, f"to convert another version: `--conversion --spoke {others[0]}`" if others else text)
        message = f"`{known}` already has {name} webhook"
        diagnostics.report(
            WEBHOOK_EXISTS, project.span(known), message, *helps, label="scaffolded here", notes=NOTHING_WRITTEN
        )


def _check_conversion(wanted: Webhooks, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    have = [each.version for each in project.versions(resource)]
    hub = project.hub(resource)
    if not resource.api:
        message = (
            f"`{resource}` is not a kind of this project: only the project that defines a kind converts its versions"
        )
        diagnostics.report(FLAG_CONFLICT, None, message, "leave `--conversion` out", notes=NOTHING_WRITTEN)
    elif hub is not None and hub.version != resource.version:
        message = f"`{resource.kind}` already has the hub {hub.version}, and a kind has only one hub"
        flags = f"`--version {hub.version} --conversion --spoke {resource.version}`"
        diagnostics.report(CONVERSION_SPOKE, project.span(hub), message, flags, notes=NOTHING_WRITTEN)
    elif len(have) == 1 and not set(wanted.spoke) - {resource.version}:
        message = f"`{resource.kind}` has one version, {resource.version}: there is nothing to convert"
        other = "v2" if resource.version == "v1" else "v1"
        helps = (f"create another version first: `{_making(resource, other)}`",)
        diagnostics.report(CONVERSION_SPOKE, project.span(resource, "version"), message, *helps, notes=NOTHING_WRITTEN)
    else:
        for spoke in wanted.spoke:
            for problem, advice in _spoke_problems(spoke, resource, have):
                diagnostics.report(CONVERSION_SPOKE, None, problem, *advice, notes=NOTHING_WRITTEN)


def _spoke_problems(spoke: str, resource: Resource, have: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    others = [version for version in have if version != resource.version]
    if spoke == resource.version:
        message = f"`--spoke {spoke}` is the hub: `--version` names the hub, `--spoke` a version to convert"
        yield message, tuple(f"`--spoke {version}`" for version in others[:1])
    elif spoke not in have:
        near = closest(spoke, others) or (others[0] if len(others) == 1 else None)
        make = f"to create it: `{_making(resource, spoke)}`"
        message = f"`--spoke {spoke}`: `{resource.kind}` has no version {spoke}"
        yield message, ((f"`--spoke {near}`",) if near else ()) + (make,)


def _check_paths_taken(wanted: Webhooks, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Report two webhooks at one path. The second would be called for the objects of the first."""
    paths = _paths(wanted, resource)
    taken = {
        path: other
        for other in project.resources
        for flag, path in _paths(other.webhooks or Webhooks(), other).items()
        if other.identity != resource.identity or flag not in paths
    }
    for flag, path in paths.items():
        if not is_served_path(path):  # explicit paths were checked before
            message = (
                f"the path `{path}` would have {len(path) - 1} characters after `/`, at most {SUBDOMAIN_LENGTH} fit"
            )
            shorter = f"/{path[1:].partition('-')[0]}-{resource.version}-{resource.singular}"
            diagnostics.report(SERVED_PATH, None, message, f"`{flag} {shorter}`", notes=NOTHING_WRITTEN)
        if path in taken:
            message = f"`{flag} {path}` is the path of a webhook of `{taken[path]}`"
            helps = ("use another path, or omit the option",)
            span = project.span(taken[path])
            diagnostics.report(SERVED_PATH, span, message, *helps, label="this one", notes=NOTHING_WRITTEN)
    is_double = len(paths) > len(set(paths.values()))
    if is_double and not (wanted.defaulting_path and wanted.validation_path):
        message = f"both webhooks of `{resource}` would be served at `{next(iter(paths.values()))}`"
        diagnostics.report(SERVED_PATH, None, message, "use another path, or omit the option", notes=NOTHING_WRITTEN)


def _paths(webhooks: Webhooks, resource: Resource) -> dict[str, str]:
    """The path of each webhook, by the flag that sets it."""
    found = {}
    if webhooks.defaulting:
        found["--defaulting-path"] = webhooks.defaulting_path or mutate_path(resource.gvk)
    if webhooks.validation:
        found["--validation-path"] = webhooks.validation_path or validate_path(resource.gvk)
    return found
