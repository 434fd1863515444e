"""The interface of plugins. Other packages register theirs as entry points of the group ``pykb.plugins``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pykb.plugins.key import PluginKey
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
