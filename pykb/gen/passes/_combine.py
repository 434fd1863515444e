"""Transforms whole schemas.

``merge`` joins a named type with the constraints of a field, as controller-gen merges ``allOf``: when both set a
keyword to different values and both must hold, the two values go into ``allOf``. A field can tighten its type and
cannot loosen it. ``unite`` makes one object of a union of structs. ``without_validation`` keeps only the shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pykb.diagnostics import Diagnostics, Label, Severity, Span
from pykb.diagnostics.codes.crd import ENUM_DISJOINT, TYPE_CONFLICT, UNION
from pykb.gen.cel.types import type_of_schema
from pykb.gen.ir import Keyword, Origin, Place, PropertyNode, Rule, SchemaNode, StructUnion
from pykb.gen.lower.annotation import shape
from pykb.meta.names import cel_selector

_FIELD_WINS = frozenset(
    [
        *("title", "description", "externalDocs", "example", "default", "nullable"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    ],
)
# Kept once when both are equal. Other keywords appear twice in `allOf` even then, as in controller-gen's output.
_DEDUPLICATED = frozenset(
    ["pattern", "format", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "minProperties", "maxProperties"],
)


def merge(named: SchemaNode, refinement: SchemaNode, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of a field of a named type.

    Args:
        named: The type's own schema, without references.
        refinement: What the field adds to it.
        diagnostics: Gets conflicts that no value could satisfy.
    """
    keywords = dict(named.keywords)
    named_part: dict[str, Keyword] = {}
    refined_part: dict[str, Keyword] = {}
    for name, new in refinement.keywords.items():
        old = keywords.get(name)
        if old is None or name in _FIELD_WINS:
            keywords[name] = new
        elif name == "enum":
            keywords[name] = _common_values(old, new, diagnostics)
        elif name == "type":
            if old.value != new.value:
                diagnostics.report(
                    TYPE_CONFLICT,
                    new.span,
                    f"a field of type `{new.value}` refines a type that is `{old.value}`",
                    labels=(Label(old.span, f"`{old.value}` comes from here"),) if old.span else (),
                )
        elif old.value == new.value and (name in _DEDUPLICATED or name.startswith("x-")):
            continue
        else:
            named_part[name], refined_part[name] = keywords.pop(name), new
    all_of = (*refinement.all_of, *named.all_of)
    if refined_part:
        all_of = (*all_of, SchemaNode(named_part, named.span), SchemaNode(refined_part, refinement.span))
    return replace(
        refinement,
        keywords=keywords,
        reference=None,
        origin=Origin(refinement.reference, named) if refinement.reference is not None else refinement.origin,
        all_of=all_of,
        rules=(*refinement.rules, *named.rules),
        properties=_merge_properties(named, refinement, diagnostics),
        items=_merge_child(named.items, refinement.items, diagnostics),
        values=_merge_child(named.values, refinement.values, diagnostics),
    )


def _list(keyword: Keyword) -> list[object]:
    return list(keyword.value) if isinstance(keyword.value, list) else [keyword.value]


def _merge_child(
    named: SchemaNode | None, refinement: SchemaNode | None, diagnostics: Diagnostics
) -> SchemaNode | None:
    if named is None or refinement is None:
        return refinement if named is None else named
    return merge(named, refinement, diagnostics)


def _merge_properties(
    named: SchemaNode, refinement: SchemaNode, diagnostics: Diagnostics
) -> dict[str, PropertyNode] | None:
    if named.properties is None and refinement.properties is None:
        return None
    properties = dict(named.properties or {})
    for name, prop in (refinement.properties or {}).items():
        old = properties.get(name)
        if old is None:
            properties[name] = prop
        else:
            schema = merge(old.schema, prop.schema, diagnostics)
            properties[name] = replace(prop, schema=schema, required=old.required or prop.required)
    return properties


def _common_values(old: Keyword, new: Keyword, diagnostics: Diagnostics) -> Keyword:
    allowed = _list(old)
    common = [value for value in _list(new) if value in allowed]
    if not common:
        labels = (Label(old.span, "the type allows other values"),) if old.span else ()
        diagnostics.report(
            ENUM_DISJOINT,
            new.span,
            f"no value is allowed by both this field {_shown(new)} and its type {_shown(old)}",
            "list only values that the type allows",
            labels=labels,
        )
    return Keyword(common, new.span, new.spelling)


def _shown(keyword: Keyword) -> str:
    return "(" + ", ".join(f"`{value}`" for value in _list(keyword)) + ")"


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
        diagnostics.report(
            UNION,
            place.span,
            f"nothing tells the members of the union at {place.what} apart, so no object needs {', '.join(lost)}",
            'give each member a field that tells them apart: `kind: Literal["..."]`',
            notes="the API server stores an object that matches no member, and your code cannot read it",
            severity=Severity.WARNING,
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
        field = f"self.{cel_selector(tag)}"
        other = f"{field} != {shown[0]}" if len(shown) == 1 else f"!({field} in [{', '.join(shown)}])"
        words = " or ".join(str(value) for value in _values(node, tag))
        for name, prop in (node.properties or {}).items():
            if prop.required and not properties[name].required and _is_visible(prop.schema):
                message = f"{name} is required when {tag} is {words}"
                yield Rule(f"{other} || has(self.{cel_selector(name)})", message, span=span)


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
        diagnostics.report(
            UNION,
            place.span,
            f"the members of the union at {place.what} disagree about the field `{new.name}`",
            "give the field one type in all members, or another name",
            notes="a structural schema has only one type for each field",
        )
    return replace(old, required=required)


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
