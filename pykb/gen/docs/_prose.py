"""Parses the markup of descriptions: paragraphs, lists, code blocks, code spans.

Authors write docstrings as Markdown or reStructuredText has them, for readers of ``kubectl explain`` as well. Only
unambiguous markup counts as such; all other text stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[^`]*\Z")
_ITEM = re.compile(r"([ ]{0,3})([-*+]|[0-9]{1,9}[.)])[ ]+(?=\S)")
_INDENT = "    "
_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list. ``first`` is the number of the first item; ``None`` for a bullet list."""

    items: tuple[str, ...]
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """A code block."""

    text: str


def blocks_of(text: str) -> Iterator[Paragraph | Listing | Code]:
    """The blocks of a description."""
    lines = text.strip("\n").rstrip().split("\n")
    at = 0
    while at < len(lines):
        start = at
        fence = _FENCE.match(lines[at])
        if not lines[at].strip():
            at += 1
        elif fence and (end := _closing(lines, at, fence[1])) is not None:
            yield Code("\n".join(lines[at + 1 : end]))
            at = end + 1
        elif lines[at].startswith(_INDENT):
            while at < len(lines) and (lines[at].startswith(_INDENT) or not lines[at].strip()):
                at += 1
            yield Code("\n".join(line[len(_INDENT) :] for line in lines[start:at]).rstrip())
        elif _ITEM.match(lines[at]):
            listing, at = _listing(lines, at)
            yield listing
        else:
            at += 1
            while at < len(lines) and not _ends_paragraph(lines[at]):
                at += 1
            yield Paragraph("\n".join(lines[start:at]).strip())


def spans_of(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is code. Code comes without its backticks."""
    at = 0
    for found in _SPAN.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        code = found[2]
        padded = len(found[1]) > 1 and code[0] == code[-1] == " " and code.strip()
        yield (code[1:-1] if padded else code), True
        at = found.end()
    if at < len(text):
        yield text[at:], False


def code_span(text: str) -> str:
    """One line of text as a code span, with as many backticks as needed."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _closing(lines: list[str], at: int, fence: str) -> int | None:
    for index in range(at + 1, len(lines)):
        if lines[index].strip().startswith(fence) and not lines[index].strip().strip(fence[0]):
            return index
    return None


def _ends_paragraph(line: str) -> bool:
    item = _ITEM.match(line)
    # A number at the start of a wrapped line does not start a list, except for 1.
    return not line.strip() or bool(_FENCE.match(line)) or (item is not None and item[2] in {"-", "*", "+", "1.", "1)"})


def _listing(lines: list[str], at: int) -> tuple[Listing, int]:
    """Read a list from a line on: items of one sort, with the lines indented below each."""
    numbers = [_number(lines[at])]
    items: list[list[str]] = []
    while at < len(lines):
        item = _ITEM.match(lines[at])
        if item is not None and (_number(lines[at]) is None) == (numbers[0] is None):
            items.append([lines[at][item.end() :]])
        elif lines[at].strip() and (lines[at].startswith("  ") or lines[at - 1].strip()):
            items[-1].append(lines[at].strip())
        elif not (not lines[at].strip() and at + 1 < len(lines) and _continues(lines[at + 1], numbers[0])):
            break
        at += 1
    return Listing(tuple(" ".join(item) for item in items), numbers[0]), at


def _continues(line: str, first: int | None) -> bool:
    item = _ITEM.match(line)
    return line.startswith("  ") if item is None else (_number(line) is None) == (first is None)


def _number(line: str) -> int | None:
    item = _ITEM.match(line)
    digits = item[2][:-1] if item else ""
    return int(digits) if digits else None
