"""Renders diagnostics as text: with source excerpts, one line each, JSON, SARIF, or GitHub annotations.

Rendering reads only the source files that it quotes. It does not print or decide exit codes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any

from pykb._regular_file import read_text
from pykb.diagnostics.model import Diagnostic, Label, Severity, Span


class Format(StrEnum):
    """The values of ``--format``."""

    FULL = "full"
    CONCISE = "concise"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"

    @property
    def is_document(self) -> bool:
        """Whether all findings of a command are one document."""
        return self in (Format.JSON, Format.SARIF)

    @property
    def is_for_programs(self) -> bool:
        """Whether people read only what becomes of the output."""
        return self.is_document or self is Format.GITHUB


ReadLines = Callable[[str], list[str]]
"""Returns the lines of the file at a span's path, or an empty list if it cannot be read."""

_LONGEST_LINE = 300
_LONGEST_TEXT = 2000
_LINE_END = re.compile(r"\r\n|\r|\n")
_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}


# Characters that control a terminal or change the direction of the text after them.
_UNSEEN = {n: 0x2400 + n for n in range(32) if chr(n) not in "\t\n"} | {
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}


def visible(text: str) -> str:
    r"""Make control characters in a foreign text visible, so that a terminal does not act on them.

    >>> visible("a\x1b[2Jb")
    'a␛[2Jb'
    """
    return text.translate(_UNSEEN)


def _read_lines(path: str, *, root: Path | None = None) -> list[str]:
    """Read the lines of a source file for an excerpt. Empty if the file cannot be read as text."""
    try:
        text = read_text(root / path if root else Path(path))
    except (OSError, UnicodeDecodeError):
        return []
    # `str.splitlines` also splits at characters that do not end a line of source
    return [visible(line) for line in _LINE_END.split(text)]


def render(
    diagnostics: Iterable[Diagnostic],
    *,
    style: Format = Format.FULL,
    colour: bool = False,
    root: Path | None = None,
) -> str:
    """Render all findings. The text ends with a line break, or is empty if there are no findings.

    Args:
        diagnostics: The findings, in order.
        style: The format.
        colour: Whether to use ANSI colours. Only the full format has them.
        root: The folder that paths in spans are relative to. Defaults to the working directory.
    """
    text = _text(list(diagnostics), style, colour=colour, root=root)
    # Source can hold halves of characters (`"\\ud800"`), which no output takes.
    return text.encode(errors="backslashreplace").decode()


def entries(diagnostics: Iterable[Diagnostic], style: Format) -> list[dict[str, Any]]:
    """The findings as they are in a document of JSON or SARIF."""
    if style is Format.SARIF:
        from pykb.diagnostics import _sarif

        return list(map(_sarif.result, diagnostics))
    return list(map(_as_json, diagnostics))


def entries_of(text: str, style: Format) -> list[dict[str, Any]]:
    """The findings of a document that :func:`document` made.

    Raises:
        ValueError: It is another text.
    """
    found = json.loads(text)
    try:
        return list(found["runs"][0]["results"] if style is Format.SARIF else found)
    except (LookupError, TypeError) as error:
        raise ValueError("not a document with findings") from error


def document(findings: list[dict[str, Any]], style: Format) -> str:
    """A document of JSON or SARIF."""
    whole: object = findings
    if style is Format.SARIF:
        from pykb.diagnostics import _sarif

        whole = _sarif.document(findings)
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _text(diagnostics: list[Diagnostic], style: Format, *, colour: bool, root: Path | None) -> str:
    if style.is_document:
        return document(entries(diagnostics, style), style)
    diagnostics = [_visible(d) for d in diagnostics]
    if style is Format.CONCISE:
        return "".join(_concise(d) + "\n" for d in diagnostics)
    if style is Format.GITHUB:
        return "".join(_github(d) + "\n" for d in diagnostics)
    read = cache(partial(_read_lines, root=root))
    return "\n".join(_full(d, colour=colour, read=read) for d in diagnostics)


def _visible(diagnostic: Diagnostic) -> Diagnostic:
    return replace(
        diagnostic,
        message=_one_line(diagnostic.message),
        label=_one_line(diagnostic.label),
        labels=tuple(Label(label.span, _one_line(label.text)) for label in diagnostic.labels),
        notes=tuple(map(visible, diagnostic.notes)),
        help=tuple(map(visible, diagnostic.help)),
    )


def _one_line(text: str) -> str:
    """A text on one line, which may quote a part of a file: a line break in it would look like pykb's own words."""
    shown = visible(text[: _LONGEST_TEXT + 1]).replace("\n", "\u240a")
    return shown if len(shown) <= _LONGEST_TEXT else f"{shown[:_LONGEST_TEXT]}..."


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _full(diagnostic: Diagnostic, *, colour: bool, read: ReadLines) -> str:
    accent = _COLOURS[diagnostic.severity]
    head = _paint(f"{diagnostic.severity}[{diagnostic.code.slug}]", accent, colour=colour)
    out = [f"{head}: {_paint(diagnostic.message, '1', colour=colour)}"]
    if diagnostic.span is not None:
        out += _excerpt(diagnostic, diagnostic.span, colour=colour, read=read)
    for word, texts in (("note", diagnostic.notes), ("help", diagnostic.help)):
        for text in texts:
            first, _, rest = text.partition("\n")
            out.append(f"{_paint(word, '1;36', colour=colour)}: {first}")
            out += [f"          {line}".rstrip() for line in rest.splitlines()]
    return "\n".join(out) + "\n"


