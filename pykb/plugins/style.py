"""The two styles of a controller. In its own module, so that the command line loads nothing else to list them."""

from __future__ import annotations

from enum import StrEnum


class Style(StrEnum):
    """The style of a controller's code."""

    RECONCILER = "reconciler"
    HANDLERS = "handlers"
