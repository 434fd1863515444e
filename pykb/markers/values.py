"""Typed values of marker arguments, read as controller-gen reads them.

Every reader takes a :class:`~pykb.markers.lexer.Lexer`, consumes the value, and returns plain Python data. The rules,
with their odd corners (``a;b`` and ``{a, b}`` are lists, ``-`` counts only directly before its digits, bare words run
to the next ``,`` ``;`` or ``}``), are those of controller-tools v0.23; the differential tests hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isinf
from typing import cast

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers.definition import ANY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, ValueKind, ValueType
from pykb.markers.lexer import Lexer, Token, TokenKind
from pykb.markers.problem import MarkerSyntaxError, Problem

_DELIMITERS = {"", ",", ";", "}"}
_INT64 = 1 << 63
_EXACT = 1 << 53  # integers up to here are exact as floats
_DECIMAL_INTEGER = re.compile(r"-?[0-9]+")
_BARE_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])\s*")
_ESCAPE = re.compile(r"\\(?:([abfnrtv\\\"])|([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))")
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}


def read_value(lexer: Lexer, kind: ValueType, *, in_list: bool = False) -> object:
    """Read one value of the given type.

    Raises:
        MarkerSyntaxError: What stands there is no such value.
    """
    if kind.kind is ValueKind.ANY:
        return read_value(lexer, guess_type(lexer, lists=not in_list), in_list=in_list)
    return _READERS[kind.kind](lexer, kind)


def read_string(lexer: Lexer, *, in_map: bool = False) -> str:
    """Read a quoted string, or a bare one that runs to the next delimiter (in a map also to a colon)."""
    token = lexer.next(numbers=False)
    if token.kind is TokenKind.STRING:
        return unquote(token)
    start, end = token.start, token.end
    delimiters = _DELIMITERS | {":"} if in_map else _DELIMITERS
    while lexer.peek_past_blanks() not in delimiters:
        token = lexer.next(numbers=False)
        _sound(token)
        if token.kind is TokenKind.STRING and token.text.startswith('"'):
            unquote(token, scan_only=True)
        end = token.end
    return lexer.text[start:end]


def unquote(token: Token, *, scan_only: bool = False) -> str:
    """The text that a quoted token stands for, by Go's rules of escaping.

    Args:
        token: A quoted string.
        scan_only: Whether only the shape of the escapes counts: the token is a piece of a bare string.
    """
    _sound(token)
    if token.text.startswith("`"):
        return token.text[1:-1].replace("\r", "")
    body = token.text[1:-1]
    if "\\" not in body:
        return body
    # An escape by byte (\\xff) may be a part of a UTF-8 sequence, so the text is put together from bytes.
    out = bytearray()
    last = 0
    for match in _ESCAPE.finditer(body):
        out += body[last : match.start()].encode("utf-8", "surrogatepass")
        out += b"" if scan_only and match[6] is None else _escaped(match, token)
        last = match.end()
    out += body[last:].encode("utf-8", "surrogatepass")
    return out.decode("utf-8", "replace")


def _escaped(match: re.Match[str], token: Token) -> bytes:
    simple, octal, hexadecimal, short, long, _ = match.groups()
    if simple:
        return _SIMPLE[simple].encode()
    if octal and int(octal, 8) < 256:
        return bytes([int(octal, 8)])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    code = int(short or long or "110000", 16)
    if code < 0x110000 and not 0xD800 <= code < 0xE000:
        return chr(code).encode()
    start = token.start + 1 + match.start()
    raise MarkerSyntaxError(
        Problem(
            MARKER_ARGUMENT,
            start,
            start + max(2, len(match[0])),
            f"`{match[0]}` is no escape sequence of a double-quoted string",
            label="unknown escape",
            help=(f"write the value in back-ticks, where nothing is escaped: `{_raw(token.text)}`",),
        )
    )


def _raw(text: str) -> str:
    return "`` " + f"`{text[1:-1]}`" + " ``" if "`" in text else f"`{text[1:-1]}`"


def guess_type(lexer: Lexer, *, lists: bool) -> ValueType:
    """What a value without a declared type looks like; looks ahead without consuming anything."""
    if lists:
        item = guess_type(lexer, lists=False)
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
    item = guess_type(ahead, lists=False)
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
    if (
        token.kind in {TokenKind.INTEGER, TokenKind.FLOAT}
        and not token.flaw
        and ahead.peek_past_blanks() in _DELIMITERS
    ):
        return INTEGER if token.kind is TokenKind.INTEGER else NUMBER
    return STRING


def _read_integer(lexer: Lexer, _: ValueType) -> object:
    start, text, token = _signed(lexer)
    if token.kind is not TokenKind.INTEGER:
        raise _expected("an integer", lexer, start, token)
    _sound(token)
    if not _DECIMAL_INTEGER.fullmatch(text):
        raise MarkerSyntaxError(
            Problem(
                MARKER_ARGUMENT,
                start,
                token.end,
                f"expected a decimal integer, found `{text}`",
                label="only digits and a leading `-` are read",
            )
        )
    return _in_range(int(text), start, token.end)


def _read_number(lexer: Lexer, _: ValueType) -> object:
    start, text, token = _signed(lexer)
    if token.kind not in {TokenKind.INTEGER, TokenKind.FLOAT}:
        raise _expected("a number", lexer, start, token)
    _sound(token)
    if not _BARE_NUMBER.fullmatch(text):
        raise _expected("a decimal number", lexer, start, token)
    return _finite(text, start, token.end)


def read_bare_number(lexer: Lexer, kind: ValueType) -> object:
    """Read a number that is the whole value of a marker: blanks around it and a sign are fine."""
    match = _BARE_NUMBER.match(lexer.text, lexer.position)
    integer = kind.kind is ValueKind.INTEGER
    if match is None or (integer and not _DECIMAL_INTEGER.fullmatch(match[1].removeprefix("+"))):
        lexer.peek_past_blanks()
        start = lexer.position
        raise _expected("an integer" if integer else "a number", lexer, start, lexer.next())
    lexer.position = match.end()
    if integer:
        return _in_range(int(match[1]), match.start(1), match.end(1))
    return _finite(match[1], match.start(1), match.end(1))


def _finite(text: str, start: int, end: int) -> int | float:
    if isinf(float(text)):
        raise MarkerSyntaxError(Problem(MARKER_ARGUMENT, start, end, f"`{text}` is too large", label="out of range"))
    return to_number(text)


def to_number(text: str) -> int | float:
    """A number as controller-gen writes it: an integer if it is integral and fits into 64 bits."""
    if _DECIMAL_INTEGER.fullmatch(text.removeprefix("+")) and -_INT64 <= int(text) < _INT64:
        return int(text)
    value = float(text)
    if not value.is_integer() or abs(value) >= _INT64:
        return value
    if abs(value) <= _EXACT:
        return int(value)
    from decimal import Decimal  # costs 4 ms of start-up, and nobody writes such numbers

    # By way of the shortest text, as Go writes it: `int(value)` would show digits that nobody wrote.
    return int(Decimal(repr(value)))


def _in_range(value: int, start: int, end: int) -> int:
    if -_INT64 <= value < _INT64:
        return value
    raise MarkerSyntaxError(
        Problem(MARKER_ARGUMENT, start, end, f"`{value}` does not fit into 64 bits", label="out of range")
    )


def _signed(lexer: Lexer) -> tuple[int, str, Token]:
    negative = lexer.peek() == "-"
    start = lexer.position
    if negative:
        lexer.next()
    token = lexer.next()
    return (start, f"-{token.text}", token) if negative else (token.start, token.text, token)


def _read_boolean(lexer: Lexer, _: ValueType) -> object:
    token = lexer.next()
    if token.text in {"true", "false"}:
        return token.text == "true"
    raise _expected("`true` or `false`", lexer, token.start, token)


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
            message = f"the key `{key}` stands twice in a map"
            raise MarkerSyntaxError(Problem(MARKER_ARGUMENT, start, lexer.position, message, label="a second time"))
        _require(lexer, ":", f"`:` after the key `{key}`")
        values[key] = read_value(lexer, item)
        if lexer.peek_past_blanks() == "}":
            break
        _require(lexer, ",", "a comma between the entries of a map")
    _require(lexer, "}", "`}` at the end of the map")
    return values


def _read_json(lexer: Lexer, _: ValueType) -> object:
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
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is JSON, but no text
    except (ValueError, RecursionError) as error:
        offset = error.pos if isinstance(error, json.JSONDecodeError) else 0
        where = start + min(offset, max(0, len(text) - 1))
        bare = json.dumps(text.strip(), ensure_ascii=False)
        what = f"expected JSON, found `{text.strip()}`"
        if isinstance(error, UnicodeError):
            what = "half a surrogate pair is no text"
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
    raise ValueError(f"`{text}` is no JSON")


def _json_integer(text: str) -> int:
    if not -_INT64 <= int(text) < _INT64:
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
            raise ValueError(f"the key `{key}` stands twice in an object")
        found[key] = value
    return found


def _read_raw(lexer: Lexer, _: ValueType) -> object:
    text, lexer.position = lexer.rest, len(lexer.text)
    return text


def _require(lexer: Lexer, char: str, description: str) -> None:
    token = lexer.next()
    if token.text != char:
        raise _expected(description, lexer, token.start, token)


def _sound(token: Token) -> None:
    if token.flaw:
        raise MarkerSyntaxError(
            Problem(MARKER_ARGUMENT, token.start, token.end, f"{token.flaw} in `{token.text}`", label="starts here")
        )


def _expected(what: str, lexer: Lexer, start: int, token: Token) -> MarkerSyntaxError:
    """An error that shows the whole word that stands where something else was expected."""
    if token.kind is TokenKind.END:
        return MarkerSyntaxError(
            Problem(
                MARKER_ARGUMENT, start, start + 1, f"expected {what}, found the end of the marker", label="ends here"
            )
        )
    end = token.end
    while end < len(lexer.text) and token.text not in _DELIMITERS and lexer.text[end] not in " ,;}":
        end += 1
    hint: tuple[str, ...] = ()
    if token.text == "-" and lexer.text[end : end + 1].isdigit():
        hint = ("a `-` is only read directly after `=`, `;`, `{` or `:`: remove the blank before it",)
    found = lexer.text[start:end]
    if found[:1] in {'"', "'"} and len(found) > 2:
        hint = (f"write it without quotes: `{found.strip(found[0])}`",)
    return MarkerSyntaxError(
        Problem(MARKER_ARGUMENT, start, end, f"expected {what}, found `{found}`", label=f"expected {what}", help=hint)
    )


_Reader = Callable[[Lexer, ValueType], object]
_READERS: dict[ValueKind, _Reader] = {
    ValueKind.STRING: lambda lexer, _: read_string(lexer),
    ValueKind.INTEGER: _read_integer,
    ValueKind.NUMBER: _read_number,
    ValueKind.BOOLEAN: _read_boolean,
    ValueKind.LIST: _read_list,
    ValueKind.MAP: _read_map,
    ValueKind.JSON: _read_json,
    ValueKind.RAW: _read_raw,
}
