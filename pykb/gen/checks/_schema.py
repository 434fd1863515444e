"""Checks a schema, node by node: keywords, texts, values, bounds, patterns, lists, rules, structure.

Source of the keywords: JSONSchemaProps of apiextensions.k8s.io/v1, and its validation. Of the structure:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
Junctors (``allOf``, ``anyOf``, ``oneOf`` and ``not``) may constrain values and must not define structure.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pykb.diagnostics import Code, Diagnostic, Diagnostics, Label, Span
from pykb.diagnostics.codes.crd import (
    BOUNDS,
    DEFAULT_VALUE,
    ENUM_VALUE,
    EXTERNAL_DOCS,
    FORMAT,
    FRACTION_BOUND,
    LIST_TOPOLOGY,
    NULLABLE_ENUM,
    PATTERN,
    SCHEMA_KEYWORD,
    STRUCTURAL,
    TEXT,
    TYPE_NAME,
    UNIQUE_ITEMS,
)
from pykb.diagnostics.codes.markers import MARKER_CONFLICT
from pykb.diagnostics.suggest import did_you_mean
from pykb.gen._since import check_format
from pykb.gen.cel.types import element_bound
from pykb.gen.checks.form import SCHEMA, unknown_fields
from pykb.gen.checks.value import broken_rules, misfits, pattern_problem
from pykb.gen.draft import patched
from pykb.gen.ir import LIMITS, RULES, Keyword, SchemaNode
from pykb.project.settings import Minor

# kubernetes/apiextensions-apiserver, pkg/apiserver/validation/formats.go, and the number formats of OpenAPI.
FORMATS = frozenset(
    [
        *("bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "duration", "email"),
        *("hexcolor", "hostname", "ipv4", "ipv6", "isbn", "isbn10", "isbn13", "mac", "password", "rgbcolor", "ssn"),
        *("uri", "uuid", "uuid3", "uuid4", "uuid5", "k8s-long-name", "k8s-short-name"),
        *("int32", "int64", "float", "double"),
    ],
)
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_Problem = tuple[Code, str, *tuple[str, ...]]
"""The code of the mistake, the problem, and what to type."""
_COMPARISONS: dict[tuple[str, bool], Callable[[float, float], bool]] = {
    ("minimum", False): operator.ge,
    ("minimum", True): operator.gt,
    ("maximum", False): operator.le,
    ("maximum", True): operator.lt,
}
_FLAGS = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_WHOLE = 2.0**63  # bounds are floats, and 2**63 - 1 rounds to this one
_PAIRS = tuple(dict.fromkeys(LIMITS.values()))


def check_constraints(node: SchemaNode, what: str, reported: Diagnostics) -> Iterator[Diagnostic]:
    """Check the keywords of one schema. A contradiction of markers that was ``reported`` is not reported again."""
    checks = {"type": _type} if node.get("type") not in {None, *_TYPES} else _CHECKS
    for name, check in checks.items():
        keyword = node.keywords.get(name)
        for code, message, *help_ in check(keyword.value, node, what) if keyword is not None else ():
            yield code.at((keyword and keyword.span) or node.span, message, *help_)
    if checks is _CHECKS:
        yield from _check_bounds(node, what, reported)
        if node.type == "number":
            yield from _check_fractions(node, what)


def _type(value: object, _: SchemaNode, _what: str) -> Iterator[_Problem]:
    expected = ", ".join(f"`{name}`" for name in _TYPES)
    message = f"`{value}` is not a type of JSON schema: expected one of {expected}"
    yield TYPE_NAME, message, *did_you_mean(str(value), _TYPES)


def _format(value: object, _: SchemaNode, what: str) -> Iterator[_Problem]:
    if value not in FORMATS:
        message = f"the API server does not know the format `{value}` of {what}, and ignores it"
        yield FORMAT, message, *did_you_mean(str(value), FORMATS)


def _unique(value: object, _: SchemaNode, what: str) -> Iterator[_Problem]:
    if value is True:
        yield UNIQUE_ITEMS, f"`uniqueItems: true` on {what} is refused by the API server", "+listType=set"


def _pattern(value: object, _: SchemaNode, what: str) -> Iterator[_Problem]:
    problem = pattern_problem(value) if isinstance(value, str) else None
    if problem is not None:
        message = (
            f"the pattern of {what}, `{value}`, is not a regular expression that the API server accepts: {problem}"
        )
        yield PATTERN, message, _PATTERN_HELP


_PATTERN_HELP = "RE2 has no look-around, back-references, possessive quantifiers or atomic groups: use a CEL rule"


def _docs(value: object, _: SchemaNode, what: str) -> Iterator[_Problem]:
    url = str(value.get("url", "")) if isinstance(value, dict) else "/"
    if not _URL.fullmatch(url):
        message = f"the documentation of {what} is at `{url}`, which is not a URL"
        yield EXTERNAL_DOCS, message, '+kubebuilder:externalDocs:url="https://..."'


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20]+|/[^\s\x00-\x20]*")


def _enum(values: object, node: SchemaNode, what: str) -> Iterator[_Problem]:
    if not isinstance(values, list):
        return
    if node.get("nullable"):
        message = f"{what} may be null and has an enum: the API server refuses null there, whatever the enum says"
        yield NULLABLE_ENUM, message, "make it optional instead: `... | None = None`"
    plain = node.without("enum")
    reason = next((reason for value in values for reason in misfits(value, plain)), None)
    if reason is not None:
        yield ENUM_VALUE, f"an enum value of {what} cannot occur: {reason}"
    shown = [json.dumps(value) for value in values]
    for text in dict.fromkeys(text for text in shown if shown.count(text) > 1):
        yield ENUM_VALUE, f"`{text}` is in the enum of {what} twice"


def _default(value: object, node: SchemaNode, what: str) -> Iterator[_Problem]:
    for reason in list(misfits(value, node)) or broken_rules(value, node, old=value):
        yield DEFAULT_VALUE, f"the default of {what} does not fit its schema: {reason}"


_CHECKS = {
    "pattern": _pattern,
    "format": _format,
    "uniqueItems": _unique,
    "enum": _enum,
    "externalDocs": _docs,
    "default": _default,
}


def _check_fractions(node: SchemaNode, what: str) -> Iterator[Diagnostic]:
    """Report bounds that would accept or refuse a wrong integer."""
    for name, flag in _FLAGS.items():
        keyword = node.keywords.get(name)
        if keyword is None or not isinstance(keyword.value, float) or keyword.value.is_integer():
            continue
        bound, whole = keyword.value, int(keyword.value)
        compare = _COMPARISONS[name, node.get(flag) is True]
        for value in (whole - 1, whole, whole + 1):
            if compare(value, bound) != compare(value, whole):
                verb = "refuses" if compare(value, bound) else "accepts"
                yield FRACTION_BOUND.at(
                    keyword.span or node.span,
                    f"the API server {verb} the whole number {value} for {what} in spite of `{name}: {bound}`",
                    "use a whole bound, or an integer of a smaller unit",
                    notes="it ignores the fraction of a bound for whole numbers",
                )
    step = node.keywords.get("multipleOf")
    if step is not None and isinstance(step.value, float) and 0 < step.value < 1:
        yield FRACTION_BOUND.at(
            step.span or node.span,
            f"the API server refuses all whole numbers for {what} because of `multipleOf: {step.value}`",
            "use an integer of a smaller unit",
            notes="it ignores the fraction of a step for whole numbers, which leaves zero",
        )


def _check_bounds(node: SchemaNode, what: str, reported: Diagnostics) -> Iterator[Diagnostic]:
    yield from _check_each_bound(node, what)
    for least, most in _PAIRS:
        lows, highs = _all(node, least), _all(node, most)
        if lows and highs:
            yield from _check_room(
                (least, max(lows, key=_number)), (most, min(highs, key=_number)), node, what, reported
            )


def _all(node: SchemaNode, name: str) -> list[Keyword]:
    return [part.keywords[name] for part in (node, *node.all_of) if name in part.keywords]


def _check_each_bound(node: SchemaNode, what: str) -> Iterator[Diagnostic]:
    for name in (name for pair in _PAIRS for name in pair):
        for bound in _all(node, name):
            at, is_number = bound.span or node.span, name in LIMITS["number"]
            if is_number and not -_WHOLE <= float(_number(bound)) < _WHOLE:
                yield BOUNDS.at(
                    at,
                    f"`{name}` of {what} is `{bound.value}`, but the API server compares whole numbers in 64 bits, "
                    "which cannot hold it",
                    "remove it: no whole number beyond 64 bits is accepted anyway",
                    notes="it would refuse or accept all of them",
                )
            elif not is_number and _number(bound) < 0:
                yield BOUNDS.at(at, f"`{name}` of {what} is below zero: {bound.value}")
    step = node.keywords.get("multipleOf")
    if step is not None and isinstance(step.value, int | float) and step.value <= 0:
        yield BOUNDS.at(step.span or node.span, f"`multipleOf` of {what} must be above zero: {step.value}")
    for limit in LIMITS["number"]:
        flag = node.keywords.get(_exclusive(limit))
        if flag is not None and flag.value and limit not in node.keywords:
            yield BOUNDS.at(
                flag.span or node.span,
                f"`{_exclusive(limit)}` of {what} excludes nothing without a `{limit}`",
                f"+kubebuilder:validation:{limit.capitalize()}=...",
            )


def _exclusive(bound: str) -> str:
    return f"exclusive{bound.capitalize()}"


def _check_room(
    low: tuple[str, Keyword], high: tuple[str, Keyword], node: SchemaNode, what: str, reported: Diagnostics
) -> Iterator[Diagnostic]:
    """Check that some value lies between two bounds."""
    is_open = [node.get(_exclusive(name)) is True for name, _ in (low, high)]
    at, other = low[1].span, high[1].span
    if not _is_empty(low[1], high[1], *is_open, whole=node.type == "integer") or any(
        each.code is MARKER_CONFLICT and each.span in (at, other) for each in reported
    ):
        return
    over, under = (
        f"`{name}: {bound.value}`" + (" (exclusive)" if open_ else "")
        for (name, bound), open_ in zip((low, high), is_open, strict=True)
    )
    yield BOUNDS.at(
        at or other or node.span,
        f"no value of {what} is between {over} and {under}",
        labels=(Label(other, f"`{high[0]}`"),) if other and other != at else (),
    )


def _number(keyword: Keyword) -> float:
    return keyword.value if isinstance(keyword.value, int | float) else 0


def _is_empty(low: Keyword, high: Keyword, over: bool, under: bool, *, whole: bool) -> bool:
    least, most = _number(low), _number(high)
    if whole:
        first = math.floor(least) + 1 if over else math.ceil(least)
        last = math.ceil(most) - 1 if under else math.floor(most)
        return first > last
    return least > most or (least == most and (over or under))


_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_LIST_TYPES = ("atomic", "set", "map")
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


_ListProblem = tuple[Keyword, str, *tuple[str, ...]]
"""The keyword, the problem, and what to type."""


def _check_list(node: SchemaNode, what: str) -> Iterator[Diagnostic]:
    """Check that a map list has keys that identify its items, and that a set has comparable elements."""
    for keyword, message, *help_ in _list_problems(node, what):
        yield LIST_TOPOLOGY.at(keyword.span or node.span, message, *help_)


def _list_problems(node: SchemaNode, what: str) -> Iterator[_ListProblem]:
    kind, keys = node.keywords.get(_TYPE), node.keywords.get(_KEYS)
    if kind is not None and node.type != "array":
        instead = ("for maps and structs: `MapAtomic()`, `MapGranular()`",) if node.type == "object" else ()
        yield kind, f"`{kind.spelling or _TYPE}` applies to lists, but {what} is `{node.type_name}`", *instead
    elif keys is not None and keys.value and node.get(_TYPE) != "map":
        found = f"is one of type `{kind.value}`" if kind is not None else "has no list type"
        yield keys, f"{what} has list keys, which belong to a list of type `map`, but {found}", "+listType=map"
    elif kind is not None:
        yield from _of_list(kind, keys, node.items, what)


def _of_list(kind: Keyword, keys: Keyword | None, items: SchemaNode | None, what: str) -> Iterator[_ListProblem]:
    if kind.value not in _LIST_TYPES:
        yield kind, f"`{kind.value}` is not a valid list type of {what}: expected `atomic`, `set` or `map`"
    elif kind.value != "atomic" and items is not None:
        by = keys if kind.value == "map" and keys is not None else kind
        if items.get("nullable"):
            yield by, f"{what} is a list of type `{kind.value}`, whose elements cannot be null"
        yield from (_of_set if kind.value == "set" else _of_map)(by, items, what)


def _of_set(kind: Keyword, items: SchemaNode, what: str) -> Iterator[_ListProblem]:
    if items.type == "object" and items.get("x-kubernetes-map-type") != "atomic":
        message = f"{what} is a list of type `set` with objects in it that are not atomic values"
        yield kind, message, "+listType=map", "+listType=atomic"
    if items.type == "array" and items.get(_TYPE) not in {None, "atomic"}:
        yield kind, f"{what} is a list of type `set` with lists in it that are not atomic values", "+listType=atomic"


def _of_map(keys: Keyword, items: SchemaNode, what: str) -> Iterator[_ListProblem]:
    if items.type != "object":
        found = f"its elements are `{items.type_name}`"
        yield keys, f"{what} is a list of type `map`, which holds objects, but {found}", "+listType=set"
    elif not keys.value or not isinstance(keys.value, list):
        yield keys, f"{what} is a list of type `map` without a key", "+listMapKey=name"
    else:
        names = [str(key) for key in keys.value]
        for key in dict.fromkeys(names):
            yield from _of_key(key, keys, items, what)
            if names.count(key) > 1:
                yield keys, f"the list key `{key}` of {what} is named twice"


def _of_key(key: str, keys: Keyword, items: SchemaNode, what: str) -> Iterator[_ListProblem]:
    properties = items.properties or {}
    prop = properties.get(key)
    if prop is None:
        fields = ", ".join(f"`{name}`" for name in properties)
        message = f"the list key `{key}` is not a field of the elements of {what}"
        yield keys, message, *(did_you_mean(key, properties) or (f"fields: {fields}",))
        return
    if prop.schema.type not in _SCALARS and not prop.schema.is_int_or_string:
        yield keys, f"the list key `{key}` of {what} is `{prop.schema.type_name}`, but a key must be a scalar"
    if not prop.required and prop.schema.get("default") is None:
        message = f"the list key `{key}` of {what} can be missing, but a key must be required or have a default"
        yield keys, message, f"make `{prop.attribute}` a required field, or give it a default"
    if prop.schema.get("nullable"):
        yield keys, f"the list key `{key}` of {what} can be null, but a key must have a value"


_UNSUPPORTED = ("$ref", "$schema", "id", "definitions", "dependencies", "patternProperties", "additionalItems")


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a schema is: how often it can occur (``None`` means unbounded), and whether its old value is known."""

    occurrences: int | None = 1
    has_old: bool = True

    def inside(self, node: SchemaNode) -> int | None:
        """How often an element of a list or map can occur here."""
        bound = element_bound(node)
        return None if self.occurrences is None or bound is None else self.occurrences * bound


