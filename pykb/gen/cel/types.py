"""What is known about a CEL expression before it runs: its type, size and cost, and what is wrong in it.

The types are those that the apiserver derives from a schema, each with the maximum size of its values. A size counts
bytes of a text, or elements of a list or map. Without a bound in the schema, it is the largest that fits into a
request. A unit of cost is about one step of evaluation. A text costs a tenth of its bytes, a regular expression a
quarter. Source: apiserver's CEL declarations and cel-go's static cost analysis (KEP-2876).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
"""What rules see of metadata. Kubernetes 1.37 knows that a name has at most 253 characters; older servers do not."""


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


RULE_BUDGET = 10_000_000
"""The budget of one rule."""
CRD_BUDGET = 100_000_000
"""The budget of all rules of a version together."""
LIST_COST, MAP_COST, MESSAGE_COST = 10, 30, 40
LOOP_COSTS = {"all": 3, "exists": 4, "exists_one": 2, "existsOne": 2, "filter": 3 + LIST_COST, "map": 2 + LIST_COST}
"""The cost of one iteration besides its argument: to read and set the result, and to check the loop's condition."""
_TEXT = 0.1
_PATTERN = 0.25
_SCALARS = frozenset({"bool", "int", "uint", "double", "duration", "timestamp", "type"})
_EQUATABLE = frozenset({"url", "ip", "cidr", "quantity", "semver", "format", "null"})
# These read the whole receiver, or the only argument, once.
_READERS = frozenset(
    [
        *("url", "isURL", "quantity", "isQuantity", "ip", "isIP", "cidr", "isCIDR", "semver", "isSemver"),
        *(".lowerAscii", ".upperAscii", ".trim", ".substring", ".replace", ".split", "bytes"),
        *(".containsIP", ".containsCIDR"),
    ],
)
_KEEPS_SIZE = frozenset({".lowerAscii", ".upperAscii", ".trim", ".substring", ".find", "bytes", "dyn"})


def add(*costs: int) -> int:
    """The sum of costs, at most ``ENDLESS``."""
    return min(sum(costs), ENDLESS)


def times(count: int, cost: int) -> int:
    """The product of count and cost, at most ``ENDLESS``."""
    return min(count * cost, ENDLESS)


def scaled(size: int, factor: float) -> int:
    """A size times the cost of one unit of it, rounded up."""
    return ENDLESS if size >= ENDLESS else int(-(-size * round(factor * 100) // 100))


def _size_of(kind: CelType) -> int:
    """The cost of comparing a value, in units of its size."""
    return 0 if kind.kind in _SCALARS | _EQUATABLE else kind.size


def call_cost(function: str, types: Sequence[CelType], costs: Sequence[int]) -> int:
    """The cost of a call, including its arguments."""
    if function == "_?:_":
        return add(costs[0], max(costs[1:]))
    return add(*costs, _operator_cost(function, types) if function.startswith("_") else _function_cost(function, types))


def _operator_cost(operator: str, types: Sequence[CelType]) -> int:
    match operator:
        case "_&&_" | "_||_":
            return 0
        case "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_":
            return scaled(min(map(_size_of, types)), _TEXT)
        case "_in_" if len(types) == 2 and types[1].kind == "list":
            return types[1].size
        case "_+_" if len(types) == 2 and types[0].kind in {"string", "bytes"}:
            return scaled(add(types[0].size, types[1].size), _TEXT)
    return 1


def _function_cost(function: str, types: Sequence[CelType]) -> int:
    match function:
        case ".startsWith" | ".endsWith":
            return scaled(types[-1].size, _TEXT)
        case ".contains":
            return times(scaled(types[0].size, _TEXT), scaled(types[-1].size, _TEXT))
        case ".matches" | "matches" | ".find" | ".findAll":
            return times(scaled(add(types[0].size, 1), _TEXT), scaled(types[1].size, _PATTERN))
        case ".isSorted" | ".sum" | ".min" | ".max" | ".indexOf" | ".lastIndexOf":
            return add(_elements(types[0]), 1)
        case "sets.contains" | "sets.equivalent" | "sets.intersects":
            pairs = times(types[0].size, types[-1].size)
            return times(2, pairs) if function == "sets.equivalent" else pairs
        case ".join":
            return _elements(types[0])
    if function in _READERS and types:
        return scaled(types[-1 if function.startswith(".contains") else 0].size, _TEXT)
    return 1


def _elements(kind: CelType) -> int:
    if kind.kind == "string":
        return scaled(kind.size, _TEXT)
    element = kind.of[0] if kind.of else kind
    return times(kind.size, max(1, scaled(element.size, _TEXT)) if element.kind == "string" else 1)


def sized(function: str, types: Sequence[CelType], result: CelType) -> CelType:
    """The type of a result with its worst-case size."""
    if result.kind not in {"string", "bytes", "list"} or not types:
        return result
    match function:
        case "_+_" if len(types) == 2:
            return replace(result, size=add(types[0].size, types[1].size))
        case "_?:_":
            return replace(result, size=max(types[1].size, types[2].size))
        case ".split" | ".findAll":
            return replace(result, size=types[0].size, of=(replace(result.of[0], size=types[0].size),))
        case ".replace" if len(types) > 2:
            return replace(result, size=times(types[0].size, max(1, types[2].size)))
    return replace(result, size=types[0].size) if function in _KEEPS_SIZE else result


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown name, with the most similar known one."""

    what: str  # "field", "variable", "function"
    name: str
    offset: int
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Mistype:
    """A call or operator with operands of the wrong type."""

    message: str
    offset: int
    length: int


OPTIONAL = "?"
"""The key of the syntax of optional values among the uses: ``self.?field``, ``self[?0]``, ``[?self.?field]``."""
MIXED_NUMBERS = "<"
"""The key of comparisons of numbers of two types."""


@dataclass(slots=True)
class Findings:
    """What was seen in a rule.

    Attributes:
        unknown: Unknown names.
        reserved: Fields that older API servers need escaped.
        mistyped: Calls that do not fit the types of their arguments.
        patterns: Regular expressions in literals, with their offsets.
        uses: The functions in it, by their keys, and the syntax that not all API servers have, with offset and length.
        uses_old_self: Whether the rule uses ``oldSelf``.
        type: The type of the result.
        cost: The worst-case cost of one evaluation.
    """

    unknown: list[Unknown] = field(default_factory=list)
    reserved: list[Unknown] = field(default_factory=list)
    mistyped: list[Mistype] = field(default_factory=list)
    patterns: list[tuple[str, int]] = field(default_factory=list)
    uses: list[tuple[str, int, int]] = field(default_factory=list)
    uses_old_self: bool = False
    type: CelType = DYN
    cost: int = 0
