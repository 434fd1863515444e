"""Making an object that shows a fault smaller, for as long as it still shows it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

ATTEMPTS = 3000
_PLAINER: tuple[Any, ...] = ("", "a", 0, 1)


def shrunk(wire: dict[str, Any], shows: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The smallest object that was found, by leaving out fields and items, and putting plain values for others.

    Args:
        wire: An object of the wire that shows the fault; it is left as it is.
        shows: Whether another one does; false for what is no valid object.
    """
    best, left = wire, ATTEMPTS
    while left > 0:
        for candidate in _smaller(best):
            left -= 1
            if shows(candidate):
                best = candidate
                break
            if left <= 0:
                return best
        else:
            return best
    return best


def _smaller(wire: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object with one thing less, or one thing plainer; great pieces first."""
    places = sorted(_places(wire, ()), key=len)
    for place in places:
        yield _without(wire, place)
    for place in places:
        value = _at(wire, place)
        for plain in _PLAINER:
            if type(value) is type(plain) and _size(plain) < _size(value):
                yield _with(wire, place, plain)


def _places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    parts: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    for key, inner in parts:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str) else abs(value)


def _at(wire: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        wire = wire[part]
    return wire


def _without(wire: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    made = copy.deepcopy(wire)
    del _at(made, path[:-1])[path[-1]]
    return made


def _with(wire: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(wire)
    _at(made, path[:-1])[path[-1]] = value
    return made
