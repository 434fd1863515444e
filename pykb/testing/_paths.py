"""Paths to the fields of objects, in wire names: ``spec.ports[].name``, ``metadata.annotations[example.com/a]``.

Users give them to say how to make a field, or that it may be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pykb.diagnostics.suggest import closest
from pykb.gen.ir import SchemaNode
from pykb.meta.json_diff import Path

_STEPS = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_path(text: str) -> Path:
    """Parse a path. ``[]`` stands for any item of a list, ``*`` for any field or entry.

    >>> parse_path("spec.ports[].name")
    ('spec', 'ports', '', 'name')
    """
    return tuple(match[1] if match[2] is None else match[2] for match in _STEPS.finditer(text))


def spell(path: Path) -> str:
    """Format a path for people, so that it can be parsed again.

    >>> spell(("spec", "ports", 0, "name")), spell(("metadata", "labels", "example.com/a"))
    ('spec.ports[0].name', 'metadata.labels[example.com/a]')
    """
    text = ""
    for step in path:
        is_plain = isinstance(step, str) and _PLAIN_NAME.fullmatch(step)
        text += f".{step}" if is_plain else f"[{step}]"
    return text.removeprefix(".") or "the object"


def is_within(path: Path, places: Iterable[Path]) -> bool:
    """Whether a path is one of the parsed paths or below one of them."""

    def matches(wanted: str | int, step: str | int) -> bool:
        return wanted in ("*", str(step)) or (wanted == "" and isinstance(step, int))

    return any(len(place) <= len(path) and all(map(matches, place, path)) for place in places)


def why_no_field(node: SchemaNode, path: Path, name: str) -> str:
    """Why a path does not lead to a field: where it ends, and which names are similar. Empty if it does.

    Args:
        node: The schema of the object.
        path: The parsed path.
        name: What to call the object.
    """
    if not path or node.get("x-kubernetes-preserve-unknown-fields"):
        return ""
    step, rest = str(path[0]), path[1:]
    if node.items is not None:
        is_item = not step or step.isdigit()
        return why_no_field(node.items, rest, name) if is_item else f"a list has no `{step}`, but `[]`"
    if node.values is not None:
        return why_no_field(node.values, rest, name)
    if node.properties is None:
        return f"`{node.type_name}` has no `{step}`"
    name = node.origin.type.name if node.origin else name
    chosen = [field.schema for field in node.properties.values() if step in ("*", field.name)]
    if not chosen:
        near = closest(step, node.properties)
        return f"{name} has no `{step}`" + (f"; did you mean `{near}`?" if near else "")
    reasons = [why_no_field(schema, rest, name) for schema in chosen]
    return "" if "" in reasons else reasons[0]
