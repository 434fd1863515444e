"""Resolves a rule against a schema: its names, functions and types, and its worst-case cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product, takewhile

from pykb.diagnostics.suggest import closest
from pykb.gen.cel.syntax import Call, CelSyntaxError, Expression, Index, Literal, Name, Select, Sequence, text_of
from pykb.gen.cel.types import (
    BOOL,
    DYN,
    INT,
    LIST_COST,
    LOOP_COSTS,
    MAP_COST,
    MESSAGE_COST,
    METADATA,
    MIXED_NUMBERS,
    NUMBERS,
    OPTIONAL,
    SCALARS,
    CelType,
    Findings,
    Mistype,
    Unknown,
    add,
    call_cost,
    fields_of,
    sized,
    text,
    times,
    type_of_schema,
    unsized,
)
from pykb.gen.ir import SchemaNode
from pykb.meta.names import CEL_ESCAPES, CEL_WORDS

# The signatures of functions and operators, and overload resolution.
#
# Source: the language definition of CEL, and https://kubernetes.io/docs/reference/using-api/cel/.


# One function per line: `receiver.name(arguments) result`, or `namespace::name(arguments) result`; `|` separates
# alternatives of a type. T and K are any type. This is the full list in CRDs of Kubernetes 1.37 (tests/apiserver/gen).
# An API server takes a function in new rules one release after the library has it: `includes` of 1.37 from 1.38 on.
_TABLE = """
string.contains(string) bool
string.endsWith(string) bool
string.startsWith(string) bool
string.matches(string) bool
matches(string,string) bool
string|bytes|list(T)|map(K,T).size() int
size(string|bytes|list(T)|map(K,T)) int
string.charAt(int) string
string.indexOf(string) int
string.indexOf(string,int) int
string.lastIndexOf(string) int
string.lastIndexOf(string,int) int
list(T).indexOf(T) int
list(T).lastIndexOf(T) int
string.lowerAscii() string
string.upperAscii() string
string.trim() string
string.replace(string,string) string
string.replace(string,string,int) string
string.split(string) list(string)
string.split(string,int) list(string)
string.substring(int) string
string.substring(int,int) string
string.format(list(T)) string
string.find(string) string
string.findAll(string) list(string)
string.findAll(string,int) list(string)
list(string).join() string
list(string).join(string) string
list(int|uint|double|bool|duration|timestamp|string|bytes).isSorted() bool
list(int).sum() int
list(uint).sum() uint
list(double).sum() double
list(duration).sum() duration
list(T).distinct() list(T)
list(list(T)).flatten() list(T)
list(T).flatten(int) list(dyn)
list(T).first() optional(T)
list(T).last() optional(T)
list(T).reverse() list(T)
list(T).slice(int,int) list(T)
lists::range(int) list(int)
strings::quote(string) string
int(int|uint|double|string|timestamp|duration) int
uint(int|uint|double|string) uint
double(int|uint|double|string) double
bool(bool|string) bool
string(int|uint|double|bool|string|bytes|timestamp|duration|ip|cidr) string
bytes(string|bytes) bytes
timestamp(string|int|timestamp) timestamp
duration(string|int|duration) duration
type(T) type
dyn(T) dyn
timestamp.getDate() int
timestamp.getDate(string) int
timestamp.getDayOfMonth() int
timestamp.getDayOfMonth(string) int
timestamp.getDayOfWeek() int
timestamp.getDayOfWeek(string) int
timestamp.getDayOfYear() int
timestamp.getDayOfYear(string) int
timestamp.getFullYear() int
timestamp.getFullYear(string) int
timestamp.getMonth() int
timestamp.getMonth(string) int
timestamp|duration.getHours() int
timestamp.getHours(string) int
timestamp|duration.getMinutes() int
timestamp.getMinutes(string) int
timestamp|duration.getSeconds() int
timestamp.getSeconds(string) int
timestamp|duration.getMilliseconds() int
timestamp.getMilliseconds(string) int
url(string) url
isURL(string) bool
url.getScheme() string
url.getHost() string
url.getHostname() string
url.getPort() string
url.getEscapedPath() string
url.getQuery() map(string,list(string))
quantity(string) quantity
isQuantity(string) bool
quantity.isGreaterThan(quantity) bool
quantity.isLessThan(quantity) bool
quantity.compareTo(quantity) int
quantity.asInteger() int
quantity.isInteger() bool
quantity.asApproximateFloat() double
sign(quantity) int
quantity.add(quantity|int) quantity
quantity.sub(quantity|int) quantity
ip(string) ip
isIP(string) bool
ip::isCanonical(string) bool
ip.family() int
ip.isUnspecified() bool
ip.isLoopback() bool
ip.isLinkLocalMulticast() bool
ip.isLinkLocalUnicast() bool
ip.isGlobalUnicast() bool
cidr(string) cidr
isCIDR(string) bool
cidr.containsIP(string|ip) bool
cidr.containsCIDR(string|cidr) bool
cidr.ip() ip
cidr.masked() cidr
cidr.prefixLength() int
semver(string) semver
semver(string,bool) semver
isSemver(string) bool
isSemver(string,bool) bool
semver.compareTo(semver) int
semver.isGreaterThan(semver) bool
semver.isLessThan(semver) bool
semver.major() int
semver.minor() int
semver.patch() int
sets::contains(list(T),list(T)) bool
sets::equivalent(list(T),list(T)) bool
sets::intersects(list(T),list(T)) bool
format::byte|date|datetime|uri|uuid|labelValue|qualifiedName() format
format::dns1035Label|dns1035LabelPrefix|dns1123Label|dns1123LabelPrefix|dns1123Subdomain|dns1123SubdomainPrefix() format
format::named(string) optional(format)
format.validate(string) optional(list(string))
optional::of(T) optional(T)
optional::none() optional(dyn)
optional::ofNonZeroValue(T) optional(T)
optional::unwrap(list(optional(T))) list(T)
list(optional(T)).unwrapOpt() list(T)
optional(T).hasValue() bool
optional(T).value() T
optional(T).orValue(T) T
optional(T).or(optional(T)) optional(T)
_&&_(bool,bool) bool
_||_(bool,bool) bool
_!_(bool) bool
_-_(int) int
_-_(double) double
_?:_(bool,T,T) T
_==_(T,T) bool
_!=_(T,T) bool
_in_(T,list(T)) bool
_in_(K,map(K,T)) bool
_+_(int,int) int
_+_(uint,uint) uint
_+_(double,double) double
_+_(string,string) string
_+_(bytes,bytes) bytes
_+_(list(T),list(T)) list(T)
_+_(timestamp,duration) timestamp
_+_(duration,timestamp) timestamp
_+_(duration,duration) duration
_-_(int,int) int
_-_(uint,uint) uint
_-_(double,double) double
_-_(timestamp,timestamp) duration
_-_(timestamp,duration) timestamp
_-_(duration,duration) duration
_%_(int,int) int
_%_(uint,uint) uint
"""
_NUMBERS = ("int", "uint", "double")
_COMPARABLE = ("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint")
_LINE = re.compile(
    r"(?:(?P<namespace>\w+)::|(?P<receiver>[^.]+(?:\([^)]*\)[^.]*)*)\.)?"
    r"(?P<names>[^(.]+)\((?P<arguments>.*)\) (?P<result>\S+)"
)


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. The receiver, if there is one, is the first parameter."""

    parameters: tuple[tuple[CelType, ...], ...]
    result: CelType


