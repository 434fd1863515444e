"""Reads strings in markers: quoted as in Go, or bare words up to the next delimiter."""

from __future__ import annotations

import re

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers._expectation import DELIMITERS, require_sound
from pykb.markers._lexer import Lexer, Token, TokenKind
from pykb.markers._problem import MarkerSyntaxError, Problem

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
    raise MarkerSyntaxError(
        Problem(
            MARKER_ARGUMENT,
            start,
            start + max(2, len(match[0])),
            f"`{match[0]}` is not an escape sequence of a double-quoted string",
            label="unknown escape",
            help=(f"write the value in back-ticks, where nothing is escaped: `{_raw(token.text)}`",),
        )
    )


def _raw(text: str) -> str:
    return "`` " + f"`{text[1:-1]}`" + " ``" if "`" in text else f"`{text[1:-1]}`"
