"""Evaluates a rule on a value: a default when a CRD is generated, or an object in the explorer.

Only certain results count. Times, quantities and the functions of Kubernetes are not known here: they make the result
unknown, and an unknown result is not a finding. The API server validates a default as it is written, without the
defaults of its inner fields.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from pykb.gen.cel.syntax import Call, CelSyntaxError, Expression, Index, Literal, Name, Select, Sequence, parse
from pykb.gen.cel.values import (
    NOTHING,
    OPAQUE,
    Failed,
    Nothing,
    Opaque,
    Unknown,
    literal,
    no_overload,
    operate,
    truth,
)
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
        operand = self.value(node.operand, names)
        # Escaped names (`__dash__`) are left to the server.
        if "__" in node.field or isinstance(operand, Nothing) or (node.optional and isinstance(operand, dict)):
            raise Unknown
        if not isinstance(operand, dict):
            if node.optional:
                return NOTHING
            raise no_overload()
        if node.field not in operand:
            raise Failed(f"no such key: {node.field}")
        return operand[node.field]

    def _call(self, node: Call, names: Mapping[str, object]) -> object:
        name, arguments = node.function, node.arguments
        if name in {"&&", "||"} and node.target is None:
            return self._logic(arguments, names, decides=name == "||")
        if name == "has" and len(arguments) == 1 and isinstance(arguments[0], Select):
            return self._has(arguments[0], names)
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

    def _has(self, node: Select, names: Mapping[str, object]) -> bool:
        operand = self.value(node.operand, names)
        if "__" in node.field or isinstance(operand, Nothing):
            raise Unknown
        if not isinstance(operand, dict):
            raise no_overload()
        return node.field in operand

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
