"""Checks bounds of values and sizes: the API server can compare them, and some value fits between them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pykb.diagnostics import Diagnostics, Label
from pykb.diagnostics.codes.crd import BOUNDS
from pykb.diagnostics.codes.markers import MARKER_CONFLICT
from pykb.gen.ir import LIMITS, Keyword, SchemaNode

_WHOLE = 2.0**63  # bounds are floats, and 2**63 - 1 rounds to this one
_PAIRS = tuple(dict.fromkeys(LIMITS.values()))
_Problem = tuple[Keyword, str, tuple[str, ...], tuple[str, ...]]
"""The bound, the problem, notes, and what to type."""


def check_bounds(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    """Check the bounds of one schema."""
    for bound, message, notes, help_ in (*_of_one(node, what), *_of_flags(node, what)):
        diagnostics.add(BOUNDS.at(bound.span or node.span, message, notes=notes, help=help_))
    for least, most in _PAIRS:
        lows, highs = _all(node, least), _all(node, most)
        if lows and highs:
            _check_room((least, max(lows, key=_number)), (most, min(highs, key=_number)), node, what, diagnostics)


def _all(node: SchemaNode, name: str) -> list[Keyword]:
    return [part.keywords[name] for part in (node, *node.all_of) if name in part.keywords]


def _of_one(node: SchemaNode, what: str) -> Iterator[_Problem]:
    for name in (name for pair in _PAIRS for name in pair):
        for bound in _all(node, name):
            if name in LIMITS["number"]:
                if not -_WHOLE <= float(_number(bound)) < _WHOLE:
                    message = (
                        f"`{name}` of {what} is `{bound.value}`, but the API server compares whole numbers in 64 bits, "
                        "which cannot hold it"
                    )
                    yield bound, message, _OUT_OF_RANGE, _REMOVE
            elif _number(bound) < 0:
                yield bound, f"`{name}` of {what} is below zero: {bound.value}", (), ()
    step = node.keywords.get("multipleOf")
    if step is not None and isinstance(step.value, int | float) and step.value <= 0:
        yield step, f"`multipleOf` of {what} must be above zero: {step.value}", (), ()


_OUT_OF_RANGE = ("it would refuse or accept all of them",)
_REMOVE = ("remove it: no whole number beyond 64 bits is accepted anyway",)


def _of_flags(node: SchemaNode, what: str) -> Iterator[_Problem]:
    for bound in LIMITS["number"]:
        flag = _exclusive(bound)
        keyword = node.keywords.get(flag)
        if keyword is not None and keyword.value and bound not in node.keywords:
            help_ = f"+kubebuilder:validation:{bound.capitalize()}=..."
            yield keyword, f"`{flag}` of {what} excludes nothing without a `{bound}`", (), (help_,)


def _exclusive(bound: str) -> str:
    return f"exclusive{bound.capitalize()}"


def _check_room(
    low: tuple[str, Keyword], high: tuple[str, Keyword], node: SchemaNode, what: str, diagnostics: Diagnostics
) -> None:
    """Check that some value lies between two bounds."""
    bounds = (low[1], high[1])
    is_open = tuple(node.get(_exclusive(name)) is True for name, _ in (low, high))
    if not _is_empty(*bounds, *is_open, whole=node.type == "integer") or _was_said(bounds, diagnostics):
        return
    over, under = (
        f"`{name}: {bound.value}`" + (" (exclusive)" if open_ else "")
        for (name, bound), open_ in zip((low, high), is_open, strict=True)
    )
    at, other = low[1].span, high[1].span
    diagnostics.add(
        BOUNDS.at(
            at or other or node.span,
            f"no value of {what} is between {over} and {under}",
            labels=(Label(other, f"`{high[0]}`"),) if other and other != at else (),
        ),
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


def _was_said(bounds: tuple[Keyword, ...], diagnostics: Diagnostics) -> bool:
    """Whether the contradiction was reported when the markers of the declaration were read."""
    places = {bound.span for bound in bounds}
    return any(found.code is MARKER_CONFLICT and found.span in places for found in diagnostics)
