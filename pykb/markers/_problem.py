"""Problems in the text of one marker, with offsets into that text. The caller adds the place in the file."""

from __future__ import annotations

from dataclasses import dataclass, field

from pykb.diagnostics import Code


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a marker.

    Attributes:
        code: Its kind.
        start: Offset of the first wrong character in the marker's text.
        end: Offset after the last one.
        message: The headline.
        label: A few words at the place.
        notes: Why.
        help: What to type.
    """

    code: Code
    start: int
    end: int
    message: str
    label: str = ""
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = field(default=())


class MarkerSyntaxError(Exception):
    """A problem that ends the reading of one marker. Never leaves ``pykb.markers``."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
