"""Evaluates a rule on a value: a default when a CRD is generated, or an object in the explorer.

Only certain results count. Times, quantities and the functions of Kubernetes are not known here: they make the result
unknown, and an unknown result is not a finding. The API server validates a default as it is written, without the
defaults of its inner fields.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pykb.gen.cel.syntax import Call, CelSyntaxError, Expression, Index, Literal, Name, Select, Sequence, parse, text_of
from pykb.gen.ir import SchemaNode

_OPAQUE_FORMATS = frozenset({"date", "date-time", "datetime", "duration", "byte"})
_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
_WITH_VARIABLE = 2


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


def holds(condition: str, names: Mapping[str, object], *, matches: Callable[[str, str], bool]) -> bool:
    """Judge a condition on values without a schema, such as one of a webhook on a request.

    Args:
        condition: The expression.
        names: The variables, as plain JSON data or :data:`OPAQUE`. Others are unknown.
        matches: Searches a text for a pattern, with RE2's syntax.

    Raises:
        Unknown: It cannot be told.
        Failed: The evaluation fails.
    """
    try:
        return truth(_Evaluation(matches).value(_parsed(condition), {**names, "null": None}))
    except (CelSyntaxError, RecursionError):
        raise Unknown from None


_parsed = functools.cache(parse)


def _seen(value: object, schema: SchemaNode) -> object:
    """A value as CEL represents it."""
    if schema.all_of or (isinstance(value, str) and schema.get("format") in _OPAQUE_FORMATS):
        return OPAQUE
    if isinstance(value, Mapping):
        return _seen_fields(value, schema)
    if isinstance(value, list):
        items = schema.items
        return OPAQUE if items is None else [_seen(item, items) for item in value]
    if schema.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _seen_fields(value: Mapping[str, object], schema: SchemaNode) -> dict[str, object]:
    properties = schema.properties or {}
    found: dict[str, object] = {}
    for name, item in value.items():
        inner = properties[name].schema if name in properties else schema.values
        found[name] = OPAQUE if inner is None else _seen(item, inner)
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
            case Literal(kind="null") if node.text in names:
                found = None
            case Literal():
                found = literal(node)
            case Name():
                found = names.get(node.name, OPAQUE)
            case Select():
                found = self._select(node, names)
            case Index():
                found = _at(self.value(node.operand, names), self.value(node.index, names), optional=node.optional)
            case Sequence(kind="list") if not node.optional:
                found = [self.value(item, names) for item in node.items]
            case Call():
                found = self._call(node, names)
            case _:
                found = OPAQUE
        if isinstance(found, Opaque):
            raise Unknown
        return found

    def _select(self, node: Select, names: Mapping[str, object]) -> object:
        if node.optional:
            # Escaped names (`__dash__`) are left to the server.
            if "__" in node.field or isinstance(self.value(node.operand, names), Nothing | dict):
                raise Unknown
            return NOTHING
        operand = self._object(node, names)
        if node.field not in operand:
            raise Failed(f"no such key: {node.field}")
        return operand[node.field]

    def _object(self, node: Select, names: Mapping[str, object]) -> dict[str, object]:
        """The object of which a field is selected."""
        operand = self.value(node.operand, names)
        if "__" in node.field or isinstance(operand, Nothing):
            raise Unknown
        if not isinstance(operand, dict):
            raise no_overload()
        return operand

    def _call(self, node: Call, names: Mapping[str, object]) -> object:
        name, arguments = node.function, node.arguments
        if name in {"&&", "||"} and node.target is None:
            return self._logic(arguments, names, decides=name == "||")
        if name == "has" and len(arguments) == 1 and isinstance(arguments[0], Select):
            return arguments[0].field in self._object(arguments[0], names)
        if name == "?:":
            return self.value(arguments[1 if truth(self.value(arguments[0], names)) else 2], names)
        if node.target is not None and name in _MACROS and len(arguments) == _WITH_VARIABLE:
            return self._macro(node, names)
        given = [self.value(argument, names) for argument in arguments]
        if node.target is not None:
            given.insert(0, self.value(node.target, names))
            return self._method(name, given)
        return operate(name, given)

    def _logic(self, arguments: tuple[Expression, ...], names: Mapping[str, object], *, decides: bool) -> bool:
        """``&&`` or ``||``. One side can decide even when the other is unknown."""
        problems: list[Unknown | Failed] = []
        for argument in arguments:
            try:
                if truth(self.value(argument, names)) is decides:
                    return decides
            except (Unknown, Failed) as problem:
                problems.append(problem)
        for found in sorted(problems, key=lambda found: isinstance(found, Failed)):
            raise found
        return not decides

    def _macro(self, node: Call, names: Mapping[str, object]) -> object:
        variable, body = node.arguments
        items = self.value(node.target, names) if node.target is not None else None
        if not isinstance(variable, Name) or isinstance(items, Nothing):
            raise Unknown
        if not isinstance(items, list | dict):
            raise no_overload()
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
        answers = [truth(self.value(body, {**names, variable: item})) for item in items]
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
                raise no_overload()
        raise Unknown


def _at(whole: object, index: object, *, optional: bool) -> object:
    if optional or isinstance(whole, Nothing):
        raise Unknown
    if isinstance(whole, dict) and isinstance(index, str):
        if index not in whole:
            raise Failed(f"no such key: {index}")
        return whole[index]
    if isinstance(whole, list) and isinstance(index, int) and not isinstance(index, bool):
        if not 0 <= index < len(whole):
            raise Failed(f"index out of bounds: {index}")
        return whole[index]
    raise Unknown if isinstance(whole, list | dict) else no_overload()


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
            found = text_of(node)
            return OPAQUE if found is None else found
        case _:
            return OPAQUE


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
    if all(any(equal(one, other) for other in right) for one in left):
        raise Unknown  # they may be sets
    return False


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
