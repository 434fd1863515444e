"""Plans ``create api``: checks names against Kubernetes and the project, runs plugins, changes PROJECT."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands.options import NewApi, NewWebhook
from pykb.commands.transition import with_controller, with_operand
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics
from pykb.diagnostics.codes.cli import (
    CONTROLLER_NAME,
    FLAG_CONFLICT,
    FLAG_REQUIRED,
    GROUP_NAME,
    IMAGE_NAME,
    KIND_TAKEN,
    PLURAL_NAME,
    USAGE,
)
from pykb.diagnostics.codes.commands import CONVERTER_MISSING
from pykb.diagnostics.codes.crd import PROTECTED_GROUP
from pykb.diagnostics.codes.project import (
    CONTROLLER_EXISTS,
    MULTIGROUP_OFF,
    NOTHING_TO_DO,
    RESOURCE_CONFLICT,
    RESOURCE_EXISTS,
    VERSION_SOURCE,
)
from pykb.diagnostics.model import Severity
from pykb.files.plan import Plan
from pykb.meta.names import is_image, pluralize, undoubled
from pykb.plugins import PluginKey, Style
from pykb.plugins.deploy_image_v1 import DeployImageV1
from pykb.plugins.plugin import call
from pykb.plugins.registry import keys, resolve
from pykb.plugins.request import ApiRequest, CommandLine
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.options import given
from pykb.project.resource import BUILTIN_GROUPS, DEPLOY_IMAGE, NO_OPERAND, Resource, merge
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


def plan_api(options: NewApi, project: Project, root: Path) -> tuple[ApiPlan | None, Diagnostics]:
    """Plan an API. Without errors among the findings the plan may be applied."""
    diagnostics = Diagnostics()
    _check_options(options, diagnostics)
    _check_names(options, project, diagnostics)
    chain = resolve(options.plugins, project.layout, root, diagnostics)
    _check_operand(options, any(isinstance(each, DeployImageV1) for each in chain), diagnostics)
    source = _source(options, project, diagnostics)
    if diagnostics.has_errors():
        return None, diagnostics
    if source is not None:
        scope = source.namespaced if options.namespaced is None else options.namespaced
        options = replace(options, plural=options.plural or source.plural, namespaced=scope)
    resource = _resource(options, project, diagnostics)
    if resource is not None and not diagnostics.has_errors():
        _check_resource(options, resource, project, diagnostics)
    plan = PlanBuilder(root)
    header = boilerplate(plan, diagnostics)
    if resource is None or diagnostics.has_errors():
        return None, diagnostics
    known = project.find(resource)
    request = ApiRequest(
        project=project,
        resource=resource,
        boilerplate=header,
        force=options.force,
        command_line=CommandLine(options.args, keys(chain)),
        known=known,
        source=source,
        make_resource=bool(options.resource),
        controller=None,
    )
    if options.controller:
        request = with_controller(request, options.controller_name, options.style)
    call(with_operand(chain, request), "create_api", request, plan)
    entry = merge(known, resource) if known else resource
    if entry != known:
        plan.update(FILE_NAME, with_resource(project, entry).text.encode())
    _say(options, resource, project, diagnostics)
    diagnostics.extend(plan.diagnostics)
    return (None if diagnostics.has_errors() else ApiPlan(plan.build(), resource)), diagnostics


def _say(options: NewApi, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Say what a person should know of the new kind."""
    if resource.protected:
        _say_protected(resource, diagnostics)
    if options.resource and project.find(resource) is None:
        _say_builtin(options, diagnostics)
        _say_unconverted(resource, project, diagnostics)


