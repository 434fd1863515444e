"""CEL's syntax tree and its lexer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class CelSyntaxError(ValueError):
    """The text is not an expression.

    ``offset`` is the position of the error and ``length`` its length, in characters.
    """

    def __init__(self, message: str, offset: int, length: int = 1) -> None:
        super().__init__(message)
        self.offset = offset
        self.length = length


class Token(NamedTuple):
    """A token."""

    kind: str  # "name", "quoted", "number", "string", "bytes", "punctuation", "end"
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, boolean or ``null``."""

    kind: str
    offset: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or a namespace of functions."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Select:
    """``operand.field``, or ``operand.?field``."""

    operand: Expression
    field: str
    offset: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """``operand[index]``, or ``operand[?index]``."""

    operand: Expression
    index: Expression
    offset: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a method, or an operator (by its symbol)."""

    function: str
    target: Expression | None
    arguments: tuple[Expression, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list, or the keys and values of a map or message.

    ``optional`` has the indices of the items marked with a question mark. Such an item is left out when it
    has no value.
    """

    kind: str
    items: tuple[Expression, ...]
    offset: int
    optional: frozenset[int] = frozenset()


Expression = Literal | Name | Select | Index | Call | Sequence

_STRING = r"""
    "{3}(?:[^\\]|\\.)*?"{3} | '{3}(?:[^\\]|\\.)*?'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
"""
_RAW = r"""
    "{3}.*?"{3} | '{3}.*?'{3} | "[^"\n]*" | '[^'\n]*'
"""
_TOKEN = re.compile(
    rf"""
    (?P<blank>\s+|//[^\n]*)
    | (?P<string>(?:[bB]?[rR]|[rR][bB])(?:{_RAW})|[bB]?(?:{_STRING}))
    | (?P<number>0x[0-9a-fA-F]+u?|(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?[uU]?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    | (?P<punctuation>&&|\|\||==|!=|<=|>=|[-+*/%!<>()\[\]{{}},.:?])
    """,
    re.VERBOSE | re.DOTALL,
)
# What may follow a backslash in a text. Unlike Python, CEL refuses all other escapes.
_ESCAPE = re.compile(r"""\\(?:[abfnrtv\\?"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})""")


def tokens(text: str) -> Iterator[Token]:
    """The tokens of an expression, followed by an end token.

    Raises:
        CelSyntaxError: A character does not start a token, or a text is not terminated.
    """
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            if text[offset] in "\"'":
                raise CelSyntaxError("this text has no end", offset, len(text) - offset)
            raise CelSyntaxError(f"`{text[offset]}` has no meaning here", offset)
        kind = match.lastgroup or ""
        if kind == "string":
            _check_escapes(match[0], offset)
        if kind != "blank":
            yield Token(kind, match[0], offset)
        offset = match.end()
    yield Token("end", "", len(text))


def _check_escapes(text: str, offset: int) -> None:
    prefix = text[: min(text.find(quote) for quote in "\"'" if quote in text)]
    if "r" in prefix.lower():
        return
    at = text.find("\\")
    while at >= 0:
        match = _ESCAPE.match(text, at)
        if match is None:
            raise CelSyntaxError(f"`{text[at : at + 2]}` is not an escape: double the backslash", offset + at, 2)
        at = text.find("\\", match.end())
