"""Turns bounds of numbers and lengths into keywords. The tightest of several bounds counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import annotated_types as at

from pykb.diagnostics.codes.types import CONSTRAINT
from pykb.gen._draft import Draft
from pykb.gen.ir import LIMITS
from pykb.markers.effect import NUMBERS

_BOUNDS: dict[type, tuple[str, str, str]] = {
    at.Ge: ("ge", "minimum", ""),
    at.Gt: ("gt", "minimum", "exclusiveMinimum"),
    at.Le: ("le", "maximum", ""),
    at.Lt: ("lt", "maximum", "exclusiveMaximum"),
    at.MultipleOf: ("multiple_of", "multipleOf", ""),
}
# Constraints of one kind, in increasing tightness: by value, then an exclusive bound after an inclusive one.
_RIVALS: tuple[tuple[dict[type, str], bool, type], ...] = (
    ({at.Ge: "ge", at.Gt: "gt"}, True, at.Gt),
    ({at.Le: "le", at.Lt: "lt"}, False, at.Lt),
    ({at.MinLen: "min_length"}, True, at.MinLen),
    ({at.MaxLen: "max_length"}, False, at.MaxLen),
)
Limit = at.Ge | at.Gt | at.Le | at.Lt | at.MultipleOf | at.MinLen | at.MaxLen


def tightest(items: Iterable[object]) -> tuple[object, ...]:
    """Metadata with only the tightest limit of each kind. Python applies all limits; a schema can have one."""
    found = tuple(items)
    for kinds, upwards, strict in _RIVALS:
        rivals = [item for item in found if type(item) in kinds]
        values = {id(item): getattr(item, kinds[type(item)]) for item in rivals}
        if len(rivals) < 2 or not all(is_number(value) for value in values.values()):
            continue
        sign = 1 if upwards else -1
        best = max(rivals, key=lambda item: (sign * values[id(item)], type(item) is strict))
        found = tuple(item for item in found if item is best or type(item) not in kinds)
    return found


def is_number(value: object) -> bool:
    """Whether a value is a JSON number. A boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def limit(item: Limit, draft: Draft) -> Iterator[tuple[str, object, str]]:
    """The keywords of a limit: name, value, and spelling in Python."""
    if isinstance(item, at.MinLen | at.MaxLen):
        yield from _length(item, draft)
    else:
        yield from _bound(item, draft)


def _bound(item: Any, draft: Draft) -> Iterator[tuple[str, object, str]]:
    attribute, keyword, flag = next(value for kind, value in _BOUNDS.items() if isinstance(item, kind))
    value = getattr(item, attribute)
    spelling, what = f"Field({attribute}={value!r})", draft.place.what
    if draft.type not in NUMBERS and not draft.effective.is_int_or_string:
        kind = draft.effective.type_name
        message = f"`{spelling}` bounds {what}, which is {kind} in the schema: only numbers have bounds"
        draft.report(CONSTRAINT, message, 'express it as a rule: `CEL("...")`')
    elif not is_number(value):
        draft.report(CONSTRAINT, f"`{spelling}` bounds {what}: expected a number, found {_noun(value)}")
    else:
        yield keyword, value, spelling
        if flag:
            yield flag, True, spelling


def _length(item: at.MinLen | at.MaxLen, draft: Draft) -> Iterator[tuple[str, object, str]]:
    least = isinstance(item, at.MinLen)
    value: Any = item.min_length if isinstance(item, at.MinLen) else item.max_length
    spelling = f"Field({'min' if least else 'max'}_length={value!r})"
    limits = f"`{spelling}` limits {draft.place.what}"
    kind = "string" if draft.effective.is_int_or_string else draft.type or ""
    if kind not in LIMITS or kind in NUMBERS:
        found = draft.effective.type_name
        message = f"{limits}, which is {found} in the schema: only strings, lists and maps have a length"
        draft.report(CONSTRAINT, message)
    elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
        draft.report(CONSTRAINT, f"{limits}: expected a whole number from 0, found {_noun(value)}")
    elif value > 0 or not least:
        yield LIMITS[kind][0 if least else 1], value, spelling


def _noun(value: object) -> str:
    return f"the {type(value).__name__} `{value!r}`"
