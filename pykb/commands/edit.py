"""Plans `edit`: changes the options of a project, with all files that depend on them, and its plugins.

Most options change a few lines of many files. `--multigroup` also moves files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from pykb.commands._regroup import moved, regroup
from pykb.commands.init import check_ranges, wanted_numbers
from pykb.commands.options import Edits
from pykb.commands.transition import State, between, carry_out, python_files, say_lost, with_styles
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Severity, Span
from pykb.diagnostics.codes.cli import FLAG_REQUIRED
from pykb.diagnostics.codes.commands import CLUSTER_WIDE, GROUPS_FIXED, SHARDS_UNSET
from pykb.diagnostics.codes.project import NOTHING_TO_DO, PLUGIN_KEPT
from pykb.diagnostics.codes.scaffold import FILE_MISSING
from pykb.files.plan import Plan
from pykb.plugins import PluginKey
from pykb.plugins.plugin import call
from pykb.plugins.registry import MAKERS, in_process, keys, resolve
from pykb.plugins.request import CommandLine, EditRequest
from pykb.project import FILE_NAME, Certificates
from pykb.project.file import Project
from pykb.project.options import ProjectOptions, options_of
from pykb.project.resource import Resource
from pykb.project.writer import with_certificates, with_layout, with_options, with_resource, with_value
from pykb.reading import yaml_text
from pykb.scaffold import license, naming  # noqa: A004 - our module of that name
from pykb.scaffold.license import boilerplate
from pykb.scaffold.plan import PlanBuilder

_RBAC = re.compile(r"\s*#\s*\+kubebuilder:rbac:(?!.*\bnamespace=)")
_APACHE = "Apache License, Version 2.0"


def plan_edit(options: Edits, project: Project, root: Path, *, year: str = "") -> tuple[Plan | None, Diagnostics]:
    """Plan the changes. Without errors among the findings the plan may be applied.

    Args:
        options: The options of the command.
        project: PROJECT.
        root: The folder of the project.
        year: The year that replaces ``YEAR`` in a licence file.
    """
    diagnostics = Diagnostics()
    plan = PlanBuilder(root)
    chain = in_process(project.layout, diagnostics)
    header = boilerplate(plan, diagnostics)
    project = with_styles(project, root)
    before = State(project, chain, header, "apache2" if _APACHE in header else "none")
    _check(options, project, diagnostics)
    after = None if diagnostics.has_errors() else _wanted(options, before, year, diagnostics)
    if after is None or diagnostics.has_errors():
        return None, diagnostics
    if after != before:
        _rescaffold(plan, before, after, diagnostics, force=options.force)
    if options.shards is not None:
        _check_shards(plan, after.project, diagnostics)
    changed = after.project
    if options.multigroup not in (None, project.multigroup):
        changed = _regrouped(after.project, multigroup=options.multigroup)
        regroup(plan, after, replace(after, project=changed), diagnostics)
    if options.certificates not in (None, project.issuer):
        present, changed = changed, _reissued(changed, options.certificates)
        _reissue(plan, replace(after, project=present), changed, diagnostics, force=options.force)
    if options.removed_plugins:
        now = replace(after, project=changed)
        changed = _remove_plugins(options.removed_plugins, now, plan, diagnostics, force=options.force)
    if options.plugins:
        changed = _add_plugins(options.plugins, options.args, changed, plan, diagnostics, force=options.force)
    if changed is not project:
        plan.update(FILE_NAME, changed.text.encode())
    if changed.namespaced and not project.namespaced:
        _say_cluster_wide(plan, project, diagnostics)
    diagnostics.extend(plan.diagnostics)
    return (None if diagnostics.has_errors() else plan.build()), diagnostics


def _check(options: Edits, project: Project, diagnostics: Diagnostics) -> None:
    if not (options.is_about_files or options.plugins or options.removed_plugins):
        numbers = "".join(f"`{each.flag}`, " for each in options_of(ProjectOptions).values())
        flags = f"`--multigroup`, `--namespaced`, {numbers}`--certificates`"
        more = "`--license`, `--license-file` or `--owner`"
        helps = (flags, more, "`--plugins helm` or `--remove-plugins helm`")
        diagnostics.report(NOTHING_TO_DO, None, "no change was given", *helps)
    kinds = [kind for _, kind in {(each.group, each.kind) for each in project.resources}]
    groups = sorted({each.group for each in project.resources if each.api or kinds.count(each.kind) > 1})
    if options.multigroup is False and project.multigroup and len(groups) > 1:
        message = f"the project has {len(groups)} API groups, which need folders of their own: {', '.join(groups)}"
        diagnostics.report(GROUPS_FIXED, project.place("multigroup"), message, notes=NOTHING_WRITTEN)
    if options.multigroup not in (None, project.multigroup):
        for each in project.resources:
            if each.api and not each.path.startswith(f"{project.package}.api."):
                message = (
                    f"the types of `{each.kind}` are in `{each.path}`, expected a module of `{project.package}.api`"
                )
                remedies = (
                    "move them there, and change `path` in PROJECT",
                    "or change `repo`, if it is another package",
                )
                diagnostics.report(GROUPS_FIXED, project.span(each, "path"), message, *remedies, notes=NOTHING_WRITTEN)
    naming.check_owner(options.owner, diagnostics)


def _wanted(options: Edits, before: State, year: str, diagnostics: Diagnostics) -> State:
    """The options after the command."""
    project = before.project
    if options.namespaced is not None and options.namespaced != project.namespaced:
        project = with_value(project, options.namespaced, "namespaced")
    numbers = wanted_numbers(options, project, diagnostics)
    if numbers:
        project = with_options(project, numbers)
    if not (options.license or options.license_file or options.owner):
        return replace(before, project=project)
    if not options.license and not options.license_file and before.license == "none":
        message = "`--owner` is written into a licence header, but the project has none that pykb knows"
        diagnostics.report(FLAG_REQUIRED, None, message, "`--license apache2`, or `--license-file FILE`")
    owner = options.owner or license.owner(before.header)
    name = options.license or before.license
    header = license.header(name, owner=owner, file=options.license_file, year=year, found=diagnostics)
    return replace(before, project=project, header=header.strip(), license="" if options.license_file else name)


def _rescaffold(plan: PlanBuilder, before: State, after: State, diagnostics: Diagnostics, *, force: bool) -> None:
    """Plan the changes. Warns of lines that would change but were edited."""
    change = between(before, after, plan.root, init=diagnostics)
    gone = carry_out(plan, change, before.project, diagnostics, force=force)
    if before.header != after.header:
        _rehead(plan, before.header, after.header, set(change.contents()))
    if gone.files:
        say_lost(plan, gone, diagnostics, force=force)


def _rehead(plan: PlanBuilder, old: str, new: str, known: set[str]) -> None:
    """Replace the header of the user's own files that have it."""
    for path in python_files(plan) if old else ():
        text = (plan.text(path) if path not in known else None) or ""
        for end in ("\n", "\r\n"):
            here, there = (f"{header}\n".replace("\n", end) for header in (old, new))
            if text.startswith(here):
                rest = text.removeprefix(here)
                plan.update(path, (there + rest if new else rest.lstrip(end)).encode())


