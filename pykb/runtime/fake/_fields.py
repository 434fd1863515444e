"""Sets of fields as in ``managedFields``: paths of ``f:name``, ``k:{keys}``, ``v:value``.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pykb.runtime.objects.structure import Shape, Structure

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
    _collect(value, structure, (), found, containers=False)
    return frozenset(found)


def all_fields(value: Any, structure: Structure) -> dict[Path, Any]:
    """Every field of an object with its value. A map or an item of a list only counts as present."""
    found: dict[Path, Any] = {}
    _flatten(value, structure, (), found)
    return found


def _collect(value: Any, structure: Structure, path: Path, found: set[Path], *, containers: bool) -> None:
    parts = list(_parts(value, structure))
    if not parts:
        if path:
            found.add(path)
        return
    for name, inner, inner_structure, is_entry in parts:
        if is_entry:
            found.add((*path, name))
        _collect(inner, inner_structure, (*path, name), found, containers=containers)


def _flatten(value: Any, structure: Structure, path: Path, found: dict[Path, Any]) -> None:
    parts = list(_parts(value, structure))
    if not parts:
        if path:
            found[path] = value
        return
    if path and structure.shape in (Shape.MAP, Shape.UNKNOWN, Shape.LIST_MAP, Shape.LIST_SET):
        found[path] = _EMPTY
    for name, inner, inner_structure, is_entry in parts:
        if is_entry:
            found[(*path, name)] = _EMPTY
        _flatten(inner, inner_structure, (*path, name), found)


def _parts(value: Any, structure: Structure) -> Iterable[tuple[str, Any, Structure, bool]]:
    """The parts of a value: path element, value, structure, and whether it is an entry, not a declared field."""
    if isinstance(value, Mapping) and structure.shape in (Shape.STRUCT, Shape.MAP, Shape.UNKNOWN):
        declared = structure.fields if structure.shape is Shape.STRUCT else {}
        for name, inner in value.items():
            yield f"f:{name}", inner, structure.child(name), name not in declared
    elif isinstance(value, list) and structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        for item in value:
            element = structure.element
            if element is not None:
                yield item_key(item, structure), item, element, True


def to_fields_v1(fields: FieldSet) -> dict[str, Any]:
    """Convert to the wire form."""
    root: dict[str, Any] = {}
    members = set(fields)
    for path in sorted(fields):
        node = root
        for step in path:
            node = node.setdefault(step, {})
    for path in members:
        node = root
        for step in path:
            node = node[step]
        if node:
            node["."] = {}
    return _sorted(root)


def _sorted(node: dict[str, Any]) -> dict[str, Any]:
    return {name: _sorted(node[name]) for name in sorted(node)}


def from_fields_v1(node: Mapping[str, Any], path: Path = ()) -> FieldSet:
    """Read the wire form."""
    found: set[Path] = set()
    for name, inner in node.items():
        if name == ".":
            found.add(path)
            continue
        here = (*path, name)
        if inner:
            found |= from_fields_v1(inner, here)
        else:
            found.add(here)
    return frozenset(found)


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
