"""Keywords of one schema: bounds that allow something, patterns of RE2, formats, values that fit."""

from __future__ import annotations

import json
import math
import re

from pykb.diagnostics import Diagnostic, Diagnostics, Label
from pykb.diagnostics.codes.crd import (
    BOUNDS,
    DEFAULT_VALUE,
    ENUM_VALUE,
    EXTERNAL_DOCS,
    FORMAT,
    NULLABLE_ENUM,
    PATTERN,
    TYPE_NAME,
    UNIQUE_ITEMS,
)
from pykb.diagnostics.codes.markers import MARKER_CONFLICT
from pykb.diagnostics.suggest import closest
from pykb.gen.checks.fractions import check_fractions
from pykb.gen.checks.patterns import pattern_problem
from pykb.gen.checks.value import broken_rules, misfits
from pykb.gen.ir import Keyword, SchemaNode

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
_WHOLE = 2.0**63  # bounds are floats: that of 2**63 - 1 is this one
_PAIRS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minimum", "maximum"),
)


def check_constraints(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    """Check the keywords of one schema."""
    keywords = node.keywords
    kind = keywords.get("type")
    if kind is not None and kind.value not in _TYPES:
        near = closest(str(kind.value), _TYPES)
        diagnostics.add(
            TYPE_NAME.at(
                kind.span or node.span,
                f"`{kind.value}` is no type of JSON schema: expected one of {', '.join(f'`{t}`' for t in _TYPES)}",
                help=(f"did you mean `{near}`?",) if near else (),
            ),
        )
        return
    _check_bounds(node, what, diagnostics)
    if node.type == "number":
        check_fractions(node, what, diagnostics)
    _check_pattern(node, what, diagnostics)
    form = keywords.get("format")
    if form is not None and form.value not in FORMATS:
        near = closest(str(form.value), FORMATS)
        diagnostics.add(
            FORMAT.at(
                form.span or node.span,
                f"the API server does not know the format `{form.value}` of {what}, and ignores it",
                help=(f"did you mean `{near}`?",) if near else (),
            ),
        )
    unique = keywords.get("uniqueItems")
    if unique is not None and unique.value is True:
        diagnostics.add(
            UNIQUE_ITEMS.at(
                unique.span or node.span,
                f"`uniqueItems: true` on {what} is refused by the API server",
                help=("+listType=set",),
            ),
        )
    _check_enum(node, what, diagnostics)
    _check_docs(node, what, diagnostics)
    default = keywords.get("default")
    if default is not None:
        for reason in list(misfits(default.value, node)) or broken_rules(default.value, node):
            diagnostics.add(
                DEFAULT_VALUE.at(default.span or node.span, f"the default of {what} does not fit its schema: {reason}"),
            )


def _check_bounds(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    parts = (node, *node.all_of)
    for least, most in _PAIRS:
        lows = [part.keywords[least] for part in parts if least in part.keywords]
        highs = [part.keywords[most] for part in parts if most in part.keywords]
        for name, bounds in ((least, lows), (most, highs)):
            for bound in bounds:
                if least != "minimum" and isinstance(bound.value, int) and bound.value < 0:
                    diagnostics.add(
                        BOUNDS.at(bound.span or node.span, f"`{name}` of {what} is below zero: {bound.value}")
                    )
                if least == "minimum" and not -_WHOLE <= float(_number(bound)) < _WHOLE:
                    diagnostics.add(_out_of_range(name, bound, node, what))
        if lows and highs:
            low, high = max(lows, key=_number), min(highs, key=_number)
            over, under = (
                " (exclusive)" if least == "minimum" and node.get(flag) is True else ""
                for flag in ("exclusiveMinimum", "exclusiveMaximum")
            )
            if _is_empty(low, high, least, node) and not _was_said((low, high), diagnostics):
                diagnostics.add(
                    BOUNDS.at(
                        low.span or high.span or node.span,
                        f"no value of {what} lies between `{least}: {low.value}`{over} and "
                        f"`{most}: {high.value}`{under}",
                        labels=(Label(high.span, f"`{most}`"),) if high.span and high.span != low.span else (),
                    ),
                )
    for flag, bound_name in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        keyword = node.keywords.get(flag)
        if keyword is not None and keyword.value and bound_name not in node.keywords:
            short = bound_name.capitalize()
            diagnostics.add(
                BOUNDS.at(
                    keyword.span or node.span,
                    f"`{flag}` of {what} excludes nothing without a `{bound_name}`",
                    help=(f"+kubebuilder:validation:{short}=...",),
                ),
            )
    step = node.keywords.get("multipleOf")
    if step is not None and isinstance(step.value, int | float) and step.value <= 0:
        diagnostics.add(BOUNDS.at(step.span or node.span, f"`multipleOf` of {what} must be above zero: {step.value}"))


def _out_of_range(name: str, bound: Keyword, node: SchemaNode, what: str) -> Diagnostic:
    return BOUNDS.at(
        bound.span or node.span,
        f"`{name}` of {what} is `{bound.value}`, and the API server compares whole numbers in 64 bits, which do not "
        "hold it",
        notes=("it would refuse all of them, or let all pass",),
        help=("remove it: no whole number beyond 64 bits is accepted anyway",),
    )


def _number(keyword: Keyword) -> float:
    return keyword.value if isinstance(keyword.value, int | float) else 0


def _is_empty(low: Keyword, high: Keyword, name: str, node: SchemaNode) -> bool:
    least, most = _number(low), _number(high)
    if name == "minimum":
        over, under = node.get("exclusiveMinimum") is True, node.get("exclusiveMaximum") is True
        if node.type == "integer":
            first = math.floor(least) + 1 if over else math.ceil(least)
            last = math.ceil(most) - 1 if under else math.floor(most)
            return first > last
        return least > most or (least == most and (over or under))
    return least > most


def _was_said(bounds: tuple[Keyword, ...], diagnostics: Diagnostics) -> bool:
    """Two markers of one declaration that contradict each other are reported where they are read."""
    places = {bound.span for bound in bounds}
    return any(found.code is MARKER_CONFLICT and found.span in places for found in diagnostics)


def _check_pattern(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    keyword = node.keywords.get("pattern")
    if keyword is None or not isinstance(keyword.value, str):
        return
    problem = pattern_problem(keyword.value)
    if problem is not None:
        diagnostics.add(
            PATTERN.at(
                keyword.span or node.span,
                f"the pattern of {what}, `{keyword.value}`, is no regular expression of the API server: {problem}",
                help=_PATTERN_HELP,
            ),
        )


_PATTERN_HELP = ("RE2 has no look-around, back-references, possessive quantifiers or atomic groups: use a CEL rule",)


def _check_docs(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    keyword = node.keywords.get("externalDocs")
    if keyword is None or not isinstance(keyword.value, dict):
        return
    url = str(keyword.value.get("url", ""))
    if not _URL.fullmatch(url):
        diagnostics.add(
            EXTERNAL_DOCS.at(
                keyword.span or node.span,
                f"the documentation of {what} is at `{url}`, which is no URL",
                help=('+kubebuilder:externalDocs:url="https://..."',),
            ),
        )


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20]+|/[^\s\x00-\x20]*")


def _check_enum(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    keyword = node.keywords.get("enum")
    if keyword is None or not isinstance(keyword.value, list):
        return
    if node.get("nullable"):
        diagnostics.add(
            NULLABLE_ENUM.at(
                keyword.span or node.span,
                f"{what} may be null and has an enum: the API server refuses null there, whatever the enum says",
                help=("let it be left out instead: `... | None = None`",),
            ),
        )
    plain = node.without("enum")
    for value in keyword.value:
        reason = next(misfits(value, plain), None)
        if reason is not None:
            diagnostics.add(ENUM_VALUE.at(keyword.span or node.span, f"an enum value of {what} cannot occur: {reason}"))
            break
    shown = [json.dumps(value) for value in keyword.value]
    for value in dict.fromkeys(v for v in shown if shown.count(v) > 1):
        diagnostics.add(ENUM_VALUE.at(keyword.span or node.span, f"`{value}` is in the enum of {what} twice"))