@dataclass(slots=True)
class SchemaChecks:
    """Checks each part of a schema once, however often its type is used. Adds up the cost of its rules."""

    diagnostics: Diagnostics
    oldest: Minor | None
    _seen: dict[tuple[int, _Context], int] = field(default_factory=dict)
    _kept: list[SchemaNode] = field(default_factory=list)

    def check_root(self, schema: SchemaNode, *, has_status: bool) -> int:
        """Check the schema of a kind. Returns the worst-case cost of all its rules."""
        cost = self._node(schema, "the object", _Context(), schema.span, is_root=True)
        self.diagnostics.extend(check_whole(schema, has_status=has_status))
        return cost + self._children(schema, "", _Context())

    def _visit(self, node: SchemaNode, path: str, context: _Context, at: Span | None) -> int:
        # A type costs more inside a list than outside. The context is part of the key for that reason.
        key = (id(node), context)
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = 0
        self._kept.append(node)  # an id is unique only while its object lives
        cost = self._node(node, f"`{path}`", context, node.span or at)
        self._seen[key] = cost + self._children(node, path, context, at)
        return self._seen[key]

    def _node(self, node: SchemaNode, what: str, context: _Context, at: Span | None, *, is_root: bool = False) -> int:
        """Check a schema without its sub-schemas. Returns the cost of its rules."""
        self.diagnostics.extend(_check_text(node, what, at))
        wrong = [problem for part in (node, *node.all_of) for problem in _check_keywords(part, what, at)]
        self.diagnostics.extend(wrong)
        if wrong:
            return 0
        self.diagnostics.extend(check_structure(node, what, at))
        self.diagnostics.extend(check_junctors(node, what, at))
        self.diagnostics.extend(check_constraints(node, what, self.diagnostics))
        self.diagnostics.extend(_check_list(node, what))
        self.diagnostics.extend(check_format(node.keywords.get("format"), what, self.oldest, at))
        if not node.rules:
            return 0
        from pykb.gen.checks._rules import Place, check_rules  # loads the compiler of CEL

        place = Place(node, what, at, context.occurrences, self.diagnostics, is_root=is_root, oldest=self.oldest)
        return check_rules(place, has_old=context.has_old)

    def _children(self, node: SchemaNode, path: str, context: _Context, at: Span | None = None) -> int:
        cost = 0
        # An atomic value is replaced as a whole. Its parts have no old values.
        inner = replace(context, has_old=context.has_old and node.get("x-kubernetes-map-type") != "atomic")
        for name, prop in (node.properties or {}).items():
            if prop.span is not None:  # built-in types need no check
                cost += self._visit(prop.schema, f"{path}.{name}".lstrip("."), inner, prop.span)
        if node.items is not None:
            has_old = context.has_old and node.get("x-kubernetes-list-type") == "map"
            cost += self._visit(node.items, f"{path}[*]", _Context(context.inside(node), has_old), at)
        if node.values is not None:
            cost += self._visit(node.values, f"{path}.*", _Context(context.inside(node), context.has_old), at)
        return cost


