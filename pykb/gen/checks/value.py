"""Validates JSON values against a schema: defaults, values of enums, and keys of lists."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pykb.api.formats import checker
from pykb.gen.cel.evaluate import NO_VALUE, verdict
from pykb.gen.draft import patched, with_article
from pykb.gen.ir import Rule, SchemaNode
from pykb.meta.names import is_rfc_1035_label

# Python's compiler is enough where its syntax agrees with RE2's. A pattern with one of these goes to RE2.
_DIFFERENT = re.compile(r"\(\?|\\[^dDsSwWbBAnrtfv.\-\[\](){}*+?^$|/\\]|\{\d{4,}|\{.*\{|[*+?}]\+|\[\[|[^\x00-\x7f]")

# RE2 in C++ accepts it, Go's regexp does not.
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


@cache
def pattern_problem(pattern: str) -> str | None:
    """Why RE2 would not compile a pattern; ``None`` when it would."""
    if _ANY_BYTE.search(pattern):
        return "invalid escape sequence: `\\C`"
    if not _DIFFERENT.search(pattern):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about syntax that Python may change; RE2 does not
                re.compile(pattern)
        except (re.error, OverflowError) as error:
            return str(error)
        except RecursionError:  # RE2 has its own limit
            return _compiled(pattern)[1]
        return None
    return _compiled(pattern)[1]


def is_match(pattern: str, text: str) -> bool:
    """Whether a pattern matches somewhere in a text. A pattern that does not compile matches every text."""
    program = _compiled(pattern)[0] if pattern else None
    return program is None or program.search(text) is not None


@cache
def _compiled(pattern: str) -> tuple[Any, str | None]:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options), None
    except UnicodeEncodeError:
        return None, "half a surrogate pair is not a character"
    except re2.error as error:
        reason = error.args[0] if error.args else error
        return None, reason.decode() if isinstance(reason, bytes) else str(reason)


def misfits(value: object, schema: SchemaNode, path: str = "") -> Iterator[str]:
    """Why a value does not fit, in words. Yields nothing when it fits.

    Args:
        value: Plain JSON data.
        schema: Without references.
        path: Where in the outermost value this one is.
    """
    where = f" at `{path}`" if path else ""
    if value is None:
        if not schema.get("nullable") and schema.type is not None:
            yield f"`null`{where} is not allowed here"
            return
    elif wrong := _wrong_type(value, schema, where):
        yield wrong
        return
    enum = schema.get("enum")
    if isinstance(enum, list) and not any(_same(value, allowed) for allowed in enum):
        yield f"{_shown(value)}{where} is not one of the allowed values: {', '.join(map(_shown, enum))}"
    yield from _content(value, schema, path, where)
    for part in schema.all_of:
        yield from misfits(value, part, path)
    yield from _junctors(value, schema, path, where)


def _content(value: object, schema: SchemaNode, path: str, where: str) -> Iterator[str]:
    """Check the keywords that only apply to values of one type."""
    if isinstance(value, str):
        yield from _text(value, schema, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, where)
    elif isinstance(value, list):
        yield from _list(value, schema, path, where)
    elif isinstance(value, Mapping):
        yield from _object(value, schema, path, where)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a value violates.

    Attributes:
        rule: The rule.
        path: Where the value is in the outermost one.
        value: The value.
        reason: Why the evaluation fails. Empty if the rule is false.
    """

    rule: Rule
    path: str
    value: object
    reason: str

    def __str__(self) -> str:
        where = f" at `{self.path}`" if self.path else ""
        return f"{_shown(self.value)}{where} breaks the rule `{self.rule.rule}`" + (
            f": {self.reason}" * bool(self.reason)
        )