def check_type(options: NewApi | NewWebhook) -> Diagnostics:
    """Check the words that name the type of an API or of webhooks."""
    diagnostics = Diagnostics()
    naming.check_version(options.version, diagnostics)
    naming.check_kind(options.kind, diagnostics)
    naming.check_plural(options.plural, options.kind, diagnostics)
    naming.check_import_path(options.external_api_path, diagnostics)
    naming.check_external_domain(options.external_api_domain, diagnostics)
    if options.external_api_domain and not options.external_api_path:
        message = "`--external-api-domain` needs the module of the type"
        diagnostics.report(FLAG_REQUIRED, None, message, "`--external-api-path some.module`")
    return diagnostics


def _check_words(options: NewApi) -> Diagnostics:
    """Find errors that do not depend on answers to questions, before any question is asked."""
    diagnostics = check_type(options)
    naming.check_controller_name(options.controller_name, diagnostics)
    for option, value in given(options.api):
        if not option.holds(value):
            diagnostics.report(USAGE, None, f"`{option.flag} {value}` is not {option.expected}")
    return diagnostics


def _is_builtin(options: NewApi, project: Project) -> bool:
    """Whether the type is built in: only a controller is wanted, for a group of Kubernetes and not of the project."""
    if options.resource or options.external_api_path or options.external_api_domain:
        return False
    own = any(r.group == options.group and r.kind == options.kind and r.api for r in project.resources)
    return not own and short_group(options.group) in BUILTIN_GROUPS


def _check_names(options: NewApi, project: Project, diagnostics: Diagnostics) -> None:
    diagnostics.extend(_check_words(options))
    if options.resource:
        naming.check_own_kind(options.kind, diagnostics, deploys=options.operand != NO_OPERAND)
    if options.external_api_path and not options.resource:
        naming.check_external_group(options.group, options.external_api_domain, diagnostics)
    elif not _is_builtin(options, project):
        naming.check_group(options.group, project.domain, diagnostics)


def _source(options: NewApi, project: Project, diagnostics: Diagnostics) -> Resource | None:
    """The version to copy for a new one, if the options name one."""
    if not options.api.from_version:
        return None
    alike = [r for r in project.resources if r.api and (r.group, r.kind) == (options.group, options.kind)]
    source = next((r for r in alike if r.version == options.api.from_version), None)
    if source is None:
        message = f"the project has no version `{options.api.from_version}` of the kind `{options.kind}` to copy from"
        helps = tuple(f"`--from {r.version}`" for r in alike) or ("leave `--from` out: it would be the first version",)
        diagnostics.report(VERSION_SOURCE, None, message, *helps, notes=NOTHING_WRITTEN)
    return source


def _resource(options: NewApi, project: Project, diagnostics: Diagnostics) -> Resource | None:
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
    if _is_builtin(options, project):
        short = short_group(options.group)
        return find_builtin(replace(plain, group=short, domain=BUILTIN_GROUPS[short], core=True), diagnostics)
    if options.external_api_path:
        return replace(plain, domain=options.external_api_domain, path=options.external_api_path, external=True)
    path = ".".join([project.package, "api", *([plain.group_package] if project.multigroup else []), plain.version])
    known = project.find(plain)
    if known is not None and not options.resource:
        return replace(plain, plural=known.plural, namespaced=known.namespaced, path=known.path or path)
    operand = None if options.operand == NO_OPERAND else options.operand
    return replace(plain, path=path, api=bool(options.resource), operand=operand)


def _say_protected(resource: Resource, diagnostics: Diagnostics) -> None:
    message = (
        f"`{resource.api_group}` is a protected API group: the API server requires the annotation "
        "`api-approved.kubernetes.io` on its CRD"
    )
    notes = ("its value is `unapproved`; for an approved API, write the URL of the approval",)
    diagnostics.report(PROTECTED_GROUP, None, message, notes=notes, severity=Severity.NOTE)


