"""Plans `edit`: changes the layout of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pykb.commands.add_plugins import add_plugins
from pykb.commands.boilerplate import boilerplate
from pykb.commands.regroup import moved, regroup
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.edit import GROUPS_FIXED
from pykb.diagnostics.codes.project import NOTHING_TO_DO
from pykb.files.plan import Plan
from pykb.plugins.registry import in_process
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.writer import with_flag, with_resource
from pykb.scaffold.plan import PlanBuilder


@dataclass(frozen=True, slots=True)
class Edits:
    """The options of ``edit``. ``None`` means that the command line does not say it."""

    multigroup: bool | None = None
    plugins: Sequence[str] = ()
    force: bool = False
    args: tuple[str, ...] = ()


def plan_edit(options: Edits, project: Project, root: Path) -> tuple[Plan | None, Diagnostics]:
    """Plan the changes. Without errors among the findings the plan may be applied."""
    found = Diagnostics()
    plan = PlanBuilder(root)
    chain = in_process(project.layout, found)
    header = boilerplate(plan, found)
    if options.multigroup is None and not options.plugins:
        found.add(NOTHING_TO_DO.at(None, "no change was given", help=("`--multigroup`", "`--plugins helm`")))
    if options.multigroup is False and project.multigroup:
        message = "the project has a folder for each API group; `pykb edit` cannot put them together again"
        found.add(GROUPS_FIXED.at(project.place("multigroup"), message, notes=("nothing was written",)))
    if _failed(found):
        return None, found
    after = project
    if options.multigroup and not project.multigroup:
        after = with_flag(project, "multigroup", value=True)
        for resource in project.resources:
            after = with_resource(after, moved(resource, project))
        regroup(plan, project, after, chain, header, found)
    if options.plugins:
        after = add_plugins(options.plugins, options.args, after, plan, found, force=options.force)
    if after is not project:
        plan.update(FILE_NAME, after.text.encode())
    found.extend(plan.diagnostics)
    return (None if _failed(found) else plan.build()), found


def _failed(found: Diagnostics) -> bool:
    return found.has_errors
