"""Anchors: comments that mark where scaffolding inserts code."""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX = "+pykb:scaffold:"

_LINE = re.compile(r"^(?P<indent>[ \t]*)#[ \t]*\+(?:pykb|kubebuilder):scaffold:(?P<name>[A-Za-z0-9-]+)[ \t]*$")


@dataclass(frozen=True, slots=True)
class Anchor:
    """An anchor in a text: its name, the index of its line, its indentation."""

    name: str
    line: int
    indent: str


def comment(name: str) -> str:
    """The text of an anchor. All files with anchors use ``#`` comments."""
    return f"# {PREFIX}{name}"


def find(lines: list[str], name: str) -> Anchor | None:
    """The first anchor with a name, in pykb's or kubebuilder's spelling."""
    for index, line in enumerate(lines):
        match = _LINE.match(line.rstrip("\r\n"))
        if match and match["name"] == name:
            return Anchor(name, index, match["indent"])
    return None
