"""Adds plugins to an existing project, and brings up to date what they wrote."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.diagnostics import Diagnostics
from pykb.plugins.plugin import EditPlugin
from pykb.plugins.registry import keys, resolve
from pykb.plugins.request import CommandLine, EditRequest
from pykb.project.file import Project
from pykb.project.writer import with_layout
from pykb.scaffold.plan import PlanBuilder


def add_plugins(
    named: Sequence[str], args: tuple[str, ...], project: Project, plan: PlanBuilder, found: Diagnostics, *, force: bool
) -> Project:
    """Let plugins change the project. Returns PROJECT with those that were not in its layout."""
    chain = resolve(named, (), plan.root, found)
    if found.has_errors():
        return project
    request = EditRequest(project, force, CommandLine(args, keys(chain)))
    for plugin in chain:
        if isinstance(plugin, EditPlugin):
            plugin.edit(request, plan)
    added = [str(plugin.key) for plugin in chain if str(plugin.key) not in project.layout]
    return with_layout(project, (*project.layout, *added)) if added else project
