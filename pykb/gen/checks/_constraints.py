"""Checks the keywords of one schema: patterns are RE2, formats are known, values and bounds fit."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator

from pykb.diagnostics import Code, Diagnostic, Diagnostics, Label
from pykb.diagnostics.codes.crd import (
    BOUNDS,
    DEFAULT_VALUE,
    ENUM_VALUE,
    EXTERNAL_DOCS,
    FORMAT,
    FRACTION_BOUND,
    NULLABLE_ENUM,
    PATTERN,
    TYPE_NAME,
    UNIQUE_ITEMS,
)
from pykb.diagnostics.codes.markers import MARKER_CONFLICT
from pykb.diagnostics.suggest import did_you_mean
from pykb.gen.checks.value import broken_rules, misfits, pattern_problem
from pykb.gen.ir import LIMITS, Keyword, SchemaNode

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