def _reissued(project: Project, certificates: Certificates) -> Project:
    """PROJECT with another issuer. Without webhooks, the default needs no mention."""
    if project.has_webhooks or certificates is not Project().issuer:
        return with_certificates(project, certificates)
    return with_certificates(project, None)


def _reissue(plan: PlanBuilder, before: State, after: Project, diagnostics: Diagnostics, *, force: bool) -> None:
    """Plan the manifests of another issuer. Reports edits that would be lost, unless ``force`` is set.

    Nothing that a user edited is left as it is: half of a change would leave webhooks that the API server does not
    trust.
    """
    change = between(before, replace(before, project=after), plan.root, kinds=_in_order(plan, before.project))
    gone = carry_out(plan, change, before.project, diagnostics, force=force, strict=True)
    say_lost(plan, gone, diagnostics, force=force)


def _in_order(plan: PlanBuilder, project: Project) -> list[Resource]:
    """The entries in the order in which the manifests of the certificates name their CRDs."""
    paths = ("config/default/kustomization.yaml", "config/certificates/conversion_role.yaml")
    text = "\n".join(plan.text(path) or "" for path in paths)
    return sorted(project.resources, key=lambda each: text.find(f"{each.plural}.{each.api_group}"))


def _regrouped(project: Project, *, multigroup: bool) -> Project:
    after = with_value(project, multigroup, "multigroup")
    for resource in project.resources:
        after = with_resource(after, moved(resource, after))
    return after


def _say_cluster_wide(plan: PlanBuilder, project: Project, diagnostics: Diagnostics) -> None:
    """Warn of permissions in the whole cluster, which the scaffold does not have any more."""
    for path in python_files(plan):
        text = (plan.current(path) or b"").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            if _RBAC.match(line):
                message = "this marker still gives a permission in the whole cluster"
                helps = (f"for the manager's namespace only: `,namespace={project.project_name}-system` at its end",)
                diagnostics.report(CLUSTER_WIDE, Span(path, number, line.index("#") + 1), message, *helps)


