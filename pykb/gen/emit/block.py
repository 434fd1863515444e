"""The usual document as YAML text, without libyaml: several times faster, the same bytes.

Manifests are block mappings and sequences of short scalars and prose. Those are written here, by libyaml's rules for
quoting and folding at 80 columns. Whatever is unusual (text that needs escapes, keys that are no simple keys, blanks
at odd places) is :class:`Unusual`, and the whole document goes through libyaml. A test holds both to the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from pykb.gen.emit.go_scalars import float_text, reads_as_string
from pykb.gen.emit.natural_order import sorted_keys

_WIDTH = 80
_STEP = 2
_LONGEST_KEY = 100  # libyaml's limit is 128 bytes

# What libyaml prints as it is, but line breaks, tabs and what lies beyond 16 bits.
_CHARACTER = r"[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
_LINE = re.compile(rf"(?! ){_CHARACTER}*(?<! )")
_LINES = re.compile(rf"(?![ \n])(?:{_CHARACTER}*(?<! )\n)*{_CHARACTER}+(?<! )\n?")
_INDICATOR = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|[-?:](?: |\Z)|---|\.\.\.")
_INNER_INDICATOR = re.compile(r":(?: |\Z)| #")


class Unusual(Exception):  # noqa: N818 - not an error: the other writer's work
    """The document has something that only libyaml writes."""


def write_block(data: Mapping[str, object]) -> str:
    """A document as block YAML, without ``---``, ending with a line break.

    Raises:
        Unusual: It has something that this writer leaves to libyaml.
    """
    if not data or type(data) is not dict:
        raise Unusual
    out: list[str] = []
    _mapping(data, 0, "", out.append)
    return "".join(out)


def _mapping(data: dict[str, object], indent: int, first: str, put: Callable[[str], object]) -> None:
    """Each key on a line of its own; ``first`` stands before the first one (the dash of a sequence)."""
    blanks = " " * indent
    lead = first
    for key in _ordered(tuple(data)):
        text = _key(key)
        value = data[key]
        kind = type(value)
        if kind is str:
            if value in _FREQUENT:
                put(f"{lead}{text} {value}\n")
            else:
                put(f"{lead}{text} ")
                _text(value, indent + len(text) + 1, indent + _STEP, put)  # type: ignore[arg-type]
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
        kind = type(value)
        if kind is str:
            put(lead)
            _text(value, indent + _STEP, indent + _STEP, put)  # type: ignore[arg-type]
        elif kind is dict and value:
            _mapping(value, indent + _STEP, lead, put)  # type: ignore[arg-type]
        elif (kind is list or kind is tuple) and value:
            _sequence(value, indent + _STEP, lead, put)  # type: ignore[arg-type]
        else:
            put(f"{lead}{_atom(value)}\n")
        lead = following


def _atom(value: object) -> str:
    """Everything but texts and containers with something in them."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    kind = type(value)
    if kind is int:
        return str(value) if -(2**63) <= value < 2**64 else float_text(float(value))  # type: ignore[operator, arg-type]
    if kind is float:
        return float_text(value)  # type: ignore[arg-type]
    if kind is dict:
        return "{}"
    if kind is list or kind is tuple:
        return "[]"
    raise Unusual


def _text(text: str, column: int, indent: int, put: Callable[[str], object]) -> None:
    """A text that starts at a column, the rest of it indented."""
    if "\n" in text:
        if _LINES.fullmatch(text) is None:
            raise Unusual
        blanks = " " * indent
        put("|\n" if text[-1] == "\n" else "|-\n")
        put("".join(f"{blanks}{line}\n" if line else "\n" for line in text.removesuffix("\n").split("\n")))
        return
    written = _scalar(text)
    if column + len(written) > _WIDTH and " " in written:
        if written[0] == '"' or "  " in written:
            raise Unusual
        written = _fold(written, column, indent)
    put(f"{written}\n")


def _fold(written: str, column: int, indent: int) -> str:
    """Break as libyaml does, at the first blank after the 80th column."""
    words = written.split(" ")
    pieces = [words[0]]
    column += len(words[0])
    start = "\n" + " " * indent
    for word in words[1:]:
        if column > _WIDTH:
            pieces.append(start)
            column = indent
        else:
            pieces.append(" ")
            column += 1
        pieces.append(word)
        column += len(word)
    return "".join(pieces)


@lru_cache(maxsize=4096)
def _scalar(text: str) -> str:
    """A text of one line: plain where YAML and Go read it as a string, else in quotes."""
    if not reads_as_string(text):
        if _LINE.fullmatch(text) is None or '"' in text or "\\" in text:
            raise Unusual
        return f'"{text}"'
    if _LINE.fullmatch(text) is None:
        raise Unusual
    if _INDICATOR.match(text) or _INNER_INDICATOR.search(text):
        return "'" + text.replace("'", "''") + "'"
    return text


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    """A key with its colon."""
    if type(text) is not str or len(text.encode(errors="replace")) > _LONGEST_KEY or not text:
        raise Unusual
    return _scalar(text) + ":"


@lru_cache(maxsize=4096)
def _ordered(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted_keys(keys))


_FREQUENT = frozenset({"string", "object", "integer", "array", "boolean", "int32", "int64", "atomic", "map", "set"})
"""Values that need no thought."""
