"""Reads the licence header of a project, which every new Python file gets."""

from __future__ import annotations

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.scaffold import BOILERPLATE_BROKEN
from pykb.scaffold.plan import PlanBuilder

BOILERPLATE = "hack/boilerplate.py.txt"


def boilerplate(plan: PlanBuilder, found: Diagnostics) -> str:
    """The licence header of the project. Checks that it is a comment, since users can edit the file."""
    text = (plan.current(BOILERPLATE) or b"").decode("utf-8", "replace")
    wrong = next((n for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")), None)
    if wrong is not None:
        message = (
            f"`{BOILERPLATE}` is written at the top of every new Python file, but this line of it is not a comment"
        )
        helps = ("begin it with `# `; for no header, leave the file empty",)
        found.add(
            BOILERPLATE_BROKEN.at(Span(BOILERPLATE, wrong, 1), message, notes=("nothing was written",), help=helps)
        )
    return text.strip()
