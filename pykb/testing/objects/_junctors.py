"""Resolves ``allOf``, ``anyOf`` and ``oneOf``: merges a schema with one choice of their parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pykb.gen.ir import Keyword, SchemaNode
from pykb.gen.lower.patch import patched

EITHER = [{"type": "integer"}, {"type": "string"}]
"""The ``anyOf`` of an int-or-string, which adds nothing."""

# The stricter of the two.
_JOIN: Mapping[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), min),
    "pattern": lambda one, other: max(one, other, key=len),
    "enum": lambda one, other: [value for value in one if value in other],
    "required": lambda one, other: [*one, *other],
}


def ways(node: SchemaNode) -> Iterator[SchemaNode]:
    """Yield the schema narrowed by each choice. Check the values: some choices cannot be merged into one schema."""
    choices = []
    for name in ("anyOf", "oneOf"):
        parts = node.get(name)
        if isinstance(parts, list) and parts and parts != EITHER:
            choices.append([patched(SchemaNode(), part) for part in parts])
    for way in itertools.product(*choices):
        made = node
        for part in (*node.all_of, *way):
            made = _narrowed(made, part)
        yield made


def _narrowed(node: SchemaNode, part: SchemaNode) -> SchemaNode:
    keywords = dict(node.keywords)
    for name, said in part.keywords.items():
        old = keywords.setdefault(name, said)
        if old is not said and name in _JOIN:
            keywords[name] = Keyword(_JOIN[name](old.value, said.value))
    properties = dict(node.properties or {})
    for name, prop in (part.properties or {}).items():
        if name in properties:
            own = properties[name]
            schema = next(ways(replace(_narrowed(own.schema, prop.schema), all_of=prop.schema.all_of)))
            properties[name] = replace(own, schema=schema, required=own.required or prop.required)
    items = node.items if node.items is None or part.items is None else _narrowed(node.items, part.items)
    return replace(node, keywords=keywords, properties=properties if node.properties else None, items=items)
