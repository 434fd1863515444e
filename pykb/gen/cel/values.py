"""Values of CEL: literals, what operators make of values, and equality.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pykb.gen.cel.syntax import Literal

_LARGEST = 2**63


class Unknown(Exception):  # noqa: N818 - an answer, not an error
    """The value of an expression is not known here."""


class Failed(Exception):  # noqa: N818 - what CEL calls an error
    """The evaluation failed. The API server treats this as a violation. The message says why."""


class Opaque:
    """A value that is present and otherwise unknown."""


class Nothing:
    """An empty optional: the result of `?.` on a value without fields."""


OPAQUE = Opaque()
"""Stands for a value that is present and otherwise unknown."""
NOTHING = Nothing()


def literal(node: Literal) -> object:
    """The value of a literal."""
    match node.kind:
        case "bool":
            return node.text == "true"
        case "number" if re.fullmatch(r"[0-9]+", node.text):
            return int(node.text)
        case "number" if re.fullmatch(r"[0-9.]+(?:[eE][-+]?[0-9]+)?", node.text):
            return float(node.text)
        case "string":
            return _text(node.text)
        case _:
            return OPAQUE


def _text(written: str) -> object:
    """The text of a literal. Escapes that Python reads differently are left to the server."""
    if not re.match(r"[rR]?[\"']", written) or re.search(r"\\[?`]", written):
        return OPAQUE
    try:
        found = ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return OPAQUE
    return found if isinstance(found, str) else OPAQUE


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def operate(name: str, given: list[object]) -> object:
    """The value of an operator.

    Raises:
        Failed: It does not accept these values.
        Unknown: It cannot be told.
    """
    match name, given:
        case "!_", [bool() as truth]:
            return not truth
        case "size", [str() | list() | dict() as whole]:
            return len(whole)
        case (("==" | "!="), [left, right]):
            return equal(left, right) is (name == "==")
        case "in", [item, list() as whole]:
            return any(equal(item, other) for other in whole)
        case "in", [str() as key, dict() as whole]:
            return key in whole
        case "+", [str() as left, str() as right]:
            return left + right
    return _over_scalars(name, given)


def _over_scalars(name: str, given: list[object]) -> object:
    kinds = {_kind(value) for value in given}
    if kinds == {"number"}:
        return _COMPARISONS[name](*given) if name in _COMPARISONS else _arithmetic(name, given)
    if name in _COMPARISONS and kinds in ({"string"}, {"bool"}):
        return _COMPARISONS[name](*given)
    if name in _COMPARISONS or name in _ARITHMETIC:
        # Types were checked before. Only an int-or-string value can have the wrong type here.
        raise Unknown if kinds == {"list"} else no_overload()
    raise Unknown


_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "-_"})


def _kind(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case None:
            return "null"
        case Nothing():
            return "optional"
    return "list" if isinstance(value, list) else "map"


def no_overload() -> Failed:
    """The error of an operator or function that does not accept its arguments."""
    return Failed("no such overload: an operator or function does not accept its arguments")


def _arithmetic(name: str, given: list[object]) -> object:
    """Integer arithmetic. Division truncates toward zero, and an overflow of 64 bits is an evaluation error."""
    match name, given:
        case "-_", [int() as number]:
            found = -number
        case "+", [int() as left, int() as right]:
            found = left + right
        case "-", [int() as left, int() as right]:
            found = left - right
        case "*", [int() as left, int() as right]:
            found = left * right
        case (("/" | "%"), [int(), 0]):
            raise Failed("division by zero")
        case "/", [int() as left, int() as right]:
            found = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case "%", [int() as left, int() as right]:
            found = abs(left) % abs(right) * (-1 if left < 0 else 1)
        case _:
            raise Unknown
    if not -_LARGEST <= found < _LARGEST:
        raise Failed("integer overflow")
    return found


def equal(left: object, right: object) -> bool:
    """Whether two values are equal.

    Raises:
        Unknown: It cannot be told.
    """
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        raise Unknown
    if (_is_number(left) and _is_number(right)) or (type(left) is type(right) and not isinstance(left, list | dict)):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and _all_equal(left.values(), (right[name] for name in left))
    if isinstance(left, list) and isinstance(right, list):
        return _equal_lists(left, right)
    return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if _all_equal(left, right):
        return True
    raise Unknown  # they may be sets


def _all_equal(left: Iterable[object], right: Iterable[object]) -> bool:
    """Whether all pairs are equal. One that is not decides, even when others are unknown."""
    unknown = False
    for pair in zip(left, right, strict=True):
        try:
            if not equal(*pair):
                return False
        except Unknown:
            unknown = True
    if unknown:
        raise Unknown
    return True


def truth(value: object) -> bool:
    """A condition's value.

    Raises:
        Failed: It is not a truth value.
    """
    if not isinstance(value, bool):
        raise no_overload()
    return value
