"""Applies a ``SchemaPatch``, a merge patch on a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pykb.diagnostics import Span
from pykb.gen.ir import RULES, PropertyNode, Rule, SchemaNode, read_rules

_SPELLING = "SchemaPatch"
Apply = Callable[[SchemaNode | None, Mapping[str, object]], SchemaNode]


def patched(
    node: SchemaNode, patch: Mapping[str, Any], span: Span | None = None, *, spelling: str = _SPELLING
) -> SchemaNode:
    """The schema with a patch applied (RFC 7386, sub-schemas included).

    Args:
        node: A schema without references.
        patch: Keywords to set; ``None`` removes one. ``required`` is the list of all required properties. A value
            without the form of a schema stays a keyword, and the checks report it.
        span: The place of the patch in the source.
        spelling: The spelling of the patch in the source.
    """

    def apply(node: SchemaNode | None, value: Mapping[str, object]) -> SchemaNode:
        return patched(node or SchemaNode(span=span), value, span, spelling=spelling)

    rules: tuple[Rule, ...] | None
    for name, value in sorted(patch.items(), key=lambda item: item[0] == "required"):  # last, since it names properties
        if value is None:
            node = _without(node, name)
        elif name == "properties" and _are_schemas(value, Mapping):
            node = replace(node, properties=_properties(node.properties or {}, value, span, apply))
        elif name == "required" and node.properties is not None and isinstance(value, list):
            node = _required(node, value, span)
        elif name == "items" and isinstance(value, Mapping):
            node = replace(node, items=apply(node.items, value))
        elif name == "additionalProperties" and isinstance(value, Mapping):
            node = replace(node, values=apply(node.values, value))
        elif name == "allOf" and _are_schemas(value, list):
            node = replace(node, all_of=tuple(apply(None, part) for part in value))
        elif name == RULES and (rules := read_rules(value, span)) is not None:
            node = replace(node.without(name), rules=rules)
        else:
            node = _without(node, name).put(name, value, span, spelling)
    return node


def _are_schemas(value: Any, kind: Any) -> bool:
    """Whether it is a list or map of schemas. A null in a map removes a schema."""
    if not isinstance(value, kind):
        return False
    parts: Iterable[Any] = value.values() if isinstance(value, Mapping) else value
    return all(isinstance(part, Mapping) or (part is None and kind is Mapping) for part in parts)


def _without(node: SchemaNode, name: str) -> SchemaNode:
    match name:
        case "properties":
            return replace(node, properties=None)
        case "items":
            return replace(node, items=None)
        case "additionalProperties":
            return replace(node.without(name), values=None)
        case "allOf":
            return replace(node, all_of=())
        case "required":
            return _required(node, (), None)
    return replace(node.without(name), rules=() if name == RULES else node.rules)


def _properties(
    properties: Mapping[str, PropertyNode], patch: Any, span: Span | None, apply: Apply
) -> dict[str, PropertyNode]:
    found = dict(properties)
    for name, value in patch.items():
        old = found.get(name)
        if value is None:
            found.pop(name, None)
        elif old is None:
            found[name] = PropertyNode(name, name, apply(None, value), required=False, span=span)
        else:
            found[name] = replace(old, schema=apply(old.schema, value))
    return found


def _required(node: SchemaNode, names: Iterable[object], span: Span | None) -> SchemaNode:
    wanted = list(names)
    if node.properties is not None:
        properties = {
            name: replace(prop, required=name in wanted, required_by=_SPELLING)
            for name, prop in node.properties.items()
        }
        node = replace(node, properties=properties)
    # Unusual, but no structural rule forbids it.
    unknown = [name for name in wanted if name not in (node.properties or {})]
    return node.without("required").put("required", unknown, span, _SPELLING) if unknown else node.without("required")
