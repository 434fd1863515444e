"""Checks bounds with a fraction. For an integer, the apiserver uses only their integer part."""

from __future__ import annotations

import operator
from collections.abc import Callable

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import FRACTION_BOUND
from pykb.gen.ir import SchemaNode

_COMPARISONS: dict[tuple[str, bool], Callable[[float, float], bool]] = {
    ("minimum", False): operator.ge,
    ("minimum", True): operator.gt,
    ("maximum", False): operator.le,
    ("maximum", True): operator.lt,
}
_FLAGS = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


def check_fractions(node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
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
                diagnostics.add(
                    FRACTION_BOUND.at(
                        keyword.span or node.span,
                        f"the API server {verb} the whole number {value} for {what} in spite of `{name}: {bound}`",
                        notes=("it ignores the fraction of a bound for whole numbers",),
                        help=("use a whole bound, or an integer of a smaller unit",),
                    ),
                )
    step = node.keywords.get("multipleOf")
    if step is not None and isinstance(step.value, float) and 0 < step.value < 1:
        diagnostics.add(
            FRACTION_BOUND.at(
                step.span or node.span,
                f"the API server refuses all whole numbers for {what} because of `multipleOf: {step.value}`",
                notes=("it ignores the fraction of a step for whole numbers, which leaves zero",),
                help=("use an integer of a smaller unit",),
            ),
        )
