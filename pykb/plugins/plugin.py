"""What a plugin is. Other packages give theirs by an entry point of the group ``pykb.plugins``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from pykb.plugins.request import ApiRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder


@dataclass(frozen=True, slots=True, order=True)
class PluginKey:
    """How a plugin is called, in PROJECT's ``layout`` and after ``--plugins``.

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
        """Whether a whole or a short key means this plugin: ``python``, ``python/v1``, ``python.pykb.dev``."""
        name, slash, version = text.partition("/")
        short = re.match(rf"{re.escape(name)}(\.|$)", self.name) is not None
        return short and (not slash or version == self.version)

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


@runtime_checkable
class Plugin(Protocol):
    """A part of a project. Each method puts its files into the plan; problems go to ``plan.diagnostics``."""

    @property
    def key(self) -> PluginKey:
        """Its name and version."""

    @property
    def summary(self) -> str:
        """What it adds, in a few words."""

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """What the plugin adds to a new project."""

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """What the plugin adds for an API."""


@runtime_checkable
class WebhookPlugin(Protocol):
    """A plugin that has something to add for a webhook; one without this method adds nothing."""

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """What the plugin adds for webhooks of a kind."""


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
        """All parts in order, those that have something to add."""
        for part in self.parts:
            if isinstance(part, WebhookPlugin):
                part.create_webhook(request, plan)
