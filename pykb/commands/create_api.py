"""Plans ``create api``: checks names against Kubernetes and the project, runs plugins, changes PROJECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands import api_checks
from pykb.commands.options import NewApi
from pykb.commands.requests import with_controller, with_operand
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.cli import KIND_TAKEN, USAGE
from pykb.diagnostics.codes.commands import CONVERTER_MISSING
from pykb.diagnostics.codes.crd import PROTECTED_GROUP
from pykb.diagnostics.codes.project import VERSION_SOURCE
from pykb.diagnostics.model import Severity
from pykb.files.plan import Plan
from pykb.meta.plural import pluralize
from pykb.plugins import Style
from pykb.plugins.deploy_image_v1 import DeployImageV1
from pykb.plugins.plugin import Plugin
from pykb.plugins.registry import keys, resolve
from pykb.plugins.request import ApiRequest, CommandLine
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.options import given
from pykb.project.resource import BUILTIN_GROUPS, NO_OPERAND, Resource, merge
from pykb.project.writer import with_resource
from pykb.scaffold import naming
from pykb.scaffold.license import boilerplate
from pykb.scaffold.naming import find_builtin, is_called_as_builtin, short_group
from pykb.scaffold.plan import PlanBuilder


@dataclass(frozen=True, slots=True)
class ApiPlan:
    """A plan with its resource."""

    plan: Plan
    resource: Resource


@dataclass(frozen=True, slots=True)
class _Checked:
    """A command without errors.

    Attributes:
        options: The options. What they leave open is as in the source.
        chain: The plugins of the project.
        source: The version to copy, if any.
        resource: The entry in PROJECT that this command makes.
        known: The existing entry.
    """

    options: NewApi
    chain: Sequence[Plugin]
    source: Resource | None
    resource: Resource
    known: Resource | None


def plan_api(options: NewApi, project: Project, root: Path) -> tuple[ApiPlan | None, Diagnostics]:
    """Plan an API. Without errors among the findings the plan may be applied."""
    found = Diagnostics()
    checked = _check(options, project, root, found)
    return (_plan(checked, project, root, found) if checked else None), found


def _check(options: NewApi, project: Project, root: Path, found: Diagnostics) -> _Checked | None:
    api_checks.check_options(options, found)
    _check_names(options, project, found)
    chain = resolve(options.plugins, project.layout, root, found)
    api_checks.check_operand(options, any(isinstance(each, DeployImageV1) for each in chain), found)
    source = _source(options, project, found)
    if found.has_errors():
        return None
    if source is not None:
        scope = source.namespaced if options.namespaced is None else options.namespaced
        options = replace(options, plural=options.plural or source.plural, namespaced=scope)
    resource = _resource(options, project, found)
    if resource is None or found.has_errors():
        return None
    api_checks.check_resource(options, resource, project, found)
    return None if found.has_errors() else _Checked(options, chain, source, resource, project.find(resource))


def _plan(checked: _Checked, project: Project, root: Path, found: Diagnostics) -> ApiPlan | None:
    plan = PlanBuilder(root)
    request = _request(checked, project, boilerplate(plan, found))
    if found.has_errors():
        return None
    line = CommandLine(checked.options.args, keys(checked.chain))
    request = replace(request, command_line=line)
    for plugin in with_operand(checked.chain, request):
        plugin.create_api(request, plan)
    resource, known = checked.resource, checked.known
    entry = merge(known, resource) if known else resource
    plan.update(FILE_NAME, with_resource(project, entry).text.encode() if entry != known else _unchanged(plan))
    if resource.protected:
        _say_protected(resource, found)
    if checked.options.resource and known is None:
        _say_builtin(checked.options, found)
        _say_unconverted(resource, project, found)
    found.extend(plan.diagnostics)
    return None if found.has_errors() else ApiPlan(plan.build(), resource)


def check_words(options: NewApi) -> Diagnostics:
    """Find errors that do not depend on answers to questions, before any question is asked."""
    found = Diagnostics()
    naming.check_version(options.version, found)
    naming.check_kind(options.kind, found)
    naming.check_plural(options.plural, options.kind, found)
    naming.check_controller_name(options.controller_name, found)
    naming.check_import_path(options.external_api_path, found)
    naming.check_external_domain(options.external_api_domain, found)
    for option, value in given(options.api):
        if not option.holds(value):
            found.add(USAGE.at(None, f"`{option.flag} {value}` is not {option.expected}"))
    return found


def is_builtin(options: NewApi, project: Project) -> bool:
    """Whether the type is built in: only a controller is wanted, for a group of Kubernetes and not of the project."""
    if options.resource or options.external_api_path or options.external_api_domain:
        return False
    own = any(r.group == options.group and r.kind == options.kind and r.api for r in project.resources)
    return not own and short_group(options.group) in BUILTIN_GROUPS


def _check_names(options: NewApi, project: Project, found: Diagnostics) -> None:
    found.extend(check_words(options))
    if options.resource:
        naming.check_own_kind(options.kind, found, deploys=options.operand != NO_OPERAND)
    if options.external_api_path and not options.resource:
        naming.check_external_group(options.group, options.external_api_domain, found)
    elif not is_builtin(options, project):
        naming.check_group(options.group, project.domain, found)


def _source(options: NewApi, project: Project, found: Diagnostics) -> Resource | None:
    """The version to copy for a new one, if the options name one."""
    if not options.api.from_version:
        return None
    alike = [r for r in project.resources if r.api and (r.group, r.kind) == (options.group, options.kind)]
    source = next((r for r in alike if r.version == options.api.from_version), None)
    if source is None:
        message = f"the project has no version `{options.api.from_version}` of the kind `{options.kind}` to copy from"
        helps = tuple(f"`--from {r.version}`" for r in alike) or ("leave `--from` out: it would be the first version",)
        found.add(VERSION_SOURCE.at(None, message, notes=("nothing was written",), help=helps))
    return source


def _resource(options: NewApi, project: Project, found: Diagnostics) -> Resource | None:
    """The entry in PROJECT that this command makes."""
    controllers = (options.controller_name,) if options.controller and options.controller_name else ()
    plain = Resource(
        group=options.group,
        domain=project.domain,
        version=options.version,
        kind=options.kind,
        plural=options.plural or pluralize(options.kind),
        namespaced=options.namespaced is not False,
        controller=bool(options.controller) and not controllers,
        controllers=controllers,
        options=options.api,
    )
    if options.style is Style.HANDLERS:
        plain = replace(plain, handlers=plain.controller_names)
    if is_builtin(options, project):
        short = short_group(options.group)
        return find_builtin(replace(plain, group=short, domain=BUILTIN_GROUPS[short], core=True), found)
    if options.external_api_path:
        return replace(plain, domain=options.external_api_domain, path=options.external_api_path, external=True)
    path = ".".join([project.package, "api", *([plain.group_package] if project.multigroup else []), plain.version])
    known = project.find(plain)
    if known is not None and not options.resource:
        return replace(plain, plural=known.plural, namespaced=known.namespaced, path=known.path or path)
    operand = None if options.operand == NO_OPERAND else options.operand
    return replace(plain, path=path, api=bool(options.resource), operand=operand)


def _request(checked: _Checked, project: Project, header: str) -> ApiRequest:
    options, resource = checked.options, checked.resource
    request = ApiRequest(
        project=project,
        resource=resource,
        boilerplate=header,
        force=options.force,
        known=checked.known,
        source=checked.source,
        make_resource=bool(options.resource),
        controller=None,
    )
    return with_controller(request, options.controller_name, options.style) if options.controller else request


def _unchanged(plan: PlanBuilder) -> bytes:
    return plan.current(FILE_NAME) or b""


def _say_protected(resource: Resource, found: Diagnostics) -> None:
    found.add(
        PROTECTED_GROUP.at(
            None,
            f"`{resource.api_group}` is a protected API group: the API server requires the annotation "
            "`api-approved.kubernetes.io` on its CRD",
            notes=("its value is `unapproved`; for an approved API, write the URL of the approval",),
            severity=Severity.NOTE,
        )
    )


def _say_builtin(options: NewApi, found: Diagnostics) -> None:
    """Warn of a new kind with the group and name of a built-in one, which is rarely intended."""
    if not is_called_as_builtin(options.group, options.version, options.kind):
        return
    short = short_group(options.group)
    group = Resource(short, BUILTIN_GROUPS[short], options.version, options.kind, plural="").api_group or short
    message = f"`{options.kind}` is also a kind of Kubernetes, in the group `{group}`"
    help_text = "for a controller of Kubernetes' own kind: `--no-resource`"
    notes = ("this command creates a separate kind of your own",)
    found.add(KIND_TAKEN.at(None, message, notes=notes, help=(help_text,), severity=Severity.WARNING))


def _say_unconverted(resource: Resource, project: Project, found: Diagnostics) -> None:
    """Report a new version that needs a converter, since the other versions have one."""
    alike = (r for r in project.resources if r.is_same_kind(resource))
    hub = next((r for r in alike if r.webhooks and r.webhooks.conversion), None)
    if hub is None:
        return
    message = (
        f"`{resource.kind}` is converted through the hub {hub.version}, but nothing converts {resource.version} yet"
    )
    group = f"--group {hub.group} " if hub.group else ""
    words = f"{group}--version {hub.version} --kind {hub.kind} --conversion --spoke {resource.version}"
    helps = (f"`pykb create webhook {words}`",)
    found.add(CONVERTER_MISSING.at(project.span(hub), message, label="the hub", help=helps))