def result_of(function: str, types: list[CelType]) -> CelType | None:
    """The result type of a call.

    Args:
        function: Its key: a name, ``sets.contains``, or an operator such as ``_+_``. Methods start with a dot.
        types: The types of the arguments, the receiver first.

    Returns:
        ``None`` when no signature fits.
    """
    found = [fit for overload in _table().get(function, ()) if (fit := _fit(overload, types)) is not None]
    if not found:
        return None
    return found[0] if len({str(fit) for fit in found}) == 1 else DYN


def is_same(left: CelType, right: CelType) -> bool:
    """Whether two types can be the same. All object types count as the same."""
    return _matches(left, right, {}) or _matches(right, left, {})


@cache
def _table() -> Mapping[str, tuple[Overload, ...]]:
    found: dict[str, list[Overload]] = {}
    for key, overload in chain(_written(), _of_each_kind()):
        found.setdefault(key, []).append(overload)
    return {key: tuple(overloads) for key, overloads in found.items()}


def _written() -> Iterator[tuple[str, Overload]]:
    """The signatures of the table."""
    for line in _TABLE.strip().splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(line)
        namespace, receiver = match["namespace"], match["receiver"]
        before = "." if receiver else f"{namespace}." if namespace else ""
        parts = [*([receiver] if receiver else []), *_split(match["arguments"])]
        overload = Overload(tuple(map(_alternatives, parts)), _parse(match["result"]))
        for name in match["names"].split("|") if namespace else [match["names"]]:
            yield f"{before}{name}", overload


