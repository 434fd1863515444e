"""CEL's types as the apiserver derives them from a schema, each with the maximum size of its values.

A size counts bytes of a text, or elements of a list or map. Without a bound in the schema, it is the largest that fits
into a request. Source: apiserver's CEL declarations (KEP-2876).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pykb.gen.ir import SchemaNode

MAX_REQUEST = 3 * 1024 * 1024
"""The maximum size of a request, in bytes."""
ENDLESS = 2**64 - 1
"""The size and cost of an unbounded value."""
_BYTES_PER_CHARACTER = 4
_TIME_SIZES = {"duration": 32, "date": 12, "date-time": 22}


@dataclass(frozen=True, slots=True, eq=False)
class CelType:
    """A type.

    Attributes:
        kind: ``int``, ``string``, ``list``, ``object``, or an opaque type such as ``quantity``. ``dyn`` is any type.
        of: Its type parameters: element of a list, key and value of a map, value of an optional.
        size: The maximum size of a value.
        node: The schema of an object.
        has_metadata: Whether an object is a whole resource, with apiVersion, kind and metadata.name.
    """

    kind: str
    of: tuple[CelType, ...] = ()
    size: int = ENDLESS
    node: SchemaNode | None = None
    has_metadata: bool = False

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.of))})" if self.of else self.kind


DYN = CelType("dyn")
SCALARS = {name: CelType(name, size=1) for name in ("bool", "int", "uint", "double", "null", "type")}
_KEY = CelType("string", size=0)  # the server ignores its size
BOOL, INT = SCALARS["bool"], SCALARS["int"]
NUMBERS = frozenset({"int", "uint", "double"})


def text(size: int = ENDLESS) -> CelType:
    """A text of at most so many bytes."""
    return CelType("string", size=size)


def unsized(kind: CelType) -> CelType:
    """The same type without its bound. The server ignores the bound for `self.key` of a map, unlike `self['key']`."""
    if kind.kind in SCALARS or kind.kind == "object":
        return kind
    return replace(kind, size=ENDLESS, of=tuple(map(unsized, kind.of)))


def type_of_schema(node: SchemaNode, *, has_metadata: bool = False) -> CelType | None:
    """The CEL type of a schema; ``None`` when rules cannot see its values."""
    if node.is_int_or_string:
        return CelType("dyn", size=_most_characters(node))
    match node.type:
        case "boolean":
            return BOOL
        case "integer":
            return INT
        case "number":
            return SCALARS["double"]
        case "string":
            return _text_type(node)
        case "array":
            element = type_of_schema(node.items) if node.items is not None else None
            return None if element is None else CelType("list", (element,), size=_most_elements(node))
        case "object" if node.values is not None:
            value = type_of_schema(node.values)
            return None if value is None else CelType("map", (_KEY, value), size=_most_entries(node))
        case "object":
            embedded = bool(node.get("x-kubernetes-embedded-resource"))
            return CelType("object", size=0, node=node, has_metadata=has_metadata or embedded)
    return None


def fields_of(owner: CelType) -> Mapping[str, CelType | None]:
    """The fields of an object by wire name; ``None`` for those that rules cannot see."""
    properties = owner.node.properties or {} if owner.node is not None else {}
    found = {name: type_of_schema(prop.schema) for name, prop in properties.items()}
    if owner.has_metadata:
        found = {"apiVersion": text(), "kind": text(), **found, "metadata": CelType("metadata")}
    return found


METADATA = {"name": text(), "generateName": text()}


def _text_type(node: SchemaNode) -> CelType:
    form, length, enum = node.get("format"), _bound(node, "maxLength"), node.get("enum")
    if form == "byte":
        return CelType("bytes", size=MAX_REQUEST - 2 if length is None else length)
    if form in _TIME_SIZES:
        return CelType("duration" if form == "duration" else "timestamp", size=_TIME_SIZES[str(form)])
    if length is None and isinstance(enum, list) and enum:
        return text(max(len(str(value)) for value in enum))
    return text(_most_characters(node))


def _most_characters(node: SchemaNode) -> int:
    length = _bound(node, "maxLength")
    return MAX_REQUEST - 2 if length is None else length * _BYTES_PER_CHARACTER


def _bound(node: SchemaNode, keyword: str) -> int | None:
    found = [part.get(keyword) for part in (node, *node.all_of)]
    bounds = [max(value, 0) for value in found if isinstance(value, int)]
    return min(bounds, default=None)


def _most_elements(node: SchemaNode) -> int:
    bound = _bound(node, "maxItems")
    return (MAX_REQUEST - 2) // (_least_bytes(node.items) + 1) if bound is None else bound


def _most_entries(node: SchemaNode) -> int:
    bound = _bound(node, "maxProperties")
    return (MAX_REQUEST - 2) // (_least_bytes(node.values) + 6) if bound is None else bound


def most_occurrences(node: SchemaNode) -> int:
    """The maximum number of values of a schema in one request."""
    return MAX_REQUEST // (_least_bytes(node) + 1)


def element_bound(node: SchemaNode) -> int | None:
    """The maximum number of elements in the schema of a list or map."""
    return _bound(node, "maxItems" if node.type == "array" else "maxProperties")


def _least_bytes(node: SchemaNode | None) -> int:
    """The length of the shortest JSON text of a value."""
    if node is None or node.is_int_or_string:
        return 1
    match node.type:
        case "boolean":
            return 4
        case "string" if node.get("format") in _TIME_SIZES:
            return {"duration": 3, "date": 12, "date-time": 22}[str(node.get("format"))]
        case "string" | "array":
            return 2
        case "object":
            return 2 + sum(_member_bytes(node))
    return 1


def _member_bytes(node: SchemaNode) -> Iterator[int]:
    for name, prop in (node.properties or {}).items():
        if prop.required and prop.schema.get("default") is None:
            yield len(name) + 4 + _least_bytes(prop.schema)
