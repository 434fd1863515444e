"""Sets of fields as in ``managedFields``: paths of ``f:name``, ``k:{keys}``, ``v:value``.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pykb.client.structure import Shape, Structure
from pykb.meta import json_diff

Path = tuple[str, ...]
FieldSet = frozenset[Path]

_EMPTY: Any = object()


def item_key(item: Any, structure: Structure) -> str:
    """The path element of an item of a list with keys."""
    if structure.shape is Shape.LIST_SET or not isinstance(item, Mapping):
        return "v:" + orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
    element = structure.element
    keys = {}
    for name in sorted(structure.keys):
        value = item.get(name)
        if value is None and element is not None:
            value = element.child(name).default
        if value is not None:
            keys[name] = value
    return "k:" + orjson.dumps(keys).decode()


def applied_fields(value: Any, structure: Structure) -> FieldSet:
    """The fields of an applied configuration, which its manager will own."""
    found: set[Path] = set()
    _collect(value, structure, (), found)
    return frozenset(found)


def unlike_fields(before: Any, after: Any, structure: Structure) -> tuple[dict[Path, Any], dict[Path, Any]]:
    """The fields of two objects with their values, without the parts that are equal.

    A map or an item of a list only counts as present.
    """
    structures: dict[json_diff.Path, Structure] = {(): structure}

    def parts(path: json_diff.Path, one: Any, other: Any) -> json_diff.Parts | None:
        if path:
            structures[path] = structures[path[:-1]].child(str(path[-1]))
        is_granular = one and other and type(one) is type(other) is dict and structures[path].shape in _MAPS
        return json_diff.fields_of(one, other) if is_granular else None

    old: dict[Path, Any] = {}
    new: dict[Path, Any] = {}
    for path, *values in json_diff.changes(before, after, parts):
        for value, found in zip(values, (old, new), strict=True):
            if not path:
                _flatten(value, structure, (), found)
            elif value is not json_diff.MISSING:
                here = tuple(f"f:{name}" for name in path[:-1])
                _flatten_parts(_parts({path[-1]: value}, structures[path[:-1]]), here, found)
    return old, new


def _collect(value: Any, structure: Structure, path: Path, found: set[Path]) -> None:
    parts = _parts(value, structure)
    if not parts and path:
        found.add(path)
    for name, inner, inner_structure, is_entry in parts:
        here = (*path, name)
        if is_entry:
            found.add(here)
        _collect(inner, inner_structure, here, found)


def _flatten(value: Any, structure: Structure, path: Path, found: dict[Path, Any]) -> None:
    parts = _parts(value, structure)
    if path and not parts:
        found[path] = value
    elif path and structure.shape in _COLLECTIONS:
        found[path] = _EMPTY
    _flatten_parts(parts, path, found)


def _flatten_parts(parts: Iterable[_Part], path: Path, found: dict[Path, Any]) -> None:
    for name, inner, inner_structure, is_entry in parts:
        here = (*path, name)
        if is_entry:
            found[here] = _EMPTY
        _flatten(inner, inner_structure, here, found)


_MAPS = (Shape.STRUCT, Shape.MAP, Shape.UNKNOWN)
_COLLECTIONS = (Shape.MAP, Shape.UNKNOWN, Shape.LIST_MAP, Shape.LIST_SET)
_Part = tuple[str, Any, Structure, bool]
"""Path element, value, structure, and whether it is an entry, not a declared field."""


def _parts(value: Any, structure: Structure) -> list[_Part]:
    if isinstance(value, dict) and structure.shape in _MAPS:
        declared = structure.fields if structure.shape is Shape.STRUCT else {}
        return [(f"f:{name}", inner, structure.child(name), name not in declared) for name, inner in value.items()]
    element = structure.element
    if isinstance(value, list) and element is not None and structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        return [(item_key(item, structure), item, element, True) for item in value]
    return []


def to_fields_v1(fields: FieldSet) -> dict[str, Any]:
    """Convert to the wire form."""
    root: dict[str, Any] = {}
    for path in sorted(fields):
        node = root
        for step in path:
            inner = node.get(step)
            if inner is None:
                inner = node[step] = {}
            elif not inner:  # a field of which parts follow: it came just before them
                inner["."] = {}
            node = inner
    return root


def from_fields_v1(node: Mapping[str, Any]) -> FieldSet:
    """Read the wire form."""
    found: set[Path] = set()
    _read(node, (), found)
    return frozenset(found)


def _read(node: Mapping[str, Any], path: Path, found: set[Path]) -> None:
    for name, inner in node.items():
        if name == ".":
            found.add(path)
        elif inner:
            _read(inner, (*path, name), found)
        else:
            found.add((*path, name))


def display(path: Path) -> str:
    """Format a path for people: ``.spec.containers[name="a"].image``."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = orjson.loads(rest)
            text += "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text
