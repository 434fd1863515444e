"""Splits marker text into tokens, and reads numbers and strings from them.

The rules are those of Go's ``text/scanner`` with controller-gen's settings: identifiers, integers, floats,
``"strings"`` and raw ``` `strings` ```; any other character is a token of its own. Comments and single-quoted text have
no special meaning. Their characters are ordinary tokens.
Source of the rules: https://pkg.go.dev/text/scanner and https://go.dev/ref/spec#Lexical_elements
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from math import isinf

from pykb.diagnostics import Code
from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers.definition import ValueKind, ValueType


class MarkerError(Exception):
    """A mistake in a marker. It is raised where the reading of the marker ends, and never leaves ``pykb.markers``.

    Attributes:
        place: The offsets in the marker's text: of the first wrong character, and after the last one.
        message: The headline.
        help: What to type.
        code: Its kind.
        label: A few words at the place.
        notes: Why.
        fix: The start and the end of what to replace, and the text to put there, if only one text is possible.
    """

    def __init__(
        self,
        place: tuple[int, int],
        message: str,
        *help: str,  # noqa: A002 - the word the output uses
        code: Code = MARKER_ARGUMENT,
        label: str = "",
        notes: tuple[str, ...] = (),
        fix: tuple[int, int, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.place, self.message, self.help = place, message, tuple(filter(None, help))
        self.code, self.label, self.notes, self.fix = code, label, notes, fix


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

    def __init__(self, text: str, position: int) -> None:
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
        if match := _IDENTIFIER.match(self.text, start):
            return Token(TokenKind.IDENTIFIER, match[0], start)
        if char == '"':
            match = _QUOTED.match(self.text, start)
            if match:
                return Token(TokenKind.STRING, match[0], start)
            return Token(TokenKind.STRING, self.text[start:], start, 'the closing quote `"` is missing')
        if char == "`":
            match = _RAW.match(self.text, start)
            if match:
                return Token(TokenKind.STRING, match[0], start)
            return Token(TokenKind.STRING, self.text[start:], start, "the closing back-tick is missing")
        if numbers and (match := _NUMBER.match(self.text, start)):
            kind = TokenKind.INTEGER if _INTEGER.fullmatch(match[0]) else TokenKind.FLOAT
            flaw = "" if _WELL_FORMED.fullmatch(match[0]) else f"`{match[0]}` is not a well-formed number"
            return Token(kind, match[0], start, flaw)
        return Token(TokenKind.CHARACTER, char, start)


DELIMITERS = {"", ",", ";", "}"}
"""The characters that end a bare value. The empty string is the end of the marker."""


def require_sound(token: Token) -> None:
    """Raise an error if a token is malformed.

    Raises:
        MarkerError: A quote is not closed, or a number is malformed.
    """
    if token.flaw:
        raise MarkerError((token.start, token.end), f"{token.flaw} in `{token.text}`", label="starts here")


def expected(what: str, lexer: Lexer, start: int, token: Token) -> MarkerError:
    """An error that shows the whole word found in place of the expected value."""
    if token.kind is TokenKind.END:
        return MarkerError((start, start + 1), f"expected {what}, found the end of the marker", label="ends here")
    end = token.end
    while end < len(lexer.text) and token.text not in DELIMITERS and lexer.text[end] not in " ,;}":
        end += 1
    hint = ""
    if token.text == "-" and lexer.text[end : end + 1].isdigit():
        hint = "a `-` is only read directly after `=`, `;`, `{` or `:`: remove the blank before it"
    found = lexer.text[start:end]
    if found[:1] in {'"', "'"} and len(found) > 2:
        hint = f"write it without quotes: `{found.strip(found[0])}`"
    return MarkerError((start, end), f"expected {what}, found `{found}`", hint, label=f"expected {what}")


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
        message = f"expected a decimal integer, found `{text}`"
        raise MarkerError((start, token.end), message, label="only digits and a leading `-` are read")
    return _in_64_bits(int(text), (start, token.end))


def read_number(lexer: Lexer, _: ValueType) -> object:
    """Read a decimal number."""
    start, text, token = _signed(lexer)
    if token.kind not in {TokenKind.INTEGER, TokenKind.FLOAT}:
        raise expected("a number", lexer, start, token)
    require_sound(token)
    if not _BARE_NUMBER.fullmatch(text):
        raise expected("a decimal number", lexer, start, token)
    return _finite(text, (start, token.end))


def read_bare_number(lexer: Lexer, kind: ValueType) -> object:
    """Read a number that is the whole value of a marker: blanks around it and a sign are allowed."""
    match = _BARE_NUMBER.match(lexer.text, lexer.position)
    integer = kind.kind is ValueKind.INTEGER
    if match is None or (integer and not _DECIMAL_INTEGER.fullmatch(match[1].removeprefix("+"))):
        lexer.peek_past_blanks()
        start = lexer.position
        raise expected("an integer" if integer else "a number", lexer, start, lexer.next())
    lexer.position = match.end()
    return _in_64_bits(int(match[1]), match.span(1)) if integer else _finite(match[1], match.span(1))


def _finite(text: str, place: tuple[int, int]) -> int | float:
    if isinf(float(text)):
        raise MarkerError(place, f"`{text}` is too large", label="out of range")
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


def _in_64_bits(value: int, place: tuple[int, int]) -> int:
    if -INT64 <= value < INT64:
        return value
    raise MarkerError(place, f"`{value}` does not fit into 64 bits", label="out of range")


def _signed(lexer: Lexer) -> tuple[int, str, Token]:
    negative = lexer.peek() == "-"
    start = lexer.position
    if negative:
        lexer.next()
    token = lexer.next()
    return (start, f"-{token.text}", token) if negative else (token.start, token.text, token)


_ESCAPE = re.compile(r"\\(?:([abfnrtv\\\"])|([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))")
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}


def read_string(lexer: Lexer, *, in_map: bool = False) -> str:
    """Read a quoted string, or a bare one up to the next delimiter (in a map also up to a colon)."""
    token = lexer.next(numbers=False)
    if token.kind is TokenKind.STRING:
        return unquote(token)
    start, end = token.start, token.end
    delimiters = DELIMITERS | {":"} if in_map else DELIMITERS
    while lexer.peek_past_blanks() not in delimiters:
        token = lexer.next(numbers=False)
        require_sound(token)
        if token.kind is TokenKind.STRING and token.text.startswith('"'):
            unquote(token, scan_only=True)
        end = token.end
    return lexer.text[start:end]


def unquote(token: Token, *, scan_only: bool = False) -> str:
    """The text of a quoted token, by Go's rules for escapes.

    Args:
        token: A quoted string.
        scan_only: Whether to check only the shape of the escapes, for a token inside a bare string.
    """
    require_sound(token)
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
    raise MarkerError(
        (start, start + max(2, len(match[0]))),
        f"`{match[0]}` is not an escape sequence of a double-quoted string",
        f"write the value in back-ticks, where nothing is escaped: `{_raw(token.text)}`",
        label="unknown escape",
    )


def _raw(text: str) -> str:
    return "`` " + f"`{text[1:-1]}`" + " ``" if "`" in text else f"`{text[1:-1]}`"
