"""The two ways to write a controller. A module of its own: the command line lists them without loading anything."""

from __future__ import annotations

from enum import StrEnum


class Style(StrEnum):
    """How a controller is written."""

    RECONCILER = "reconciler"
    HANDLERS = "handlers"
