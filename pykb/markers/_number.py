"""Reads numbers in markers as controller-gen does, and writes them as JSON does."""

from __future__ import annotations

import re
from math import isinf

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers._expectation import expected, require_sound
from pykb.markers._lexer import Lexer, Token, TokenKind
from pykb.markers._problem import MarkerSyntaxError, Problem
from pykb.markers.definition import ValueKind, ValueType

INT64 = 1 << 63
_EXACT = 1 << 53  # integers up to here are exact as floats
_DECIMAL_INTEGER = re.compile(r"-?[0-9]+")
_BARE_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])\s*")


def read_integer(lexer: Lexer, _: ValueType) -> object:
    """Read a decimal integer of 64 bits."""
    start, text, token = _signed(lexer)
    if token.kind is not TokenKind.INTEGER:
        raise expected("an integer", lexer, start, token)
    require_sound(token)
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
    return _in_64_bits(int(text), start, token.end)


def read_number(lexer: Lexer, _: ValueType) -> object:
    """Read a decimal number."""
    start, text, token = _signed(lexer)
    if token.kind not in {TokenKind.INTEGER, TokenKind.FLOAT}:
        raise expected("a number", lexer, start, token)
    require_sound(token)
    if not _BARE_NUMBER.fullmatch(text):
        raise expected("a decimal number", lexer, start, token)
    return _finite(text, start, token.end)


def read_bare_number(lexer: Lexer, kind: ValueType) -> object:
    """Read a number that is the whole value of a marker: blanks around it and a sign are allowed."""
    match = _BARE_NUMBER.match(lexer.text, lexer.position)
    integer = kind.kind is ValueKind.INTEGER
    if match is None or (integer and not _DECIMAL_INTEGER.fullmatch(match[1].removeprefix("+"))):
        lexer.peek_past_blanks()
        start = lexer.position
        raise expected("an integer" if integer else "a number", lexer, start, lexer.next())
    lexer.position = match.end()
    if integer:
        return _in_64_bits(int(match[1]), match.start(1), match.end(1))
    return _finite(match[1], match.start(1), match.end(1))


def _finite(text: str, start: int, end: int) -> int | float:
    if isinf(float(text)):
        raise MarkerSyntaxError(Problem(MARKER_ARGUMENT, start, end, f"`{text}` is too large", label="out of range"))
    return to_number(text)


def to_number(text: str) -> int | float:
    """A number as controller-gen writes it: an integer if it is integral and fits in 64 bits."""
    if _DECIMAL_INTEGER.fullmatch(text.removeprefix("+")) and -INT64 <= int(text) < INT64:
        return int(text)
    value = float(text)
    if not value.is_integer() or abs(value) >= INT64:
        return value
    if abs(value) <= _EXACT:
        return int(value)
    from decimal import Decimal  # the import takes 4 ms, and such numbers are rare

    # From the shortest text, as in Go. `int(value)` would add digits that nobody wrote.
    return int(Decimal(repr(value)))


def _in_64_bits(value: int, start: int, end: int) -> int:
    if -INT64 <= value < INT64:
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
