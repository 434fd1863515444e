"""Finds the comments of a Python file, and takes descriptions from them and from docstrings.

One pass of a regular expression finds strings and comments. It is several times faster than ``tokenize``, which
matters because the search for RBAC markers covers whole source trees. It cannot follow all nested quotes in f-strings
(Python 3.12). The caller checks the few comments that matter with :func:`is_comment`.

Descriptions follow controller-gen's rules.
"""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from inspect import cleandoc

MARKER_IN_DOCSTRING = re.compile(
    r"""^[ \t]*(?:[rR]?(?:"{3}|'{3}|"|'))?[ \t]*(\+(?:kubebuilder|k8s):[^\n\r]*?)[ \t]*(?:"{3}|'{3})?[ \t]*$""",
    re.MULTILINE,
)
"""A line of a docstring that looks like a marker. It has no effect there, so the generator refuses it."""
MARKER_LIKE = re.compile(r"#:?[ \t]*(?:\+[ \t]*\w|(?:kubebuilder|k8s):\w)|//[ \t]*\+(?:kubebuilder|k8s):\w")
"""A text that every file with a marker contains. Most files of a tree fail this cheap test."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_STRING_OR_COMMENT = re.compile(
    r"""
      (?P<comment>\#[^\n\r]*)
    | '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
    | \"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"
    | '[^'\\\n]*(?:\\.[^'\\\n]*)*'?
    | "[^"\\\n]*(?:\\.[^"\\\n]*)*"?
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: the 1-based place of its ``#``, and the text after it."""

    line: int
    column: int
    text: str
    own_line: bool

    @property
    def marker_offset(self) -> int | None:
        """The offset of the plus sign after the ``#``, if no other text is before it."""
        stripped = self.text.lstrip()
        return len(self.text) - len(stripped) if stripped.startswith("+") else None


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """Consecutive comment lines in the same column."""

    comments: tuple[Comment, ...]

    @property
    def first_line(self) -> int:
        """Its first line."""
        return self.comments[0].line

    @property
    def last_line(self) -> int:
        """Its last line."""
        return self.comments[-1].line

    @property
    def column(self) -> int:
        """The column of its ``#`` signs."""
        return self.comments[0].column

    @property
    def has_markers(self) -> bool:
        """Whether any of its lines starts with a plus sign."""
        return any(c.marker_offset is not None for c in self.comments)


@dataclass(frozen=True, slots=True)
class Comments:
    """All comments of a file."""

    blocks: tuple[CommentBlock, ...]
    trailing: tuple[Comment, ...]


def split_lines(text: str) -> list[str]:
    """Split a text into Python's source lines. ``str.splitlines`` also splits at other characters."""
    return _LINE_END.split(text)


def find_comments(text: str) -> Comments:
    """The comments of a file, in order."""
    starts = [0, *(m.end() for m in _LINE_END.finditer(text))]
    own: list[Comment] = []
    trailing: list[Comment] = []
    for match in _STRING_OR_COMMENT.finditer(text):
        if match.lastgroup is None:
            continue
        line = bisect_right(starts, match.start())
        begin = starts[line - 1]
        before = text[begin : match.start()]
        blank = not before.strip()
        comment = Comment(line, match.start() - begin + 1, match[0][1:], own_line=blank)
        (own if blank else trailing).append(comment)
    return Comments(_blocks(own), tuple(trailing))


def _blocks(comments: list[Comment]) -> tuple[CommentBlock, ...]:
    blocks: list[list[Comment]] = []
    for comment in comments:
        last = blocks[-1][-1] if blocks else None
        if last is not None and comment.line == last.line + 1 and comment.column == last.column:
            blocks[-1].append(comment)
        else:
            blocks.append([comment])
    return tuple(CommentBlock(tuple(b)) for b in blocks)


def is_comment(text: str, comment: Comment) -> bool:
    """Whether Python's tokenizer finds a comment there. Slow, so only for lines where it matters."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and token.start == (comment.line, comment.column - 1):
                return True
            if token.start[0] > comment.line:
                return False
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return False
    return False


_DIRECTIVE = re.compile(
    r"\s*(?:noqa\b|type:\s*ignore|pyright:|ruff:|pylint:|fmt:|isort:|mypy:|pragma:|flake8:|-\*-|!|nosec\b|pyre-)"
)
_FENCES = ("```", "~~~")


def describe_docstring(docstring: str) -> str | None:
    """The description in a docstring; ``None`` when nothing is left of it."""
    return _clean(cleandoc(docstring).split("\n"))


def describe_comment(lines: Iterable[str]) -> str | None:
    """The description in a comment block, without markers and directives. The lines come without their ``#``."""
    kept = [
        line.removeprefix(":").removeprefix(" ")
        for line in lines
        if not line.lstrip().startswith("+") and not _DIRECTIVE.match(line)
    ]
    return _clean(kept)


def _clean(lines: list[str]) -> str | None:
    """Collapse blank lines, drop ``TODO`` lines, end at a ``---`` line. Code fences are left unchanged."""
    out: list[str] = []
    fenced = False
    for line in _collapse(line.rstrip() for line in lines):
        if line.startswith(_FENCES):
            fenced = not fenced
        if not fenced:
            if line.startswith("TODO"):
                continue
            if line.startswith("---"):
                break
        out.append(line)
    # A blank line before a dropped line stays at the end. The CRD must have the same bytes as from controller-gen.
    return "\n".join(out) or None


def _collapse(lines: Iterable[str]) -> list[str]:
    out: list[str] = []
    for line in lines:
        if line or (out and out[-1]):
            out.append(line)
    while out and not out[-1]:
        out.pop()
    return out
