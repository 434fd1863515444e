"""The name of a marker in its text."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAG_NAME = re.compile(r"\+?([A-Za-z_][\w.:-]*)")
"""The name of a declarative tag."""


@dataclass(frozen=True, slots=True)
class SplitName:
    """A marker's text, split at its first ``=``.

    Attributes:
        whole: The text before the ``=``, without the plus sign.
        short: The same without its last ``:segment``.
        value_start: Offset of the text after the ``=``; the length of the text when there is none.
        has_value: Whether there is an ``=``.
    """

    whole: str
    short: str
    value_start: int
    has_value: bool


def split_name(text: str) -> SplitName:
    """Split ``+a:b:c=v`` into its names and the start of its value."""
    left, equals, _ = text[1:].partition("=")
    if not equals:
        return SplitName(left, left, len(text), has_value=False)
    short = left.rpartition(":")[0] or left
    return SplitName(left, short, len(left) + 2, has_value=True)
