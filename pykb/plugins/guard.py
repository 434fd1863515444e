"""Runs the code of plugins that are not pykb's own. Their mistakes become findings that name them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics, EnvironmentProblem
from pykb.diagnostics.codes.plugin import PLUGIN_FAULT
from pykb.plugins.plugin import DeletePlugin, EditPlugin, Plugin, PluginKey, RemovePlugin, WebhookPlugin
from pykb.plugins.request import ApiRequest, DeleteRequest, EditRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder


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
