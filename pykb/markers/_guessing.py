"""Guesses the type of a value without a declared type, as controller-gen does."""

from __future__ import annotations

from pykb.markers._expectation import DELIMITERS
from pykb.markers._lexer import Lexer, TokenKind
from pykb.markers._problem import MarkerSyntaxError
from pykb.markers._quoting import read_string
from pykb.markers.definition import BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, ValueKind, ValueType


def guess_type(lexer: Lexer, *, lists: bool) -> ValueType:
    """Guess the type of the next value. Does not consume it."""
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
    if token.kind in {TokenKind.INTEGER, TokenKind.FLOAT} and not token.flaw and ahead.peek_past_blanks() in DELIMITERS:
        return INTEGER if token.kind is TokenKind.INTEGER else NUMBER
    return STRING
