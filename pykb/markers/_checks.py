"""Checks whether an argument allows a value."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.diagnostics.suggest import closest
from pykb.markers._problem import Problem
from pykb.markers.definition import ArgumentDefinition, ValueKind


def check_value(argument: ArgumentDefinition, value: object, text: str, start: int, end: int) -> Problem | None:
    """Find the first problem of a value of the right type, or ``None``.

    Args:
        argument: The argument's definition.
        value: The value that was read.
        text: The text of the marker.
        start: Offset of the value in it.
        end: Offset after the value.
    """
    found = text[start:end]
    if quoted := _single_quotes(argument, found):
        return Problem(
            MARKER_ARGUMENT,
            start,
            end,
            f"single quotes are not quotes in a marker: the value would contain them, found `{found}`",
            label="the quotes become part of the value",
            help=(f"write {quoted}",),
        )
    if argument.textual and not isinstance(value, str):
        return Problem(
            MARKER_ARGUMENT,
            start,
            end,
            f"expected a string, found `{found}`",
            label="read as another type",
            help=(f'write `"{found}"`',),
        )
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _check_range(argument, value, start, end)
    if isinstance(value, str) and argument.choices:
        return _check_choice(argument, value, start, end)
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value and argument.type.kind is ValueKind.LIST:
            return Problem(
                MARKER_ARGUMENT,
                start,
                end,
                f"{argument.spelling} is an empty list",
                label="nothing there",
                help=('an empty string (the core group, for example) is written `""`',),
            )
        return _check_elements(argument, value, start, end)
    return None


def _single_quotes(argument: ArgumentDefinition, found: str) -> str:
    if argument.type.kind in {ValueKind.JSON, ValueKind.RAW} or len(found) < 2:
        return ""
    if not (found[0] == found[-1] == "'"):
        return ""
    inner = found[1:-1]
    plain = not set(inner) & set('"\\')
    return f'`"{inner}"`' if plain else f"the value in back-ticks: `{inner}`"


def _check_range(argument: ArgumentDefinition, value: float, start: int, end: int) -> Problem | None:
    low, high = argument.minimum, argument.maximum
    if (low is None or value >= low) and (high is None or value <= high):
        return None
    if low is not None and high is not None:
        wanted = f"a number from {low} to {high}"
    else:
        wanted = f"at least {low}" if low is not None else f"at most {high}"
    return Problem(MARKER_ARGUMENT, start, end, f"expected {wanted}, found `{value}`", label="out of range")


def _check_choice(argument: ArgumentDefinition, value: str, start: int, end: int) -> Problem | None:
    known = {c.casefold() for c in argument.choices} if argument.folded else set(argument.choices)
    if (value.casefold() if argument.folded else value) in known:
        return None
    nearest = closest(value, argument.choices)
    listed = [f"`{c}`" for c in argument.choices]
    wanted = " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
    return Problem(
        MARKER_ARGUMENT,
        start,
        end,
        f"expected {wanted}, found `{value}`",
        label=f"not a value of {argument.spelling}",
        help=(f"write `{nearest}`",) if nearest else (),
    )


def _check_elements(argument: ArgumentDefinition, values: Sequence[object], start: int, end: int) -> Problem | None:
    for element in values:
        if not isinstance(element, str):
            continue
        if element.startswith(";"):
            return Problem(
                MARKER_ARGUMENT,
                start,
                end,
                f"the list has an empty element: it would be read as `{element}`",
                label="two `;` in a row",
                help=('an empty string is written `""`',),
            )
        if len(element) > 1 and element[0] == element[-1] == "'":
            return Problem(
                MARKER_ARGUMENT,
                start,
                end,
                f"single quotes are not quotes in a marker: the element would be `{element}`",
                label="the quotes become part of the value",
                help=(f'write `"{element[1:-1]}"`, or leave the quotes out',),
            )
        if argument.choices and (problem := _check_choice(argument, element, start, end)):
            return problem
    return None
