"""Collects the declarations in source text, with markers and descriptions. Reports markers without a declaration.

A marker describes the class, alias or annotated attribute below its comment block. Only decorators and blank lines may
be between them. Blocks at module level that do not describe a type belong to the package. RBAC and webhook markers
count anywhere.
"""

from __future__ import annotations

import re

from pykb.diagnostics import Diagnostic, Diagnostics, Severity, Span
from pykb.diagnostics.codes.markers import MARKER_DETACHED, MARKER_SYNTAX, SOURCE_SYNTAX
from pykb.markers._declarations import Columns, Declarations, FieldNode, Scope, TypeNode, declare
from pykb.markers._reader import MarkerReader
from pykb.markers.comments import (
    MARKER_LIKE,
    Comment,
    CommentBlock,
    describe_comment,
    describe_docstring,
    find_comments,
    is_comment,
    split_lines,
)
from pykb.markers.consistency import check_consistency, check_fields, check_types
from pykb.markers.definition import MarkerTarget
from pykb.markers.model import FieldDeclaration, Marker, MarkerComment, Place, SourceFile, TypeDeclaration, TypeKind
from pykb.markers.registry import MarkerRegistry
from pykb.reading import read_python

_NAMESPACES = ("+kubebuilder:", "+k8s:")
_WITHOUT_PLUS = re.compile(r"[ \t]*(?:kubebuilder|k8s):[A-Za-z][\w:-]*(?:=|[ \t]*$)")
_IN_DOCSTRING = re.compile(
    r"""^[ \t]*(?:[rR]?(?:"{3}|'{3}|"|'))?[ \t]*(\+(?:kubebuilder|k8s):[^\n\r]*?)[ \t]*(?:"{3}|'{3})?[ \t]*$""",
    re.MULTILINE,
)


def scan(text: str, path: str, *, registry: MarkerRegistry, diagnostics: Diagnostics) -> SourceFile | None:
    """Like :func:`collect`, for whole trees. Returns ``None`` quickly when no comment looks like a marker.

    Files of other tools may not parse (templates, Python 2). They matter only when they have markers.
    """
    if MARKER_LIKE.search(text) is None:
        return None
    return collect(text, path, registry=registry, diagnostics=diagnostics)


def collect(text: str, path: str, *, registry: MarkerRegistry, diagnostics: Diagnostics) -> SourceFile:
    """Read the declarations of a Python source file.

    Args:
        text: The source.
        path: Its path, for spans and messages.
        registry: The known markers.
        diagnostics: Gets all findings, each once.

    Returns:
        The declarations. A file that does not parse gives an empty result and a diagnostic.
    """
    text = text.removeprefix("\ufeff")
    try:
        declarations = declare(read_python(text, path), Columns(text, path))
    except SyntaxError as error:
        diagnostics.add(syntax_error(error, path))
        return SourceFile(path, (), {})
    except RecursionError:
        diagnostics.report(SOURCE_SYNTAX, Span(path, 1, 1), "expected Python, found code that is nested too deeply")
        return SourceFile(path, (), {})
    return _Attachment(text, path, declarations, registry=registry, diagnostics=diagnostics).run()


def syntax_error(error: SyntaxError, path: str) -> Diagnostic:
    """The finding for a file that does not parse."""
    line = max(1, error.lineno or 1)
    column = max(1, error.offset or 1)
    end_line = max(line, error.end_lineno or line)
    end_column = max(1, error.end_offset or column + 1)
    if end_line == line and end_column <= column:
        end_column = column + 1
    return SOURCE_SYNTAX.at(
        Span(path, line, column, end_line, end_column),
        f"expected Python, found a syntax error: {error.msg}",
        label=error.msg or "",
        help=(f"a comment begins with `#` in Python: `# {text}`",) if (text := _go_comment(error.text or "")) else (),
    )


def _go_comment(line: str) -> str:
    """The text of a Go comment, without its slashes; empty for another line."""
    return line.strip().lstrip("/").strip() if line.strip().startswith("//") else ""


