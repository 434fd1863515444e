"""Turns a union of structs into one object with the fields of all members, and rules for what each member needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pykb.diagnostics import Diagnostics, Severity, Span
from pykb.diagnostics.codes.types import UNION
from pykb.gen.cel.types import type_of_schema
from pykb.gen.ir import Keyword, Place, PropertyNode, Rule, SchemaNode, StructUnion
from pykb.gen.lower.shape import shape
from pykb.meta.cel import selector


def unite(union: StructUnion, nodes: Sequence[SchemaNode], diagnostics: Diagnostics) -> SchemaNode:
    """One object with the fields of all members; a field is required where every member requires it.

    A discriminator, a field of literals with different values in the members, is required and has no default, as in
    Python. A rule then requires each field that only some members require.

    Args:
        union: The union.
        nodes: The schemas of its members, without references.
        diagnostics: Gets members that cannot be distinguished.
    """
    place = union.place
    tag = _tag(nodes)
    merged: dict[str, PropertyNode] = {}
    seen: dict[str, int] = {}
    for node in nodes:
        for name, prop in (node.properties or {}).items():
            seen[name] = seen.get(name, 0) + 1
            old = merged.get(name)
            merged[name] = prop if old is None else _join(old, prop, place, diagnostics)
    properties = {
        name: replace(prop, required=prop.required and seen[name] == len(nodes)) for name, prop in merged.items()
    }
    united = SchemaNode({"type": Keyword("object", place.span)}, span=place.span, properties=properties)
    if tag is None:
        _say_lost(union, nodes, properties, diagnostics)
        return united
    properties[tag] = replace(merged[tag], schema=merged[tag].schema.without("default"), required=True)
    return united.add(*_rules(tag, nodes, properties, place.span))


def _say_lost(
    union: StructUnion, nodes: Sequence[SchemaNode], properties: Mapping[str, PropertyNode], diagnostics: Diagnostics
) -> None:
    """Report a union without a discriminator. Fields that only some members require become optional in it."""
    place = union.place
    lost = [
        f"`{name}` of `{cls}`"
        for cls, node in zip(union.names, nodes, strict=True)
        for name, prop in (node.properties or {}).items()
        if prop.required and not properties[name].required
    ]
    if lost:
        diagnostics.add(
            UNION.at(
                place.span,
                f"nothing tells the members of the union at {place.what} apart, so no object needs {', '.join(lost)}",
                notes=("the API server stores an object that matches no member, and your code cannot read it",),
                help=('give each member a field that tells them apart: `kind: Literal["..."]`',),
                severity=Severity.WARNING,
            ),
        )


def _tag(nodes: Sequence[SchemaNode]) -> str | None:
    """The discriminator: a field with different values in the members."""
    shared = [name for name in nodes[0].properties or {} if all(name in (n.properties or {}) for n in nodes)]
    for name in shared:
        values = [json.dumps(value) for node in nodes for value in _values(node, name)]
        if values and len(set(values)) == len(values) and all(_values(node, name) for node in nodes):
            return name
    return None


def _values(node: SchemaNode, name: str) -> list[object]:
    values = (node.properties or {})[name].schema.get("enum")
    return values if isinstance(values, list) else []


def _rules(
    tag: str, nodes: Sequence[SchemaNode], properties: Mapping[str, PropertyNode], span: Span | None
) -> Iterator[Rule]:
    for node in nodes:
        shown = [json.dumps(value) for value in _values(node, tag)]
        field = f"self.{selector(tag)}"
        other = f"{field} != {shown[0]}" if len(shown) == 1 else f"!({field} in [{', '.join(shown)}])"
        words = " or ".join(str(value) for value in _values(node, tag))
        for name, prop in (node.properties or {}).items():
            if prop.required and not properties[name].required and _is_visible(prop.schema):
                message = f"{name} is required when {tag} is {words}"
                yield Rule(f"{other} || has(self.{selector(name)})", message, span=span)


def _is_visible(node: SchemaNode) -> bool:
    """Whether a rule can test the presence of a field. It cannot for fields of any type, or with null."""
    return type_of_schema(node) is not None and not node.get("nullable")


def _join(old: PropertyNode, new: PropertyNode, place: Place, diagnostics: Diagnostics) -> PropertyNode:
    required = old.required and new.required
    old_values, new_values = old.schema.get("enum"), new.schema.get("enum")
    if old.schema.type == new.schema.type and isinstance(old_values, list) and isinstance(new_values, list):
        values = [*old_values, *(value for value in new_values if value not in old_values)]
        return replace(old, schema=old.schema.put("enum", values, place.span), required=required)
    if shape(old.schema) != shape(new.schema):
        diagnostics.add(
            UNION.at(
                place.span,
                f"the members of the union at {place.what} disagree about the field `{new.name}`",
                notes=("a structural schema has only one type for each field",),
                help=("give the field one type in all members, or another name",),
            ),
        )
    return replace(old, required=required)
