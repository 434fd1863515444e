"""Texts that match a pattern, made from the pattern."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

from pykb.testing.objects.limits import NoValueError

MOST_REPEATS = 6
"""How many times more than it must a repetition is repeated, at most."""

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_PRINTABLE = "".join(map(chr, range(32, 127)))
_CATEGORIES = {
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_WORD": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
    "CATEGORY_SPACE": " \t\n\r\f",
}


def text_of(pattern: str, random: Random) -> str:
    r"""A text that matches, in whole, an expression of RE2's language.

    What stands at its ends (``^``, ``$``, a word boundary) is not seen to: the caller judges the text.

    Raises:
        NoValueError: The expression has parts that Python's do not have, such as ``\p{Greek}``.
    """
    return "".join(_sequence(_parsed(pattern), random))


@cache
def _parsed(pattern: str) -> Any:
    for name, characters in _POSIX.items():
        pattern = pattern.replace(f"[:{name}:]", characters)
    parser = import_module("re._parser")  # the one part of `re` without a public name that generators need
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of sets in sets, which RE2 does not have
            return parser.parse(pattern.replace(r"\z", r"\Z"))
    except (re.error, OverflowError) as error:
        raise NoValueError(str(error)) from error


def _sequence(parts: Iterable[tuple[Any, Any]], random: Random) -> list[str]:
    return [_part(str(kind), value, random) for kind, value in parts]


def _part(kind: str, value: Any, random: Random) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return random.choice([c for c in _PRINTABLE if c != chr(value)])
        case "ANY":
            return random.choice(_PRINTABLE)
        case "IN":
            return random.choice(_members(value))
        case "BRANCH":
            return "".join(_sequence(random.choice(value[1]), random))
        case "SUBPATTERN":
            return "".join(_sequence(value[-1], random))
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            times = random.choice((least, random.randint(least, min(int(most), least + MOST_REPEATS))))
            return "".join("".join(_sequence(inner, random)) for _ in range(times))
        case "AT":
            return ""
    raise NoValueError(f"`{kind.lower()}` is not a part of expressions on the API server")


def _members(parts: Sequence[tuple[Any, Any]]) -> str:
    found: list[str] = []
    negated = False
    for kind, value in parts:
        match str(kind):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.append(chr(value))
            case "RANGE":
                low, high = value
                found += map(chr, range(low, min(high, low + 0x100) + 1))
            case "CATEGORY":
                found.append(_category(str(value)))
    characters = "".join(found)
    if negated:
        characters = "".join(c for c in _PRINTABLE if c not in characters)
    if not characters:
        raise NoValueError("a set of characters has no printable one")
    return characters


def _category(name: str) -> str:
    if name in _CATEGORIES:
        return _CATEGORIES[name]
    other = _CATEGORIES.get(name.replace("_NOT_", "_"), "")
    return "".join(c for c in _PRINTABLE if c not in other)