def _check_keywords(node: SchemaNode, what: str, at: Span | None) -> Iterator[Diagnostic]:
    """Check that keywords are known and have values of the right form.

    Args:
        node: The schema. Its sub-schemas are checked separately.
        what: How messages call its value.
        at: Where it is declared.
    """
    for name, keyword in node.keywords.items():
        message, *help_ = _problem(name, keyword, what)
        if message:
            yield SCHEMA_KEYWORD.at(keyword.span or at, message, *help_)


def _problem(name: str, keyword: Keyword, what: str) -> tuple[str, ...]:
    """What is wrong with a keyword (empty if nothing is), and what to type."""
    if name in _UNSUPPORTED or (name == "items" and isinstance(keyword.value, list)):
        kind = "a list of schemas as `items`" if name == "items" else f"`{name}`"
        return (f"the schema of {what} has {kind}, which the API server refuses in a CRD",)
    for path, unknown, known in unknown_fields({name: keyword.value}):
        return (
            f"the schema of {what} has `{path}{unknown}`, which is not a schema keyword of a CRD",
            *did_you_mean(unknown, known),
        )
    fault = next(SCHEMA.fields[name].faults(keyword.value, name), None) if keyword.value is not None else None
    return (f"`{fault.path}` of {what} has the wrong form: {fault.message}" if fault is not None else "",)


