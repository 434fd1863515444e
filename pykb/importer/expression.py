"""Python expressions as trees, and their text laid out as Ruff's formatter would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

WIDTH = 120
_INDENT = 4


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece of text that is never broken."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name that has to be imported; ``module`` is empty for what the module itself defines."""

    name: str
    module: str = ""


@dataclass(frozen=True, slots=True)
class Bracketed:
    """Parts between brackets, behind what is called or subscripted."""

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
    """``expression | None``; anything goes is None already."""
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
    match expression:
        case Atom(text):
            return text
        case Name(text):
            return text
        case Labelled(label, value):
            return label + flat(value)
        case Either(parts):
            return " | ".join(flat(part) for part in parts)
        case Bracketed(head, parts, brackets):
            return f"{flat(head)}{brackets[0]}{', '.join(flat(part) for part in parts)}{brackets[1]}"


def width(text: str) -> int:
    """The columns that a text takes: two for each wide character, as of Chinese."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def layout(expression: Expression, *, indent: int, column: int, tail: int = 0) -> str:
    """The text, broken where it does not fit.

    Args:
        expression: What to write.
        indent: The indentation of the line that it begins on.
        column: Where on that line it begins.
        tail: The length of what follows its last line.
    """
    text = flat(expression)
    if column + width(text) + tail <= WIDTH:
        return text
    match expression:
        case Either(parts):
            # One operand a line; whoever is not between brackets already puts parentheses around it.
            last = len(parts) - 1
            laid = [
                layout(part, indent=indent, column=indent + (2 if at else 0), tail=tail if at == last else 0)
                for at, part in enumerate(parts)
            ]
            return f"\n{' ' * indent}| ".join(laid)
        case Labelled(label, value):
            return label + layout(value, indent=indent, column=column + len(label), tail=tail)
        case Bracketed(head, parts, brackets) if parts:
            inner = indent + _INDENT
            # One part in square brackets behind a name is a subscript, where a comma would make a tuple.
            comma = "" if brackets == "[]" and len(parts) == 1 and head != NOTHING else ","
            lines = [" " * inner + layout(part, indent=inner, column=inner, tail=len(comma)) + comma for part in parts]
            return "\n".join([f"{flat(head)}{brackets[0]}", *lines, " " * indent + brackets[1]])
    return text


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
