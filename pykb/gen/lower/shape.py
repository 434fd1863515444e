"""Compares schemas by content, without their places in the source."""

from __future__ import annotations

from pykb.gen.ir import Constrained, SchemaNode, StructUnion


def shape(node: SchemaNode) -> object:
    """The content of a schema, without places and description. Equal for schemas that accept the same values."""
    return (
        tuple(sorted((k, repr(v.value)) for k, v in node.keywords.items() if k != "description")),
        node.rules,
        tuple(sorted((n, shape(p.schema)) for n, p in (node.properties or {}).items())),
        shape(node.items) if node.items else None,
        shape(node.values) if node.values else None,
        id(node.reference) if node.reference else None,
        _waiting(node.waiting),
    )


def _waiting(waiting: Constrained | StructUnion | None) -> object:
    if isinstance(waiting, Constrained):
        return shape(waiting.node), repr(waiting.metadata)
    return tuple(shape(member) for member in waiting.members) if waiting else None