def _check_text(node: SchemaNode, what: str, at: Span | None) -> Iterator[Diagnostic]:
    """Find keywords and names of fields that cannot be written.

    Args:
        node: The schema. Its sub-schemas are checked separately.
        what: How messages call its value.
        at: Where it is declared.
    """
    found: list[tuple[str, Span | None]] = [
        (name, keyword.span)
        for name, keyword in node.keywords.items()
        for text in _texts(keyword.value)
        if not _is_whole(text)
    ]
    found += [(RULES, rule.span) for rule in node.rules for text in _texts(rule.parts) if not _is_whole(text)]
    found += [("name", prop.span) for name, prop in (node.properties or {}).items() if not _is_whole(name)]
    for name, span in found:
        yield TEXT.at(
            span or at,
            f"the {name} of {what} has half of a surrogate pair, which is not a character",
            "write the character itself, or escape the whole character: `\\U0001f600`",
        )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
MAP_TYPE = "x-kubernetes-map-type"
_KEEP = "+kubebuilder:pruning:PreserveUnknownFields"
# With a status subresource, the server validates the status separately. The root may have only these keywords then.
_OF_A_WHOLE = frozenset(
    [
        *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required"),
        *("externalDocs", "example", PRESERVE),
    ],
)
_StructureProblem = tuple[str, str, tuple[str, ...]]
"""The keyword, if there is one, the message, and what to type."""


