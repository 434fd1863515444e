"""Objects as YAML text, byte for byte as controller-gen writes them (go-yaml v2 through sigs.k8s.io/yaml).

Block mappings and sequences, keys in natural order; ``_scalar`` writes the texts. No library is used: none
writes the same bytes as go-yaml, and this code is several times faster. A test compares it with the real go-yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key, lru_cache

from pykb.gen.emit._scalar import is_simple_key, one_line, scalar
from pykb.gen.emit.go_scalars import float_text, integer_text

_STEP = 2
# Over letters and `-` alone the natural order is the order of code points: `-` sorts before every letter.
_SIMPLE = re.compile(r"[A-Za-z-]*\Z").match


def dump_document(data: Mapping[str, object]) -> str:
    """One document as YAML, without a leading ``---``, ending with a line break.

    Args:
        data: Plain data: mappings with string keys, lists, strings, booleans, integers, floats, ``None``.
    """
    if not data:
        return "{}\n"
    out: list[str] = []
    _mapping(data, 0, "", out.append)
    return "".join(out)


def _mapping(data: Mapping[str, object], indent: int, first: str, put: Callable[[str], object]) -> None:
    """Each key on a line of its own; ``first`` stands before the first one (the dash of a sequence)."""
    blanks = " " * indent
    lead = first
    for key in _ordered(tuple(data)):
        value = data[key]
        text = _simple_key(key)
        if text is None:
            put(f"{lead}? {scalar(key, indent + _STEP, indent + _STEP)}")
            _item(value, indent + _STEP, f"{blanks}: ", put)
        elif (kind := type(value)) is str:
            if value in _FREQUENT:
                put(f"{lead}{text} {value}\n")
            else:
                put(f"{lead}{text} {scalar(value, indent + len(text) + 1, indent + _STEP)}")  # type: ignore[arg-type]
        elif kind is dict and value:
            put(f"{lead}{text}\n")
            _mapping(value, indent + _STEP, blanks + "  ", put)  # type: ignore[arg-type]
        elif (kind is list or kind is tuple) and value:
            put(f"{lead}{text}\n")
            _sequence(value, indent, blanks, put)  # type: ignore[arg-type]
        else:
            put(f"{lead}{text} {_atom(value)}\n")
        lead = blanks


def _sequence(data: list[object], indent: int, first: str, put: Callable[[str], object]) -> None:
    lead, following = f"{first}- ", " " * indent + "- "
    for value in data:
        _item(value, indent + _STEP, lead, put)
        lead = following


def _item(value: object, indent: int, lead: str, put: Callable[[str], object]) -> None:
    """The value directly after a dash, or after the colon of a key with a question mark."""
    kind = type(value)
    if kind is str:
        put(f"{lead}{scalar(value, indent, indent)}")  # type: ignore[arg-type]
    elif kind is dict and value:
        _mapping(value, indent, lead, put)  # type: ignore[arg-type]
    elif (kind is list or kind is tuple) and value:
        _sequence(value, indent, lead, put)  # type: ignore[arg-type]
    else:
        put(f"{lead}{_atom(value)}\n")


def _atom(value: object) -> str:
    """The text of a value that is neither a string nor a container with elements."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    kind = type(value)
    if kind is int:
        return integer_text(value)  # type: ignore[arg-type]
    if kind is float:
        return float_text(value)  # type: ignore[arg-type]
    if kind is dict:
        return "{}"
    if kind is list or kind is tuple:
        return "[]"
    message = f"no plain data: {value!r}"
    raise TypeError(message)


@lru_cache(maxsize=4096)
def _simple_key(key: str) -> str | None:
    """A key with its colon; ``None`` when it needs a question mark."""
    if key == "<<":  # go-yaml writes it plain, and then reads it as a merge
        return '"<<":'
    return one_line(key) + ":" if is_simple_key(key) else None


@lru_cache(maxsize=4096)
def _ordered(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted_keys(keys))


_FREQUENT = frozenset({"string", "object", "integer", "array", "boolean", "int32", "int64", "atomic", "map", "set"})
"""Values with a fixed spelling."""


def sorted_keys(keys: Iterable[str]) -> list[str]:
    """The keys in natural order."""
    found = list(keys)
    if all(map(_SIMPLE, found)):
        found.sort()
        return found
    # The comparison is not transitive for keys like 0, 01, 0a. A fixed start order makes the result deterministic.
    return sorted(sorted(found), key=cmp_to_key(_compare))


def _compare(left: str, right: str) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a == b:
            continue
        a_letter, b_letter = a.isalpha(), b.isalpha()
        if a_letter and b_letter:
            return -1 if a < b else 1
        if a_letter or b_letter:
            return 1 if a_letter else -1
        return _compare_numbers(left, right, index)
    return len(left) - len(right)


def _compare_numbers(left: str, right: str, index: int) -> int:
    # A zero is a leading zero only where no other digit stands before it in the (common) text.
    prefix = ""
    if "0" in (left[index], right[index]):
        back = index - 1
        while back >= 0 and left[back].isdecimal():
            if left[back] != "0":
                prefix = "1"
                break
            back -= 1
    a_run, b_run = _digits(left, index), _digits(right, index)
    a_number, b_number = _value(prefix + a_run), _value(prefix + b_run)
    if a_number != b_number:
        return -1 if a_number < b_number else 1
    if len(a_run) != len(b_run):
        return len(a_run) - len(b_run)
    return -1 if left[index] < right[index] else 1


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[start:end]


def _value(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 10 + ord(digit) - ord("0")  # like Go, also for digits of other scripts
    return value
