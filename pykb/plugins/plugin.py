"""The interface of plugins. Other packages register theirs as entry points of the group ``pykb.plugins``."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics, EnvironmentProblem
from pykb.diagnostics.codes.project import PLUGIN_FAULT
from pykb.plugins import PluginKey
from pykb.plugins.request import ApiRequest, InitRequest
from pykb.scaffold.plan import PlanBuilder


@runtime_checkable
class Plugin(Protocol):
    """A part of a project. Each method adds files to the plan, and findings to ``plan.diagnostics``.

    It may have more methods, with the same arguments:

    - ``create_webhook(WebhookRequest)`` adds the plugin's part of a kind's webhooks.
    - ``edit(EditRequest)`` adds its part of an existing project, or brings it up to date.
    - ``remove(EditRequest)`` removes its files, and passes those that the user edited to ``plan.lose``. Of plugins
      without it, what they scaffold is removed.
    - ``delete(DeleteRequest)`` changes what depends on deleted entries of PROJECT. Files and lines at anchors are
      removed already.
    """

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


@dataclass(frozen=True, slots=True)
class Bundle:
    """Several plugins under one key, called in order."""

    key: PluginKey
    summary: str
    parts: tuple[Plugin, ...]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A plugin of another package, or an executable. What it raises is a finding."""

    plugin: Plugin | Bundle

    @property
    def key(self) -> PluginKey:
        """The plugin's own key."""
        return self.plugin.key

    @property
    def summary(self) -> str:
        """The plugin's own summary."""
        return self.plugin.summary


__all__ = ["AnyPlugin", "Bundle", "Guarded", "Plugin", "PluginKey", "call", "has_step"]

AnyPlugin = Plugin | Bundle | Guarded
Step = Literal["init", "create_api", "create_webhook", "edit", "remove", "delete"]
"""What plugins are called for: the name of the method."""


def has_step(plugin: AnyPlugin, step: Step) -> bool:
    """Whether a plugin has a method for a step."""
    return hasattr(plugin.plugin if isinstance(plugin, Guarded) else plugin, step)


def call(plugins: Iterable[AnyPlugin], step: Step, request: object, plan: PlanBuilder) -> None:
    """Call plugins for a step, in order. Those without a method for it have no part in it."""
    for plugin in plugins:
        if isinstance(plugin, Bundle):
            call(plugin.parts, step, request, plan)
        elif isinstance(plugin, Guarded):
            _call_guarded(plugin, step, request, plan)
        elif has_step(plugin, step):
            getattr(plugin, step)(request, plan)


def _call_guarded(guarded: Guarded, step: Step, request: object, plan: PlanBuilder) -> None:
    before, plan.diagnostics = plan.diagnostics, Diagnostics()
    try:
        call((guarded.plugin,), step, request, plan)
        found = list(plan.diagnostics)
        if not all(isinstance(each, Diagnostic) for each in found):
            raise TypeError("`plan.diagnostics` takes `Diagnostic` values only")  # noqa: TRY301 - its mistake
    except EnvironmentProblem:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of another package
        found = [_fault(guarded.key, error)]
    finally:
        plan.diagnostics = before
    written_by = f"found in the files of the plugin `{guarded.key}`"
    plan.diagnostics.extend(
        each if str(guarded.key) in each.message else replace(each, notes=(written_by, *each.notes)) for each in found
    )


def _fault(key: PluginKey, error: BaseException) -> Diagnostic:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_PYKB)]
    place = (f"raised at {own[-1].filename}:{own[-1].lineno}, in `{own[-1].name}`",) if own else ()
    message = f"the plugin `{key}` failed: `{type(error).__name__}: {error}`"
    helps = ("report it to the authors of the plugin",)
    return PLUGIN_FAULT.at(None, message, *helps, notes=(*place, NOTHING_WRITTEN))


_PYKB = Path(__file__).parents[1]
