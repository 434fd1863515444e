"""Paths of fields, in wire names: ``spec.ports[].name``, ``metadata.annotations[example.com/a]``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import BaseModel

from pykb.diagnostics.suggest import closest
from pykb.gen.ir import SchemaNode
from pykb.testing._schemas import schema_of

Path = tuple[str | int, ...]
_PARTS = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


def spelt(path: Path) -> str:
    """Format a path for people.

    >>> spelt(("spec", "ports", 0, "name")), spelt(("metadata", "labels", "example.com/a"))
    ('spec.ports[0].name', 'metadata.labels[example.com/a]')
    """
    text = ""
    for part in path:
        plain = isinstance(part, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part)
        text += (f".{part}" if text else part) if isinstance(part, str) and plain else f"[{part}]"
    return text or "the object"


def parse_path(text: str) -> Path:
    """Parse a path. ``[]`` stands for any item of a list, ``*`` for any field or entry.

    >>> parse_path("spec.ports[].name")
    ('spec', 'ports', '', 'name')
    """
    return tuple(match[1] if match[2] is None else match[2] for match in _PARTS.finditer(text))


def check_paths(texts: Iterable[str], kinds: Iterable[type[BaseModel]]) -> None:
    """Refuse paths that do not lead to a field. They would otherwise have no effect.

    Args:
        texts: The paths.
        kinds: A path must lead to a field of one of them.

    Raises:
        ValueError: A path does not lead to a field. The message says where it ends and which names
            are similar.
    """
    for text in texts:
        ends = [_end(schema_of(kind), parse_path(text), kind.__name__) for kind in kinds]
        if "" not in ends:
            raise ValueError(f"`{text}` does not lead to a field: {' and '.join(dict.fromkeys(ends))}")


def _end(node: SchemaNode, path: Path, name: str) -> str:
    """Why a path ends before a field. Empty if it leads to a field."""
    if not path or node.get("x-kubernetes-preserve-unknown-fields"):
        return ""
    part, rest = str(path[0]), path[1:]
    if node.items is not None:
        return _end(node.items, rest, name) if part == "" or part.isdigit() else f"a list has no `{part}`, but `[]`"
    if node.values is not None:
        return _end(node.values, rest, name)
    if node.properties is None:
        return f"`{node.type_name}` has no `{part}`"
    name = node.origin.type.name if node.origin else name
    ends = [_end(p.schema, rest, name) for p in node.properties.values() if part in ("*", p.name)]
    if ends:
        return "" if "" in ends else ends[0]
    near = closest(part, node.properties)
    return f"{name} has no `{part}`" + (f"; did you mean `{near}`?" if near else "")