def _excerpt(diagnostic: Diagnostic, span: Span, *, colour: bool, read: ReadLines) -> list[str]:
    here = [Label(span, diagnostic.label), *(x for x in diagnostic.labels if x.span.path == span.path)]
    elsewhere = [x for x in diagnostic.labels if x.span.path != span.path]
    gutter = len(str(max(x.span.line for x in (*here, *elsewhere))))
    accent = _COLOURS[diagnostic.severity]
    out = [f"{' ' * gutter}--> {_place(span)}"]
    out += _lines(here, read(span.path), gutter=gutter, accent=accent, colour=colour)
    for label in elsewhere:
        out.append(f"{' ' * gutter}::: {_place(label.span)}")
        out += _lines([label], read(label.span.path), gutter=gutter, accent=None, colour=colour)
    return out


def _lines(labels: list[Label], source: list[str], *, gutter: int, accent: str | None, colour: bool) -> list[str]:
    shown = [x for x in labels if 0 < x.span.line <= len(source)]
    if not shown:
        return [f"{' ' * gutter} = {x.text}" for x in labels if x.text]
    empty = f"{' ' * gutter} |"
    out = [empty]
    previous, text, shift = 0, "", 0
    for label in sorted(shown, key=lambda x: x.span.line):
        line = label.span.line
        if previous and line > previous + 1:
            out.append(f"{' ' * gutter} ...")
        if line != previous:
            text, shift = _part(source[line - 1], label.span.column)
            out.append(f"{line:>{gutter}} | {text.expandtabs(4)}".rstrip())
        previous = line
        is_primary = accent is not None and label is labels[0]
        start, width = _underline(label.span, text, shift)
        note = f"{('^' if is_primary else '-') * width} {label.text}".rstrip()
        out.append(f"{empty} {' ' * start}{_paint(note, accent if is_primary and accent else '1;34', colour=colour)}")
    out.append(empty)
    return out


def _underline(span: Span, text: str, shift: int) -> tuple[int, int]:
    """The start and the width of the marks below a line, whose text begins ``shift`` columns later than the source."""
    if span == Span(span.path, span.line, 1) and text[:1].isspace():  # a line as a whole
        code = text.strip()
        return len(text[: text.find(code)].expandtabs(4)), max(1, len(code))
    column = min(span.column - shift, len(text) + 1)
    start = len(text[: max(column - 1, 0)].expandtabs(4))
    end = span.end_column - shift if span.end_line == span.line else len(text) + 1
    return start, max(1, min(end - column, len(text) - column + 1))


def _part(text: str, column: int) -> tuple[str, int]:
    """The part of a very long line (as in JSON) around a column, and by how much it is shifted."""
    if len(text) <= _LONGEST_LINE:
        return text, 0
    first = max(0, min(column - 1 - _LONGEST_LINE // 4, len(text) - _LONGEST_LINE))
    head, tail = ("..." if first else ""), ("..." if first + _LONGEST_LINE < len(text) else "")
    return head + text[first : first + _LONGEST_LINE] + tail, first - len(head)


def _concise(diagnostic: Diagnostic) -> str:
    place = f"{_place(diagnostic.span)}: " if diagnostic.span else ""
    return f"{place}{diagnostic.severity}[{diagnostic.code.slug}]: {diagnostic.message}"


def _place(span: Span) -> str:
    return f"{visible(span.path)}:{span.line}:{span.column}"


def _github(diagnostic: Diagnostic) -> str:
    # https://docs.github.com/actions/reference/workflow-commands: % CR LF must be escaped in the message,
    # and also : and , in the properties.
    kind = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}[diagnostic.severity]
    text = "\n".join(
        (diagnostic.message, *(f"note: {n}" for n in diagnostic.notes), *(f"help: {h}" for h in diagnostic.help))
    )
    properties = {"title": diagnostic.code.slug}
    if diagnostic.span:
        span = diagnostic.span
        properties = {
            "file": span.path,
            "line": str(span.line),
            "col": str(span.column),
            "endLine": str(span.end_line),
            "endColumn": str(span.end_column),
        } | properties
    joined = ",".join(f"{k}={_escape(v, also=':,')}" for k, v in properties.items())
    return f"::{kind} {joined}::{_escape(text)}"


def _escape(text: str, *, also: str = "") -> str:
    for char in "%\r\n" + also:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def _as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code.slug,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "span": _span_json(diagnostic.span) if diagnostic.span else None,
        "label": diagnostic.label,
        "labels": [{"span": _span_json(x.span), "text": x.text} for x in diagnostic.labels],
        "notes": list(diagnostic.notes),
        "help": list(diagnostic.help),
        "fix": [{"span": _span_json(edit.span), "old": edit.old, "new": edit.new} for edit in diagnostic.fix],
    }


def _span_json(span: Span) -> dict[str, object]:
    return {
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
