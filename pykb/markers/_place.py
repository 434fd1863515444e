"""A marker comment, and what it describes."""

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
        """The span of a part, by offsets from the plus sign."""
        end = len(self.text) if end is None else max(end, start + 1)
        return Span(self.path, self.line, self.column + start, self.line, self.column + end)


@dataclass(frozen=True, slots=True)
class Place:
    """What a marker comment describes.

    Attributes:
        targets: The possible targets of a marker there, the most likely first; empty when there is none.
        description: The name in messages: ``the field `cpu```.
        span: The declaration.
        reason: Why a marker there describes nothing.
        help: What to do when a marker there describes nothing.
    """

    targets: tuple[MarkerTarget, ...]
    description: str = ""
    span: Span | None = None
    reason: str = ""
    help: str = ""