def _say_builtin(options: NewApi, diagnostics: Diagnostics) -> None:
    """Warn of a new kind with the group and name of a built-in one, which is rarely intended."""
    if not is_called_as_builtin(options.group, options.version, options.kind):
        return
    short = short_group(options.group)
    group = Resource(short, BUILTIN_GROUPS[short], options.version, options.kind, plural="").api_group or short
    message = f"`{options.kind}` is also a kind of Kubernetes, in the group `{group}`"
    help_text = "for a controller of Kubernetes' own kind: `--no-resource`"
    notes = ("this command creates a separate kind of your own",)
    diagnostics.report(KIND_TAKEN, None, message, help_text, notes=notes, severity=Severity.WARNING)


def _say_unconverted(resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Report a new version that needs a converter, since the other versions have one."""
    hub = project.hub(resource)
    if hub is None:
        return
    message = (
        f"`{resource.kind}` is converted through the hub {hub.version}, but nothing converts {resource.version} yet"
    )
    group = f"--group {hub.group} " if hub.group else ""
    words = f"{group}--version {hub.version} --kind {hub.kind} --conversion --spoke {resource.version}"
    diagnostics.report(CONVERTER_MISSING, project.span(hub), message, f"`pykb create webhook {words}`", label="the hub")


FILE_NAME_LENGTH = 255
"""The maximum length of a file name (NAME_MAX of Linux), in bytes."""

_MAJOR = re.compile(r"v([0-9]+).*")


def _check_options(options: NewApi, diagnostics: Diagnostics) -> None:
    """Report options that contradict each other."""
    if options.resource and (options.external_api_path or options.external_api_domain):
        flag = "--external-api-path" if options.external_api_path else "--external-api-domain"
        message = f"`{flag}` is for a type of another package, but `--resource` creates one in this project"
        diagnostics.report(FLAG_CONFLICT, None, message, "`--no-resource`")
    for option, _ in () if options.resource else given(options.api):
        message = f"`{option.flag}` is about types, but `--no-resource` creates none"
        diagnostics.report(FLAG_CONFLICT, None, message, f"`--resource`, or leave `{option.flag}` out")
    for option, _ in given(replace(options.api, from_version="")) if options.api.from_version else ():
        message = f"`{option.flag}` is about new types, but `--from` copies those of {options.api.from_version}"
        diagnostics.report(FLAG_CONFLICT, None, message, f"leave `{option.flag}` out, and edit the copied types")
    if options.controller_name and not options.controller:
        message = "`--controller-name` names a controller, but `--no-controller` creates none"
        diagnostics.report(FLAG_CONFLICT, None, message, "`--controller`, or leave the name out")
    if not options.resource and not options.controller:
        message = "with `--no-resource` and `--no-controller` there is nothing to scaffold"
        diagnostics.report(NOTHING_TO_DO, None, message, "leave out one of the two")


def _check_operand(options: NewApi, has_plugin: bool, diagnostics: Diagnostics) -> None:
    """Report options that a kind which deploys an image cannot have."""
    operand = options.operand
    if operand == NO_OPERAND:
        if has_plugin and any(PluginKey.parse(DEPLOY_IMAGE).answers_to(key) for key in options.plugins):
            message = "the plugin `deploy-image` needs the image that the controller deploys"
            diagnostics.report(FLAG_REQUIRED, None, message, "`--image memcached:1.6`")
        return
    if not has_plugin:
        message = "`--image` and the options of its container belong to the plugin `deploy-image`"
        diagnostics.report(FLAG_REQUIRED, None, message, "`--plugins deploy-image`")
    if not operand.image:
        message = "the options of the container need the image"
        diagnostics.report(FLAG_REQUIRED, None, message, "`--image memcached:1.6`")
    elif not is_image(operand.image):
        message = f"`--image {operand.image}` is not the name of a container image"
        helps = ("lower case letters, digits and `/`, then a tag or digest: `--image example.com/team/cache:1.6`",)
        diagnostics.report(IMAGE_NAME, None, message, *helps)
    for option, why in _unfit(options):
        diagnostics.report(FLAG_CONFLICT, None, f"`{option}` does not fit `--image`: {why}", f"leave `{option}` out")


def _unfit(options: NewApi) -> Iterator[tuple[str, str]]:
    """The options that do not fit an image, with the reason."""
    if not options.resource:
        yield "--no-resource", "the size of the Deployment is a field of the new kind"
    if not options.controller:
        yield "--no-controller", "the controller deploys the image"
    if options.style is not Style.RECONCILER:
        yield f"--style {options.style}", "the image is deployed by a Reconciler"
    if options.namespaced is False:
        yield "--no-namespaced", "the Deployment is in the namespace of its owner"
    if options.api.from_version:
        yield "--from", "the types are those of the image"


def _check_resource(options: NewApi, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Report conflicts with PROJECT."""
    known = project.find(resource)
    if options.resource:
        _check_crd_name(resource, diagnostics)
        _check_plural(options, resource, project, diagnostics)
        _check_exists(options, resource, known, project, diagnostics)
        _check_groups(resource, project, diagnostics)
        _check_kinds(resource, project, diagnostics)
    elif known is None and not resource.core and not resource.external:
        message = f"the project has no API `{resource}`, and this command would not create it"
        helps = ("to create it: `--resource`", "for a type of another package: `--external-api-path some.module`")
        diagnostics.report(FLAG_REQUIRED, None, message, *helps, notes=NOTHING_WRITTEN)
    if options.controller:
        _check_controller(options, resource, known, project, diagnostics)


def _check_crd_name(resource: Resource, diagnostics: Diagnostics) -> None:
    """Check the length of the CRD's name, `<plural>.<group>`, and of its file name, which is longer."""
    files = {"CRD": f"{resource.api_group}_{resource.plural}.yaml"}
    if resource.operand:
        files["image"] = resource.image_patch
    for what, file in files.items():
        if len(file) > FILE_NAME_LENGTH:
            size = f"a name of {len(file)} characters, at most {FILE_NAME_LENGTH} fit"
            message = f"the {what}'s file `{file}` would have {size}"
            diagnostics.report(
                GROUP_NAME, None, message, "use a shorter `--group` or `--plural`", notes=NOTHING_WRITTEN
            )


def _check_plural(options: NewApi, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    """Warn of a doubled acronym in controller-gen's plural. A plural can never change, so the user should choose it."""
    proposed = undoubled(resource.kind)
    if options.plural or proposed == resource.plural or any(r.is_same_kind(resource) for r in project.resources):
        return
    message = f"the plural of `{resource.kind}` would be `{resource.plural}`, as controller-gen forms it"
    helps = (f"`--plural {proposed}`", f"to use it anyway: `--plural {resource.plural}`")
    diagnostics.report(PLURAL_NAME, None, message, *helps, notes=("a plural can never be changed", NOTHING_WRITTEN))


def _check_exists(
    options: NewApi, resource: Resource, known: Resource | None, project: Project, diagnostics: Diagnostics
) -> None:
    if known is not None and known.api and not options.force:
        message = f"the project already has the API `{resource}`"
        helps = (
            f"to add a version: `--version {_next_version(resource, project)}`",
            "to add another controller: `--no-resource --controller-name some-name`",
            "to overwrite its files: `--force` (the old ones are kept in `.pykb/backup`)",
        )
        diagnostics.report(
            RESOURCE_EXISTS, project.span(known), message, *helps, label="scaffolded here", notes=NOTHING_WRITTEN
        )


def _next_version(resource: Resource, project: Project) -> str:
    """The stable version after those of a kind that the project has."""
    have = {each.version for each in project.resources if each.is_same_kind(resource)}
    highest = max(int(_MAJOR.sub(r"\1", version)) for version in have)
    return f"v{highest + (f'v{highest}' in have)}"


def _check_groups(resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    others = [r for r in project.resources if r.api and r.group != resource.group]
    if others and not project.multigroup:
        have = others[0].group
        helps: tuple[str, ...] = (f"`--group {have}`", "to give each group its own folders: `pykb edit --multigroup`")
        if is_called_as_builtin(resource.group, resource.version, resource.kind):
            helps = ("for a controller of Kubernetes' own kind: `--no-resource`", *helps)
        message = f"`--group {resource.group}` would be the second API group, after `{have}`"
        if not resource.group:
            message = f"`--group` is missing: the API group of this project is `{have}`"
        place, label = project.span(others[0], "group"), "the group of this project"
        diagnostics.report(MULTIGROUP_OFF, place, message, *helps, label=label, notes=NOTHING_WRITTEN)
    clash = next((r for r in others if project.multigroup and r.group_package == resource.group_package), None)
    if clash is not None:
        message = f"the groups `{resource.group}` and `{clash.group}` would share the folder `{resource.group_package}`"
        diagnostics.report(RESOURCE_CONFLICT, project.span(clash, "group"), message, notes=NOTHING_WRITTEN)


def _check_kinds(resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    for other in project.resources:
        if not other.api or other.api_group != resource.api_group:
            continue
        for message, help_text in _clashes(resource, other):
            diagnostics.report(RESOURCE_CONFLICT, project.span(other), message, help_text, notes=NOTHING_WRITTEN)


def _clashes(new: Resource, old: Resource) -> Iterator[tuple[str, str]]:
    if new.kind == old.kind:
        if new.plural != old.plural:
            message = f"`{new.kind}` has the plural `{old.plural}` in {old.version}, not `{new.plural}`"
            yield message, f"`--plural {old.plural}`"
        if new.namespaced != old.namespaced and new.version != old.version:
            scope = "namespaced" if old.namespaced else "cluster-scoped"
            flag = "--namespaced" if old.namespaced else "--no-namespaced"
            yield (
                f"`{new.kind}` is {scope} in {old.version}; all versions of a kind have the same scope",
                f"`{flag}`",
            )
        return
    if new.kind.lower() == old.kind.lower():
        yield f"`--kind {new.kind}` differs from `{old.kind}` in upper and lower case only", f"`--kind {old.kind}`"
    elif new.plural == old.plural:
        yield (
            f"`{new.kind}` would have the plural of `{old.kind}`, `{old.plural}`",
            f"`--plural {new.plural[:58]}-list`",
        )
    for one, other in ((new, old), (old, new)):
        if one.kind == f"{other.kind}List":
            message = f"`{one.kind}` is the kind of lists of `{other.kind}`"
            yield message, f"`--kind {new.kind.removesuffix('List')}Set`"


def _check_controller(
    options: NewApi, resource: Resource, known: Resource | None, project: Project, diagnostics: Diagnostics
) -> None:
    if options.controller_name:
        _check_controller_name(options, resource, project, diagnostics)
        return
    holder = next((r for r in project.resources if r.is_same_kind(resource) and r.has_controller), None)
    is_reported = options.resource and known is not None and known.api
    if holder is not None and not options.force and not is_reported:
        helps = [f"for another one: `--controller-name {resource.singular}-other`"]
        if options.resource:
            helps.insert(0, "one controller serves all versions: `--no-controller`")
        message = f"`{holder}` already has a controller"
        diagnostics.report(CONTROLLER_EXISTS, project.span(holder), message, *helps, notes=NOTHING_WRITTEN)


def _check_controller_name(options: NewApi, resource: Resource, project: Project, diagnostics: Diagnostics) -> None:
    name = options.controller_name
    helps = (f"`--controller-name {name}-2`",)
    for other in project.resources:
        for taken in other.controller_names:
            if taken == name and (other.identity != resource.identity or not options.force):
                message = f"`--controller-name {name}` is taken by a controller of `{other}`"
            elif taken != name and taken.replace("-", "") == name.replace("-", ""):
                message = f"`--controller-name {name}` and `{taken}` give the same class"
            else:
                continue
            diagnostics.report(CONTROLLER_NAME, project.span(other), message, *helps, notes=NOTHING_WRITTEN)
