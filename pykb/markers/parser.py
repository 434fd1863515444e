"""Parses the text of one marker into typed arguments with offsets. Both grammars start here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pykb.diagnostics.codes.markers import (
    MARKER_ARGUMENT,
    MARKER_ARGUMENT_MISSING,
    MARKER_ARGUMENT_UNKNOWN,
    MARKER_SYNTAX,
)
from pykb.diagnostics.suggest import closest, only_meaning
from pykb.markers._lexer import Lexer, MarkerError, TokenKind, read_bare_number
from pykb.markers._values import check_value, read_value
from pykb.markers.definition import Argument, MarkerDefinition, ValueKind

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
                    start,
                    end,
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
            start,
            start + len(extra),
            f"`+{definition.name}` takes one value without a name, found an argument `{extra}`",
            f"write `+{definition.name}={text[split.value_start :]}`",
            code=MARKER_ARGUMENT_UNKNOWN,
            label="not a name that it knows",
        )
    if not lexer.rest.strip() and argument.type.kind is not ValueKind.RAW:
        if not argument.optional or split.has_value:
            raise MarkerError(
                0,
                len(text),
                f"`+{definition.name}` needs a value ({argument.type}), found none",
                *_examples(definition),
                code=MARKER_ARGUMENT_MISSING,
                label="no value",
            )
        return
    start = lexer.position
    value = read_bare_number(lexer, argument.type) if argument.bare else read_value(lexer, argument.type)
    end = lexer.position
    _at_end(definition, lexer, text)
    _store(argument, value, text, (start, end), parsed)


def _examples(definition: MarkerDefinition) -> tuple[str, ...]:
    return (f"for example `{definition.example}`",) if definition.example else ()


def _parse_named(definition: MarkerDefinition, text: str, split: SplitName, parsed: ParsedArguments) -> None:
    if split.has_value and split.whole == definition.name:
        names = ", ".join(f"`{a.name}`" for a in definition.arguments)
        raise MarkerError(
            len(definition.name) + 1,
            len(text),
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
        0,
        end,
        f"`+{definition.name}` needs the argument `{argument.name}` ({argument.type}), found none",
        *_examples(definition),
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
        start,
        start + len(name),
        f"`+{definition.name}` has no argument `{name}`",
        *((f"an argument with a similar name exists: `{nearest}`",) if nearest else ()),
        code=MARKER_ARGUMENT_UNKNOWN,
        label="not an argument of this marker",
        notes=() if nearest else (f"its arguments are {listed}" if listed else "it takes none",),
        fix=(start, start + len(name), meant) if meant else None,
    )


def _no_argument_name(lexer: Lexer, start: int, found: str) -> MarkerError:
    if not found:
        return MarkerError(
            max(0, len(lexer.text.rstrip()) - 1),
            len(lexer.text),
            "expected an argument after the comma, found the end of the marker",
            code=MARKER_SYNTAX,
            label="ends here",
            notes=("a marker is one line: it does not continue in the next comment",),
        )
    return MarkerError(
        start,
        start + len(found),
        f"expected the name of an argument, found `{found}`",
        *(("write `=` without a colon before it",) if found == "=" else ()),
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
    return MarkerError(
        start if found else max(0, len(lexer.text) - len(name)),
        start + max(1, len(found)) if found else len(lexer.text),
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
        lexer.position,
        len(lexer.text),
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
    quoted = f"write the whole value in back-ticks: `+{definition.name}=`{value}``"
    help_: tuple[str, ...] = (quoted,)
    if "#" in found and found.lstrip().startswith("#"):
        help_ = ("put the comment on a line of its own",)
    elif definition.value and definition.value.type.kind in {ValueKind.INTEGER, ValueKind.NUMBER, ValueKind.BOOLEAN}:
        help_ = (f"write `+{definition.name}={value.removesuffix(found).rstrip()}`",)
    elif definition.value and definition.value.type.kind is ValueKind.LIST:
        help_ = ("separate the elements of a list by `;`, or put all of them into `{...}`",)
    raise MarkerError(
        start,
        len(text),
        f"expected the end of the marker after the value, found `{found}`",
        *help_,
        label="not a part of the value",
    )


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
    end = max(end, start + 1)
    problem = check_value(argument, value, text, start, end)
    if problem is None and argument.name in parsed.values:
        problem = MarkerError(
            start if name_start is None else name_start,
            end,
            f"the argument `{argument.name}` is given twice",
            label="a second time",
        )
    if problem is not None:
        parsed.problems.append(problem)
    parsed.values[argument.name] = value
    parsed.places[argument.name] = (start, end)