def broken_rules(value: object, schema: SchemaNode, path: str = "", *, old: object = NO_VALUE) -> Iterator[BrokenRule]:
    """The rules that a value certainly violates.

    Args:
        value: Plain JSON data.
        schema: Without references.
        path: Where in the outermost value this one is.
        old: The value before an update. The API server tolerates what an update leaves as it was
            (https://kep.k8s.io/4008). For a default, the server takes the default itself.
    """
    if old is not value and old == value:
        return
    for rule in schema.rules:
        # With `optionalOldSelf`, the old value is an optional, which is not known here.
        before = NO_VALUE if rule.optional_old_self else old
        reason = verdict(rule.rule, value, schema, matches=is_match, old=before)
        if reason is not None:
            yield BrokenRule(rule, path, value, reason)
    if isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from broken_rules(item, schema.items, f"{path}[{index}]", old=_old_item(item, value, old, schema))
    elif isinstance(value, Mapping):
        properties = schema.properties or {}
        for name, item in value.items():
            inner = properties[name].schema if name in properties else schema.values
            if inner is not None:
                before = old.get(name, NO_VALUE) if isinstance(old, Mapping) else NO_VALUE
                yield from broken_rules(item, inner, f"{path}.{name}".lstrip("."), old=before)


def _old_item(item: object, items: list[object], old: object, schema: SchemaNode) -> object:
    """The old element for an element of a list. Only lists with keys tell which it is."""
    if old is items:
        return item
    keys = schema.get("x-kubernetes-list-map-keys")
    if not isinstance(old, list) or not isinstance(item, Mapping) or not isinstance(keys, list):
        return NO_VALUE
    same = (each for each in old if isinstance(each, Mapping) and all(each.get(key) == item.get(key) for key in keys))
    return next(same, NO_VALUE)


def _junctors(value: object, schema: SchemaNode, path: str, where: str) -> Iterator[str]:
    for name, allowed in (("anyOf", range(1, 10**6)), ("oneOf", range(1, 2)), ("not", range(1))):
        said = schema.get(name)
        parts = said if isinstance(said, list) else [said]
        schemas = [patched(SchemaNode(), part) for part in parts if isinstance(part, Mapping)]
        fitting = sum(not any(misfits(value, part, path)) for part in schemas)
        if schemas and fitting not in allowed:
            yield f"{_shown(value)}{where} fits {fitting} of the schemas in `{name}`"


