"""The interface of plugins. Other packages register theirs as entry points of the group ``pykb.plugins``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from pykb.plugins.request import ApiRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder


@dataclass(frozen=True, slots=True, order=True)
class PluginKey:
    """The key of a plugin, in PROJECT's ``layout`` and in ``--plugins``.

    >>> PluginKey.parse("python.pykb.dev/v1")
    PluginKey(name='python.pykb.dev', version='v1')
    >>> PluginKey.parse("python.pykb.dev/v1").answers_to("python/v1")
    True
    """

    name: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``name.domain/version``."""
        name, _, version = text.partition("/")
        return cls(name, version)

    def answers_to(self, text: str) -> bool:
        """Whether a full or short key means this plugin: ``python``, ``python/v1``, ``python.pykb.dev``."""
        name, slash, version = text.partition("/")
        short = re.match(rf"{re.escape(name)}(\.|$)", self.name) is not None
        return short and (not slash or version == self.version)

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


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
