"""The interface of plugins. Other packages register theirs as entry points of the group ``pykb.plugins``."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pykb.diagnostics import Diagnostic, Diagnostics, EnvironmentProblem
from pykb.diagnostics.codes.project import PLUGIN_FAULT
from pykb.plugins import PluginKey
from pykb.plugins.request import ApiRequest, DeleteRequest, EditRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder


@runtime_checkable
class Plugin(Protocol):
    """A part of a project. Each method adds files to the plan, and findings to ``plan.diagnostics``."""

    @property
    def key(self) -> PluginKey:
        """Its name and version."""

    @property
    def summary(self) -> str:
        """What it adds, in a few words."""

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add the plugin's part of a new project."""

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add the plugin's part of an API."""


@runtime_checkable
class WebhookPlugin(Protocol):
    """A plugin with files for webhooks. Other plugins do not have this method."""

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add the plugin's part of a kind's webhooks."""


@runtime_checkable
class EditPlugin(Protocol):
    """A plugin that can be added to an existing project, and run again."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Add the plugin's part of an existing project, or bring it up to date."""


@runtime_checkable
class RemovePlugin(Protocol):
    """A plugin that removes its own files from a project. Of others, what they scaffold is removed."""

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the files. Those that the user edited are passed to ``plan.lose``."""


@runtime_checkable
class DeletePlugin(Protocol):
    """A plugin that changes more than its files and lines when something is deleted. Others do not have this method."""

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Change what depends on the entries of PROJECT. Files and lines at anchors are removed already."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Several plugins under one key, run in order."""

    key: PluginKey
    summary: str
    parts: tuple[Plugin, ...]

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """All parts in order."""
        for part in self.parts:
            part.init(request, plan)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """All parts in order."""
        for part in self.parts:
            part.create_api(request, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """All parts with files for webhooks, in order."""
        for part in self.parts:
            if isinstance(part, WebhookPlugin):
                part.create_webhook(request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """All parts that change more than their files, in order."""
        for part in self.parts:
            if isinstance(part, DeletePlugin):
                part.delete(request, plan)


__all__ = ["Bundle", "DeletePlugin", "EditPlugin", "Plugin", "PluginKey", "RemovePlugin", "WebhookPlugin"]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A plugin of another package, or an executable."""

    plugin: Plugin

    @property
    def key(self) -> PluginKey:
        """The plugin's own key."""
        return self.plugin.key

    @property
    def summary(self) -> str:
        """The plugin's own summary."""
        return self.plugin.summary

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """The plugin's part of a new project."""
        self._call(self.plugin.init, request, plan)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """The plugin's part of an API."""
        self._call(self.plugin.create_api, request, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """The plugin's part of a kind's webhooks, if it has one."""
        if isinstance(self.plugin, WebhookPlugin):
            self._call(self.plugin.create_webhook, request, plan)

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """The plugin's part of an existing project, if it has one."""
        if isinstance(self.plugin, EditPlugin):
            self._call(self.plugin.edit, request, plan)

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the plugin's files, if it does that itself."""
        if isinstance(self.plugin, RemovePlugin):
            self._call(self.plugin.remove, request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """The plugin's part of a deletion, if it has one."""
        if isinstance(self.plugin, DeletePlugin):
            self._call(self.plugin.delete, request, plan)

    def _call(self, method: Callable[[Any, PlanBuilder], None], request: object, plan: PlanBuilder) -> None:
        before, plan.diagnostics = plan.diagnostics, Diagnostics()
        try:
            method(request, plan)
            found = list(plan.diagnostics)
            if not all(isinstance(each, Diagnostic) for each in found):
                raise TypeError("`plan.diagnostics` takes `Diagnostic` values only")  # noqa: TRY301 - its mistake
        except EnvironmentProblem:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - code of another package
            found = [_fault(self.key, error)]
        finally:
            plan.diagnostics = before
        written_by = f"found in the files of the plugin `{self.key}`"
        plan.diagnostics.extend(
            each if str(self.key) in each.message else replace(each, notes=(written_by, *each.notes)) for each in found
        )


def _fault(key: PluginKey, error: BaseException) -> Diagnostic:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_PYKB)]
    place = (f"raised at {own[-1].filename}:{own[-1].lineno}, in `{own[-1].name}`",) if own else ()
    return PLUGIN_FAULT.at(
        None,
        f"the plugin `{key}` failed: `{type(error).__name__}: {error}`",
        notes=(*place, "nothing was written"),
        help=("report it to the authors of the plugin",),
    )


_PYKB = Path(__file__).parents[1]
