"""Reads typed values of marker arguments as controller-gen does.

Every reader takes a :class:`~pykb.markers._lexer.Lexer`, consumes the value, and returns plain Python data. The rules
are those of controller-tools v0.23, and the differential tests check them. ``a;b`` and ``{a, b}`` are lists, ``-`` must
be directly before its digits, and bare words end at the next ``,`` ``;`` or ``}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isinf
from typing import cast

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers._expectation import DELIMITERS, expected
from pykb.markers._lexer import Lexer, TokenKind
from pykb.markers._number import INT64, read_integer, read_number, to_number
from pykb.markers._problem import MarkerSyntaxError, Problem
from pykb.markers._quoting import read_string
from pykb.markers.definition import ANY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, ValueKind, ValueType


def _read_json(lexer: Lexer, _: ValueType) -> object:
    """Read the rest of the marker as strict JSON."""
    start, text = lexer.position, lexer.rest
    lexer.position = len(lexer.text)
    if text.strip().startswith("ref("):
        message = f"`{text.strip()}` names a Go constant, which Python does not have"
        raise MarkerSyntaxError(
            Problem(MARKER_ARGUMENT, start, len(lexer.text), message, label="no JSON", help=("write the value itself",))
        )
    try:
        value = json.loads(
            text,
            parse_constant=_refuse,
            parse_int=_json_integer,
            parse_float=_json_number,
            object_pairs_hook=_json_object,
        )
        json.dumps(value, ensure_ascii=False).encode()  # JSON allows half a surrogate pair, UTF-8 does not
    except (ValueError, RecursionError) as error:
        offset = error.pos if isinstance(error, json.JSONDecodeError) else 0
        where = start + min(offset, max(0, len(text) - 1))
        bare = json.dumps(text.strip(), ensure_ascii=False)
        what = f"expected JSON, found `{text.strip()}`"
        if isinstance(error, UnicodeError):
            what = "half a surrogate pair is not text"
        elif not isinstance(error, json.JSONDecodeError):
            what = str(error)
        raise MarkerSyntaxError(
            Problem(
                MARKER_ARGUMENT,
                where,
                len(lexer.text),
                what,
                label="wrong from here on",
                help=(f"for a string, write `+default={bare}`",),
            )
        ) from None
    return cast("object", value)


def _refuse(text: str) -> object:
    raise ValueError(f"`{text}` is not JSON")


def _json_integer(text: str) -> int:
    if not -INT64 <= int(text) < INT64:
        raise ValueError(f"`{text}` does not fit into 64 bits")
    return int(text)


def _json_number(text: str) -> int | float:
    if isinf(float(text)):
        raise ValueError(f"`{text}` is too large")
    return to_number(text)


def _json_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key `{key}` appears twice in an object")
        found[key] = value
    return found


def read_value(lexer: Lexer, kind: ValueType, *, in_list: bool = False) -> object:
    """Read one value of the given type.

    Raises:
        MarkerSyntaxError: The text is not a value of this type.
    """
    if kind.kind is ValueKind.ANY:
        return read_value(lexer, _guess_type(lexer, lists=not in_list), in_list=in_list)
    return _READERS[kind.kind](lexer, kind)


def _read_boolean(lexer: Lexer, _: ValueType) -> object:
    token = lexer.next()
    if token.text in {"true", "false"}:
        return token.text == "true"
    raise expected("`true` or `false`", lexer, token.start, token)


def _read_list(lexer: Lexer, kind: ValueType) -> object:
    item = kind.item or ANY
    values: list[object] = []
    if lexer.peek_past_blanks() == "{":
        lexer.next()
        while lexer.peek_past_blanks() not in {"}", ""}:
            values.append(read_value(lexer, item, in_list=True))
            if lexer.peek_past_blanks() == "}":
                break
            _require(lexer, ",", "a comma between the elements of a list in braces")
        _require(lexer, "}", "`}` at the end of the list")
        return values
    while lexer.peek_past_blanks() not in {",", "}", ""}:
        values.append(read_value(lexer, item, in_list=True))
        char = lexer.peek_past_blanks()
        if char in {",", "}", ""}:
            break
        _require(lexer, ";", "`;` between the elements of a list")
    return values


def _read_map(lexer: Lexer, kind: ValueType) -> object:
    item = kind.item or ANY
    values: dict[str, object] = {}
    _require(lexer, "{", "`{` at the start of a map")
    while lexer.peek_past_blanks() not in {"}", ""}:
        lexer.peek_past_blanks()
        start = lexer.position
        key = read_string(lexer, in_map=True)
        if key in values:
            message = f"the key `{key}` appears twice in a map"
            raise MarkerSyntaxError(Problem(MARKER_ARGUMENT, start, lexer.position, message, label="a second time"))
        _require(lexer, ":", f"`:` after the key `{key}`")
        values[key] = read_value(lexer, item)
        if lexer.peek_past_blanks() == "}":
            break
        _require(lexer, ",", "a comma between the entries of a map")
    _require(lexer, "}", "`}` at the end of the map")
    return values


def _read_raw(lexer: Lexer, _: ValueType) -> object:
    text, lexer.position = lexer.rest, len(lexer.text)
    return text


def _require(lexer: Lexer, char: str, description: str) -> None:
    token = lexer.next()
    if token.text != char:
        raise expected(description, lexer, token.start, token)


_Reader = Callable[[Lexer, ValueType], object]
_READERS: dict[ValueKind, _Reader] = {
    ValueKind.STRING: lambda lexer, _: read_string(lexer),
    ValueKind.INTEGER: read_integer,
    ValueKind.NUMBER: read_number,
    ValueKind.BOOLEAN: _read_boolean,
    ValueKind.LIST: _read_list,
    ValueKind.MAP: _read_map,
    ValueKind.JSON: _read_json,
    ValueKind.RAW: _read_raw,
}


def _guess_type(lexer: Lexer, *, lists: bool) -> ValueType:
    """Guess the type of the next value. Does not consume it."""
    if lists:
        item = _guess_type(lexer, lists=False)
        ahead = lexer.fork()
        while (token := ahead.next()).text not in {",", ";", ""}:
            pass
        return ValueType(ValueKind.LIST, item) if token.text == ";" else item
    ahead = lexer.fork()
    char = ahead.peek_past_blanks()
    if char in {'"', "'", "`"}:
        return STRING
    if char == "{":
        return _guess_braces(ahead)
    if char in {"t", "f"}:
        return BOOLEAN if ahead.next().text in {"true", "false"} else STRING
    return _guess_number(ahead)


def _guess_braces(ahead: Lexer) -> ValueType:
    ahead.next()
    first = ahead.peek_past_blanks()
    item = _guess_type(ahead, lists=False)
    if item is STRING:
        try:
            read_string(ahead, in_map=True)
        except MarkerSyntaxError:
            return ValueType(ValueKind.LIST, item)
        if ahead.next().text == ":" or first == "}":
            return OBJECT
    return ValueType(ValueKind.LIST, item)


def _guess_number(ahead: Lexer) -> ValueType:
    token = ahead.next()
    if token.text == "-":
        token = ahead.next()
    if token.kind in {TokenKind.INTEGER, TokenKind.FLOAT} and not token.flaw and ahead.peek_past_blanks() in DELIMITERS:
        return INTEGER if token.kind is TokenKind.INTEGER else NUMBER
    return STRING
