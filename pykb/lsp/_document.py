"""What an editor asks about a file, answered from its text alone: mistakes in markers, completion, and help.

Lines and columns count from 0, in characters, up to the functions that say otherwise: so editors count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword

from pykb.diagnostics import Diagnostic, Diagnostics, Edit
from pykb.diagnostics.codes.markers import SOURCE_SYNTAX
from pykb.markers.collect import scan
from pykb.markers.definition import Argument, Grammar, MarkerDefinition, MarkerTarget, ValueKind
from pykb.markers.registry import builtin_registry, explain_marker, meaning_of

_COMMENT = re.compile(r"[ \t]*#[ \t]*(?P<marker>\+.*)?$")
_TYPE = re.compile(r"(@|class\b|type[ \t]+\w)|\w+([ \t]*:[ \t]*\w*TypeAlias)?[ \t]*=")
_FIELD = re.compile(r"[ \t]+\w+[ \t]*:")
_NAME = re.compile(r"[ \t]*(?:class[ \t]+(\w+)|(\w+)[ \t]*:)|(?:type[ \t]+)?(\w+)(?:\[[^=]*\])?[ \t]*=(?!=)")
_KIND = re.compile(r"^class[ \t]+\w+[ \t]*\([^)]*\b(?:CustomResource\b|group_version[ \t]*=)", re.MULTILINE)
_TYPES = re.compile(r"\bpykb\.api\b")


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to go on.

    Attributes:
        text: What replaces the line from ``start`` to the cursor.
        start: The column where it begins.
        summary: What it does, in one line.
        details: All about it, as ``pykb explain`` prints it.
        is_name: Whether it is the name of a marker or of an argument. Else it is a value.
    """

    text: str
    start: int
    summary: str
    details: str = ""
    is_name: bool = True


def findings(text: str, path: str) -> list[Diagnostic]:
    """The mistakes in the markers of a file. Syntax errors are left to the language server for Python.

    Args:
        text: The source.
        path: Its path, for the places.
    """
    diagnostics = Diagnostics()
    scan(text, path, registry=builtin_registry(), diagnostics=diagnostics)
    return [each for each in diagnostics if each.code is not SOURCE_SYNTAX]


def help_at(text: str, line: int, column: int) -> tuple[str, int, int] | None:
    """What the marker under the cursor means, and the columns where its name begins and ends."""
    marker, start = _marker_in(_line(text, line))
    found = _definition_in(marker)
    if found is None or not start <= column <= start + len(marker):
        return None
    return explain_marker(found), start, start + 1 + len(found.name)


def offers(text: str, line: int, column: int) -> list[Offer]:
    """What can stand at the cursor: names of markers that may describe what follows, their arguments, or values."""
    before = _line(text, line)[:column]
    match = _COMMENT.fullmatch(before)
    if match is None:
        return []
    marker, start = match["marker"] or "", match.start("marker") if match["marker"] else column
    found = _definition_in(marker)
    if found is None or len(marker) == len(found.name) + 1:  # the name may go on
        return [_named(each, start) for each in _fitting(text, line) if not each.go_only]
    return list(_arguments(found, marker, start))


def is_declared(text: str, line: int, column: int) -> bool:
    """Whether the cursor is on a name where a line may declare it: a field, a class or an alias."""
    match = _NAME.match(_line(text, line))
    if match is None or match.lastindex is None or iskeyword(match[match.lastindex]):
        return False
    return match.start(match.lastindex) <= column <= match.end(match.lastindex)


def declares_types(text: str) -> bool:
    """Whether a file may declare types of a CRD."""
    return _TYPES.search(text) is not None


def kinds(text: str) -> list[int]:
    """The lines where kinds are declared."""
    return [text.count("\n", 0, match.start()) for match in _KIND.finditer(text)]


def has(text: str, edit: Edit) -> bool:
    """Whether the text that an edit replaces is still there."""
    span = edit.span
    lines = text.split("\n")[span.line - 1 : span.end_line]
    if len(lines) != span.end_line - span.line + 1:
        return False
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines) == edit.old


def _line(text: str, number: int) -> str:
    lines = text.split("\n", number + 1)
    return lines[number].removesuffix("\r") if number < len(lines) else ""


def _marker_in(line: str) -> tuple[str, int]:
    """The marker of a line, and the column of its plus sign."""
    match = _COMMENT.fullmatch(line)
    return (match["marker"], match.start("marker")) if match and match["marker"] else ("", 0)


def _definition_in(marker: str) -> MarkerDefinition | None:
    """The marker whose whole name is there."""
    names = [at.start() for at in re.finditer(r"[:=(]", marker)] + [len(marker)] * bool(marker)
    known = (builtin_registry().get(marker[1:end]) for end in reversed(names))
    return next((found for found in known if found is not None), None)


def _fitting(text: str, line: int) -> Iterator[MarkerDefinition]:
    """The markers that may describe what follows a line."""
    target = _target(text, line)
    at_top = not _line(text, line)[:1].isspace()
    for each in builtin_registry():
        is_package = at_top and MarkerTarget.PACKAGE in each.targets
        if each.anywhere or is_package or target in each.targets:
            yield each


def _target(text: str, line: int) -> MarkerTarget | None:
    """What follows the comment at a line."""
    for following in text.split("\n")[line + 1 :]:
        stripped = following.strip()
        if stripped and not stripped.startswith("#"):
            if _FIELD.match(following) and not stripped.startswith(("class ", "def ")):
                return MarkerTarget.FIELD
            return MarkerTarget.TYPE if _TYPE.match(stripped) else None
    return None


def _named(definition: MarkerDefinition, start: int) -> Offer:
    sign = ""
    if definition.value is not None and not definition.value.optional:
        sign = "="
    elif definition.arguments and definition.grammar is Grammar.KUBEBUILDER and definition.value is None:
        sign = ":"
    return Offer(f"+{definition.name}{sign}", start, definition.summary, explain_marker(definition))


def _arguments(definition: MarkerDefinition, marker: str, start: int) -> Iterator[Offer]:
    """What can follow the name of a marker."""
    rest = marker[len(definition.name) + 1 :]
    if definition.grammar is Grammar.DECLARATIVE:
        _, equals, value = rest.rpartition("=")
        if equals and definition.value is not None:
            yield from _values(definition.value, start + len(marker) - len(value))
        return
    if rest.startswith("=") and definition.value is not None:
        yield from _values(definition.value, start + len(marker) - len(_last(rest[1:])))
    elif rest[:1] in (":", "="):
        piece = rest[1:].rpartition(",")[2]
        name, equals, value = piece.partition("=")
        argument = definition.argument(name)
        if equals and argument is not None:
            yield from _values(argument, start + len(marker) - len(_last(value)))
        elif not equals:
            used = {each.partition("=")[0] for each in rest[1:].split(",")[:-1]}
            for each in definition.arguments:
                if each.name and each.name not in used:
                    yield Offer(f"{each.name}=", start + len(marker) - len(piece), meaning_of(each))


def _last(values: str) -> str:
    """The last of several values."""
    return values.rpartition(";")[2]


def _values(argument: Argument, start: int) -> Iterator[Offer]:
    choices = argument.choices or argument.usual
    if argument.type.kind is ValueKind.BOOLEAN:
        choices = ("true", "false")
    for choice in choices:
        yield Offer(choice, start, argument.summary, is_name=False)
