"""Merges a named type's schema with a field's constraints, as controller-gen merges ``allOf``.

When both set a keyword to different values and both must hold, the two values go into ``allOf``. A field can tighten
its type and cannot loosen it.
"""

from __future__ import annotations

from dataclasses import replace

from pykb.diagnostics import Diagnostic, Diagnostics, Label
from pykb.diagnostics.codes.crd import ENUM_DISJOINT, TYPE_CONFLICT
from pykb.gen.ir import Keyword, Origin, PropertyNode, SchemaNode

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
                diagnostics.add(_type_conflict(old, new))
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


def _merge_child(named: SchemaNode | None, refinement: SchemaNode | None, found: Diagnostics) -> SchemaNode | None:
    if named is None or refinement is None:
        return refinement if named is None else named
    return merge(named, refinement, found)


def _merge_properties(
    named: SchemaNode,
    refinement: SchemaNode,
    diagnostics: Diagnostics,
) -> dict[str, PropertyNode] | None:
    if named.properties is None and refinement.properties is None:
        return None
    properties = dict(named.properties or {})
    for name, prop in (refinement.properties or {}).items():
        old = properties.get(name)
        if old is not None:
            prop = replace(  # noqa: PLW2901 - the refined one stands in for it
                prop,
                schema=merge(old.schema, prop.schema, diagnostics),
                required=old.required or prop.required,
            )
        properties[name] = prop
    return properties


def _common_values(old: Keyword, new: Keyword, diagnostics: Diagnostics) -> Keyword:
    allowed = _list(old)
    common = [value for value in _list(new) if value in allowed]
    if not common:
        labels = (Label(old.span, "the type allows other values"),) if old.span else ()
        diagnostics.add(
            ENUM_DISJOINT.at(
                new.span,
                f"no value is allowed by both this field {_shown(new)} and its type {_shown(old)}",
                labels=labels,
                help=("list only values that the type allows",),
            ),
        )
    return Keyword(common, new.span, new.spelling)


def _shown(keyword: Keyword) -> str:
    return "(" + ", ".join(f"`{value}`" for value in _list(keyword)) + ")"


def _type_conflict(old: Keyword, new: Keyword) -> Diagnostic:
    return TYPE_CONFLICT.at(
        new.span,
        f"a field of type `{new.value}` refines a type that is `{old.value}`",
        labels=(Label(old.span, f"`{old.value}` comes from here"),) if old.span else (),
    )
