"""Removes a type's validations, for ``+k8s:opaqueType``."""

from __future__ import annotations

from dataclasses import replace

from pykb.gen.ir import SchemaNode

_KEPT = frozenset(
    [
        *("type", "format", "description", "title", "externalDocs", "example", "default", "nullable", "anyOf"),
        *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
    ],
)


def without_validation(node: SchemaNode) -> SchemaNode:
    """Only the shape of a schema. Keys of lists stay required, since lists are merged by them."""
    items = None if node.items is None else without_validation(node.items)
    keys = node.get("x-kubernetes-list-map-keys")
    if items is not None and node.items is not None and isinstance(keys, list):
        items = _with_required(items, node.items, keys)
    return replace(
        node,
        keywords={name: keyword for name, keyword in node.keywords.items() if name in _KEPT},
        all_of=(),
        rules=(),
        items=items,
        values=None if node.values is None else without_validation(node.values),
        properties=None
        if node.properties is None
        else {
            name: replace(prop, schema=without_validation(prop.schema), required=False)
            for name, prop in node.properties.items()
        },
    )


def _with_required(items: SchemaNode, original: SchemaNode, keys: list[object]) -> SchemaNode:
    """Make keys required that were required before."""
    before = original.properties or {}
    properties = {n: replace(p, required=n in keys and before[n].required) for n, p in (items.properties or {}).items()}
    return replace(items, properties=properties) if properties else items
