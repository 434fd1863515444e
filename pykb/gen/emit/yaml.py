"""Objects as YAML text, byte for byte as controller-gen writes them (go-yaml v2 through sigs.k8s.io/yaml).

Block mappings and sequences, keys in natural order; ``_scalar`` writes the texts. No library is used: none
writes the same bytes as go-yaml, and this code is several times faster. A test compares it with the real go-yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from pykb.gen.emit._natural_order import sorted_keys
from pykb.gen.emit._scalar import is_simple_key, one_line, scalar
from pykb.gen.emit.go_scalars import float_text, integer_text

_STEP = 2


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
