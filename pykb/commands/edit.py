"""Plans `edit`: changes the layout and the options of a project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands.add_plugins import add_plugins
from pykb.commands.boilerplate import boilerplate
from pykb.commands.regroup import moved, regroup
from pykb.commands.reissue import reissue, reissued
from pykb.commands.remaining_uses import python_files
from pykb.commands.remove_plugins import remove_plugins
from pykb.commands.rescaffold import Options, rescaffold
from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.commands import CLUSTER_WIDE, GROUPS_FIXED
from pykb.diagnostics.codes.names import FLAG_REQUIRED
from pykb.diagnostics.codes.project import NOTHING_TO_DO
from pykb.files.plan import Plan
from pykb.plugins.registry import in_process
from pykb.project import FILE_NAME
from pykb.project.certificates import Certificates
from pykb.project.file import Project
from pykb.project.writer import with_flag, with_resource
from pykb.scaffold import license, naming  # noqa: A004 - our module of that name
from pykb.scaffold.plan import PlanBuilder

_RBAC = re.compile(r"\s*#\s*\+kubebuilder:rbac:(?!.*\bnamespace=)")
_APACHE = "Apache License, Version 2.0"


@dataclass(frozen=True, slots=True)
class Edits:
    """The options of ``edit``. ``None`` or an empty text means that the command line does not say it."""

    multigroup: bool | None = None
    namespaced: bool | None = None
    license: str = ""
    license_file: Path | None = None
    owner: str = ""
    certificates: Certificates | None = None
    plugins: Sequence[str] = ()
    removed_plugins: Sequence[str] = ()
    force: bool = False
    args: tuple[str, ...] = ()

    @property
    def is_about_init(self) -> bool:
        """Whether any option of ``init`` changes."""
        given = (self.license, self.license_file, self.owner, self.certificates)
        return self.multigroup is not None or self.namespaced is not None or any(given)


def plan_edit(options: Edits, project: Project, root: Path, *, year: str = "") -> tuple[Plan | None, Diagnostics]:
    """Plan the changes. Without errors among the findings the plan may be applied.

    Args:
        options: The options of the command.
        project: PROJECT.
        root: The folder of the project.
        year: The year that replaces ``YEAR`` in a licence file.
    """
    found = Diagnostics()
    plan = PlanBuilder(root)
    chain = in_process(project.layout, found)
    header = boilerplate(plan, found)
    before = Options(project, header, "apache2" if _APACHE in header else "none")
    _check(options, project, found)
    after = None if found.has_errors() else _wanted(options, before, year, found)
    if after is None or found.has_errors():
        return None, found
    if after != before:
        rescaffold(plan, before, after, chain, found)
    changed = after.project
    if options.multigroup and not project.multigroup:
        changed = _grouped(after.project)
        regroup(plan, after.project, changed, chain, after.header, found)
    if options.certificates not in (None, project.issuer):
        present, changed = changed, reissued(changed, options.certificates)
        reissue(plan, present, changed, chain, after.header, found, force=options.force)
    if options.removed_plugins:
        changed = remove_plugins(options.removed_plugins, changed, plan, after.header, found, force=options.force)
    if options.plugins:
        changed = add_plugins(options.plugins, options.args, changed, plan, found, force=options.force)
    if changed is not project:
        plan.update(FILE_NAME, changed.text.encode())
    if changed.namespaced and not project.namespaced:
        _say_cluster_wide(plan, project, found)
    found.extend(plan.diagnostics)
    return (None if found.has_errors() else plan.build()), found


def _check(options: Edits, project: Project, found: Diagnostics) -> None:
    if not (options.is_about_init or options.plugins or options.removed_plugins):
        flags = "`--multigroup`, `--namespaced`, `--certificates`, `--license`, `--license-file` or `--owner`"
        helps = (flags, "`--plugins helm` or `--remove-plugins helm`")
        found.add(NOTHING_TO_DO.at(None, "no change was given", help=helps))
    if options.multigroup is False and project.multigroup:
        message = "the project has a folder for each API group; `pykb edit` cannot put them together again"
        found.add(GROUPS_FIXED.at(project.place("multigroup"), message, notes=("nothing was written",)))
    naming.check_owner(options.owner, found)


def _wanted(options: Edits, before: Options, year: str, found: Diagnostics) -> Options:
    """The options after the command."""
    project = before.project
    if options.namespaced is not None and options.namespaced != project.namespaced:
        project = with_flag(project, "namespaced", value=options.namespaced)
    if not (options.license or options.license_file or options.owner):
        return replace(before, project=project)
    if not options.license and not options.license_file and before.license == "none":
        message = "`--owner` is written into a licence header, but the project has none that pykb knows"
        found.add(FLAG_REQUIRED.at(None, message, help=("`--license apache2`, or `--license-file FILE`",)))
    owner = options.owner or license.owner(before.header)
    name = options.license or before.license
    header = license.header(name, owner=owner, file=options.license_file, year=year, found=found)
    return Options(project, header.strip(), "" if options.license_file else name)


def _grouped(project: Project) -> Project:
    after = with_flag(project, "multigroup", value=True)
    for resource in project.resources:
        after = with_resource(after, moved(resource, project))
    return after


def _say_cluster_wide(plan: PlanBuilder, project: Project, found: Diagnostics) -> None:
    """Warn of permissions in the whole cluster, which the scaffold does not have any more."""
    for path in python_files(plan.root):
        text = (plan.current(path) or b"").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            if _RBAC.match(line):
                message = "this marker still gives a permission in the whole cluster"
                helps = (f"for the manager's namespace only: `,namespace={project.project_name}-system` at its end",)
                found.add(CLUSTER_WIDE.at(Span(path, number, line.index("#") + 1), message, help=helps))
