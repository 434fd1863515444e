"""Stores measurements, so that an interrupted run can be resumed, and compares them with goals."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"

Figures = dict[str, float]
"""The figures of one run of one program, by name."""


class Results:
    """Figures by row and program, one entry per round, in a file that is written after each round."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def begin(self, row: str, parameters: dict[str, Any], *, resume: bool) -> None:
        """Drop the figures of an earlier run, unless it is resumed with the same parameters."""
        found = self._rows.get(row)
        if not resume or found is None or found["parameters"] != parameters:
            self._rows[row] = {"parameters": parameters, "programs": {}}

    def add(self, row: str, program: str, figures: Figures) -> None:
        """Keep the figures of one round."""
        self._rows[row]["programs"].setdefault(program, []).append(figures)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._rows, indent=1) + "\n", encoding="utf-8")

    def rounds(self, row: str, program: str) -> int:
        """The number of rounds."""
        return len(self._rows.get(row, {}).get("programs", {}).get(program, ()))

    def median(self, row: str, program: str, figure: str) -> float | None:
        """The median of a figure; ``None`` when it was not measured."""
        found = self._rows.get(row, {}).get("programs", {}).get(program, ())
        values = [figures[figure] for figures in found if figure in figures]
        return statistics.median(values) if values else None

    def figures(self, row: str) -> Iterator[str]:
        """All medians of a row as lines of text, with what was measured."""
        entry = self._rows.get(row)
        if entry is None:
            return
        yield f"{row}: " + ", ".join(f"{name} {value}" for name, value in entry["parameters"].items())
        for program, found in entry["programs"].items():
            shown = "  ".join(f"{name} {self.median(row, program, name):.4g}" for name in found[0])
            yield f"  {program:26} {shown}"


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a figure: an absolute value, or a ratio to the same figure of a peer."""

    row: str
    figure: str
    unit: str
    limit: float
    peer: str | None = None
    at_least: bool = False

    def cells(self, results: Results) -> tuple[str, ...] | None:
        """The cells of its table row; ``None`` when it was not measured."""
        ours = results.median(self.row, "pykb", self.figure)
        if ours is None:
            return None
        value = ours
        if self.peer is not None:
            theirs = results.median(self.row, self.peer, self.figure)
            if theirs is None:
                return None
            value = ours / theirs if theirs else float("inf")
        reached = value >= self.limit if self.at_least else value <= self.limit
        peers = (_number(results.median(self.row, name, self.figure)) for name in ("controller-runtime", "kopf"))
        peer = "Go" if self.peer == "controller-runtime" else self.peer
        limit = f"{self.limit:.3g}x {peer}" if peer else f"{self.limit:g} {self.unit}".rstrip()
        ratio = f"{value:.2f}x" if self.peer else ""
        figure = f"{self.figure}, {self.unit}" if self.unit else self.figure
        sign = "at least" if self.at_least else "at most"
        return (self.row, figure, _number(ours), *peers, ratio, f"{sign} {limit}", "yes" if reached else "NO")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


HEAD = ("row", "figure", "pykb", "Go", "kopf", "ratio", "to reach", "reached")
WIDTHS = (8, 36, 9, 9, 9, 8, 30, 0)


def table(results: Results, goals: tuple[Goal, ...], *, wanted: Callable[[str], bool]) -> str:
    """The table of measurements and goals."""
    lines = [HEAD, *_measured(results, goals, wanted)]
    return "\n".join(
        " ".join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip() for cells in lines
    )


def publish(results: Results, goals: tuple[Goal, ...], page: Path) -> None:
    """Write the table into a page, between its marks.

    Raises:
        ValueError: The page does not have the marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no `{BEGIN}` and `{END}`")
    lines = [HEAD, ("---",) * len(HEAD)]
    for row, *cells, reached in _measured(results, goals, lambda _: True):
        lines.append((f"`{row}`", *cells, "**not reached**" if reached == "NO" else reached))
    shown = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    page.write_text(f"{before}{begin}\n{shown}\n{end}{after}", encoding="utf-8")


def _measured(results: Results, goals: tuple[Goal, ...], wanted: Callable[[str], bool]) -> list[tuple[str, ...]]:
    return [cells for goal in goals if wanted(goal.row) and (cells := goal.cells(results)) is not None]
