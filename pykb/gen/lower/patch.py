"""A merge patch onto a schema: what ``SchemaPatch`` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pykb.diagnostics import Span
from pykb.gen.ir import PropertyNode, SchemaNode

_SPELLING = "SchemaPatch"


def patched(node: SchemaNode, patch: Mapping[str, object], span: Span | None = None) -> SchemaNode:
    """The schema with a patch applied (RFC 7386, sub-schemas included).

    Args:
        node: A schema without references.
        patch: Keywords to set; ``None`` removes one. ``required`` is the list of all required properties.
        span: Where the patch stands.
    """
    for name, value in patch.items():
        if name == "properties" and node.properties is not None and isinstance(value, Mapping):
            node = replace(node, properties=_properties(node.properties, value, span))
        elif name == "required" and node.properties is not None:
            node = _required(node, value if isinstance(value, list) else (), span)
        elif name == "items" and node.items is not None:
            node = replace(node, items=patched(node.items, value, span) if isinstance(value, Mapping) else None)
        elif name == "additionalProperties" and node.values is not None:
            node = replace(node, values=patched(node.values, value, span) if isinstance(value, Mapping) else None)
            node = node if isinstance(value, Mapping) or value is None else node.put(name, value, span, _SPELLING)
        elif value is None:
            node = node.without(name)
        else:
            node = node.put(name, value, span, _SPELLING)
    return node


def _properties(
    properties: Mapping[str, PropertyNode], patch: Mapping[str, object], span: Span | None
) -> dict[str, PropertyNode]:
    found = dict(properties)
    for name, value in patch.items():
        if not isinstance(value, Mapping):
            found.pop(name, None)
            continue
        old = found.get(name)
        if old is None:
            found[name] = PropertyNode(
                name, name, patched(SchemaNode(span=span), value, span), required=False, span=span
            )
        else:
            found[name] = replace(old, schema=patched(old.schema, value, span))
    return found


def _required(node: SchemaNode, names: Iterable[object], span: Span | None) -> SchemaNode:
    wanted = [str(name) for name in names]
    properties = {
        name: replace(prop, required=name in wanted, required_by=_SPELLING)
        for name, prop in (node.properties or {}).items()
    }
    node = replace(node.without("required"), properties=properties)
    unknown = [name for name in wanted if name not in properties]  # allowed, if odd: no structural rule forbids it
    return node.put("required", unknown, span, _SPELLING) if unknown else node
