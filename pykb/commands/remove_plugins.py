"""Removes plugins from a project, with what they wrote: the inverse of `edit --plugins`."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.commands.delete import say_edited
from pykb.commands.init import variables
from pykb.commands.requests import scaffold_of
from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.codes.plugin import PLUGIN_KEPT
from pykb.plugins.guard import Guarded
from pykb.plugins.key import PluginKey
from pykb.plugins.plugin import Plugin, RemovePlugin
from pykb.plugins.registry import DEFAULT, in_process
from pykb.plugins.rendering import style_of
from pykb.plugins.request import EditRequest, InitRequest
from pykb.project.file import Project
from pykb.project.writer import with_layout
from pykb.scaffold import tree
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.record import Recorder, Scaffold
from pykb.scaffold.withdraw import withdraw


def remove_plugins(
    named: Sequence[str], project: Project, plan: PlanBuilder, header: str, found: Diagnostics, *, force: bool
) -> Project:
    """Plan to remove plugins. Returns PROJECT without them. Reports edits that would be lost, unless forced."""
    going = _going(named, project, found)
    if found.has_errors():
        return project
    left = [key for key in project.layout if key not in going]
    kept = _scaffold(project, in_process(left, found), plan, header, found)
    for key in going:
        plugins = in_process([key], found)
        if not plugins and not found.has_errors():
            message = f"the files of the external plugin `{key}` stay: PROJECT does not record what it wrote"
            found.add(PLUGIN_KEPT.at(None, message, severity=Severity.NOTE))
        for plugin in plugins:
            own = plugin.plugin if isinstance(plugin, Guarded) else plugin
            if isinstance(own, RemovePlugin):
                plugin.remove(EditRequest(project, force), plan)  # type: ignore[attr-defined]
            else:
                gone = _scaffold(project, [plugin], plan, header, found).without(kept)
                withdraw(plan, gone, style_of(plan.root, project))
    say_edited(plan, found, force=force)
    return with_layout(project, left)


def _going(named: Sequence[str], project: Project, found: Diagnostics) -> list[str]:
    """The keys of the layout that go."""
    going: list[str] = []
    needed = (DEFAULT, *DEFAULT.parts)
    for word in named:
        keys = [key for key in project.layout if PluginKey.parse(key).answers_to(word)]
        if not keys:
            layout = ", ".join(f"`{key}`" for key in project.layout)
            message = f"the project does not have the plugin `{word}`"
            found.add(PLUGIN_KEPT.at(project.place("layout"), message, help=(f"it has {layout}",)))
        elif any(str(each.key) in keys for each in needed):
            message = f"the plugin `{word}` makes the project, and cannot be removed from it"
            found.add(PLUGIN_KEPT.at(project.place("layout"), message, notes=("nothing was written",)))
        going += [key for key in keys if key not in going]
    return going


def _scaffold(
    project: Project, chain: Sequence[Plugin], plan: PlanBuilder, header: str, found: Diagnostics
) -> Scaffold:
    """What plugins scaffold in a project, and for its kinds."""
    about = {"owner": "", "license": "none", "boilerplate": header, "year": ""}
    files = tree.render(tree.built_in(), variables(project, about), found)
    recorder = Recorder(plan.root)
    for plugin in chain:
        own = plugin.plugin if isinstance(plugin, Guarded) else plugin
        if not isinstance(own, RemovePlugin):  # such as the one of the Helm chart, which makes files of config/
            plugin.init(InitRequest(project, files), recorder)
    scaffold = recorder.scaffold
    for resource in project.resources:
        scaffold.add(scaffold_of(resource, project, chain, plan.root, header))
    return scaffold
