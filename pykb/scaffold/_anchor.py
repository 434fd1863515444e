"""Anchors: the comments that scaffolding inserts above."""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX = "+pykb:scaffold:"

_LINE = re.compile(r"^(?P<indent>[ \t]*)#[ \t]*\+(?:pykb|kubebuilder):scaffold:(?P<name>[A-Za-z0-9-]+)[ \t]*$")


@dataclass(frozen=True, slots=True)
class Anchor:
    """One anchor in a text: its name, the index of its line, the blanks in front of it."""

    name: str
    line: int
    indent: str


def comment(name: str) -> str:
    """The text of an anchor: all files that have one take ``#`` comments."""
    return f"# {PREFIX}{name}"


def find(lines: list[str], name: str) -> Anchor | None:
    """The first anchor of a name; kubebuilder's spelling counts too."""
    for index, line in enumerate(lines):
        match = _LINE.match(line.rstrip("\r\n"))
        if match and match["name"] == name:
            return Anchor(name, index, match["indent"])
    return None
