"""Splits marker text into tokens, by the rules of Go's ``text/scanner`` with controller-gen's settings.

Identifiers, integers, floats, ``"strings"`` and raw ``` `strings` ```; any other character is a token of its own.
Comments and single-quoted text have no special meaning. Their characters are ordinary tokens.
Source of the rules: https://pkg.go.dev/text/scanner and https://go.dev/ref/spec#Lexical_elements
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_BLANK = " \t\r\n"
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_RAW = re.compile(r"`[^`]*`")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oObB][0-9_]*"
    r"|[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?"
    r"|\.[0-9][0-9_]*(?:[eE][+-]?[0-9_]*)?"
)
_WELL_FORMED = re.compile(
    r"(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)"
    r"|[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?|[eE][+-]?[0-9](?:_?[0-9])*)"
    r"|\.[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
    r"|0[xX](?:_?[0-9a-fA-F])*\.?(?:_?[0-9a-fA-F])*[pP][+-]?[0-9](?:_?[0-9])*"
)
_INTEGER = re.compile(r"0[xX][0-9a-fA-F_]*|0[oObB][0-9_]*|[0-9][0-9_]*")


class TokenKind(Enum):
    """The kind of a token."""

    END = "the end of the marker"
    IDENTIFIER = "a name"
    INTEGER = "an integer"
    FLOAT = "a number"
    STRING = "a quoted string"
    CHARACTER = "a character"


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its place in the text. ``flaw`` says what is wrong with it, if anything is."""

    kind: TokenKind
    text: str
    start: int
    flaw: str = ""

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)


class Lexer:
    """Reads tokens one by one. Callers look ahead with a copy (:meth:`fork`)."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position

    def fork(self) -> Lexer:
        """A second reader at the same position."""
        return Lexer(self.text, self.position)

    def peek(self) -> str:
        """The next character, blanks included; empty at the end."""
        return self.text[self.position : self.position + 1]

    def peek_past_blanks(self) -> str:
        """Skip blanks and return the next character; empty at the end."""
        while self.position < len(self.text) and self.text[self.position] in _BLANK:
            self.position += 1
        return self.peek()

    @property
    def rest(self) -> str:
        """The text that has not been read yet."""
        return self.text[self.position :]

    def next(self, *, numbers: bool = True) -> Token:
        """Read one token. Without ``numbers``, digits and dots are single characters, as in bare words."""
        char = self.peek_past_blanks()
        start = self.position
        if not char:
            return Token(TokenKind.END, "", start)
        token = self._read(char, start, numbers=numbers)
        self.position = token.end
        return token

    def _read(self, char: str, start: int, *, numbers: bool) -> Token:
        if found := _IDENTIFIER.match(self.text, start):
            return Token(TokenKind.IDENTIFIER, found[0], start)
        if char == '"':
            found = _QUOTED.match(self.text, start)
            if found:
                return Token(TokenKind.STRING, found[0], start)
            return Token(TokenKind.STRING, self.text[start:], start, 'the closing quote `"` is missing')
        if char == "`":
            found = _RAW.match(self.text, start)
            if found:
                return Token(TokenKind.STRING, found[0], start)
            return Token(TokenKind.STRING, self.text[start:], start, "the closing back-tick is missing")
        if numbers and (found := _NUMBER.match(self.text, start)):
            kind = TokenKind.INTEGER if _INTEGER.fullmatch(found[0]) else TokenKind.FLOAT
            flaw = "" if _WELL_FORMED.fullmatch(found[0]) else f"`{found[0]}` is not a well-formed number"
            return Token(kind, found[0], start, flaw)
        return Token(TokenKind.CHARACTER, char, start)