def _add_plugins(
    named: Sequence[str],
    args: tuple[str, ...],
    project: Project,
    plan: PlanBuilder,
    diagnostics: Diagnostics,
    *,
    force: bool,
) -> Project:
    """Let plugins change the project. Returns PROJECT with those that were not in its layout."""
    chain = resolve(named, (), plan.root, diagnostics)
    if diagnostics.has_errors():
        return project
    request = EditRequest(project, force, CommandLine(args, keys(chain)))
    call(chain, "edit", request, plan)
    added = [str(plugin.key) for plugin in chain if str(plugin.key) not in project.layout]
    return with_layout(project, (*project.layout, *added)) if added else project


def _remove_plugins(
    named: Sequence[str], before: State, plan: PlanBuilder, diagnostics: Diagnostics, *, force: bool
) -> Project:
    """Plan to remove plugins. Returns PROJECT without them. Reports edits that would be lost, unless forced."""
    going = _going(named, before.project, diagnostics)
    if diagnostics.has_errors():
        return before.project
    project, layout = before.project, before.project.layout
    left = [key for key in layout if key not in going]
    for key in going:
        plugins = in_process([key], diagnostics)
        if not plugins and not diagnostics.has_errors():
            message = f"the files of the external plugin `{key}` stay: PROJECT does not record what it wrote"
            diagnostics.report(PLUGIN_KEPT, None, message, severity=Severity.NOTE)
        call(plugins, "remove", EditRequest(project, force), plan)
    now, then = (replace(before, chain=in_process(keys, diagnostics)) for keys in (layout, left))
    gone = carry_out(plan, between(now, then, plan.root, init=diagnostics), project, diagnostics, force=force)
    say_lost(plan, gone, diagnostics, force=force)
    return with_layout(project, left)


def _going(named: Sequence[str], project: Project, diagnostics: Diagnostics) -> list[str]:
    """The keys of the layout that go."""
    going: list[str] = []
    for word in named:
        keys = [key for key in project.layout if PluginKey.parse(key).answers_to(word)]
        if not keys:
            layout = ", ".join(f"`{key}`" for key in project.layout)
            message = f"the project does not have the plugin `{word}`"
            diagnostics.report(PLUGIN_KEPT, project.place("layout"), message, f"it has {layout}")
        elif any(str(each.key) in keys for each in MAKERS):
            message = f"the plugin `{word}` makes the project, and cannot be removed from it"
            diagnostics.report(PLUGIN_KEPT, project.place("layout"), message, notes=NOTHING_WRITTEN)
        going += [key for key in keys if key not in going]
    return going


_FILE = "config/manager/manager.yaml"
_MANAGER = "manager"


def _check_shards(plan: PlanBuilder, project: Project, diagnostics: Diagnostics) -> None:
    """Report if the manager's Deployment, as planned, does not have the shards of PROJECT.

    The scaffold sets its flag. If a user edited that place, the files would no longer agree on whether the replicas
    share the objects. So the command stops there.
    """
    text, before = plan.text(_FILE), (plan.before(_FILE) or b"").decode("utf-8", "replace")
    if text is None:
        message = f"`{_FILE}` does not exist, so pykb cannot set the flags of the manager"
        diagnostics.report(
            FILE_MISSING, None, message, "bring it back, then run the command again", notes=NOTHING_WRITTEN
        )
        return
    wanted = f"--shards={project.shards}" if project.shards else ""
    args, replicas = _setting(text, "args")[0], _setting(text, "replicas")[0]
    flags = [each for each in args if str(each).startswith("--shards")] if isinstance(args, list) else None
    if flags != ([wanted] if wanted else []):
        message = f"pykb cannot {'set' if wanted else 'remove'} `--shards` in the arguments of the manager"
        old = (flags or ["--leader-elect"])[0]
        what = f"put `{wanted or '--leader-elect'}` in place of `{old}`, then run the command again"
        diagnostics.report(SHARDS_UNSET, _setting(before, "args")[1], message, what, notes=NOTHING_WRITTEN)
    if isinstance(replicas, int):
        check_ranges(project, replicas, _setting(before, "replicas")[1], diagnostics)


def _setting(text: str, key: str) -> tuple[Any, Span]:
    """The arguments of the manager, or the number of its replicas, and the place of the nearest value in the file."""
    with suppress(yaml.MarkedYAMLError):  # the check of the plan reports it
        for document in yaml_text.documents(text):
            with suppress(KeyError, TypeError, ValueError):
                containers = document.content["spec"]["template"]["spec"]["containers"]
                number = [each["name"] for each in containers].index(_MANAGER)
                is_argument = key == "args"
                path = ("spec", "template", "spec", "containers", number, key) if is_argument else ("spec", key)
                mark = [node for node, _ in yaml_text.follow(document.node, path)][-1].start_mark
                value = (containers[number] if is_argument else document.content["spec"]).get(key)
                return value, Span(_FILE, mark.line + 1, mark.column + 1)
    return None, Span(_FILE, 1, 1)
