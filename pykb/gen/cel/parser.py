"""Parses the text of a rule into a syntax tree, by recursive descent."""

from __future__ import annotations

import re

from pykb.gen.cel.syntax import (
    Call,
    CelSyntaxError,
    Expression,
    Index,
    Literal,
    Name,
    Select,
    Sequence,
    Token,
    tokens,
)
from pykb.meta.cel import RESERVED

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
            optional = self._is("?")
            if optional:
                self._take()
            if opening.text == "[":
                found = Index(found, self.expression(), opening.offset, optional=optional)
                self.expect("]")
                continue
            field = self._take()
            if field.kind not in {"name", "quoted"} or field.text == "in":
                raise _unexpected(field, "the name of a field or method")
            if self._is("(") and field.kind == "name":
                found = Call(field.text, found, self._arguments(), field.offset)
            elif self._is("{") and isinstance(found, Name | Select):
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
            if token.text in RESERVED or token.text == "in":
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
                items, optional = self._items("]")
                return Sequence("list", items, token.offset, optional)
            case "{":
                self._at -= 1
                items, optional = self._entries(named=False)
                return Sequence("map", items, token.offset, optional)
            case "." if self._next.kind == "name":
                return self._primary()
        raise _unexpected(token, "a value")

    def _arguments(self) -> tuple[Expression, ...]:
        self.expect("(")
        found: list[Expression] = []
        while not self._is(")"):
            found.append(self.expression())
            if not self._is(","):
                break
            self._take()
            if self._is(")"):
                raise _unexpected(self._next, "an argument")
        self.expect(")")
        return tuple(found)

    def _items(self, closing: str) -> tuple[tuple[Expression, ...], frozenset[int]]:
        """The elements of a list, and the indices of the optional ones."""
        found: list[Expression] = []
        optional: set[int] = set()
        while not self._is(closing):
            if self._is("?"):
                self._take()
                optional.add(len(found))
            found.append(self.expression())
            if not self._is(","):
                break
            self._take()
        self.expect(closing)
        return tuple(found), frozenset(optional)

    def _entries(self, *, named: bool) -> tuple[tuple[Expression, ...], frozenset[int]]:
        """Keys and values in turn, and the indices of the optional entries."""
        self.expect("{")
        found: list[Expression] = []
        optional: set[int] = set()
        while not self._is("}"):
            if self._is("?"):
                self._take()
                optional.add(len(found) + 1)
            if named:
                self._take()
            else:
                found.append(self.expression())
            self.expect(":")
            found.append(self.expression())
            if not self._is(","):
                break
            self._take()
        self.expect("}")
        return tuple(found), frozenset(optional)


def _unexpected(token: Token, wanted: str) -> CelSyntaxError:
    found = "the end of the rule" if token.kind == "end" else f"`{token.text}`"
    return CelSyntaxError(f"expected {wanted}, found {found}", token.offset, max(1, len(token.text)))
