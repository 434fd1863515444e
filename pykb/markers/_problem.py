"""What the grammar finds wrong with the text of one marker, by offsets into that text; places in files come later."""

from __future__ import annotations

from dataclasses import dataclass, field

from pykb.diagnostics import Code


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a marker.

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
    """Ends the reading of one marker; carries the problem. Never leaves ``pykb.markers``."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