def check_structure(node: SchemaNode, what: str, at: Span | None) -> Iterator[Diagnostic]:
    """Check one schema. Its sub-schemas are checked separately.

    Args:
        node: Without references.
        what: How messages call its value.
        at: Where it is declared.
    """
    yield from _report(_of_types(node, what), node, at)
    yield from _report(_of_objects(node, what), node, at)
    if node.get(EMBEDDED):
        yield from _report(_of_embedded(node, what), node, at)


def check_whole(node: SchemaNode, *, has_status: bool) -> Iterator[Diagnostic]:
    """Check the rules that apply only to the root schema of a kind."""
    yield from _report(_of_a_whole(node), node, node.span)
    if has_status:
        yield from _report(_beside_status(node), node, node.span)
    yield from _report(_of_metadata(node, "the object"), node, node.span)


def _report(problems: Iterator[_StructureProblem], node: SchemaNode, at: Span | None) -> Iterator[Diagnostic]:
    for name, message, help_ in problems:
        keyword = node.keywords.get(name)
        yield STRUCTURAL.at((keyword.span if keyword else None) or at, message, *help_)


def _of_types(node: SchemaNode, what: str) -> Iterator[_StructureProblem]:
    open_ = node.get(PRESERVE)
    if node.type is None and not node.is_int_or_string and not open_:
        message = f"{what} has no type in the schema, but a structural schema needs one everywhere"
        yield "", message, ("+kubebuilder:validation:Type=...", f"or keep anything: `{_KEEP}`")
    if node.is_int_or_string:
        if node.type is not None:
            yield "", f"{what} is int-or-string, which cannot have a type, found `{node.type}`", ()
        elif node.properties or node.items is not None or node.values is not None:
            yield "x-kubernetes-int-or-string", f"{what} is int-or-string, which cannot have fields or elements", ()
        elif open_:
            message = f"{what} is int-or-string, which has no unknown fields to keep"
            yield PRESERVE, message, (f"remove `{node.keywords[PRESERVE].spelling or PRESERVE}`",)
    if node.type == "array" and node.items is None:
        message = f"{what} is a list, but its schema has no `items`"
        yield "type", message, ("list[str]", "+kubebuilder:validation:items:Type=...")