class _Attachment:
    """Assigns each comment block of a file to the declaration that it describes."""

    def __init__(
        self,
        text: str,
        path: str,
        declarations: Declarations,
        *,
        registry: MarkerRegistry,
        diagnostics: Diagnostics,
    ) -> None:
        comments = find_comments(text)
        self._text = text
        self._lines = split_lines(text)
        self._path = path
        self._declarations = declarations
        self._comments = comments
        self._by_last_line = {b.last_line: b for b in comments.blocks}
        self._registry = registry
        self._reader = MarkerReader(registry, diagnostics)
        self._diagnostics = diagnostics
        self._taken: set[int] = set()
        self._package: list[Marker] = []

    def run(self) -> SourceFile:
        found = [self._type(node) for node in self._declarations.types]
        self._diagnostics.extend(check_types([t for t in found if "<locals>" not in t.qualname]))
        types = {declaration.qualname: declaration for declaration in found}
        for block in self._comments.blocks:
            if block.first_line not in self._taken and block.has_markers:
                self._free(block)
        for comment in self._comments.trailing:
            if comment.marker_offset is not None and is_comment(self._text, comment):
                self._trailing(comment)
        self._near_misses()
        self._docstrings()
        package = tuple(sorted(self._package, key=lambda m: (m.span.line, m.span.column)))
        self._diagnostics.extend(check_consistency([m for m in package if not m.definition.anywhere]))
        docstring = self._declarations.docstring
        return SourceFile(self._path, package, types, describe_docstring(docstring) if docstring else None)

    def _type(self, node: TypeNode) -> TypeDeclaration:
        above, near = self._blocks_above(node.line, node.column)
        inside = self._between(node.line, node.name_line, node.column)
        place = Place((MarkerTarget.TYPE,), f"the {_word(node)} `{node.name}`", node.span)
        detached = (
            Place((MarkerTarget.TYPE, MarkerTarget.PACKAGE), place.description, node.span) if node.top_level else place
        )
        markers = self._markers(near, detached)
        markers += self._markers(above, place)
        for block in inside:
            markers += self._markers(block, place)
        own = self._own(markers)
        self._diagnostics.extend(check_consistency(own))
        description = describe_docstring(node.docstring) if node.docstring else None
        if description is None and above is not None:
            description = describe_comment(c.text for c in above.comments)
        found = [(self._field(f), f.block) for f in node.fields]
        self._diagnostics.extend(check_fields(found))
        fields = {f.name: f for f, _ in found}
        return TypeDeclaration(
            node.name, node.qualname, node.span, description, tuple(own), fields, node.bases, node.kind
        )

    def _field(self, node: FieldNode) -> FieldDeclaration:
        above, near = self._blocks_above(node.line, node.column)
        place = Place((MarkerTarget.FIELD,), f"the field `{node.name}`", node.span)
        own = self._own(self._markers(near, place) + self._markers(above, place))
        self._diagnostics.extend(check_consistency(own))
        description = describe_docstring(node.docstring) if node.docstring else None
        if description is None and above is not None:
            description = describe_comment(c.text for c in above.comments)
        return FieldDeclaration(node.name, node.span, node.annotation_span, description, tuple(own), node.arguments)

    def _blocks_above(self, line: int, column: int) -> tuple[CommentBlock | None, CommentBlock | None]:
        """The block directly above a line, and the next one above it across blank lines."""
        above = self._take(line - 1, column)
        top = above.first_line if above else line
        previous = top - 1
        while previous > 0 and not self._lines[previous - 1].strip():
            previous -= 1
        if previous == top - 1:
            return above, None  # code, or a block in another column, is directly above
        return above, self._take(previous, column)

    def _take(self, last_line: int, column: int) -> CommentBlock | None:
        block = self._by_last_line.get(last_line)
        if block is None or block.column != column or block.first_line in self._taken:
            return None
        self._taken.add(block.first_line)
        return block

    def _between(self, first: int, last: int, column: int) -> list[CommentBlock]:
        """Blocks between the decorators of a class and its name."""
        if first == last:
            return []
        found = [b for b in self._comments.blocks if first < b.first_line < last and b.column == column]
        self._taken.update(b.first_line for b in found)
        return found

    def _markers(self, block: CommentBlock | None, place: Place) -> list[Marker]:
        if block is None:
            return []
        found = [self._read(c, place) for c in block.comments if c.marker_offset is not None]
        return [m for m in found if m is not None]

    def _read(self, comment: Comment, place: Place) -> Marker | None:
        offset = comment.marker_offset or 0
        text = comment.text[offset:].rstrip()
        return self._reader.read(MarkerComment(text, self._path, comment.line, comment.column + 1 + offset), place)

    def _own(self, markers: list[Marker]) -> list[Marker]:
        """The markers of the declaration itself. Package markers are moved to the package."""
        self._package += [m for m in markers if m.target is MarkerTarget.PACKAGE]
        return [m for m in markers if m.target is not MarkerTarget.PACKAGE]

    def _free(self, block: CommentBlock) -> None:
        scope = self._scope(block)
        if scope is None and block.column == 1:
            place = Place((MarkerTarget.PACKAGE,), "the module")
        elif scope is not None and not scope.is_class:
            place = Place(
                (),
                reason=f"it is inside {scope.description}",
                help="put it directly above the class or attribute it describes",
            )
        else:
            where = f" in {scope.description}" if scope else ""
            place = Place(
                (),
                reason=f"no attribute or class follows{where}",
                help="put it directly above the class or attribute it describes, in the same column",
            )
        self._package += self._own(self._markers(block, place)) or []

    def _scope(self, block: CommentBlock) -> Scope | None:
        inside = [s for s in self._declarations.scopes if s.first_line < block.first_line <= s.last_line]
        return max(inside, key=lambda s: s.first_line, default=None)

    def _trailing(self, comment: Comment) -> None:
        place = Place((), reason="it is at the end of a line of code", help="move it to a line of its own above")
        marker = self._read(comment, place)
        if marker is not None:
            self._diagnostics.report(
                MARKER_DETACHED,
                marker.span,
                f"`+{marker.name}` has no effect at the end of a line of code",
                "move it to a line of its own",
                label="has no effect here",
            )

    def _near_misses(self) -> None:
        """Report markers that have no effect and that the author probably meant to have one."""
        for comment in [*(c for b in self._comments.blocks for c in b.comments), *self._comments.trailing]:
            if comment.text.startswith(":"):
                self._documentation(comment)
            elif _go_comment(comment.text).startswith(_NAMESPACES):
                self._slashes(comment)
            elif _WITHOUT_PLUS.match(comment.text) and (comment.own_line or is_comment(self._text, comment)):
                self._without_plus(comment)

    def _slashes(self, comment: Comment) -> None:
        """Report markers after the slashes of a Go comment."""
        column = comment.column + 1 + comment.text.index("/")
        self._diagnostics.report(
            MARKER_SYNTAX,
            Span(self._path, comment.line, column, comment.line, column + 2),
            "expected a marker after `#`, found the `//` of a Go comment",
            f"write `# {_go_comment(comment.text)}`",
            label="text of the description",
        )

    def _without_plus(self, comment: Comment) -> None:
        text = comment.text.strip()
        column = comment.column + 1 + comment.text.index(text)
        self._diagnostics.report(
            MARKER_SYNTAX,
            Span(self._path, comment.line, column, comment.line, column + len(text)),
            "expected `+` before the name of a marker",
            f"write `# +{text}`",
            label="text of the description",
            severity=Severity.WARNING,
        )

    def _documentation(self, comment: Comment) -> None:
        """Report markers in comments for Sphinx (``#: text``)."""
        text = comment.text[1:].strip()
        known = text.startswith(_NAMESPACES) or (text.startswith("+") and self._registry.resolve(text)[0] is not None)
        if not known or (not comment.own_line and not is_comment(self._text, comment)):
            return
        self._diagnostics.report(
            MARKER_SYNTAX,
            Span(self._path, comment.line, comment.column, comment.line, comment.column + 2),
            "expected `#` before a marker, found `#:`",
            f"write `# {text}`",
            label="text of the documentation",
        )

    def _docstrings(self) -> None:
        """Report markers inside docstrings, where they are only text."""
        for match in _IN_DOCSTRING.finditer(self._text):
            line = self._text.count("\n", 0, match.start(1)) + 1
            if any(line in lines for lines in self._declarations.docstring_lines):
                column = match.start(1) - self._text.rfind("\n", 0, match.start(1))
                name = match[1].split("=")[0]
                self._diagnostics.report(
                    MARKER_DETACHED,
                    Span(self._path, line, column, line, column + len(match[1])),
                    f"`{name}` has no effect inside a docstring",
                    f"write it as a comment above the declaration: `# {match[1]}`",
                    label="text of the description",
                )


def _word(node: TypeNode) -> str:
    return "class" if node.kind is TypeKind.CLASS else "alias"
