"""The signatures of functions and operators, and overload resolution.

Source: the language definition of CEL, and https://kubernetes.io/docs/reference/using-api/cel/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product

from pykb.gen.cel.types import DYN, SCALARS, CelType

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


def result_of(function: str, types: Sequence[CelType]) -> CelType | None:
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


def _fit(overload: Overload, types: Sequence[CelType]) -> CelType | None:
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