def _of_objects(node: SchemaNode, what: str) -> Iterator[_StructureProblem]:
    if node.get(MAP_TYPE) is not None and node.type != "object":
        spelling = node.keywords[MAP_TYPE].spelling or MAP_TYPE
        yield (
            MAP_TYPE,
            f"`{spelling}` applies to objects and maps, but {what} is `{node.type_name}`",
            ("for lists: `ListAtomic()`, `ListSet()`, `ListMap(...)`",) if node.type == "array" else (),
        )
    elif node.get(MAP_TYPE) not in {None, "atomic", "granular"}:
        yield MAP_TYPE, f"`{node.get(MAP_TYPE)}` is not a valid map type of {what}: expected `atomic` or `granular`", ()
    if node.properties and (node.values is not None or node.get("additionalProperties") is False):
        message = f"{what} has `properties` and `additionalProperties`, which exclude each other"
        yield "additionalProperties", message, (f"for an object that may have other fields: `{_KEEP}`",)
    if PRESERVE in node.keywords and not node.get(PRESERVE):
        yield PRESERVE, f"`{PRESERVE}` of {what} is `false`: it must be `true` or absent", ("remove it",)


def _of_embedded(node: SchemaNode, what: str) -> Iterator[_StructureProblem]:
    if node.type != "object":
        yield EMBEDDED, f"{what} is an embedded resource, which must be an object, found `{node.type_name}`", ()
        return
    if node.values is not None or "additionalProperties" in node.keywords:
        message = f"{what} is an embedded resource, which must have its own fields, found a map"
        yield EMBEDDED, message, ("dict[str, Any]",)
    elif not node.properties and not node.get(PRESERVE):
        message = f"{what} is an embedded resource without fields, so the API server would drop its content"
        yield EMBEDDED, message, (_KEEP,)
    yield from _of_metadata(node, what)


