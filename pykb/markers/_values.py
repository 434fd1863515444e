"""Reads typed values of marker arguments as controller-gen does.

Every reader takes a :class:`~pykb.markers._lexer.Lexer`, consumes the value, and returns plain Python data. The rules
are those of controller-tools v0.23, and the differential tests check them. ``a;b`` and ``{a, b}`` are lists, ``-`` must
be directly before its digits, and bare words end at the next ``,`` ``;`` or ``}``.
"""

from __future__ import annotations

from collections.abc import Callable

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers._expectation import expected
from pykb.markers._guessing import guess_type
from pykb.markers._json_text import read_json
from pykb.markers._lexer import Lexer
from pykb.markers._number import read_integer, read_number
from pykb.markers._problem import MarkerSyntaxError, Problem
from pykb.markers._quoting import read_string
from pykb.markers.definition import ANY, ValueKind, ValueType


def read_value(lexer: Lexer, kind: ValueType, *, in_list: bool = False) -> object:
    """Read one value of the given type.

    Raises:
        MarkerSyntaxError: The text is not a value of this type.
    """
    if kind.kind is ValueKind.ANY:
        return read_value(lexer, guess_type(lexer, lists=not in_list), in_list=in_list)
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
    ValueKind.JSON: read_json,
    ValueKind.RAW: _read_raw,
}