def with_defaults(value: object, schema: SchemaNode) -> object:
    """A value with defaults filled in. The server does this before it validates."""
    if isinstance(value, list) and schema.items is not None:
        return [with_defaults(item, schema.items) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = dict(value)
    properties = schema.properties or {}
    for name, prop in properties.items():
        default = prop.schema.keywords.get("default")
        if default is not None and _is_absent(name, found, prop.schema):
            found[name] = default.value
    inner = {name: properties[name].schema if name in properties else schema.values for name in found}
    return {name: item if (node := inner[name]) is None else with_defaults(item, node) for name, item in found.items()}


def _is_absent(name: str, value: Mapping[str, object], schema: SchemaNode) -> bool:
    """Whether the default of a field applies. A ``null`` that is not allowed counts as absent."""
    return name not in value or (value[name] is None and not schema.get("nullable"))


def _list(value: list[object], schema: SchemaNode, path: str, where: str) -> Iterator[str]:
    yield from _count(len(value), schema, "minItems", "maxItems", "elements", where)
    yield from _unique(value, schema, where)
    if schema.items is not None:
        for index, item in enumerate(value):
            yield from misfits(item, schema.items, f"{path}[{index}]")


def _unique(value: list[object], schema: SchemaNode, where: str) -> Iterator[str]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    identities = value
    if kind == "map" and isinstance(keys, list):
        identities = [{key: item.get(key) for key in keys} for item in value if isinstance(item, Mapping)]
    elif kind != "set":
        return
    for index, identity in enumerate(identities):
        if any(_same(identity, other) for other in identities[:index]):
            yield f"{_shown(identity)}{where} appears twice in a list of type `{kind}`"


def _object(value: Mapping[str, object], schema: SchemaNode, path: str, where: str) -> Iterator[str]:
    yield from _count(len(value), schema, "minProperties", "maxProperties", "keys", where)
    properties = schema.properties or {}
    if schema.get("x-kubernetes-embedded-resource"):
        yield from _resource(value, where)
    named = schema.get("required")  # names without a property, as in `anyOf`
    required = [name for name, prop in properties.items() if prop.required]
    for name in [*required, *(named if isinstance(named, list) else ())]:
        if name not in value:  # also with a default, which the server fills in later
            yield f"the required field `{path}.{name}` is missing".replace("`.", "`")
    for name, item in value.items():
        if name in properties:
            yield from misfits(item, properties[name].schema, f"{path}.{name}".lstrip("."))
        elif schema.values is not None:
            yield from misfits(item, schema.values, f"{path}.{name}".lstrip("."))
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and schema.type == "object":
            yield f"there is no field `{path}.{name}`".replace("`.", "`")


def _resource(value: Mapping[str, object], where: str) -> Iterator[str]:
    """Check ``apiVersion`` and ``kind`` of an embedded resource."""
    for name in ("apiVersion", "kind"):
        said = value.get(name)
        if name not in value:
            yield f"an embedded resource{where} needs `{name}`"
        elif not isinstance(said, str) or not said or (name == "kind" and not is_rfc_1035_label(said.lower())):
            yield f"{_shown(said)}{where} is not a valid `{name}` of an object"
        elif name == "apiVersion" and said.count("/") > 1:
            yield f"{_shown(said)}{where} is not a valid `{name}`: expected a group and a version, or a version"


_FORMATS: Mapping[type, str] = {int: "int64", float: "double"}


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _wrong_type(value: object, schema: SchemaNode, where: str) -> str:
    found, form = _json_type(value), schema.get("format")
    if schema.is_int_or_string:
        fits = found in {"integer", "string"}
    else:
        fits = schema.type is None or found == schema.type or (found == "integer" and schema.type == "number")
    if not fits:
        return f"expected {with_article(schema.type_name)}{where}, found {with_article(found)} {_shown(value)}"
    if schema.type is None and form and not isinstance(value, str | list) and form != _FORMATS.get(type(value)):
        return (
            f"{_shown(value)}{where} is not a valid `{form}`: without a type, the format tells which values are allowed"
        )
    return ""


def _text(value: str, schema: SchemaNode, where: str) -> Iterator[str]:
    yield from _count(len(value), schema, "minLength", "maxLength", "characters", where)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not is_match(pattern, value):
        yield f"{_shown(value)}{where} does not match `{pattern}`"
    form = schema.get("format")
    check = checker(form) if isinstance(form, str) else None
    if check is not None and not check(value):
        yield f"{_shown(value)}{where} is not a valid `{form}`"


def _number(value: float, schema: SchemaNode, where: str) -> Iterator[str]:
    least, most, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if isinstance(least, int | float) and (value <= least if schema.get("exclusiveMinimum") else value < least):
        yield f"{_shown(value)}{where} is below the minimum {_shown(least)}"
    if isinstance(most, int | float) and (value >= most if schema.get("exclusiveMaximum") else value > most):
        yield f"{_shown(value)}{where} is above the maximum {_shown(most)}"
    if isinstance(step, int) and isinstance(value, int) and step and value % step:
        yield f"{_shown(value)}{where} is not a multiple of {step}"
    if isinstance(step, float) and 0 < step < 1 and schema.get("type") == "integer":
        yield f"{_shown(value)}{where} is refused, as is every whole number, because of the step {_shown(step)}"


def _count(count: int, schema: SchemaNode, least: str, most: str, noun: str, where: str) -> Iterator[str]:
    minimum, maximum = schema.get(least), schema.get(most)
    if isinstance(minimum, int) and count < minimum:
        yield f"{count} {noun}{where} are fewer than `{least}: {minimum}`"
    if isinstance(maximum, int) and count > maximum:
        yield f"{count} {noun}{where} are more than `{most}: {maximum}`"


def _same(left: object, right: object) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _shown(value: object) -> str:
    import json

    return f"`{json.dumps(value, ensure_ascii=False)}`"
