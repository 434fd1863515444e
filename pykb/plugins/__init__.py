"""Plugins: each adds the files of one part of a project to a plan. Commands run several in a chain.

This module loads no plugin, so that the command line can list and compare keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self


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


class Style(StrEnum):
    """The style of a controller's code."""

    RECONCILER = "reconciler"
    HANDLERS = "handlers"
