"""Python expressions as trees. Their text and imports are made from the tree. Also docstrings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykb.markers.comments import describe_docstring
from pykb.python_source import layout


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


def name(text: str, module: str = "") -> Name:
    """A name, imported from a module."""
    return Name(text, module)


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
        return Atom(quote(value))
    if isinstance(value, Mapping):
        pairs = tuple(Labelled(f"{quote(str(key))}: ", literal(item)) for key, item in value.items())
        return Bracketed(NOTHING, pairs, "{}")
    if isinstance(value, Sequence):
        return Bracketed(NOTHING, tuple(literal(item) for item in value), "[]")
    return Atom(repr(value))


def quote(text: str) -> str:
    r"""A string literal with the fewest escapes: raw where there are backslashes, else in double quotes.

    >>> print(quote("plain"), quote(r"^\d+$"), quote('say "yes"'), quote("a\nb"))
    "plain" r"^\d+$" 'say "yes"' "a\nb"
    """
    mark = "'" if text.count('"') > text.count("'") else '"'
    if "\\" in text and mark not in text and text.isprintable() and not text.endswith("\\"):
        return f"r{mark}{text}{mark}"
    out = [_ESCAPES.get(char) or (f"\\{char}" if char == mark else _printable(char)) for char in text]
    return f"{mark}{''.join(out)}{mark}"


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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
    """Whether the generator reads a description back unchanged from a docstring."""
    return bool(text) and _is_plain(text) and describe_docstring(_padded(text)) == text


def docstring(text: str, indent: int) -> str:
    """A docstring with the indentation of its place, for texts that :func:`survives` accepts."""
    mark = '"""'
    raw = "\\" in text
    if raw and (mark in text or text.endswith(("\\", '"'))):
        raw, text = False, text.replace("\\", "\\\\")
    if not raw:
        quotes = len(text) - len(text.rstrip('"'))
        text = text.replace(mark, '\\"\\"\\"')
        if quotes % 3:  # complete triple quotes are already escaped
            text = text[:-1] + '\\"'
    pad = " " * indent
    lines = text.split("\n")
    body = "\n".join([lines[0], *(pad + line if line else "" for line in lines[1:])])
    end = f"\n{pad}" if len(lines) > 1 else ""
    return f"{pad}{'r' if raw else ''}{mark}{body}{end}{mark}"


def _is_plain(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text) and "\u2028" not in text


def _padded(text: str) -> str:
    """A docstring's text as in a class, with the indentation of the source."""
    lines = text.split("\n")
    return "\n".join(
        [lines[0], *("    " + line if line else "" for line in lines[1:]), *(["    "] if lines[1:] else [])]
    )
