"""Checks the options of ``create webhook`` against each other and against the project."""

from __future__ import annotations

from collections.abc import Iterator

from pykb.commands.options import NewWebhook
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.cli import FLAG_CONFLICT, FLAG_REQUIRED
from pykb.diagnostics.codes.commands import CONVERSION_SPOKE, SERVED_PATH, WEBHOOK_EXISTS
from pykb.diagnostics.suggest import closest
from pykb.meta.gvk import CONVERT, is_served_path, mutate_path, validate_path
from pykb.meta.names import SUBDOMAIN_LENGTH, as_subdomain
from pykb.meta.plural import pluralize
from pykb.project.file import CERTIFICATES, Project
from pykb.project.resource import Resource, Webhooks
from pykb.scaffold import naming

_NOTHING = ("nothing was written",)


def versions(resource: Resource, project: Project) -> list[str]:
    """The versions of a kind with types in the project, in the order of creation."""
    return [r.version for r in project.resources if r.api and r.is_same_kind(resource)]


def making(like: Resource, version: str) -> str:
    """The command that adds a version to a kind, with the kind's scope and plural."""
    words = ["pykb create api", *([f"--group {like.group}"] if like.group else []), f"--version {version}"]
    words += [f"--kind {like.kind}"]
    words += [f"--plural {like.plural}"] if like.plural != pluralize(like.kind) else []
    words += [] if like.namespaced else ["--no-namespaced"]
    return " ".join(words)


def check_options(options: NewWebhook, found: Diagnostics) -> None:
    """Report missing options, contradictions, and invalid paths."""
    _check_type(options, found)
    defaulting, validation = options.defaulting_path, options.validation_path
    _check_path("--defaulting-path", defaulting, "--defaulting", options.defaulting, found)
    _check_path("--validation-path", validation, "--programmatic-validation", options.validation, found)
    if defaulting and defaulting == validation:
        message = f"`--defaulting-path` and `--validation-path` are both `{defaulting}`"
        found.add(SERVED_PATH.at(None, message, help=("give each webhook its own path",)))
    if options.spoke and not options.conversion:
        message = "`--spoke` names a version to convert, which needs `--conversion`"
        found.add(FLAG_REQUIRED.at(None, message, help=(f"`--conversion --spoke {options.spoke[0]}`",)))
    if options.external_api_domain and not options.external_api_path:
        message = "`--external-api-domain` needs the module of the type"
        found.add(FLAG_REQUIRED.at(None, message, help=("`--external-api-path some.module`",)))
    naming.check_own_kind(options.kind, found)


def _check_type(options: NewWebhook, found: Diagnostics) -> None:
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
    found.add(FLAG_REQUIRED.at(None, "no type of webhook was given", help=helps))


def _check_path(flag: str, path: str, type_flag: str, wanted: bool, found: Diagnostics) -> None:
    if not path:
        return
    if not wanted:
        found.add(FLAG_REQUIRED.at(None, f"`{flag}` needs `{type_flag}`", help=(f"`{type_flag} {flag} {path}`",)))
    _check_path_form(flag, path, found)


def _check_path_form(flag: str, path: str, found: Diagnostics) -> None:
    if path == CONVERT:
        message = f"`{flag} {path}` is the path of the conversion webhook of all kinds"
        found.add(SERVED_PATH.at(None, message, help=("use another path, or omit the option",)))
        return
    if is_served_path(path):
        return
    near = "/" + "/".join(filter(None, (as_subdomain(part) for part in path.split("/"))))
    message = f"`{flag} {path}`: expected `/` and then lower case letters, digits, hyphens and dots"
    found.add(SERVED_PATH.at(None, message, help=(f"`{flag} {near}`",) if len(near) > 1 else ()))


def check(options: NewWebhook, wanted: Webhooks, resource: Resource, project: Project, found: Diagnostics) -> None:
    """Report conflicts with PROJECT."""
    _check_certificates(options, project, found)
    known = project.find(resource)
    present = known.webhooks if known and known.webhooks else Webhooks()
    if known is not None and not options.force:
        _check_exists(wanted, present, known, project, found)
    if wanted.conversion:
        _check_conversion(wanted, resource, project, found)
    _check_paths_taken(wanted, resource, project, found)


def _check_certificates(options: NewWebhook, project: Project, found: Diagnostics) -> None:
    present = project.issuer
    is_open = project.certificates is None and not project.has_webhooks
    if is_open or options.certificates in (None, present):
        return
    message = f"`--certificates {options.certificates}`: the project's webhooks have `{present}` certificates"
    helps = (
        f"`--certificates {present}`, or leave it out",
        f"to switch all webhooks of the project: `pykb edit --certificates {options.certificates}`",
    )
    found.add(FLAG_CONFLICT.at(project.place(*CERTIFICATES), message, notes=_NOTHING, help=helps))


