"""Authors' texts as Markdown for GitHub and MkDocs.

Authors write docstrings as Markdown or reStructuredText has them, for readers of ``kubectl explain`` as well. Only
unambiguous markup counts as such; all other text stays as written, with its special characters escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[^`]*\Z")
_ITEM = re.compile(r"([ ]{0,3})([-*+]|[0-9]{1,9}[.)])[ ]+(?=\S)")
_INDENT = "    "
_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])(?<!`)\1(?!`)")
_SPECIAL = re.compile(r"([\\*_\[\]#|~])")


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
    first = _number(lines[at])
    items: list[list[str]] = []
    while at < len(lines):
        item = _ITEM.match(lines[at])
        if item is not None and (_number(lines[at]) is None) == (first is None):
            items.append([lines[at][item.end() :]])
        elif lines[at].strip() and (lines[at].startswith("  ") or lines[at - 1].strip()):
            items[-1].append(lines[at].strip())
        elif not (not lines[at].strip() and at + 1 < len(lines) and _continues(lines[at + 1], first)):
            break
        at += 1
    return Listing(tuple(" ".join(item) for item in items), first), at


def _continues(line: str, first: int | None) -> bool:
    item = _ITEM.match(line)
    return line.startswith("  ") if item is None else (_number(line) is None) == (first is None)


def _number(line: str) -> int | None:
    item = _ITEM.match(line)
    digits = item[2][:-1] if item else ""
    return int(digits) if digits else None


def prose(text: str) -> Iterator[str]:
    """A description as lines, with an empty one before each block."""
    for block in blocks_of(text):
        yield ""
        if isinstance(block, Paragraph):
            yield from (escaped(line) for line in block.text.split("\n"))
        elif isinstance(block, Code):
            yield from fenced(block.text)
        else:
            for number, item in enumerate(block.items, block.first or 0):
                yield f"{'-' if block.first is None else f'{number}.'} {one_line(item)}"


def fenced(text: str, language: str = "") -> tuple[str, ...]:
    """The lines of a code block."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)
    return (f"{fence}{language}", *text.split("\n"), fence)


def cell_prose(text: str) -> str:
    """A description in a table cell, on one line."""
    out = ""
    for part in map(_cell_block, blocks_of(text)):
        # Lists have their own margins.
        gap = "" if not out or out.endswith(("</ul>", "</ol>")) or part.startswith(("<ul>", "<ol")) else "<br><br>"
        out += gap + part
    return out


def _cell_block(block: Paragraph | Listing | Code) -> str:
    if isinstance(block, Paragraph):
        return one_line(block.text)
    if isinstance(block, Code):
        return "<br>".join(_element(line) for line in block.text.split("\n"))
    items = "".join(f"<li>{one_line(item)}</li>" for item in block.items)
    if block.first is None:
        return f"<ul>{items}</ul>"
    start = "" if block.first == 1 else f' start="{block.first}"'
    return f"<ol{start}>{items}</ol>"


def one_line(text: str) -> str:
    """A text as one line of prose."""
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """Prose with code spans kept. All other characters with a meaning in Markdown or HTML are escaped."""
    return "".join(code(part) if is_code else _escaped(part) for part, is_code in spans_of(text))


def spans_of(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is code. Code comes without its backticks."""
    at = 0
    for match in _SPAN.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], False
        inner = match[2]
        padded = len(match[1]) > 1 and inner[0] == inner[-1] == " " and inner.strip()
        yield (inner[1:-1] if padded else inner), True
        at = match.end()
    if at < len(text):
        yield text[at:], False


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", _SPECIAL.sub(r"\\\1", text).replace("`", "\\`"))


def code(text: str) -> str:
    """Code that may contain bars and line breaks, as an HTML element. A code span in a table would show the escapes."""
    text = " ".join(text.split())
    return _element(text) if "|" in text else code_span(text)


def code_span(text: str) -> str:
    """One line of text as a code span, with as many backticks as needed."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _element(text: str) -> str:
    safe = "".join(char if char.isalnum() or char in " .:/-'\"=(),?+;" else f"&#{ord(char)};" for char in text)
    blanks = len(safe) - len(safe.lstrip(" "))
    return f"<code>{'&nbsp;' * blanks}{safe[blanks:]}</code>"


def link(text: str, target: str) -> str:
    """A link to an anchor or URL; only the text without a target."""
    return f"[{one_line(text)}]({target})" if target else one_line(text)
