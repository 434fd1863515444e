"""Python expressions as trees. Their text and imports are made from the tree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykb.markers.comments import MARKER_IN_DOCSTRING, describe_docstring
from pykb.python_source import layout, quoting


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece of text without line breaks."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name to import. ``module`` is empty for names that the module itself defines."""

    name: str
    module: str = ""


@dataclass(frozen=True, slots=True)
class Bracketed:
    """Parts in brackets, after the called or subscripted expression."""

    head: Expression
    parts: tuple[Expression, ...]
    brackets: str = "()"


@dataclass(frozen=True, slots=True)
class Labelled:
    """``name=value``, or ``"key": value`` in a mapping."""

    label: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Either:
    """``left | right``."""

    parts: tuple[Expression, ...]


Expression = Atom | Name | Bracketed | Labelled | Either

NOTHING = Atom("")
NONE = Atom("None")
ANY = Name("Any", "typing")


def call(function: Expression, *positional: Expression, **keywords: Expression) -> Bracketed:
    """``function(positional, keyword=...)``."""
    named = tuple(Labelled(f"{key}=", value) for key, value in keywords.items())
    return Bracketed(function, (*positional, *named))


def subscript(base: Expression, *parts: Expression) -> Bracketed:
    """``base[parts]``."""
    return Bracketed(base, parts, "[]")


def optional(expression: Expression) -> Expression:
    """``expression | None``. ``Any`` already includes ``None``."""
    if expression == ANY:
        return expression
    return Either((*(expression.parts if isinstance(expression, Either) else (expression,)), NONE))


def literal(value: object) -> Expression:
    """A JSON value as Python writes it."""
    if isinstance(value, str):
        return Atom(quoting.string(value))
    if isinstance(value, Mapping):
        pairs = tuple(Labelled(f"{quoting.string(str(key))}: ", literal(item)) for key, item in value.items())
        return Bracketed(NOTHING, pairs, "{}")
    if isinstance(value, Sequence):
        return Bracketed(NOTHING, tuple(literal(item) for item in value), "[]")
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return Atom(repr(value))
    raise TypeError(f"no JSON value: {type(value).__name__}")


def flat(expression: Expression) -> str:
    """The text on one line."""
    return layout.flat(_nodes(expression))


def laid(expression: Expression, *, indent: int, column: int, tail: int = 0) -> str:
    """The text, broken if it does not fit. Each part in brackets then has its own line.

    Args:
        expression: The expression to write.
        indent: The indentation of the line that it begins on.
        column: The column at which it begins.
        tail: The length of the text after its last line.
    """
    return layout.broken(_nodes(expression), indent=indent, column=column, tail=tail)


def _nodes(expression: Expression) -> layout.Nodes:
    match expression:
        case Atom(text) | Name(text):
            return (text,)
        case Labelled(label, value):
            return (label, *_nodes(value))
        case Either(parts):
            return tuple(node for part in parts for node in (layout.OR, *_nodes(part)))[1:]
        case Bracketed(head, parts, brackets):
            # One part in square brackets after a name is a subscript. A trailing comma would make it a tuple.
            comma = "" if brackets == "[]" and len(parts) == 1 and head != NOTHING else ","
            return (*_nodes(head), layout.Brackets(brackets, tuple(_nodes(part) for part in parts), comma))


def names(expression: Expression) -> Iterator[Name]:
    """All names in an expression."""
    match expression:
        case Name():
            yield expression
        case Labelled(_, value):
            yield from names(value)
        case Either(parts):
            for part in parts:
                yield from names(part)
        case Bracketed(head, parts, _):
            yield from names(head)
            for part in parts:
                yield from names(part)


def survives(text: str) -> bool:
    """Whether the generator reads a description back unchanged from a docstring, and does not refuse it there."""
    is_plain = all(char.isprintable() or char == "\n" for char in text) and "\u2028" not in text
    return (
        bool(text) and is_plain and not MARKER_IN_DOCSTRING.search(text) and describe_docstring(_padded(text)) == text
    )


def _padded(text: str) -> str:
    """A docstring's text as in a class, with the indentation of the source."""
    lines = text.split("\n")
    return "\n".join(
        [lines[0], *("    " + line if line else "" for line in lines[1:]), *(["    "] if lines[1:] else [])]
    )
