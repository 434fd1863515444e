"""List types and their keys."""

from __future__ import annotations

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import LIST_TOPOLOGY
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import SchemaNode

_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_TYPES = ("atomic", "set", "map")
_SCALARS = frozenset({"string", "integer", "number", "boolean"})
_INSTEAD = {"object": ("for maps and structs: `MapAtomic()`, `MapGranular()`",)}


def check_list(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    """A map list has keys that identify its objects; a set has elements that can be compared."""
    kind = node.keywords.get(_TYPE)
    keys = node.keywords.get(_KEYS)
    found = keys if kind is None or (kind.value == "map" and keys is not None) else kind
    if found is None:
        return
    span = found.span or node.span
    if kind is not None and node.type != "array":
        message = f"`{kind.spelling or _TYPE}` is about lists, but {what} is `{node.type_name}`"
        diagnostics.add(LIST_TOPOLOGY.at(kind.span or node.span, message, help=_INSTEAD.get(node.type or "", ())))
    elif keys is not None and keys.value and (kind is None or kind.value != "map"):
        message = f"{what} has list keys, which belong to a list of type `map`, " + (
            f"but is one of type `{kind.value}`" if kind is not None else "but has no list type"
        )
        diagnostics.add(LIST_TOPOLOGY.at(keys.span or node.span, message, help=("+listType=map",)))
    elif kind is not None and kind.value not in _TYPES:
        message = f"`{kind.value}` is no list type of {what}: expected `atomic`, `set` or `map`"
        diagnostics.add(LIST_TOPOLOGY.at(span, message))
    elif kind is not None and kind.value != "atomic" and node.items is not None:
        if node.items.get("nullable"):
            message = f"{what} is a list of type `{kind.value}`, whose elements cannot be null"
            diagnostics.add(LIST_TOPOLOGY.at(span, message))
        (_check_set if kind.value == "set" else _check_map)(node, node.items, what, span, diagnostics)


def _check_set(node: SchemaNode, items: SchemaNode, what: str, span: Span | None, diagnostics: Diagnostics) -> None:
    del node
    if items.type == "object" and items.get("x-kubernetes-map-type") != "atomic":
        diagnostics.add(
            LIST_TOPOLOGY.at(
                span,
                f"{what} is a list of type `set` with objects in it that are no atomic values",
                help=("+listType=map", "+listType=atomic"),
            ),
        )
    if items.type == "array" and items.get(_TYPE) not in {None, "atomic"}:
        message = f"{what} is a list of type `set` with lists in it that are no atomic values"
        diagnostics.add(LIST_TOPOLOGY.at(span, message, help=("+listType=atomic",)))


def _check_map(node: SchemaNode, items: SchemaNode, what: str, span: Span | None, diagnostics: Diagnostics) -> None:
    keys = node.keywords.get(_KEYS)
    if items.type != "object":
        diagnostics.add(
            LIST_TOPOLOGY.at(
                span,
                f"{what} is a list of type `map`, which holds objects, but its elements are `{items.type_name}`",
                help=("+listType=set",),
            ),
        )
    elif keys is None or not keys.value or not isinstance(keys.value, list):
        diagnostics.add(
            LIST_TOPOLOGY.at(span, f"{what} is a list of type `map` without a key", help=("+listMapKey=name",)),
        )
    else:
        names = [str(key) for key in keys.value]
        for key in dict.fromkeys(names):
            _check_key(key, node, items, what, diagnostics)
            if names.count(key) > 1:
                diagnostics.add(LIST_TOPOLOGY.at(span, f"the list key `{key}` of {what} is named twice"))


def _check_key(key: str, node: SchemaNode, items: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    span = node.keywords[_KEYS].span or node.span
    properties = items.properties or {}
    prop = properties.get(key)
    if prop is None:
        near = closest(key, properties)
        diagnostics.add(
            LIST_TOPOLOGY.at(
                span,
                f"the list key `{key}` is no field of the elements of {what}",
                help=(f"did you mean `{near}`?",) if near else (f"fields: {', '.join(f'`{n}`' for n in properties)}",),
            ),
        )
        return
    if prop.schema.type not in _SCALARS and not prop.schema.is_int_or_string:
        diagnostics.add(
            LIST_TOPOLOGY.at(span, f"the list key `{key}` of {what} is `{prop.schema.type_name}`; a key is a scalar"),
        )
    if not prop.required and prop.schema.get("default") is None:
        diagnostics.add(
            LIST_TOPOLOGY.at(
                span,
                f"the list key `{key}` of {what} can be missing: a key is required, or has a default",
                help=(f"make `{prop.attribute}` a required field, or give it a default",),
            ),
        )
    if prop.schema.get("nullable"):
        diagnostics.add(LIST_TOPOLOGY.at(span, f"the list key `{key}` of {what} can be null: a key has a value"))
