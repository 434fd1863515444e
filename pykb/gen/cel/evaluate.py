"""Evaluates a rule on a value: a default when a CRD is generated, or an object in the explorer.

Only certain results count. Times, quantities and the functions of Kubernetes are not known here: they make the result
unknown, and an unknown result is not a finding. The API server validates a default as it is written, without the
defaults of its inner fields.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pykb.gen.cel.syntax import Call, CelSyntaxError, Expression, Index, Literal, Name, Select, Sequence, parse
from pykb.gen.ir import SchemaNode

_OPAQUE_FORMATS = frozenset({"date", "date-time", "datetime", "duration", "byte"})
_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
_WITH_VARIABLE = 2
_LARGEST = 2**63


class Unknown(Exception):  # noqa: N818 - an answer, not an error
    """The value of an expression is not known here."""


class Failed(Exception):  # noqa: N818 - what CEL calls an error
    """The evaluation failed. The API server treats this as a violation. The message says why."""


class _Opaque:
    """A value that is present and otherwise unknown."""


class _Nothing:
    """An empty optional: the result of `?.` on a value without fields."""


NO_VALUE = object()
"""Stands for an old value that there is not."""


def verdict(
    rule: str, value: object, schema: SchemaNode, *, matches: Callable[[str, str], bool], old: object = NO_VALUE
) -> str | None:
    """Judge whether a value certainly violates a rule of its schema.

    Args:
        rule: The expression.
        value: Plain JSON data that fits the rest of the schema.
        schema: The schema with the rule, without references.
        matches: Searches a text for a pattern, with RE2's syntax.
        old: The value of ``oldSelf``. Without it, a rule that reads it may hold.

    Returns:
        Why the evaluation fails; empty when the rule is false; ``None`` when it may hold.
    """
    try:
        names = {"self": _seen(value, schema)}
        if old is not NO_VALUE:
            names["oldSelf"] = _seen(old, schema)
        found = _Evaluation(matches).value(_parsed(rule), names)
    except (Unknown, CelSyntaxError, RecursionError):
        return None
    except Failed as error:
        return str(error)
    return "" if found is False else None


_parsed = functools.cache(parse)
_OPAQUE = _Opaque()
_NOTHING = _Nothing()


def _seen(value: object, schema: SchemaNode) -> object:
    """A value as CEL represents it."""
    if schema.all_of or (isinstance(value, str) and schema.get("format") in _OPAQUE_FORMATS):
        return _OPAQUE
    if isinstance(value, Mapping):
        return _seen_fields(value, schema)
    if isinstance(value, list):
        items = schema.items
        return _OPAQUE if items is None else [_seen(item, items) for item in value]
    if schema.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _seen_fields(value: Mapping[str, object], schema: SchemaNode) -> dict[str, object]:
    properties = schema.properties or {}
    found: dict[str, object] = {}
    for name, item in value.items():
        inner = properties[name].schema if name in properties else schema.values
        found[name] = _OPAQUE if inner is None else _seen(item, inner)
    return found


class _Evaluation:
    def __init__(self, matches: Callable[[str, str], bool]) -> None:
        self._matches = matches

    def value(self, node: Expression, names: Mapping[str, object]) -> object:
        """The value of an expression.

        Raises:
            Unknown: It cannot be told.
        """
        match node:
            case Literal():
                found = _literal(node)
            case Name():
                found = names.get(node.name, _OPAQUE)
            case Select():
                found = self._select(node, names)
            case Index():
                found = _at(self.value(node.operand, names), self.value(node.index, names), optional=node.optional)
            case Sequence(kind="list") if not node.optional:
                found = [self.value(item, names) for item in node.items]
            case Call():
                found = self._call(node, names)
            case _:
                found = _OPAQUE
        if isinstance(found, _Opaque):
            raise Unknown
        return found

    def _select(self, node: Select, names: Mapping[str, object]) -> object:
        operand = self.value(node.operand, names)
        # Escaped names (`__dash__`) are left to the server.
        if "__" in node.field or isinstance(operand, _Nothing) or (node.optional and isinstance(operand, dict)):
            raise Unknown
        if not isinstance(operand, dict):
            if node.optional:
                return _NOTHING
            raise _no_overload()
        if node.field not in operand:
            message = f"no such key: {node.field}"
            raise Failed(message)
        return operand[node.field]

    def _call(self, node: Call, names: Mapping[str, object]) -> object:
        name, arguments = node.function, node.arguments
        if name in {"&&", "||"} and node.target is None:
            return self._logic(arguments, names, decides=name == "||")
        if name == "has" and len(arguments) == 1 and isinstance(arguments[0], Select):
            return self._has(arguments[0], names)
        if name == "?:":
            return self.value(arguments[1 if _truth(self.value(arguments[0], names)) else 2], names)
        if node.target is not None and name in _MACROS and len(arguments) == _WITH_VARIABLE:
            return self._macro(node, names)
        given = [self.value(argument, names) for argument in arguments]
        if node.target is not None:
            given.insert(0, self.value(node.target, names))
            return self._method(name, given)
        return _operator(name, given)

    def _logic(self, arguments: tuple[Expression, ...], names: Mapping[str, object], *, decides: bool) -> bool:
        """``&&`` or ``||``. One side can decide even when the other is unknown."""
        problems: list[Unknown | Failed] = []
        for argument in arguments:
            try:
                if _truth(self.value(argument, names)) is decides:
                    return decides
            except (Unknown, Failed) as problem:
                problems.append(problem)
        for found in sorted(problems, key=lambda found: isinstance(found, Failed)):
            raise found
        return not decides

    def _has(self, node: Select, names: Mapping[str, object]) -> bool:
        operand = self.value(node.operand, names)
        if "__" in node.field or isinstance(operand, _Nothing):
            raise Unknown
        if not isinstance(operand, dict):
            raise _no_overload()
        return node.field in operand

    def _macro(self, node: Call, names: Mapping[str, object]) -> object:
        variable, body = node.arguments
        items = self.value(node.target, names) if node.target is not None else None
        if not isinstance(variable, Name) or isinstance(items, _Nothing):
            raise Unknown
        if not isinstance(items, list | dict):
            raise _no_overload()
        try:
            return self._over(items, node.function, variable.name, body, names)
        except Failed:
            raise Unknown from None  # another element may decide the result

    def _over(
        self,
        items: list[object] | dict[str, object],
        macro: str,
        variable: str,
        body: Expression,
        names: Mapping[str, object],
    ) -> object:
        if macro == "map":
            return [self.value(body, {**names, variable: item}) for item in items]
        answers = [_truth(self.value(body, {**names, variable: item})) for item in items]
        if macro == "filter":
            return [item for item, answer in zip(items, answers, strict=True) if answer]
        if macro == "exists_one":
            return answers.count(True) == 1
        return all(answers) if macro == "all" else any(answers)

    def _method(self, name: str, given: list[object]) -> object:
        match name, given:
            case "size", [str() | list() | dict() as whole]:
                return len(whole)
            case "startsWith", [str() as text, str() as part]:
                return text.startswith(part)
            case "endsWith", [str() as text, str() as part]:
                return text.endswith(part)
            case "contains", [str() as text, str() as part]:
                return part in text
            case "matches", [str() as text, str() as pattern]:
                return self._matches(pattern, text)
            case (("size" | "startsWith" | "endsWith" | "contains" | "matches"), _):
                raise _no_overload()
        raise Unknown


def _at(whole: object, index: object, *, optional: bool) -> object:
    if optional or isinstance(whole, _Nothing):
        raise Unknown
    if isinstance(whole, dict) and isinstance(index, str):
        if index not in whole:
            message = f"no such key: {index}"
            raise Failed(message)
        return whole[index]
    if isinstance(whole, list) and isinstance(index, int) and not isinstance(index, bool):
        if not 0 <= index < len(whole):
            message = f"index out of bounds: {index}"
            raise Failed(message)
        return whole[index]
    raise Unknown if isinstance(whole, list | dict) else _no_overload()


def _literal(node: Literal) -> object:
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
            return _OPAQUE


def _text(written: str) -> object:
    """The text of a literal. Escapes that Python reads differently are left to the server."""
    if not re.match(r"[rR]?[\"']", written) or re.search(r"\\[?`]", written):
        return _OPAQUE
    try:
        found = ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return _OPAQUE
    return found if isinstance(found, str) else _OPAQUE


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _operator(name: str, given: list[object]) -> object:
    match name, given:
        case "!_", [bool() as truth]:
            return not truth
        case "size", [str() | list() | dict() as whole]:
            return len(whole)
        case (("==" | "!="), [left, right]):
            return _equal(left, right) is (name == "==")
        case "in", [item, list() as whole]:
            return any(_equal(item, other) for other in whole)
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
        raise Unknown if kinds == {"list"} else _no_overload()
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
        case _Nothing():
            return "optional"
    return "list" if isinstance(value, list) else "map"


def _no_overload() -> Failed:
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
            message = "division by zero"
            raise Failed(message)
        case "/", [int() as left, int() as right]:
            found = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case "%", [int() as left, int() as right]:
            found = abs(left) % abs(right) * (-1 if left < 0 else 1)
        case _:
            raise Unknown
    if not -_LARGEST <= found < _LARGEST:
        message = "integer overflow"
        raise Failed(message)
    return found


def _equal(left: object, right: object) -> bool:
    for value in (left, right):
        if isinstance(value, _Opaque):
            raise Unknown
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (left, right)]
    if all(numbers) or (type(left) is type(right) and not isinstance(left, list | dict)):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and _all_equal(left.values(), (right[name] for name in left))
    if _kind(left) != _kind(right) or not isinstance(left, list) or not isinstance(right, list):
        return False
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
            if not _equal(*pair):
                return False
        except Unknown:
            unknown = True
    if unknown:
        raise Unknown
    return True


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise _no_overload()
    return value