def _of_each_kind() -> Iterator[tuple[str, Overload]]:
    """The signatures that each of many kinds has."""
    for kind in _COMPARABLE:
        of = (_parse(f"list({kind})"),)
        yield ".sort", Overload((of,), of[0])
        for name in (".min", ".max"):
            yield name, Overload((of,), _parse(kind))
    for operator, kind in product(("_*_", "_/_"), _NUMBERS):
        yield operator, _pair(kind, kind, kind)
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        for kind in ("bool", "string", "bytes", "timestamp", "duration"):
            yield operator, _pair(kind, kind, "bool")
        for left, right in product(_NUMBERS, _NUMBERS):
            yield operator, _pair(left, right, "bool")


def _pair(left: str, right: str, result: str) -> Overload:
    return Overload(((_parse(left),), (_parse(right),)), _parse(result))


def _alternatives(text: str) -> tuple[CelType, ...]:
    wrapped = re.fullmatch(r"list\(([^()]*\|[^()]*)\)", text)
    if wrapped:
        return tuple(_parse(f"list({part})") for part in wrapped[1].split("|"))
    return tuple(_parse(part) for part in text.split("|"))


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text:
        yield text[start:]


def _parse(text: str) -> CelType:
    if text == "dyn":
        return DYN
    name, opened, inner = text.partition("(")
    of = tuple(_parse(part) for part in _split(inner.removesuffix(")"))) if opened else ()
    return SCALARS.get(name) or CelType(name, of)


def _fit(overload: Overload, types: list[CelType]) -> CelType | None:
    if len(types) != len(overload.parameters):
        return None
    bound: dict[str, CelType] = {}
    for alternatives, found in zip(overload.parameters, types, strict=True):
        if not any(_matches(alternative, found, bound) for alternative in alternatives):
            return None
    return _substitute(overload.result, bound)


def _matches(wanted: CelType, found: CelType, bound: dict[str, CelType]) -> bool:
    if wanted.kind in {"T", "K"}:
        earlier = bound.get(wanted.kind)
        if earlier is None or earlier.kind in {"dyn", "null"}:
            if earlier is not None and earlier.kind == "null" and not _matches(earlier, found, bound):
                return False
            bound[wanted.kind] = found
            return True
        return _matches(earlier, found, bound)
    if "dyn" in {wanted.kind, found.kind}:
        return True
    if "null" in {wanted.kind, found.kind} and wanted.kind != found.kind:
        other = found if wanted.kind == "null" else wanted
        return other.kind not in _NEVER_NULL
    if wanted.kind != found.kind:
        return False
    return all(_matches(a, b, bound) for a, b in zip(wanted.of, found.of, strict=False))


