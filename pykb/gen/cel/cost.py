"""The apiserver's estimate of the worst-case cost of a call and the size of its result.

A unit is about one step of evaluation. A text costs a tenth of its bytes, a regular expression a quarter.
Source: cel-go's static cost analysis with the apiserver's additions (KEP-2876).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pykb.gen.cel.types import ENDLESS, CelType

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


def size_of(kind: CelType) -> int:
    """The cost of comparing a value, in units of its size."""
    return 0 if kind.kind in _SCALARS | _EQUATABLE else kind.size


def call_cost(  # noqa: C901 - one branch for each way of counting
    function: str, types: Sequence[CelType], costs: Sequence[int]
) -> int:
    """The cost of a call, including its arguments."""
    arguments = add(*costs)
    match function:
        case "_&&_" | "_||_":
            return arguments
        case "_?:_":
            return add(costs[0], max(costs[1:]))
        case "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_":
            return add(arguments, scaled(min(map(size_of, types)), _TEXT))
        case "_in_" if len(types) == 2 and types[1].kind == "list":
            return add(arguments, types[1].size)
        case "_+_" if len(types) == 2 and types[0].kind in {"string", "bytes"}:
            return add(arguments, scaled(add(types[0].size, types[1].size), _TEXT))
        case ".startsWith" | ".endsWith":
            return add(arguments, scaled(types[-1].size, _TEXT))
        case ".contains":
            return add(arguments, times(scaled(types[0].size, _TEXT), scaled(types[-1].size, _TEXT)))
        case ".matches" | "matches" | ".find" | ".findAll":
            read = scaled(add(types[0].size, 1), _TEXT)
            return add(arguments, times(read, scaled(types[1].size, _PATTERN)))
        case ".isSorted" | ".sum" | ".min" | ".max" | ".indexOf" | ".lastIndexOf":
            return add(arguments, _elements(types[0]), 1)
        case "sets.contains" | "sets.equivalent" | "sets.intersects":
            pairs = times(types[0].size, types[-1].size)
            return add(arguments, times(2, pairs) if function == "sets.equivalent" else pairs)
        case ".join":
            return add(arguments, _elements(types[0]))
    if function in _READERS and types:
        return add(arguments, scaled(types[-1 if function.startswith(".contains") else 0].size, _TEXT))
    return add(arguments, 1)


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
