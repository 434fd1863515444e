"""Keeps what was measured, so that a run that broke off can go on, and sets it against what is to be reached."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Figures = dict[str, float]
"""The figures of one run of one program, by name."""


class Results:
    """Figures by row and program, one entry a round, in a file that is written after each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def begin(self, row: str, parameters: dict[str, Any], *, resume: bool) -> None:
        """Forget what an earlier run found, unless it is to be gone on with and measured the same."""
        found = self._rows.get(row)
        if not resume or found is None or found["parameters"] != parameters:
            self._rows[row] = {"parameters": parameters, "programs": {}}

    def add(self, row: str, program: str, figures: Figures) -> None:
        """Keep the figures of one round."""
        self._rows[row]["programs"].setdefault(program, []).append(figures)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._rows, indent=1) + "\n", encoding="utf-8")

    def rounds(self, row: str, program: str) -> int:
        """How many rounds are there."""
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
    """What one figure is to reach: itself, or as its ratio to the same figure of a peer."""

    row: str
    figure: str
    unit: str
    limit: float
    peer: str | None = None
    at_least: bool = False

    def line(self, results: Results) -> str | None:
        """The line of the table; ``None`` when it was not measured."""
        ours = results.median(self.row, "pykb", self.figure)
        if ours is None:
            return None
        go, kopf = (results.median(self.row, name, self.figure) for name in ("controller-runtime", "kopf"))
        value = ours
        if self.peer is not None:
            theirs = results.median(self.row, self.peer, self.figure)
            if theirs is None:
                return None
            value = ours / theirs if theirs else float("inf")
        reached = value >= self.limit if self.at_least else value <= self.limit
        sign = ">=" if self.at_least else "<="
        to_reach = f"{sign} {self.limit:g}" + (f"x {self.peer}" if self.peer else f" {self.unit}")
        ratio = f"{value:.2f}x" if self.peer else ""
        cells = (_number(ours), _number(go), _number(kopf))
        label = f"{self.figure}, {self.unit}"
        return (
            f"{self.row:8} {label:32} {cells[0]:>9} {cells[1]:>9} {cells[2]:>9} {ratio:>8}  {to_reach:27} "
            f"{'yes' if reached else 'NO'}"
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def table(results: Results, goals: tuple[Goal, ...], *, wanted: Callable[[str], bool]) -> str:
    """What was measured against what is to be reached."""
    head = f"{'row':8} {'figure':32} {'pykb':>9} {'Go':>9} {'kopf':>9} {'ratio':>8}  {'to reach':27} reached"
    lines = [line for goal in goals if wanted(goal.row) and (line := goal.line(results)) is not None]
    return "\n".join((head, *lines))