_NEVER_NULL = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"})


def _substitute(result: CelType, bound: Mapping[str, CelType]) -> CelType:
    if result.kind in {"T", "K"}:
        return bound.get(result.kind, DYN)
    if not result.of:
        return result
    return CelType(result.kind, tuple(_substitute(part, bound) for part in result.of), result.size)


TYPES = frozenset(
    [
        *("bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp"),
        *("type", "uint"),
    ]
)
NAMESPACES = frozenset(name for name, dot, _ in (key.partition(".") for key in _table()) if name.isalpha() and dot)
NAMESPACES |= {"google"}
"""The namespaces of functions, such as ``sets`` in ``sets.contains``."""
TWO_VARIABLES = frozenset({"existsOne", "transformList", "transformMap", "transformMapEntry"})
"""The macros that take two variables only."""
ONE_VARIABLE = TWO_VARIABLES | {"all", "exists", "exists_one", "filter", "map", "optFlatMap", "optMap", "sortBy"}
FUNCTIONS = frozenset(key.rpartition(".")[2] for key in _table() if not key.startswith("_"))
FUNCTIONS |= ONE_VARIABLE | {"has", "in"}
"""The names of all functions, without receiver or namespace."""


# CEL escapes field names that are its keywords or that contain characters not allowed in identifiers.
_UNESCAPED = {escape: plain for plain, escape in CEL_ESCAPES.items()}


@dataclass(frozen=True, slots=True)
class Value:
    """The type of a subexpression, and its cost."""

    type: CelType
    cost: int


Scope = Mapping[str, CelType]


def resolve(tree: Expression, schema: SchemaNode, *, is_root: bool, optional_old_self: bool = False) -> Findings | None:
    """Look up every name of a rule, and find its type and cost.

    Args:
        tree: The rule.
        schema: The schema of ``self``.
        is_root: Whether ``self`` is a whole object. Rules see only the name in its metadata.
        optional_old_self: Whether ``oldSelf`` is an optional value.

    Returns:
        ``None`` when rules cannot see values of the schema.

    Raises:
        CelSyntaxError: The rule is nested too deeply.
    """
    own = type_of_schema(schema, has_metadata=is_root)
    if own is None:
        return None
    old = CelType("optional", (own,)) if optional_old_self else own
    return in_scope(tree, {"self": own, "oldSelf": old})


def in_scope(tree: Expression, scope: Scope) -> Findings:
    """Look up every name of an expression in a given scope of variables.

    Raises:
        CelSyntaxError: It is nested too deeply.
    """
    walk = _Walk()
    try:
        found = walk.visit(tree, scope)
    except RecursionError:  # about 300 levels; the API server's limit is 250
        raise CelSyntaxError("the rule is nested too deeply", 0) from None
    walk.findings.type, walk.findings.cost = found.type, found.cost
    return walk.findings


def _unescape(name: str) -> str:
    """The field that an escaped name stands for.

    >>> _unescape("__namespace__"), _unescape("a__dash__b"), _unescape("plain")
    ('namespace', 'a-b', 'plain')
    """
    if name.startswith("__") and name.endswith("__") and name[2:-2] in CEL_WORDS:
        return name[2:-2]
    for escaped, plain in _UNESCAPED.items():
        name = name.replace(escaped, plain)
    return name


