"""What the names of a rule mean in a schema: unknown fields, variables and functions, and how often it loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pykb.diagnostics.suggest import closest
from pykb.gen.cel.functions import FUNCTIONS, NAMESPACES, ONE_VARIABLE, TYPES, UNBOUNDED_TEXT
from pykb.gen.cel.parser import RESERVED
from pykb.gen.cel.syntax import Call, Expression, Index, Name, Select, Sequence
from pykb.gen.ir import SchemaNode

# Field names that are words of the language, or have characters that names cannot have, are written escaped.
_ESCAPES = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}
_KEYWORDS = RESERVED | {"true", "false", "null", "in"}


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that means nothing, with the nearest that does."""

    what: str  # "field", "variable", "function"
    name: str
    offset: int
    near: str | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A function on a value that does not have it."""

    function: str
    kind: str
    offset: int


@dataclass(slots=True)
class Findings:
    """What was seen in a rule.

    Attributes:
        unknown: Names that mean nothing.
        misused: Functions on values that do not have them.
        uses_old_self: Whether the value before the update is named.
        loops: The deepest nesting of loops over lists, maps or texts without a bound.
    """

    unknown: list[Unknown] = field(default_factory=list)
    misused: list[Misuse] = field(default_factory=list)
    loops: int = 0
    uses_old_self: bool = False


Scope = Mapping[str, SchemaNode | None]


def resolve_names(tree: Expression, schema: SchemaNode, *, is_root: bool) -> Findings:
    """Look up every name of a rule.

    Args:
        tree: The rule.
        schema: The value that ``self`` is.
        is_root: Whether that is a whole object, whose metadata has a name and nothing else.
    """
    walk = _Walk(schema, is_root)
    walk.type_of(tree, {"self": schema, "oldSelf": schema}, 0)
    return walk.findings


def unescape(name: str) -> str:
    """The field that an escaped name stands for.

    >>> unescape("__namespace__"), unescape("a__dash__b"), unescape("plain")
    ('namespace', 'a-b', 'plain')
    """
    if name.startswith("__") and name.endswith("__") and name[2:-2] in _KEYWORDS:
        return name[2:-2]
    for escaped, plain in _ESCAPES.items():
        name = name.replace(escaped, plain)
    return name


class _Walk:
    def __init__(self, root: SchemaNode, is_root: bool) -> None:
        self._root = root if is_root else None
        self.findings = Findings()

    def type_of(self, tree: Expression, scope: Scope, loops: int) -> SchemaNode | None:
        """The schema of a value; ``None`` where it is not known."""
        match tree:
            case Name():
                return self._name(tree, scope)
            case Select():
                return self._select(tree, scope, loops)
            case Index():
                owner = self.type_of(tree.operand, scope, loops)
                self.type_of(tree.index, scope, loops)
                return _element(owner)
            case Call():
                return self._call(tree, scope, loops)
            case Sequence():
                for item in tree.items:
                    self.type_of(item, scope, loops)
        return None

    def _name(self, tree: Name, scope: Scope) -> SchemaNode | None:
        if tree.name == "oldSelf":
            self.findings.uses_old_self = True
        if tree.name not in scope and tree.name not in TYPES:
            near = closest(tree.name, scope)
            self.findings.unknown.append(Unknown("variable", tree.name, tree.offset, near))
        return scope.get(tree.name)

    def _select(self, tree: Select, scope: Scope, loops: int) -> SchemaNode | None:
        if isinstance(tree.operand, Name) and tree.operand.name in NAMESPACES and tree.operand.name not in scope:
            return None
        owner = self.type_of(tree.operand, scope, loops)
        if owner is None:
            return None
        known = self._fields(owner)
        if known is None:
            return owner.values
        name = unescape(tree.field)
        if tree.field in _KEYWORDS and tree.field in known:
            near = f"__{tree.field}__"
            self.findings.unknown.append(Unknown("field", tree.field, tree.offset, near, owner.type_name))
            return known[name]
        if name not in known:
            self.findings.unknown.append(Unknown("field", name, tree.offset, closest(name, known), owner.type_name))
            return None
        return known[name]

    def _fields(self, owner: SchemaNode) -> Mapping[str, SchemaNode | None] | None:
        """The fields of a value; ``None`` where any name may be right."""
        if owner.is_int_or_string or owner.type is None or owner.values is not None:
            return None
        if owner.type == "object":
            open_ = owner.get("x-kubernetes-preserve-unknown-fields")
            fields: dict[str, SchemaNode | None] = {n: p.schema for n, p in (owner.properties or {}).items()}
            # Rules cannot look into fields that the schema does not list, even where they are kept.
            if not fields and open_:
                return None
            if owner.get("x-kubernetes-embedded-resource") or owner is self._root:
                fields = {"apiVersion": None, "kind": None, **fields, "metadata": _METADATA}
            return fields
        return {}

    def _call(self, tree: Call, scope: Scope, loops: int) -> SchemaNode | None:
        if tree.function in ONE_VARIABLE and tree.target is not None and not self._is_namespace(tree.target, scope):
            return self._macro(tree, scope, loops)
        if tree.function == "bind" and len(tree.arguments) == 3 and isinstance(tree.arguments[0], Name):
            value = self.type_of(tree.arguments[1], scope, loops)
            return self.type_of(tree.arguments[2], {**scope, tree.arguments[0].name: value}, loops)
        owner = None
        if tree.target is not None and not self._is_namespace(tree.target, scope):
            owner = self.type_of(tree.target, scope, loops)
        found = [self.type_of(argument, scope, loops) for argument in tree.arguments]
        if tree.function in UNBOUNDED_TEXT and owner is not None and owner.is_unbounded:
            self._loop(loops + 1)
        if tree.function[0].isalpha() and tree.function not in FUNCTIONS and tree.function != "in":
            near = closest(tree.function, FUNCTIONS)
            self.findings.unknown.append(Unknown("function", tree.function, tree.offset, near))
        if tree.function in {"==", "!="} and any(value is not None and value.is_unbounded for value in found):
            self._loop(loops + 1)  # texts and lists are compared to their end
        measured = owner if tree.target is not None else found[0] if found else None
        if tree.function == "size" and measured is not None and not _has_size(measured):
            self.findings.misused.append(Misuse("size", measured.type_name, tree.offset))
        if tree.function in _TEXT_ONLY and owner is not None and owner.type not in {"string", None}:
            self.findings.misused.append(Misuse(tree.function, owner.type_name, tree.offset))
        if tree.function == "?:" and len(found) == 3:
            return found[1] or found[2]
        return owner if tree.function in {"orValue", "or", "value"} else None

    def _is_namespace(self, target: Expression, scope: Scope) -> bool:
        return isinstance(target, Name) and target.name in NAMESPACES and target.name not in scope

    def _macro(self, tree: Call, scope: Scope, loops: int) -> SchemaNode | None:
        """``list.all(x, ...)``: the first arguments name variables, the last is evaluated for each element."""
        owner = self.type_of(tree.target, scope, loops) if tree.target else None
        *names, last = tree.arguments or (Name("", 0),)
        variables = [name.name for name in names if isinstance(name, Name)]
        if len(variables) != len(names):  # map(x, filter, value), or `optional.map`: names come first
            variables = [names[0].name] if names and isinstance(names[0], Name) else []
        is_optional = tree.function in {"optMap", "optFlatMap"}
        inner = dict(scope)
        elements = [owner] if is_optional else list(_variables(owner, len(variables)))
        inner.update(zip(variables, elements, strict=False))
        deeper = loops + 1 if not is_optional and owner is not None and owner.is_unbounded else loops
        self._loop(deeper)
        for extra in names[len(variables) :]:
            self.type_of(extra, inner, deeper)
        self.type_of(last, inner, deeper)
        return owner if tree.function in {"filter", "sortBy"} else None

    def _loop(self, depth: int) -> None:
        self.findings.loops = max(self.findings.loops, depth)


_TEXT_ONLY = frozenset({"startsWith", "endsWith", "matches", "lowerAscii", "upperAscii", "trim", "charAt"})


def _has_size(node: SchemaNode) -> bool:
    if node.type == "object":
        return node.values is not None or node.properties is None
    return node.type in {"string", "array", None}


def _variables(owner: SchemaNode | None, count: int) -> Iterator[SchemaNode | None]:
    element = _element(owner)
    if owner is not None and owner.type == "object":
        yield None  # the key, a text
        if count > 1:
            yield element
    else:
        if count > 1:
            yield None  # the index
        yield element


def _element(owner: SchemaNode | None) -> SchemaNode | None:
    if owner is None:
        return None
    return owner.items if owner.type == "array" else owner.values


def _metadata() -> SchemaNode:
    from pykb.gen.ir import PropertyNode, object_node
    from pykb.gen.lower.scalars import node_of

    text = node_of({"type": "string", "maxLength": 253})
    names = [PropertyNode(name, name, text, required=False) for name in ("name", "generateName")]
    return object_node(names, None)


_METADATA = _metadata()
