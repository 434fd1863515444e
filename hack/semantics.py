"""Renders the runtime's guarantees in tests/semantics as a page of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import yaml

SOURCE = Path(__file__).resolve().parent.parent / "tests" / "semantics" / "semantics.yaml"

INTRODUCTION = """\
# Semantics

What controller-runtime guarantees to the author of a controller, what pykb does, and the tests that
show it. Guarantees in parentheses have no counterpart in controller-runtime. This page is generated
from `tests/semantics/semantics.yaml` by `python -m hack.write_reference`. A row whose test does not
exist fails the build.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One promise."""

    area: str
    promise: str
    pykb: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Absence:
    """A promise that pykb does not make."""

    promise: str
    instead: str


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table."""

    rows: tuple[Row, ...]
    absent: tuple[Absence, ...]


def read_table(source: Path = SOURCE) -> Table:
    """Read the table.

    Raises:
        TypeError: A row has a key too few or too many.
    """
    data = yaml.safe_load(source.read_text(encoding="utf-8"))
    rows = tuple(Row(**{**row, "tests": tuple(row["tests"])}) for row in data["rows"])
    return Table(rows, tuple(Absence(**absence) for absence in data["absent"]))


def render(table: Table) -> str:
    """The page."""
    parts = [INTRODUCTION]
    for area, rows in groupby(table.rows, key=lambda row: row.area):
        parts += [f"\n## {area}\n", "| promise | pykb | shown by |", "|---|---|---|"]
        parts += [f"| {_cell(row.promise)} | {_cell(row.pykb)} | {_tests(row.tests)} |" for row in rows]
    parts += ["\n## Not there\n", "| promise | instead |", "|---|---|"]
    parts += [f"| {_cell(absence.promise)} | {_cell(absence.instead)} |" for absence in table.absent]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _tests(tests: tuple[str, ...]) -> str:
    """Folded up: the names are longer than the promise."""
    listed = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests)
    return f"<details><summary>{len(tests)} test{'s' * (len(tests) > 1)}</summary>{listed}</details>"