class _Walk:
    def __init__(self) -> None:
        self.findings = Findings()

    def visit(self, tree: Expression, scope: Scope) -> Value:
        match tree:
            case Literal():
                return Value(_literal_type(tree), 0)
            case Name():
                return self._name(tree, scope)
            case Select():
                return self._select(tree, scope)
            case Index():
                return self._index(tree, scope)
            case Sequence():
                return self._sequence(tree, scope)
        return self._call(tree, scope)

    def _name(self, tree: Name, scope: Scope) -> Value:
        if tree.name == "oldSelf":
            self.findings.uses_old_self = True
        if tree.name in scope:
            return Value(scope[tree.name], 1)
        if tree.name not in TYPES:
            self._unknown("variable", tree.name, tree.offset, scope)
            return Value(DYN, 1)
        return Value(SCALARS["type"], 1)

    def _unknown(self, what: str, name: str, offset: int, known: Mapping[str, object] | frozenset[str]) -> None:
        self.findings.unknown.append(Unknown(what, name, offset, closest(name, known)))

    def _select(self, tree: Select, scope: Scope) -> Value:
        if _is_namespace(tree.operand, scope):
            return Value(DYN, 1)
        owner = self.visit(tree.operand, scope)
        if tree.optional:
            self._use(OPTIONAL, tree.offset, len(tree.field))
        return Value(self._member(owner.type, tree), owner.cost + 1)

    def _use(self, key: str, offset: int, length: int) -> None:
        self.findings.uses.append((key, offset, length))

    def _member(self, owner: CelType, tree: Select) -> CelType:
        if owner.kind == "optional":
            inner = self._member(owner.of[0], tree)
            return inner if inner.kind == "optional" else CelType("optional", (inner,))
        found = self._field(owner, tree)
        return CelType("optional", (found,)) if tree.optional else found

    def _field(self, owner: CelType, tree: Select) -> CelType:
        name = _unescape(tree.field)
        known: Mapping[str, CelType | None]
        match owner.kind:
            case "dyn":
                return DYN
            case "map":
                return unsized(owner.of[1])
            case "metadata":
                known = METADATA
            case "object":
                known = fields_of(owner)
            case _:
                known = {}
        if tree.field in CEL_WORDS and tree.field in known:
            self.findings.reserved.append(Unknown("field", tree.field, tree.offset, f"__{tree.field}__"))
        found = known.get(name)
        if found is None:
            self._unknown("field", name, tree.offset, frozenset(k for k, v in known.items() if v and k != name))
            return DYN
        return found

    def _index(self, tree: Index, scope: Scope) -> Value:
        owner, index = self.visit(tree.operand, scope), self.visit(tree.index, scope)
        if tree.optional:
            self._use(OPTIONAL, tree.offset, 1)
        found, kind = DYN, owner.type
        wrapped = kind.kind == "optional"
        kind = kind.of[0] if wrapped else kind
        if kind.kind in {"list", "map"}:
            wanted = SCALARS["int"] if kind.kind == "list" else kind.of[0]
            found = kind.of[-1]
            if not is_same(wanted, index.type):
                self._mistype(f"`{kind}` is indexed by `{wanted}`, found `{index.type}`", tree.offset, 1)
        elif kind.kind != "dyn":
            self._mistype(f"`{kind}` has no elements", tree.offset, 1)
        result = CelType("optional", (found,)) if (tree.optional or wrapped) and found.kind != "optional" else found
        return Value(result, add(owner.cost, index.cost, 1))

    def _sequence(self, tree: Sequence, scope: Scope) -> Value:
        found = [self.visit(item, scope) for item in tree.items]
        if tree.optional:
            self._use(OPTIONAL, tree.offset, 1)
        cost = add(*(value.cost for value in found))
        types = [_inside(value.type) if at in tree.optional else value.type for at, value in enumerate(found)]
        match tree.kind:
            case "list":
                return Value(CelType("list", (self._common(tree, types),), size=len(types)), add(cost, LIST_COST))
            case "map":
                of = (self._common(tree, types[::2]), self._common(tree, types[1::2]))
                return Value(CelType("map", of, size=len(types) // 2), add(cost, MAP_COST))
        return Value(DYN, add(cost, MESSAGE_COST))

    def _common(self, tree: Sequence, types: list[CelType]) -> CelType:
        """The common type of the elements of a list; ``[1, 'a']`` has none."""
        known = [kind for kind in types if kind.kind != "dyn"]
        for other in known[1:]:
            if not is_same(known[0], other):
                self._mistype(f"the elements of a list have one type, found `{known[0]}` and `{other}`", tree.offset, 1)
                return DYN
        if len(known) < len(types) or not known:
            return DYN
        if known[0].kind == "string":
            return text(max(kind.size for kind in known))
        return known[0]

    def _mistype(self, message: str, offset: int, length: int) -> None:
        self.findings.mistyped.append(Mistype(message, offset, length))

    def _call(self, tree: Call, scope: Scope) -> Value:
        if tree.function == "has" and tree.target is None:
            return self._has(tree, scope)
        in_namespace = tree.target is not None and _is_namespace(tree.target, scope)
        receiver = None if in_namespace else tree.target
        if tree.function in ONE_VARIABLE and receiver is not None:
            return self._macro(tree, receiver, scope)
        found = [self.visit(operand, scope) for operand in (receiver, *tree.arguments) if operand is not None]
        return self._result(tree, _key(tree, in_namespace=in_namespace), found)

    def _result(self, tree: Call, key: str, operands: list[Value]) -> Value:
        """The result of a call. Reports an unknown function, and operands that it does not accept."""
        types, costs = [value.type for value in operands], [value.cost for value in operands]
        is_known = key.startswith("_") or tree.function in FUNCTIONS
        if not is_known:
            self._unknown("function", tree.function, tree.offset, FUNCTIONS)
        if tree.function in _PATTERN_AT and tree.arguments:
            self._pattern(tree.arguments[_PATTERN_AT[tree.function]])
        result = result_of(key, types)
        if not key.startswith("_"):
            self._use(key, tree.offset, len(tree.function))
        elif key in _COMPARISONS and types[0].kind != types[1].kind and {each.kind for each in types} <= NUMBERS:
            self._use(MIXED_NUMBERS, tree.offset, len(tree.function))
        if result is not None:
            return Value(sized(key, types, result), call_cost(key, types, costs))
        if is_known:
            self._mistype(_misfit(tree, types), tree.offset, len(tree.function.strip("_")))
        return Value(DYN, add(*costs))

    def _has(self, tree: Call, scope: Scope) -> Value:
        (argument, *more) = tree.arguments or (Literal("null", tree.offset),)
        if more or not isinstance(argument, Select):
            self._mistype("`has` takes one field, as in `has(self.spec)`", tree.offset, len("has"))
            return Value(BOOL, 1)
        return Value(BOOL, self.visit(argument, scope).cost)

    def _pattern(self, tree: Expression) -> None:
        if isinstance(tree, Literal) and (pattern := text_of(tree)) is not None:
            self.findings.patterns.append((pattern, tree.offset))

    def _macro(self, tree: Call, target: Expression, scope: Scope) -> Value:
        """A macro such as ``list.all(x, ...)``.

        The first arguments name variables. The last one is evaluated for each element.
        """
        owner = self.visit(target, scope)
        is_optional = tree.function in {"optMap", "optFlatMap"}
        if owner.type.kind not in {"list", "map", "dyn", *(["optional"] if is_optional else [])}:
            message = f"`{tree.function}` ranges over lists and maps, found `{owner.type}`"
            self._mistype(message, tree.offset, len(tree.function))
        *names, last = tree.arguments or (Name("", tree.offset),)
        variables = _loop_variables(tree.function, names)
        self._use(f".{tree.function}/{len(variables)}", tree.offset, len(tree.function))
        if tree.function in TWO_VARIABLES and len(variables) == 1:
            self._unknown("function", tree.function, tree.offset, FUNCTIONS - TWO_VARIABLES)
        inner = {**scope, **dict(zip(variables, _loop_types(owner.type, len(variables)), strict=False))}
        conditions = [self.visit(extra, inner) for extra in names[len(variables) :]]
        value = self.visit(last, inner)
        for condition in [*conditions, *([value] if tree.function in _CONDITIONS else [])]:
            if not is_same(BOOL, condition.type):
                self._mistype(f"`{tree.function}` takes a condition, found `{condition.type}`", tree.offset, 1)
        if is_optional:
            return Value(CelType("optional", (value.type,)), add(owner.cost, value.cost, 2))
        each = add(value.cost, *(condition.cost for condition in conditions), LOOP_COSTS.get(tree.function, 2))
        cost = add(owner.cost, times(owner.type.size, each), 1, LIST_COST if tree.function in _LISTS else 0)
        return Value(_macro_type(tree.function, owner.type, value.type), cost)


_COMPARISONS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
# Which argument of a function is a pattern.
_PATTERN_AT = {"matches": -1, "find": 0, "findAll": 0}
_CONDITIONS = frozenset({"all", "exists", "exists_one", "existsOne", "filter"})
_LISTS = frozenset({"filter", "map"})


def _loop_variables(function: str, arguments: list[Expression]) -> list[str]:
    """The names of the variables among the arguments of a macro before its last one. A condition may follow them."""
    names = takewhile(lambda each: isinstance(each, Name), arguments)
    return [each.name for each in names if isinstance(each, Name)][: 1 if function in _ONE else 2]


_ONE = frozenset({"filter", "map", "optFlatMap", "optMap", "sortBy"})


def _loop_types(owner: CelType, count: int) -> tuple[CelType, ...]:
    match owner.kind:
        case "list":
            return (INT, owner.of[0]) if count > 1 else owner.of
        case "map":
            return owner.of if count > 1 else owner.of[:1]
        case "optional":
            return owner.of
    return (DYN,) * count


def _macro_type(function: str, owner: CelType, value: CelType) -> CelType:
    if function == "filter":
        return replace(owner, kind="list", of=owner.of[:1]) if owner.of else owner
    if function == "sortBy":
        return owner
    if function in {"map", "transformList"}:
        return CelType("list", (value,), size=owner.size)
    if function == "transformMap":
        return CelType("map", (owner.of[0] if owner.kind == "map" else INT, value), size=owner.size)
    return BOOL if function in _CONDITIONS else DYN


def _inside(kind: CelType) -> CelType:
    """The type inside an optional."""
    return kind.of[0] if kind.kind == "optional" else kind


def _literal_type(tree: Literal) -> CelType:
    match tree.kind:
        case "string":
            inner = tree.text.lstrip("bBrR").strip("\"'")
            prefix = tree.text[: len(tree.text) - len(tree.text.lstrip("bBrR"))].lower()
            kind = "bytes" if "b" in prefix else "string"
            return CelType(kind, size=len(inner.encode()))
        case "number":
            lower = tree.text.lower()
            if lower.endswith("u"):
                return SCALARS["uint"]
            is_fraction = not lower.startswith("0x") and any(mark in lower for mark in ".e")
            return SCALARS["double" if is_fraction else "int"]
    return SCALARS.get(tree.kind, DYN)


def _is_namespace(target: Expression, scope: Scope) -> bool:
    return isinstance(target, Name) and target.name in NAMESPACES and target.name not in scope


def _key(tree: Call, *, in_namespace: bool) -> str:
    if not tree.function[0].isalpha():
        return f"_{tree.function.removesuffix('_')}_"
    if tree.function == "in" and tree.target is None:
        return "_in_"
    if in_namespace and isinstance(tree.target, Name):
        return f"{tree.target.name}.{tree.function}"
    return f".{tree.function}" if tree.target is not None else tree.function


def _misfit(tree: Call, types: list[CelType]) -> str:
    shown = [f"`{kind}`" for kind in types]
    name = tree.function.removesuffix("_")
    if tree.target is not None:
        given = f" with {', '.join(shown[1:])}" if shown[1:] else ""
        return f"`{name}` does not apply to {shown[0] if shown else 'this'}{given}"
    return f"`{name}` does not apply to {' and '.join(shown) or 'nothing'}"
