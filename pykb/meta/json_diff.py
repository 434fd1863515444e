"""How two JSON values differ: the paths to the smallest parts that are not equal, with both values.

What is compared with what, and what counts as equal, depends on who asks. So it is a parameter, a function like
:func:`parts_of`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

Path = tuple[str | int, ...]
"""The names of fields and the indices of items that lead to a value."""

Parts = Iterable[tuple[str | int, Any, Any]]
"""The parts of two values that are not equal: the step to each, and both parts."""

MISSING: Final = object()
"""The value of a field or an item that is not there. ``None`` is JSON's null."""


def at(value: Any, path: Path) -> Any:
    """A part of a value; :data:`MISSING` if it is not there."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


class Change(NamedTuple):
    """A part that is not equal. Its value is :data:`MISSING` on the side that lacks it."""

    path: Path
    before: Any
    after: Any


def fields_of(
    before: dict[str, Any], after: dict[str, Any], is_same: Callable[[Any, Any], bool] = operator.eq
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fields of two objects that are not equal. Those that only the first one has come first."""
    for name, value in before.items():
        if name not in after:
            yield name, value, MISSING
    for name, value in after.items():
        if name not in before:
            yield name, MISSING, value
        elif not is_same(before[name], value):
            yield name, before[name], value


def parts_of(_path: Path, before: Any, after: Any) -> Parts | None:
    """Compare objects by name, and arrays of the same length by index. All else differs as a whole: ``None``."""
    if isinstance(before, dict) and isinstance(after, dict):
        return fields_of(before, after)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [(index, old, new) for index, (old, new) in pairs if old != new]
    return None


def changes(
    before: Any, after: Any, parts: Callable[[Path, Any, Any], Parts | None] = parts_of, path: Path = ()
) -> list[Change]:
    """The smallest parts in which two values differ that are not equal.

    Args:
        before: A value.
        after: Another one.
        parts: Gets the path and two values that are not equal. It returns the parts that are not equal, or ``None`` if
            the values differ as a whole.
        path: Where the values are.
    """
    found: list[Change] = []

    def collect(path: Path, before: Any, after: Any) -> None:
        differing = parts(path, before, after)
        if differing is None:
            found.append(Change(path, before, after))
            return
        for step, old, new in differing:
            collect((*path, step), old, new)

    collect(path, before, after)
    return found


def sorted_changes(before: Any, after: Any, parts: Callable[[Path, Any, Any], Parts | None] = parts_of) -> list[Change]:
    """The changes in the order of their paths. A missing part is ``None``, which is equal to a null."""
    found = []
    for path, *values in changes(before, after, parts):
        old, new = (None if value is MISSING else value for value in values)
        if old is not new:
            found.append(Change(path, old, new))
    return sorted(found, key=lambda each: each.path)
