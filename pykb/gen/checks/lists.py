"""List types and their keys."""

from __future__ import annotations

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import LIST_TOPOLOGY
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import SchemaNode

_SCALARS = frozenset({"string", "integer", "number", "boolean"})


def check_list(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    """A map list has keys that identify its objects; a set has elements that can be compared."""
    kind = node.keywords.get("x-kubernetes-list-type")
    keys = node.keywords.get("x-kubernetes-list-map-keys")
    items = node.items
    if kind is None or items is None:
        return
    span = (keys or kind).span or node.span
    if kind.value == "set":
        if items.type == "object" and items.get("x-kubernetes-map-type") != "atomic":
            diagnostics.add(
                LIST_TOPOLOGY.at(
                    span,
                    f"{what} is a list of type `set` with objects in it that are no atomic values",
                    help=("+listType=map", "+listType=atomic"),
                ),
            )
        if items.get("nullable"):
            diagnostics.add(LIST_TOPOLOGY.at(span, f"{what} is a list of type `set`, whose elements cannot be null"))
    elif kind.value == "map":
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
    span = node.keywords["x-kubernetes-list-map-keys"].span or node.span
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
