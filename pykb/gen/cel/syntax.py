"""CEL's syntax: tokens, the tree, and the parser (recursive descent)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pykb.meta.names import CEL_RESERVED
from pykb.reading import read_python


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


def text_of(literal: Literal) -> str | None:
    """The value of a string. ``None`` for another literal, and for one with escapes that Python reads differently."""
    if not re.fullmatch(r"[rR][\"'].*|[\"'](?:[^\\]|\\[^?`])*", literal.text, re.DOTALL):
        return None
    try:
        [statement] = read_python(literal.text).body
    except SyntaxError:
        return None
    return str(ast.literal_eval(statement.value)) if isinstance(statement, ast.Expr) else None


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


# Binary operators by precedence; all are left-associative.
_STRENGTH = {
    **dict.fromkeys(("||",), 1),
    **dict.fromkeys(("&&",), 2),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_LITERALS = {"true": "bool", "false": "bool", "null": "null"}
_DEEPEST = 100


def parse(text: str) -> Expression:
    """Parse an expression.

    Raises:
        CelSyntaxError: The text is not an expression. The error says where.
    """
    if half := re.search("[\ud800-\udfff]", text):
        raise CelSyntaxError("half a surrogate pair is not a character", half.start())
    reader = _Reader(list(tokens(text)))
    found = reader.expression()
    reader.expect("end", "the end of the rule")
    return found


class _Reader:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        if token.kind != "end":
            self._at += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.text in texts and self._next.kind in {"punctuation", "name"}

    def _accept(self, text: str) -> bool:
        """Read the next token if it is this one. Returns whether it was."""
        accepted = self._is(text)
        if accepted:
            self._take()
        return accepted

    def expect(self, text: str, what: str = "") -> Token:
        """Read the next token, which must be this one."""
        token = self._next
        if (token.kind if text == "end" else token.text) != text:
            raise _unexpected(token, what or f"`{text}`")
        return self._take()

    def expression(self) -> Expression:
        """Parse ``condition ? yes : no``, or anything that binds more tightly."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelSyntaxError("the rule is nested too deeply", self._next.offset)
        found = self._binary(1)
        if self._is("?"):
            offset = self._take().offset
            yes = self._binary(1)
            self.expect(":")
            found = Call("?:", None, (found, yes, self.expression()), offset)
        self._depth -= 1
        return found

    def _binary(self, weakest: int) -> Expression:
        """Parse operators of at least this precedence.

        Precedence climbing needs fewer stack frames than one function per level of the grammar.
        """
        found = self._unary()
        while self._is(*_STRENGTH) and (strength := _STRENGTH[self._next.text]) >= weakest:
            operator = self._take()
            found = Call(operator.text, None, (found, self._binary(strength + 1)), operator.offset)
        return found

    def _unary(self) -> Expression:
        if self._is("!", "-"):
            operator = self._take()
            while self._is(operator.text):
                self._take()
            return Call(f"{operator.text}_", None, (self._member(),), operator.offset)
        return self._member()

    def _member(self) -> Expression:
        found = self._primary()
        while self._is(".", "["):
            opening = self._take()
            optional = self._accept("?")
            if opening.text == "[":
                found = Index(found, self.expression(), opening.offset, optional=optional)
                self.expect("]")
                continue
            field = self._take()
            if field.kind not in {"name", "quoted"} or field.text == "in":
                raise _unexpected(field, "the name of a field or method")
            if self._is("(") and field.kind == "name":
                found = Call(field.text, found, self._arguments(), field.offset)
            elif isinstance(found, Name | Select) and self._accept("{"):
                found = Sequence("message", self._entries(named=True)[0], field.offset)
            else:
                found = Select(found, field.text.strip("`"), field.offset, optional=optional)
        return found

    def _primary(self) -> Expression:
        token = self._take()
        if token.kind in {"number", "string"}:
            return Literal(token.kind, token.offset, token.text)
        if token.kind == "name":
            if token.text in _LITERALS:
                return Literal(_LITERALS[token.text], token.offset, token.text)
            if token.text in CEL_RESERVED or token.text == "in":
                raise CelSyntaxError(
                    f"`{token.text}` is reserved: a field of this name is `__{token.text}__`",
                    token.offset,
                    len(token.text),
                )
            if self._is("("):
                return Call(token.text, None, self._arguments(), token.offset)
            return Name(token.text, token.offset)
        match token.text:
            case "(":
                found = self.expression()
                self.expect(")")
                return found
            case "[":
                items, optional = self._items()
                return Sequence("list", items, token.offset, optional)
            case "{":
                items, optional = self._entries(named=False)
                return Sequence("map", items, token.offset, optional)
            case "." if self._next.kind == "name":
                return self._primary()
        raise _unexpected(token, "a value")

    def _arguments(self) -> tuple[Expression, ...]:
        self.expect("(")
        expressions: list[Expression] = []
        while not self._is(")"):
            expressions.append(self.expression())
            if not self._accept(","):
                break
            if self._is(")"):
                raise _unexpected(self._next, "an argument")
        self.expect(")")
        return tuple(expressions)

    def _items(self) -> tuple[tuple[Expression, ...], frozenset[int]]:
        """The elements of a list, and the indices of the optional ones."""
        expressions: list[Expression] = []
        optional: set[int] = set()
        for is_optional in self._separated("]"):
            if is_optional:
                optional.add(len(expressions))
            expressions.append(self.expression())
        return tuple(expressions), frozenset(optional)

    def _entries(self, *, named: bool) -> tuple[tuple[Expression, ...], frozenset[int]]:
        """Keys and values in turn, and the indices of the optional entries."""
        expressions: list[Expression] = []
        optional: set[int] = set()
        for is_optional in self._separated("}"):
            if is_optional:
                optional.add(len(expressions) + 1)
            if named:
                self._take()
            else:
                expressions.append(self.expression())
            self.expect(":")
            expressions.append(self.expression())
        return tuple(expressions), frozenset(optional)

    def _separated(self, closing: str) -> Iterator[bool]:
        """Read the signs around each part of a list: whether it is optional, the comma after it, the closing bracket.

        The caller reads the part itself at each step.
        """
        while not self._is(closing):
            yield self._accept("?")
            if not self._accept(","):
                break
        self.expect(closing)


def _unexpected(token: Token, wanted: str) -> CelSyntaxError:
    found = "the end of the rule" if token.kind == "end" else f"`{token.text}`"
    return CelSyntaxError(f"expected {wanted}, found {found}", token.offset, max(1, len(token.text)))
