"""Checks list types and their keys."""

from __future__ import annotations

from collections.abc import Iterator

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import LIST_TOPOLOGY
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import Keyword, SchemaNode

_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_TYPES = ("atomic", "set", "map")
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


_Problem = tuple[Keyword, str, *tuple[str, ...]]
"""The keyword, the problem, and what to type."""


def check_list(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    """Check that a map list has keys that identify its items, and that a set has comparable elements."""
    for keyword, message, *help_ in _problems(node, what):
        diagnostics.add(LIST_TOPOLOGY.at(keyword.span or node.span, message, help=tuple(help_)))


def _problems(node: SchemaNode, what: str) -> Iterator[_Problem]:
    kind, keys = node.keywords.get(_TYPE), node.keywords.get(_KEYS)
    if kind is not None and node.type != "array":
        instead = ("for maps and structs: `MapAtomic()`, `MapGranular()`",) if node.type == "object" else ()
        yield kind, f"`{kind.spelling or _TYPE}` applies to lists, but {what} is `{node.type_name}`", *instead
    elif keys is not None and keys.value and node.get(_TYPE) != "map":
        found = f"is one of type `{kind.value}`" if kind is not None else "has no list type"
        yield keys, f"{what} has list keys, which belong to a list of type `map`, but {found}", "+listType=map"
    elif kind is not None:
        yield from _of_list(kind, keys, node.items, what)


def _of_list(kind: Keyword, keys: Keyword | None, items: SchemaNode | None, what: str) -> Iterator[_Problem]:
    if kind.value not in _TYPES:
        yield kind, f"`{kind.value}` is not a valid list type of {what}: expected `atomic`, `set` or `map`"
    elif kind.value != "atomic" and items is not None:
        by = keys if kind.value == "map" and keys is not None else kind
        if items.get("nullable"):
            yield by, f"{what} is a list of type `{kind.value}`, whose elements cannot be null"
        yield from (_of_set if kind.value == "set" else _of_map)(by, items, what)


def _of_set(kind: Keyword, items: SchemaNode, what: str) -> Iterator[_Problem]:
    if items.type == "object" and items.get("x-kubernetes-map-type") != "atomic":
        message = f"{what} is a list of type `set` with objects in it that are not atomic values"
        yield kind, message, "+listType=map", "+listType=atomic"
    if items.type == "array" and items.get(_TYPE) not in {None, "atomic"}:
        yield kind, f"{what} is a list of type `set` with lists in it that are not atomic values", "+listType=atomic"


def _of_map(keys: Keyword, items: SchemaNode, what: str) -> Iterator[_Problem]:
    if items.type != "object":
        found = f"its elements are `{items.type_name}`"
        yield keys, f"{what} is a list of type `map`, which holds objects, but {found}", "+listType=set"
    elif not keys.value or not isinstance(keys.value, list):
        yield keys, f"{what} is a list of type `map` without a key", "+listMapKey=name"
    else:
        names = [str(key) for key in keys.value]
        for key in dict.fromkeys(names):
            yield from _of_key(key, keys, items, what)
            if names.count(key) > 1:
                yield keys, f"the list key `{key}` of {what} is named twice"


def _of_key(key: str, keys: Keyword, items: SchemaNode, what: str) -> Iterator[_Problem]:
    properties = items.properties or {}
    prop = properties.get(key)
    if prop is None:
        near = closest(key, properties)
        fields = ", ".join(f"`{name}`" for name in properties)
        message = f"the list key `{key}` is not a field of the elements of {what}"
        yield keys, message, f"did you mean `{near}`?" if near else f"fields: {fields}"
        return
    if prop.schema.type not in _SCALARS and not prop.schema.is_int_or_string:
        yield keys, f"the list key `{key}` of {what} is `{prop.schema.type_name}`, but a key must be a scalar"
    if not prop.required and prop.schema.get("default") is None:
        message = f"the list key `{key}` of {what} can be missing, but a key must be required or have a default"
        yield keys, message, f"make `{prop.attribute}` a required field, or give it a default"
    if prop.schema.get("nullable"):
        yield keys, f"the list key `{key}` of {what} can be null, but a key must have a value"
