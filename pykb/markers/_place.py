"""A marker comment, and what it stands on."""

from __future__ import annotations

from dataclasses import dataclass

from pykb.diagnostics import Span
from pykb.markers.definition import MarkerTarget


@dataclass(frozen=True, slots=True)
class MarkerComment:
    """A comment line whose text starts with a plus sign."""

    text: str
    path: str
    line: int
    column: int

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """A piece of it, by offsets from the plus sign."""
        end = len(self.text) if end is None else max(end, start + 1)
        return Span(self.path, self.line, self.column + start, self.line, self.column + end)


@dataclass(frozen=True, slots=True)
class Place:
    """What the comment stands on.

    Attributes:
        targets: What a marker there may describe, the most likely first; empty where it describes nothing.
        description: The words for messages: ``the field `cpu```.
        span: The declaration.
        reason: Where nothing is described: why.
        help: Where nothing is described: what to do.
    """

    targets: tuple[MarkerTarget, ...]
    description: str = ""
    span: Span | None = None
    reason: str = ""
    help: str = ""
