"""Reads typed values of marker arguments as controller-gen does.

Every reader takes a :class:`~pykb.markers._lexer.Lexer`, consumes the value, and returns plain Python data. The rules
are those of controller-tools v0.23, and the differential tests check them. ``a;b`` and ``{a, b}`` are lists, ``-`` must
be directly before its digits, and bare words end at the next ``,`` ``;`` or ``}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from math import isinf
from typing import cast

from pykb.diagnostics.suggest import closest, only_meaning
from pykb.markers._lexer import (
    DELIMITERS,
    INT64,
    Lexer,
    MarkerError,
    TokenKind,
    expected,
    read_integer,
    read_number,
    read_string,
    to_number,
)
from pykb.markers.definition import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Argument,
    ValueKind,
    ValueType,
)


def _read_json(lexer: Lexer, _: ValueType) -> object:
    """Read the rest of the marker as strict JSON."""
    start, text = lexer.position, lexer.rest
    lexer.position = len(lexer.text)
    if text.strip().startswith("ref("):
        message = f"`{text.strip()}` names a Go constant, which Python does not have"
        raise MarkerError((start, len(lexer.text)), message, "write the value itself", label="no JSON")
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
        raise MarkerError(
            (where, len(lexer.text)), what, f"for a string, write `+default={bare}`", label="wrong from here on"
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
        MarkerError: The text is not a value of this type.
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
            raise MarkerError((start, lexer.position), message, label="a second time")
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
        except MarkerError:
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


def check_value(argument: Argument, value: object, text: str, place: tuple[int, int]) -> MarkerError | None:
    """Find the first problem of a value of the right type, or ``None``.

    Args:
        argument: The argument's definition.
        value: The value that was read.
        text: The text of the marker.
        place: The offsets of the value in it.
    """
    found = text[slice(*place)]
    if quoted := _single_quotes(argument, found):
        return MarkerError(
            place,
            f"single quotes are not quotes in a marker: the value would contain them, found `{found}`",
            f"write {quoted}",
            label="the quotes become part of the value",
            fix=(*place, quoted.strip("`")) if quoted.startswith("`") else None,
        )
    if argument.textual and not isinstance(value, str):
        return MarkerError(
            place, f"expected a string, found `{found}`", f'write `"{found}"`', label="read as another type"
        )
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _check_range(argument, value, place)
    if isinstance(value, str) and argument.choices:
        return _check_choice(argument, value, place)
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value and argument.type.kind is ValueKind.LIST:
            return MarkerError(
                place,
                f"{argument.spelling} is an empty list",
                'an empty string (the core group, for example) is written `""`',
                label="nothing there",
            )
        return _check_elements(argument, value, text, place)
    return None


def _single_quotes(argument: Argument, found: str) -> str:
    if argument.type.kind in {ValueKind.JSON, ValueKind.RAW} or len(found) < 2:
        return ""
    if not (found[0] == found[-1] == "'"):
        return ""
    inner = found[1:-1]
    plain = not set(inner) & set('"\\')
    return f'`"{inner}"`' if plain else f"the value in back-ticks: `{inner}`"


def _check_range(argument: Argument, value: float, place: tuple[int, int]) -> MarkerError | None:
    low, high = argument.minimum, argument.maximum
    if (low is None or value >= low) and (high is None or value <= high):
        return None
    if low is not None and high is not None:
        wanted = f"a number from {low} to {high}"
    else:
        wanted = f"at least {low}" if low is not None else f"at most {high}"
    return MarkerError(place, f"expected {wanted}, found `{value}`", label="out of range")


def _check_choice(argument: Argument, value: str, place: tuple[int, int]) -> MarkerError | None:
    known = {c.casefold() for c in argument.choices} if argument.folded else set(argument.choices)
    if (value.casefold() if argument.folded else value) in known:
        return None
    nearest, meant = closest(value, argument.choices), only_meaning(value, argument.choices)
    listed = [f"`{c}`" for c in argument.choices]
    wanted = " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
    return MarkerError(
        place,
        f"expected {wanted}, found `{value}`",
        f"write `{nearest}`" if nearest else "",
        label=f"not a value of {argument.spelling}",
        fix=(*place, meant) if meant else None,
    )


def _check_elements(
    argument: Argument, values: Sequence[object], text: str, place: tuple[int, int]
) -> MarkerError | None:
    for element in values:
        if not isinstance(element, str):
            continue
        if element.startswith(";"):
            return MarkerError(
                place,
                f"the list has an empty element: it would be read as `{element}`",
                'an empty string is written `""`',
                label="two `;` in a row",
            )
        if len(element) > 1 and element[0] == element[-1] == "'":
            return MarkerError(
                place,
                f"single quotes are not quotes in a marker: the element would be `{element}`",
                f'write `"{element[1:-1]}"`, or leave the quotes out',
                label="the quotes become part of the value",
            )
        if argument.choices and (problem := _check_choice(argument, element, place)):
            if at := find_element(text, *place, element):  # a long search, so only for a finding
                return _check_choice(argument, element, at)
            problem.fix = None
            return problem
    return None


def find_element(text: str, start: int, end: int, element: str) -> tuple[int, int] | None:
    """The offsets of the first element of a list with this value; ``None`` if it is not written like that."""
    match = re.compile(rf"(?<![^;,{{\s\"`=(]){re.escape(element)}(?![^;,}}\s\"`)])").search(text, start, end)
    return match.span() if match and element else None
