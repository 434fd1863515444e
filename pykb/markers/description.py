"""Takes descriptions from docstrings and comments, by controller-gen's rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import cleandoc

_DIRECTIVE = re.compile(
    r"\s*(?:noqa\b|type:\s*ignore|pyright:|ruff:|pylint:|fmt:|isort:|mypy:|pragma:|flake8:|-\*-|!|nosec\b|pyre-)"
)
_FENCES = ("```", "~~~")


def describe_docstring(docstring: str) -> str | None:
    """The description in a docstring; ``None`` when nothing is left of it."""
    return _clean(cleandoc(docstring).split("\n"))


def describe_comment(lines: Iterable[str]) -> str | None:
    """The description in a comment block, without markers and directives. The lines come without their ``#``."""
    kept = [
        line.removeprefix(":").removeprefix(" ")
        for line in lines
        if not line.lstrip().startswith("+") and not _DIRECTIVE.match(line)
    ]
    return _clean(kept)


def _clean(lines: list[str]) -> str | None:
    """Collapse blank lines, drop ``TODO`` lines, end at a ``---`` line. Code fences are left unchanged."""
    out: list[str] = []
    fenced = False
    for line in _collapse(line.rstrip() for line in lines):
        if line.startswith(_FENCES):
            fenced = not fenced
        if not fenced:
            if line.startswith("TODO"):
                continue
            if line.startswith("---"):
                break
        out.append(line)
    # A blank line before a dropped line stays at the end. The CRD must have the same bytes as from controller-gen.
    return "\n".join(out) or None


def _collapse(lines: Iterable[str]) -> list[str]:
    out: list[str] = []
    for line in lines:
        if line or (out and out[-1]):
            out.append(line)
    while out and not out[-1]:
        out.pop()
    return out