def _of_metadata(node: SchemaNode, what: str) -> Iterator[_StructureProblem]:
    """Check that ``metadata`` is not redefined."""
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        prop = (node.properties or {}).get(name)
        if prop is None:
            continue
        if prop.schema.type != kind:
            yield "", f"the field `{name}` of {what} is `{kind}` in every object, found `{prop.schema.type_name}`", ()
        if any(part.get(EMBEDDED) for part in _parts(prop.schema)):
            yield "", f"the field `{name}` of {what} contains an embedded resource, which is not allowed", ()


def _of_a_whole(node: SchemaNode) -> Iterator[_StructureProblem]:
    if node.type not in {"object", None}:
        yield "type", f"a kind must be an object, found `{node.type}`", ()
    if node.get("nullable"):
        yield "nullable", "a whole object cannot be null", ()
    if node.values is not None or "additionalProperties" in node.keywords:
        yield "additionalProperties", "a kind has fields, so it cannot be a map: `additionalProperties`", ()
    for name in ("apiVersion", "kind", "metadata"):
        prop = (node.properties or {}).get(name)
        if prop is not None and any("default" in part.keywords for part in _parts(prop.schema)):
            yield "", f"the field `{name}` of the object cannot have a default", ()
    metadata = (node.properties or {}).get("metadata")
    if metadata is not None and not _is_bare(metadata.schema):
        yield "", "the schema of `metadata` can restrict only `name` and `generateName`", ()


def _beside_status(node: SchemaNode) -> Iterator[_StructureProblem]:
    other = [name for name in node.keywords if name not in _OF_A_WHOLE] + (["allOf"] if node.all_of else [])
    for name in other:
        keyword = node.keywords.get(name)
        spelling = keyword.spelling if keyword is not None and keyword.spelling else name
        message = f"`{spelling}` cannot be on a kind with a status subresource: the API server splits its schema"
        yield name, message, ("put it on the class of the spec or the status", "or use a rule: `CEL(...)`")


def _is_bare(node: SchemaNode) -> bool:
    rest = not node.all_of and node.values is None and node.items is None
    return rest and set(node.keywords) <= {"type", "default"} and set(node.properties or {}) <= {"name", "generateName"}


def _parts(node: SchemaNode) -> Iterator[SchemaNode]:
    yield node
    for prop in (node.properties or {}).values():
        yield from _parts(prop.schema)
    for part in (node.items, node.values):
        if part is not None:
            yield from _parts(part)


JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_FORBIDDEN = (
    *("type", "default", "title", "description", "nullable", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-list-type", "x-kubernetes-map-type"),
)
_EITHER = [{"type": "integer"}, {"type": "string"}]


def check_junctors(node: SchemaNode, what: str, at: Span | None) -> Iterator[Diagnostic]:
    """Check the schemas in the junctors of a schema.

    Args:
        node: The schema that defines the structure.
        what: How messages call its value.
        at: Where it is declared.
    """
    for way, part, span in _nested(node, "", top=True):
        for code, message in _problems(part, node, way, what):
            yield code.at(span or at, message, *(_HELP if code is STRUCTURAL else ()))


_HELP = ("put it into the schema itself, next to `allOf`, `anyOf`, `oneOf` and `not`",)


def _nested(node: SchemaNode, way: str, *, top: bool = False) -> Iterator[tuple[str, SchemaNode, Span | None]]:
    """The schemas in the junctors of a schema, each with its path. With ``top``, without those of an int-or-string."""
    for index, part in enumerate(node.all_of):
        if not (top and index == 0 and not part.all_of and _is_either(part)):
            yield f"{way}allOf[{index}]", part, part.span
    for name in JUNCTORS[1:]:
        keyword = node.keywords.get(name)
        if keyword is None or (top and name == "anyOf" and keyword.value == _EITHER):
            continue
        for step, schema in _schemas_of(name, keyword.value):
            yield f"{way}{step}", patched(SchemaNode(span=keyword.span), schema, keyword.span), keyword.span


def _schemas_of(name: str, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas of a junctor as plain objects, each with its path. Others are reported elsewhere."""
    if name == "not":
        listed = [(name, value)]
    else:
        listed = [(f"{name}[{index}]", part) for index, part in enumerate(value if isinstance(value, list) else ())]
    for step, part in listed:
        if isinstance(part, Mapping):
            yield step, part


def _is_either(part: SchemaNode) -> bool:
    value = part.get("anyOf")
    return isinstance(value, list) and value == _EITHER


def _problems(part: SchemaNode, node: SchemaNode | None, way: str, what: str) -> Iterator[tuple[Code, str]]:
    for name in _structure(part):
        yield STRUCTURAL, f"`{way}` of {what} has `{name}`, which is allowed only in the schema itself"
    if part.get("uniqueItems"):
        yield UNIQUE_ITEMS, f"`uniqueItems: true` in `{way}` of {what} is refused by the API server"
    pattern = part.get("pattern")
    problem = pattern_problem(pattern) if isinstance(pattern, str) else None
    if problem is not None:
        yield (
            PATTERN,
            (
                f"the pattern of `{way}` of {what}, `{pattern}`, is not a regular expression that the API server "
                f"accepts: {problem}"
            ),
        )
    if part.items is not None:
        yield from _missing(node.items if node else None, part.items, f"{way}.items", what)
    known = (node.properties if node else None) or {}
    for name, prop in (part.properties or {}).items():
        if name == "metadata":
            yield STRUCTURAL, f"`{way}` of {what} restricts `metadata`, which is not allowed"
        beside = known[name].schema if name in known else None
        yield from _missing(beside, prop.schema, f"{way}.properties.{name}", what)
    for inner, nested, _ in _nested(part, f"{way}."):
        yield from _problems(nested, node, inner, what)


def _structure(part: SchemaNode) -> Iterator[str]:
    """The keywords of a part that define structure."""
    yield from (name for name in _FORBIDDEN if part.get(name))
    if part.rules or part.get(RULES):
        yield RULES
    if part.values is not None or "additionalProperties" in part.keywords:
        yield "additionalProperties"


def _missing(node: SchemaNode | None, part: SchemaNode, way: str, what: str) -> Iterator[tuple[Code, str]]:
    if node is None:
        yield STRUCTURAL, f"`{way}` of {what} restricts a part that the schema itself does not have"
    yield from _problems(part, node, way, what)
