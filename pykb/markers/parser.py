"""Parses the text of one marker into typed arguments with offsets, by both grammars."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pykb.diagnostics.codes.markers import (
    MARKER_ARGUMENT,
    MARKER_ARGUMENT_MISSING,
    MARKER_ARGUMENT_UNKNOWN,
    MARKER_SYNTAX,
)
from pykb.diagnostics.suggest import closest, only_meaning
from pykb.markers._lexer import Lexer, MarkerError, TokenKind, read_bare_number, to_number, unquote
from pykb.markers._values import check_value, read_value
from pykb.markers.definition import STRING, Argument, MarkerDefinition, ValueKind

TAG_NAME = re.compile(r"\+?([A-Za-z_][\w.:-]*)")
"""The name of a declarative tag."""


@dataclass(frozen=True, slots=True)
class SplitName:
    """A marker's text, split at its first ``=``.

    Attributes:
        whole: The text before the ``=``, without the plus sign.
        short: The same without its last ``:segment``.
        value_start: Offset of the text after the ``=``; the length of the text when there is none.
        has_value: Whether there is an ``=``.
    """

    whole: str
    short: str
    value_start: int
    has_value: bool


def split_name(text: str) -> SplitName:
    """Split ``+a:b:c=v`` into its names and the start of its value."""
    left, equals, _ = text[1:].partition("=")
    if not equals:
        return SplitName(left, left, len(text), has_value=False)
    short = left.rpartition(":")[0] or left
    return SplitName(left, short, len(left) + 2, has_value=True)


@dataclass(slots=True)
class ParsedArguments:
    """The result: values and offsets by argument name, and the problems found."""

    values: dict[str, object] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    problems: list[MarkerError] = field(default_factory=list)


def parse_arguments(definition: MarkerDefinition, text: str) -> ParsedArguments:
    """Read the arguments of a marker in the common grammar (``+a:b:c=v,d=w``, ``+a:b=v``, ``+a:b``)."""
    split = split_name(text)
    parsed = ParsedArguments()
    try:
        if definition.value is not None:
            _parse_anonymous(definition, definition.value, text, split, parsed)
        elif definition.arguments:
            _parse_named(definition, text, split, parsed)
        elif split.has_value:
            start, end = len(definition.name) + 1, len(text)
            parsed.problems.append(
                MarkerError(
                    (start, end),
                    f"`+{definition.name}` takes no value, found `{text[start:]}`",
                    f"write `+{definition.name}`",
                    label="remove this",
                    fix=(start, end, "") if text[start:] == "=true" else None,
                )
            )
    except MarkerError as error:
        parsed.problems.append(error)
    return parsed


def _parse_anonymous(
    definition: MarkerDefinition, argument: Argument, text: str, split: SplitName, parsed: ParsedArguments
) -> None:
    lexer = Lexer(text, split.value_start)
    extra = split.whole[len(definition.name) :].removeprefix(":")
    if extra:
        start = len(definition.name) + 2
        raise MarkerError(
            (start, start + len(extra)),
            f"`+{definition.name}` takes one value without a name, found an argument `{extra}`",
            f"write `+{definition.name}={text[split.value_start :]}`",
            code=MARKER_ARGUMENT_UNKNOWN,
            label="not a name that it knows",
        )
    if not lexer.rest.strip() and argument.type.kind is not ValueKind.RAW:
        if not argument.optional or split.has_value:
            raise MarkerError(
                (0, len(text)),
                f"`+{definition.name}` needs a value ({argument.type}), found none",
                _example(definition),
                code=MARKER_ARGUMENT_MISSING,
                label="no value",
            )
        return
    start = lexer.position
    value = read_bare_number(lexer, argument.type) if argument.bare else read_value(lexer, argument.type)
    end = lexer.position
    _at_end(definition, lexer, text)
    _store(argument, value, text, (start, end), parsed)


def _example(definition: MarkerDefinition) -> str:
    return f"for example `{definition.example}`" if definition.example else ""


def _parse_named(definition: MarkerDefinition, text: str, split: SplitName, parsed: ParsedArguments) -> None:
    if split.has_value and split.whole == definition.name:
        names = ", ".join(f"`{a.name}`" for a in definition.arguments)
        raise MarkerError(
            (len(definition.name) + 1, len(text)),
            f"`+{definition.name}` takes named arguments, found a value without a name",
            f"write `+{definition.name}:{definition.arguments[0].name}={text[split.value_start :]}`",
            code=MARKER_SYNTAX,
            label="which argument is this?",
            notes=(f"its arguments are {names}",),
        )
    if split.has_value:
        _read_named(definition, Lexer(text, len(definition.name) + 2), parsed)
    if not any(p.code is MARKER_ARGUMENT for p in parsed.problems):
        guessed = {_suggested(definition, p) for p in parsed.problems}
        missing = [a for a in definition.arguments if not a.optional and a.name not in parsed.values]
        for argument in missing:
            if argument.name not in guessed:
                parsed.problems.append(_missing_argument(definition, argument, len(text)))


def _suggested(definition: MarkerDefinition, problem: MarkerError) -> str | None:
    return next((a.name for a in definition.arguments if f"`{a.name}`" in "".join(problem.help)), None)


def _missing_argument(definition: MarkerDefinition, argument: Argument, end: int) -> MarkerError:
    return MarkerError(
        (0, end),
        f"`+{definition.name}` needs the argument `{argument.name}` ({argument.type}), found none",
        _example(definition),
        code=MARKER_ARGUMENT_MISSING,
        label=f"`{argument.name}` is missing",
        notes=(argument.summary,) if argument.summary else (),
    )


def _read_named(definition: MarkerDefinition, lexer: Lexer, parsed: ParsedArguments) -> None:
    while True:
        token = lexer.next()
        if token.kind is not TokenKind.IDENTIFIER:
            raise _no_argument_name(lexer, token.start, token.text)
        equals = lexer.next()
        if equals.text != "=":
            raise _no_equals(definition, lexer, token.text, equals.start, equals.text)
        argument = definition.argument(token.text)
        start = lexer.position
        if argument is None:
            parsed.problems.append(unknown_argument(definition, token.text, token.start))
            while lexer.peek_past_blanks() not in {",", ""}:
                lexer.next(numbers=False)
        else:
            value = read_value(lexer, argument.type)
            _store(argument, value, lexer.text, (start, lexer.position), parsed, name_start=token.start)
        char = lexer.peek_past_blanks()
        if not char:
            return
        if char != ",":
            raise _no_comma(lexer, token.text)
        lexer.next()


def unknown_argument(definition: MarkerDefinition, name: str, start: int) -> MarkerError:
    """The problem of an unknown argument, with the most similar known one."""
    names = [a.name for a in definition.arguments if a.name]
    nearest = closest(name, names)
    meant = only_meaning(name, names)
    listed = ", ".join(f"`{each}`" for each in names)
    return MarkerError(
        (start, start + len(name)),
        f"`+{definition.name}` has no argument `{name}`",
        f"an argument with a similar name exists: `{nearest}`" if nearest else "",
        code=MARKER_ARGUMENT_UNKNOWN,
        label="not an argument of this marker",
        notes=() if nearest else (f"its arguments are {listed}" if listed else "it takes none",),
        fix=(start, start + len(name), meant) if meant else None,
    )


def _no_argument_name(lexer: Lexer, start: int, found: str) -> MarkerError:
    if not found:
        return MarkerError(
            (max(0, len(lexer.text.rstrip()) - 1), len(lexer.text)),
            "expected an argument after the comma, found the end of the marker",
            code=MARKER_SYNTAX,
            label="ends here",
            notes=("a marker is one line: it does not continue in the next comment",),
        )
    return MarkerError(
        (start, start + len(found)),
        f"expected the name of an argument, found `{found}`",
        "write `=` without a colon before it" if found == "=" else "",
        code=MARKER_SYNTAX,
        label="expected a name",
    )


def _no_equals(definition: MarkerDefinition, lexer: Lexer, name: str, start: int, found: str) -> MarkerError:
    previous = lexer.text[:start].rstrip()
    help_: tuple[str, ...] = ()
    if definition.argument(name) is None and "," in previous:
        help_ = ("separate the elements of a list by `;`", "a value that contains a comma needs quotes or back-ticks")
    elif found == ":":
        help_ = (f"write `{name}=`",)
    end = len(lexer.text)
    return MarkerError(
        (start, start + len(found)) if found else (max(0, end - len(name)), end),
        f"expected `=` after the argument name `{name}`, found {f'`{found}`' if found else 'the end of the marker'}",
        *help_,
        code=MARKER_SYNTAX,
        label="expected `=`",
    )


def _no_comma(lexer: Lexer, name: str) -> MarkerError:
    found = lexer.rest
    help_ = "a value that contains `;` or `}` needs quotes or back-ticks"
    if found.startswith("#"):
        help_ = "put the comment on a line of its own"
    return MarkerError(
        (lexer.position, len(lexer.text)),
        f"expected a comma or the end of the marker after the value of `{name}`, found `{found}`",
        help_,
        code=MARKER_SYNTAX,
        label="not a part of the value",
    )


def _at_end(definition: MarkerDefinition, lexer: Lexer, text: str) -> None:
    if not lexer.peek_past_blanks():
        return
    found, start = lexer.rest, lexer.position
    value = text[split_name(text).value_start :].strip()
    kind = definition.value.type.kind if definition.value else None
    if found.lstrip().startswith("#"):
        help_ = "put the comment on a line of its own"
    elif kind in {ValueKind.INTEGER, ValueKind.NUMBER, ValueKind.BOOLEAN}:
        help_ = f"write `+{definition.name}={value.removesuffix(found).rstrip()}`"
    elif kind is ValueKind.LIST:
        help_ = "separate the elements of a list by `;`, or put all of them into `{...}`"
    else:
        help_ = f"write the whole value in back-ticks: `+{definition.name}=`{value}``"
    message = f"expected the end of the marker after the value, found `{found}`"
    raise MarkerError((start, len(text)), message, help_, label="not a part of the value")


def _store(
    argument: Argument,
    value: object,
    text: str,
    place: tuple[int, int],
    parsed: ParsedArguments,
    *,
    name_start: int | None = None,
) -> None:
    start, end = place
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    place = (start, max(end, start + 1))
    problem = check_value(argument, value, text, place)
    if problem is None and argument.name in parsed.values:
        at = place if name_start is None else (name_start, place[1])
        problem = MarkerError(at, f"the argument `{argument.name}` is given twice", label="a second time")
    if problem is not None:
        parsed.problems.append(problem)
    parsed.values[argument.name] = value
    parsed.places[argument.name] = place


# The grammar of `+k8s:` tags: `name(arguments)=value  # comment`. A value may be a tag.
#
# Grammar: `name ["(" [value | name ":" value {"," name ":" value}] ")"] ["=" value | "=+" tag] ["#" comment]`. Values
# are names, quoted strings, integers (decimal, hexadecimal, octal, binary) and booleans.
# Source: gengo's codetags (KEP-5073).


_IDENTIFIER = re.compile(r"[A-Za-z_][\w.\-]*")
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)(?![\w.])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])")
_COMMENT = re.compile(r"\s*(#.*)?$", re.DOTALL)

NestedTag = Callable[[int], tuple[object, int]]
"""Reads the tag at an offset. Returns the marker (``None`` when it is wrong and was reported) and where it ends."""


def parse_tag(definition: MarkerDefinition, text: str, start: int, nested: NestedTag) -> tuple[ParsedArguments, int]:
    """Read the arguments and the value of a tag.

    Args:
        definition: The tag's definition.
        text: The marker's text.
        start: Offset after the tag's name.
        nested: Reads the tag that is the value.

    Returns:
        The arguments, and the offset after the tag's last character (without a trailing comment).
    """
    parsed = ParsedArguments()
    reader = _TagReader(definition, text, start, parsed)
    try:
        reader.arguments()
        reader.value(nested)
        reader.end()
    except MarkerError as error:
        parsed.problems.append(error)
        return parsed, len(text)
    if not parsed.problems:
        reader.missing()
    return parsed, len(text[: reader.position].rstrip())


class _TagReader:
    def __init__(self, definition: MarkerDefinition, text: str, start: int, parsed: ParsedArguments) -> None:
        self.definition = definition
        self.text = text
        self.position = start
        self.parsed = parsed

    def arguments(self) -> None:
        if self._char() != "(":
            return
        self.position += 1
        if self._skip_blanks() == ")":
            self.position += 1
            return
        if self._named_next():
            self._named()
        else:
            self._positional()
        if self._skip_blanks() != ")":
            raise self._wrong("expected `)` at the end of the arguments", self.position)
        self.position += 1

    def _named_next(self) -> bool:
        match = _IDENTIFIER.match(self.text, self.position)
        return match is not None and self.text[match.end() :].lstrip().startswith(":")

    def _positional(self) -> None:
        start = self.position
        value = self._scalar()
        argument = next((a for a in self.definition.arguments if a.positional), None)
        if argument is None:
            names = [a.name for a in self.definition.arguments if a.name]
            found = self.text[start : self.position]
            listed = ", ".join(f"`{n}`" for n in names)
            raise MarkerError(
                (start, self.position),
                f"`+{self.definition.name}` takes no argument without a name, found `{found}`",
                label="not expected here",
                notes=(f"its arguments are {listed}",) if names else (),
            )
        self._keep(argument, str(value), start)

    def _named(self) -> None:
        while True:
            match = _IDENTIFIER.match(self.text, self.position)
            if match is None:
                raise self._wrong("expected the name of an argument", self.position)
            self.position = match.end()
            if self._skip_blanks() != ":":
                raise self._wrong(f"expected `:` after the argument name `{match[0]}`", self.position)
            self.position += 1
            self._skip_blanks()
            start = self.position
            value = self._scalar()
            argument = self.definition.argument(match[0])
            if argument is None and self.definition.open_arguments:
                argument = Argument(match[0], STRING)
                self._keep(argument, value, start)
            elif argument is None:
                self.parsed.problems.append(unknown_argument(self.definition, match[0], match.start()))
            else:
                self._keep(argument, str(value), start)
            if self._skip_blanks() != ",":
                return
            self.position += 1
            self._skip_blanks()

    def value(self, nested: NestedTag) -> None:
        argument = self.definition.value
        blank_from = self.position
        if self._skip_blanks() != "=":
            if self._char() not in {"", "#"} and blank_from == self.position:
                raise self._wrong("expected `=`, `(` or the end of the tag", self.position)
            return
        if blank_from != self.position:
            raise self._wrong(
                "expected `=` directly after the tag, found a blank before it", blank_from, end=self.position
            )
        equals = self.position
        self.position += 1
        if argument is None:
            name = f"+{self.definition.name}"
            message = f"`{name}` takes no value, found `{self.text[equals:]}`"
            raise MarkerError((equals, len(self.text)), message, label="remove this")
        self._skip_blanks()
        start = self.position
        if self._char() in {"", "#"} and not argument.optional:
            raise self._lacks(argument)
        if argument.type.kind is ValueKind.MARKER:
            self._nested(argument, nested, start)
            return
        if self._char() == "+" and self.text[start + 1 : start + 2].isalpha():
            raise self._wrong(f"expected {argument.type}, found a tag", start, end=len(self.text))
        self._keep(argument, self._typed(argument), start)

    def _nested(self, argument: Argument, nested: NestedTag, start: int) -> None:
        if self._char() != "+":
            name, found = self.definition.name, self.text[start:]
            raise MarkerError(
                (start, len(self.text)),
                f"`+{name}` takes a tag, found `{found}`",
                f"for example `{self.definition.example}`",
                label="expected `+k8s:...`",
            )
        marker, self.position = nested(start)
        if marker is not None:
            self.parsed.values[argument.name] = marker
            self.parsed.places[argument.name] = (start, self.position)
        else:
            self.parsed.values[argument.name] = None

    def _typed(self, argument: Argument) -> object:
        start = self.position
        kind = argument.type.kind
        if kind is ValueKind.RAW:
            return self._raw_value()
        value = self._scalar(numbers=kind is ValueKind.NUMBER)
        found = self.text[start : self.position]
        fits = {
            ValueKind.INTEGER: isinstance(value, int) and not isinstance(value, bool),
            ValueKind.NUMBER: isinstance(value, int | float) and not isinstance(value, bool),
            ValueKind.BOOLEAN: isinstance(value, bool),
        }
        if not fits.get(kind, True):
            raise self._wrong(f"expected {_article(argument)}, found `{found}`", start, end=self.position)
        return value if kind in fits else str(value)

    def _raw_value(self) -> object:
        """A value of the type that it looks like, without a comment after it."""
        start = self.position
        try:
            return self._scalar()
        except MarkerError:
            end = self.text.find(" #", start)
            self.position = len(self.text) if end < 0 else end
            return self.text[start : self.position].strip()

    def end(self) -> None:
        if not _COMMENT.match(self.text, self.position):
            found = self.text[self.position :].strip()
            raise self._wrong(
                f"expected the end of the tag, found `{found}`",
                self.position + len(self.text[self.position :]) - len(self.text[self.position :].lstrip()),
                end=len(self.text),
                help_="write a value with blanks in double quotes",
            )

    def missing(self) -> None:
        for argument in self.definition.arguments:
            if not argument.optional and argument.name not in self.parsed.values:
                self.parsed.problems.append(self._lacks(argument))

    def _lacks(self, argument: Argument) -> MarkerError:
        what = f"the argument {argument.spelling}" if argument.name else "a value"
        return MarkerError(
            (0, len(self.text)),
            f"`+{self.definition.name}` needs {what} ({argument.type}), found none",
            _example(self.definition),
            code=MARKER_ARGUMENT_MISSING,
            label="nothing there",
        )

    def _scalar(self, *, numbers: bool = False) -> object:
        char = self._char()
        if char in {'"', "`"}:
            token = Lexer(self.text, self.position).next()
            self.position = token.end
            return unquote(token)
        if char == "'":
            end = self.text.find("'", self.position + 1)
            text = self.text[self.position + 1 : end if end > 0 else None]
            raise self._wrong("single quotes are not quotes in a tag", self.position, help_=f'write `"{text}"`')
        if match := _INTEGER.match(self.text, self.position):
            self.position = match.end()
            return self._integer(match[0], match.start())
        if numbers and (match := _NUMBER.match(self.text, self.position)):
            self.position = match.end()
            return to_number(match[0])
        if match := _IDENTIFIER.match(self.text, self.position):
            self.position = match.end()
            return {"true": True, "false": False}.get(match[0], match[0])
        raise self._wrong("expected a name, a quoted string, an integer, `true` or `false`", self.position)

    def _integer(self, text: str, start: int) -> int:
        digits = text.lstrip("+-").lower()
        base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2], 8 if len(digits) > 1 and digits[0] == "0" else 10)
        value = int(digits, base) * (-1 if text.startswith("-") else 1)
        if not -(2**63) <= value < 2**63:
            raise self._wrong(f"`{text}` does not fit into 64 bits", start, end=start + len(text))
        return value

    def _keep(self, argument: Argument, value: object, start: int) -> None:
        if argument.name in self.parsed.values:
            raise self._wrong(f"the argument {argument.spelling} is given twice", start, end=self.position)
        place = (start, max(self.position, start + 1))
        if problem := check_value(argument, value, self.text, place):
            self.parsed.problems.append(problem)
        self.parsed.values[argument.name] = value
        self.parsed.places[argument.name] = place

    def _char(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip_blanks(self) -> str:
        while self._char() in {" ", "\t"}:
            self.position += 1
        return self._char()

    def _wrong(self, message: str, start: int, *, end: int = 0, help_: str = "") -> MarkerError:
        if not end:
            word = re.match(r"[\w.\-]+|.", self.text[start:])
            end = start + (len(word[0]) if word else 1)
            if ", found" not in message:
                message += f", found `{word[0]}`" if word else ", found the end of the tag"
        code = MARKER_SYNTAX if "`" in message and "expected `" in message else MARKER_ARGUMENT
        return MarkerError((start, end), message, help_, code=code, label="not expected here")


def _article(argument: Argument) -> str:
    word = str(argument.type)
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