def _check_exists(wanted: Webhooks, present: Webhooks, known: Resource, project: Project, found: Diagnostics) -> None:
    again = [
        name
        for name, new, old in (
            ("a defaulting", wanted.defaulting, present.defaulting),
            ("a validating", wanted.validation, present.validation),
        )
        if new and old
    ]
    if wanted.conversion and present.conversion and not set(wanted.spoke) - set(present.spoke):
        again.append("a conversion")
    for name in again:
        helps = ["to overwrite its files: `--force` (the old ones are kept in `.pykb/backup`)"]
        others = [v for v in versions(known, project) if v not in (known.version, *present.spoke)]
        if name == "a conversion":
            text = "to convert another version, create it first: `pykb create api`"
            helps.insert(0, f"to convert another version: `--conversion --spoke {others[0]}`" if others else text)
        message = f"`{known}` already has {name} webhook"
        found.add(
            WEBHOOK_EXISTS.at(project.span(known), message, label="scaffolded here", notes=_NOTHING, help=tuple(helps))
        )


def _check_conversion(wanted: Webhooks, resource: Resource, project: Project, found: Diagnostics) -> None:
    have = versions(resource, project)
    hub = _hub(resource, project)
    if not resource.api:
        message = (
            f"`{resource}` is not a kind of this project: only the project that defines a kind converts its versions"
        )
        found.add(FLAG_CONFLICT.at(None, message, notes=_NOTHING, help=("leave `--conversion` out",)))
    elif hub is not None and hub.version != resource.version:
        message = f"`{resource.kind}` already has the hub {hub.version}, and a kind has only one hub"
        flags = f"`--version {hub.version} --conversion --spoke {resource.version}`"
        found.add(CONVERSION_SPOKE.at(project.span(hub), message, notes=_NOTHING, help=(flags,)))
    elif len(have) == 1 and not set(wanted.spoke) - {resource.version}:
        message = f"`{resource.kind}` has one version, {resource.version}: there is nothing to convert"
        other = "v2" if resource.version == "v1" else "v1"
        helps = (f"create another version first: `{making(resource, other)}`",)
        found.add(CONVERSION_SPOKE.at(project.span(resource, "version"), message, notes=_NOTHING, help=helps))
    else:
        for spoke in wanted.spoke:
            for problem, advice in _spoke_problems(spoke, resource, have):
                found.add(CONVERSION_SPOKE.at(None, problem, notes=_NOTHING, help=advice))


def _hub(resource: Resource, project: Project) -> Resource | None:
    """The version of a kind that the others are converted to and from."""
    alike = (r for r in project.resources if r.is_same_kind(resource))
    return next((r for r in alike if r.webhooks and r.webhooks.conversion), None)


def _spoke_problems(spoke: str, resource: Resource, have: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    others = [version for version in have if version != resource.version]
    if spoke == resource.version:
        message = f"`--spoke {spoke}` is the hub: `--version` names the hub, `--spoke` a version to convert"
        yield message, tuple(f"`--spoke {version}`" for version in others[:1])
    elif spoke not in have:
        near = closest(spoke, others) or (others[0] if len(others) == 1 else None)
        make = f"to create it: `{making(resource, spoke)}`"
        message = f"`--spoke {spoke}`: `{resource.kind}` has no version {spoke}"
        yield message, ((f"`--spoke {near}`",) if near else ()) + (make,)


def _check_paths_taken(wanted: Webhooks, resource: Resource, project: Project, found: Diagnostics) -> None:
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
            found.add(SERVED_PATH.at(None, message, notes=_NOTHING, help=(f"`{flag} {shorter}`",)))
        if path in taken:
            message = f"`{flag} {path}` is the path of a webhook of `{taken[path]}`"
            helps = ("use another path, or omit the option",)
            span = project.span(taken[path])
            found.add(SERVED_PATH.at(span, message, label="this one", notes=_NOTHING, help=helps))
    is_double = len(paths) > len(set(paths.values()))
    if is_double and not (wanted.defaulting_path and wanted.validation_path):
        message = f"both webhooks of `{resource}` would be served at `{next(iter(paths.values()))}`"
        found.add(SERVED_PATH.at(None, message, notes=_NOTHING, help=("use another path, or omit the option",)))


def _paths(webhooks: Webhooks, resource: Resource) -> dict[str, str]:
    """The path of each webhook, by the flag that sets it."""
    found = {}
    if webhooks.defaulting:
        found["--defaulting-path"] = webhooks.defaulting_path or mutate_path(resource.gvk)
    if webhooks.validation:
        found["--validation-path"] = webhooks.validation_path or validate_path(resource.gvk)
    return found
