"""Describes the keywords of a schema in short phrases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from pykb.gen.docs._model import Rule
from pykb.gen.docs._prose import code_span
from pykb.gen.ir import SchemaNode
from pykb.gen.lower.scalars import QUANTITY_PATTERN


def json_text(value: object) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def scalar_name(node: SchemaNode) -> str:
    """The name of an unnamed schema's type."""
    if is_quantity(node):
        return "quantity"
    if node.is_int_or_string:
        return "integer or string"
    if node.type is None:
        return "any value"
    if node.type == "object" and node.properties is None and node.get("x-kubernetes-embedded-resource"):
        return "any Kubernetes object"
    form = node.get("format")
    return f"{node.type} ({form})" if form else node.type


def rules_of(node: SchemaNode, origin: SchemaNode | None = None) -> tuple[Rule, ...]:
    """The CEL rules of a schema, without those of its named type."""
    known = origin.rules if origin is not None else ()
    return tuple(
        Rule(rule.rule, rule.message or rule.message_expression or "") for rule in node.rules if rule not in known
    )


def constraints_of(node: SchemaNode, origin: SchemaNode | None) -> tuple[str, ...]:
    """The constraints of a schema, one phrase each, without those of its named object type."""
    known = origin if origin is not None and node.properties is not None else SchemaNode()
    found = [text for text in _own_constraints(node, known) if text]
    for part in node.all_of:
        found += [text for text in constraints_of(part, None) if text not in found]
    for word, inner in (("each element", node.items), ("each value", node.values)):
        if inner is not None and inner.origin is None:
            found += [f"{word}: {text}" for text in constraints_of(inner, None)]
            found += [f"{word}: {rule.message or rule.expression}" for rule in rules_of(inner)]
    return tuple(found)


def _own_constraints(node: SchemaNode, known: SchemaNode) -> Iterator[str]:
    for keyword, phrase in _PHRASES.items():
        value = node.get(keyword)
        if value is not None and value is not False and value != known.get(keyword):
            yield phrase(value, node)


def is_quantity(node: SchemaNode) -> bool:
    """Whether this is a Kubernetes quantity, such as ``500m`` or ``2Gi``."""
    return node.is_int_or_string and node.get("pattern") == QUANTITY_PATTERN


def _code(text: str) -> str:
    return text if "\n" in text else code_span(text)


def _count(noun: str, word: str) -> Callable[[object, SchemaNode], str]:
    return lambda value, _: f"at {word} {value} {noun}{'' if value == 1 else 's'}"


def _bound(exclusive: str, strict: str, loose: str) -> Callable[[object, SchemaNode], str]:
    return lambda value, node: f"{strict if node.get(exclusive) else loose} {value}"


def _values(value: object, _: SchemaNode) -> str:
    values = value if isinstance(value, list) else [value]
    return "one of " + ", ".join(_code(json_text(item)) for item in values)


def _list_type(value: object, node: SchemaNode) -> str:
    if value == "map":
        keys = node.get("x-kubernetes-list-map-keys")
        return "one element for each " + " and ".join(str(key) for key in (keys if isinstance(keys, list) else []))
    return {"set": "no element twice", "atomic": "replaced as a whole"}.get(str(value), "")


def _map_type(value: object, _: SchemaNode) -> str:
    return "replaced as a whole" if value == "atomic" else ""


def _same(text: str) -> Callable[[object, SchemaNode], str]:
    return lambda _value, _node: text


def _external(value: object, _: SchemaNode) -> str:
    return f"see {value['url']}" if isinstance(value, Mapping) and value.get("url") else ""


_PHRASES: Mapping[str, Callable[[object, SchemaNode], str]] = {
    "enum": _values,
    "minLength": _count("character", "least"),
    "maxLength": _count("character", "most"),
    "pattern": lambda value, node: "" if is_quantity(node) else f"matches {_code(str(value))}",
    "minimum": _bound("exclusiveMinimum", "above", "at least"),
    "maximum": _bound("exclusiveMaximum", "below", "at most"),
    "multipleOf": lambda value, _: f"a multiple of {value}",
    "minItems": _count("element", "least"),
    "maxItems": _count("element", "most"),
    "uniqueItems": _same("no element twice"),
    "x-kubernetes-list-type": _list_type,
    "minProperties": lambda value, _: f"at least {value} entries",
    "maxProperties": lambda value, _: f"at most {value} entries",
    "x-kubernetes-map-type": _map_type,
    "nullable": _same("may be null"),
    "x-kubernetes-preserve-unknown-fields": _same("fields that are not listed are kept"),
    "x-kubernetes-embedded-resource": _same("has apiVersion, kind and metadata"),
    "example": lambda value, _: f"for example {_code(json_text(value))}",
    "externalDocs": _external,
}
