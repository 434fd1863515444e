"""Collects the declarations in source text, with markers and descriptions. Reports markers without a declaration.

A marker describes the class, alias or annotated attribute below its comment block. Only decorators and blank lines may
be between them. Blocks at module level that do not describe a type belong to the package. RBAC and webhook markers
count anywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pykb.diagnostics import Diagnostic, Diagnostics, Label, Severity, Span
from pykb.diagnostics.codes.markers import (
    DECLARED_TWICE,
    MARKER_CONFLICT,
    MARKER_DETACHED,
    MARKER_REPEATED,
    MARKER_SYNTAX,
    SOURCE_SYNTAX,
)
from pykb.markers._reader import MarkerReader
from pykb.markers.comments import (
    MARKER_IN_DOCSTRING,
    MARKER_LIKE,
    Comment,
    CommentBlock,
    describe_comment,
    describe_docstring,
    find_comments,
    is_comment,
    split_lines,
)
from pykb.markers.definition import MarkerTarget, Sets
from pykb.markers.model import (
    FieldDeclaration,
    Marker,
    MarkerComment,
    Place,
    SourceFile,
    TypeDeclaration,
    TypeKind,
    unwrap,
)
from pykb.markers.registry import MarkerRegistry
from pykb.reading import read_python

# Checks that the markers of a file fit together: repeated and contradictory markers, and names declared twice.


def check_consistency(markers: Sequence[Marker]) -> Iterator[Diagnostic]:
    """Report markers of one declaration that exclude each other."""
    if len(markers) < 2:
        return
    first: dict[object, Marker] = {}
    for marker in unwrap(markers):
        if marker.definition.repeatable:
            continue
        earlier = first.setdefault(_said(marker), marker)
        if earlier is not marker:
            yield from _repeated(earlier, marker)
    yield from check_presence(markers)
    yield from _bounds(first)
    yield from _list_keys(markers, first)


def _said(marker: Marker) -> object:
    """What a marker sets: a keyword at a depth of elements, or its name when it does not set a keyword."""
    effect = marker.definition.effect
    if isinstance(effect, Sets):
        return effect.keyword, marker.definition.items_depth
    return marker.definition.alias_of or marker.name


def _list_keys(markers: Sequence[Marker], first: Mapping[object, Marker]) -> Iterator[Diagnostic]:
    kind = first.get(("x-kubernetes-list-type", 0))
    key = next((m for m in markers if _said(m) == ("x-kubernetes-list-map-keys", 0)), None)
    if kind is not None and key is not None and kind.value != "map":
        yield MARKER_CONFLICT.at(
            key.span,
            f"`+{key.name}` needs `+{kind.name}=map`, found `{kind.text}`",
            label="only a map has keys",
            labels=(Label(kind.span, f"makes it `{kind.value}`"),),
        )


def _repeated(earlier: Marker, marker: Marker) -> Iterator[Diagnostic]:
    same = earlier.arguments == marker.arguments
    if marker.name == earlier.name:
        yield MARKER_REPEATED.at(
            marker.span,
            f"`+{marker.name}` appears twice on one declaration, but only one can apply",
            "remove one of the two",
            label="a second time",
            labels=(Label(earlier.span, "first here"),),
        )
    elif not same:
        yield MARKER_CONFLICT.at(
            marker.span,
            f"`{marker.text}` contradicts `{earlier.text}`: both set the same property",
            "remove one of the two",
            label="another value",
            labels=(Label(earlier.span, "first here"),),
        )


def check_presence(markers: Sequence[Marker]) -> Iterator[Diagnostic]:
    """Report markers that make a field, or all fields of a package, both optional and required."""
    optional = next((m for m in markers if m.definition.required is False), None)
    required = next((m for m in markers if m.definition.required), None)
    if optional is None or required is None:
        return
    earlier, later = sorted((optional, required), key=lambda m: (m.span.path, m.span.line, m.span.column))
    yield MARKER_CONFLICT.at(
        later.span,
        f"`+{later.name}` contradicts `+{earlier.name}`",
        "remove one of the two",
        label="a field is either optional or required",
        labels=(Label(earlier.span, "the other one"),),
    )


def _bounds(first: Mapping[object, Marker]) -> Iterator[Diagnostic]:
    for said, low in first.items():
        if not isinstance(said, tuple) or not said[0].startswith("min"):
            continue
        high = first.get((said[0].replace("min", "max", 1), said[1]))
        if high is None or not isinstance(low.value, int | float) or not isinstance(high.value, int | float):
            continue
        if low.value > high.value:
            yield MARKER_CONFLICT.at(
                low.span,
                f"the minimum `{low.value}` is above the maximum `{high.value}`: no value is valid",
                label="above the other bound",
                labels=(Label(high.span, "the other bound"),),
            )


def check_types(found: Sequence[TypeDeclaration]) -> Iterator[Diagnostic]:
    """Report types with the same name, if markers depend on which of them Python keeps."""
    first: dict[str, TypeDeclaration] = {}
    for declaration in found:
        other = first.setdefault(declaration.qualname, declaration)
        if other is not declaration and (_has_markers(other) or _has_markers(declaration)):
            yield DECLARED_TWICE.at(
                declaration.span,
                f"`{declaration.name}` is declared twice, and the markers of one of the two would be lost",
                "give them different names",
                labels=(Label(other.span, "the first one"),),
            )


def check_fields(found: Sequence[tuple[FieldDeclaration, int]]) -> Iterator[Diagnostic]:
    """Report fields with the same name in one class.

    Args:
        found: The fields, each with the number of its block: each branch of an ``if`` is a block of its own.
    """
    first: dict[str, tuple[FieldDeclaration, int]] = {}
    for declaration, block in found:
        other, other_block = first.setdefault(declaration.name, (declaration, block))
        if other is not declaration and (block == other_block or other.markers or declaration.markers):
            yield DECLARED_TWICE.at(
                declaration.span,
                f"the field `{declaration.name}` is declared twice, but only one of them applies",
                "remove one of the two",
                labels=(Label(other.span, "the first one"),),
            )


def _has_markers(declaration: TypeDeclaration) -> bool:
    return bool(declaration.markers) or any(field.markers for field in declaration.fields.values())


_NAMESPACES = ("+kubebuilder:", "+k8s:")
_WITHOUT_PLUS = re.compile(r"[ \t]*(?:kubebuilder|k8s):[A-Za-z][\w:-]*(?:=|[ \t]*$)")


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
        f"a comment begins with `#` in Python: `# {text}`" if (text := _go_comment(error.text or "")) else "",
        label=error.msg or "",
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
        what = f"the {'class' if node.kind is TypeKind.CLASS else 'alias'} `{node.name}`"
        place = Place((MarkerTarget.TYPE,), what, node.span)
        detached = Place((MarkerTarget.TYPE, MarkerTarget.PACKAGE), what, node.span) if node.top_level else place
        markers = self._markers(near, detached)
        markers += self._markers(above, place)
        for block in inside:
            markers += self._markers(block, place)
        own = self._own(markers)
        self._diagnostics.extend(check_consistency(own))
        found = [(self._field(f), f.block) for f in node.fields]
        self._diagnostics.extend(check_fields(found))
        fields = {f.name: f for f, _ in found}
        return TypeDeclaration(
            node.name, node.qualname, node.span, _description(node, above), tuple(own), fields, node.bases, node.kind
        )

    def _field(self, node: FieldNode) -> FieldDeclaration:
        above, near = self._blocks_above(node.line, node.column)
        place = Place((MarkerTarget.FIELD,), f"the field `{node.name}`", node.span)
        own = self._own(self._markers(near, place) + self._markers(above, place))
        self._diagnostics.extend(check_consistency(own))
        description = _description(node, above)
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
        self._package += self._own(self._markers(block, place))

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
            text = comment.text.strip()
            at = comment.column + 1 + len(comment.text) - len(comment.text.lstrip())
            if comment.text.startswith(":"):  # for Sphinx: `#: text`
                text = text[1:].strip()
                is_marker = text.startswith("+") and self._registry.resolve(text)[0] is not None
                if (is_marker or text.startswith(_NAMESPACES)) and self._is_comment(comment):
                    message = "expected `#` before a marker, found `#:`"
                    self._near_miss(message, text, comment, comment.column, 2, label="text of the documentation")
            elif _go_comment(text).startswith(_NAMESPACES):
                message = "expected a marker after `#`, found the `//` of a Go comment"
                self._near_miss(message, _go_comment(text), comment, at, 2)
            elif _WITHOUT_PLUS.match(comment.text) and self._is_comment(comment):
                message = "expected `+` before the name of a marker"
                self._near_miss(message, f"+{text}", comment, at, len(text), severity=Severity.WARNING)

    def _is_comment(self, comment: Comment) -> bool:
        return comment.own_line or is_comment(self._text, comment)

    def _near_miss(
        self,
        message: str,
        meant: str,
        comment: Comment,
        column: int,
        length: int,
        *,
        label: str = "text of the description",
        severity: Severity | None = None,
    ) -> None:
        span = Span(self._path, comment.line, column, comment.line, column + length)
        self._diagnostics.report(MARKER_SYNTAX, span, message, f"write `# {meant}`", label=label, severity=severity)

    def _docstrings(self) -> None:
        """Report markers inside docstrings, where they are only text."""
        for match in MARKER_IN_DOCSTRING.finditer(self._text):
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


_GENERIC_NAMES = {
    "Annotated", "Literal", "Union", "Optional", "list", "dict", "set", "frozenset", "tuple", "type",
    "List", "Dict", "Set", "FrozenSet", "Tuple", "Sequence", "Mapping",
}  # fmt: skip
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class Columns:
    """Converts columns of ``ast`` (UTF-8 bytes from 0) to those of spans (characters from 1)."""

    def __init__(self, text: str, path: str) -> None:
        self._path = path
        self._lines = split_lines(text) if not text.isascii() else None

    def column(self, line: int, offset: int) -> int:
        """The column of a byte offset in a line."""
        if self._lines is None or line > len(self._lines):
            return offset + 1
        return len(self._lines[line - 1].encode()[:offset].decode("utf-8", "replace")) + 1

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The span of a node."""
        end_line = node.end_lineno or node.lineno
        first, end = self.column(node.lineno, node.col_offset), self.column(end_line, node.end_col_offset or 0)
        return Span(self._path, node.lineno, first, end_line, end)

    def name_span(self, node: ast.ClassDef) -> Span:
        """The span of a class's name. ``ast`` does not have it, but the name follows the keyword."""
        column = self.column(node.lineno, node.col_offset) + len("class ")
        return Span(self._path, node.lineno, column, node.lineno, column + len(node.name))


@dataclass(slots=True)
class FieldNode:
    """An annotated attribute: where it starts, its docstring, and the number of its block of statements."""

    name: str
    line: int
    column: int
    span: Span
    annotation_span: Span
    arguments: Mapping[str, Span] = field(default_factory=dict)
    docstring: str | None = None
    block: int = 0


@dataclass(slots=True)
class TypeNode:
    """A class or alias: where it starts (decorators included), and its attributes."""

    name: str
    qualname: str
    kind: TypeKind
    line: int
    name_line: int
    column: int
    span: Span
    bases: tuple[str, ...]
    top_level: bool
    docstring: str | None = None
    fields: list[FieldNode] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scope:
    """The lines of a class or function, for messages about comments that describe nothing."""

    first_line: int
    last_line: int
    description: str
    is_class: bool


@dataclass(slots=True)
class Declarations:
    """What a file declares."""

    types: list[TypeNode] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    docstring: str | None = None
    docstring_lines: list[range] = field(default_factory=list)


def _description(node: TypeNode | FieldNode, above: CommentBlock | None) -> str | None:
    """The docstring, or the text of the comment above."""
    if node.docstring and (description := describe_docstring(node.docstring)) is not None:
        return description
    return describe_comment(comment.text for comment in above.comments) if above else None


def declare(tree: ast.Module, columns: Columns) -> Declarations:
    """All types of a module, nested ones included, in the order of the source."""
    found = Declarations(docstring=ast.get_docstring(tree, clean=False))
    _Walk(columns, found).body(tree.body, "", None)
    return found


class _Walk:
    def __init__(self, columns: Columns, found: Declarations) -> None:
        self._columns = columns
        self._found = found
        self._blocks = 0

    def body(self, statements: Sequence[ast.stmt], prefix: str, owner: TypeNode | None) -> None:
        last: FieldNode | TypeNode | None = None
        self._blocks += 1
        block = self._blocks
        for statement in statements:
            if isinstance(statement, ast.ClassDef):
                self._class(statement, prefix, owner)
            elif isinstance(statement, _Function):
                self._scope(statement, f"the function `{statement.name}`", is_class=False)
                self.body(statement.body, f"{prefix}{statement.name}.<locals>.", None)
            elif isinstance(statement, ast.AnnAssign) and owner is not None:
                last = self._field(statement, owner, block)
                continue
            elif last is not None and (text := _docstring(statement)) is not None:
                last.docstring = text
                self._docstring_lines(statement)
            elif (last := self._alias(statement, prefix)) is not None:
                continue
            for nested in _blocks(statement):
                self.body(nested, prefix, owner)
            last = None

    def _class(self, node: ast.ClassDef, prefix: str, owner: TypeNode | None) -> None:
        span, top_level = self._columns.name_span(node), not prefix and owner is None
        found = self._type(node, node.name, TypeKind.CLASS, span, prefix, node.bases, top_level=top_level)
        found.line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        found.docstring = ast.get_docstring(node, clean=False)
        self._scope(node, f"the class `{node.name}`", is_class=True)
        if found.docstring is not None:
            self._docstring_lines(node.body[0])
        self.body(node.body, f"{prefix}{node.name}.", found)

    def _type(
        self,
        node: ast.stmt,
        name: str,
        kind: TypeKind,
        span: Span,
        prefix: str,
        bases: Sequence[ast.expr],
        *,
        top_level: bool,
    ) -> TypeNode:
        column = self._columns.column(node.lineno, node.col_offset)
        shown = tuple(map(ast.unparse, bases))
        found = TypeNode(name, prefix + name, kind, node.lineno, node.lineno, column, span, shown, top_level)
        self._found.types.append(found)
        return found

    def _docstring_lines(self, node: ast.stmt) -> None:
        self._found.docstring_lines.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def _scope(self, node: ast.stmt, description: str, *, is_class: bool) -> None:
        self._found.scopes.append(Scope(node.lineno, node.end_lineno or node.lineno, description, is_class))

    def _field(self, node: ast.AnnAssign, owner: TypeNode, block: int) -> FieldNode | None:
        if not isinstance(node.target, ast.Name):
            return None
        found = FieldNode(
            name=node.target.id,
            line=node.lineno,
            column=self._columns.column(node.lineno, node.col_offset),
            span=self._columns.span(node.target),
            annotation_span=self._columns.span(node.annotation),
            arguments={k.arg: self._keyword(k) for k in _field_keywords(node) if k.arg},
            block=block,
        )
        owner.fields.append(found)
        return found

    def _keyword(self, node: ast.keyword) -> Span:
        value = self._columns.span(node.value)
        column = self._columns.column(node.lineno, node.col_offset)
        return Span(value.path, node.lineno, column, value.end_line, value.end_column)

    def _alias(self, node: ast.stmt, prefix: str) -> TypeNode | None:
        match = _alias_of(node)
        if match is None:
            return None
        target, value, kind = match
        return self._type(node, target.id, kind, self._columns.span(target), prefix, [value], top_level=not prefix)


def _alias_of(node: ast.stmt) -> tuple[ast.Name, ast.expr, TypeKind] | None:
    """Name and value of ``X = NewType(...)``, ``X = Annotated[...]``, ``X: TypeAlias = ...``, ``type X = ...``."""
    if isinstance(node, ast.Assign):
        target, kind = node.targets[0], _alias_kind(node.value)
        return (target, node.value, kind) if kind and len(node.targets) == 1 and isinstance(target, ast.Name) else None
    if isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and node.value and _last_name(node.annotation) == "TypeAlias":
            return node.target, node.value, TypeKind.ALIAS
        return None
    name, value = getattr(node, "name", None), getattr(node, "value", None)
    if type(node).__name__ == "TypeAlias" and isinstance(name, ast.Name) and isinstance(value, ast.expr):
        return name, value, TypeKind.ALIAS  # `type X = ...`; Python 3.11 does not have its node class
    return None


def _alias_kind(value: ast.expr) -> TypeKind | None:
    """Which type a value assigned without an annotation makes, if it makes one."""
    if isinstance(value, ast.Call) and _last_name(value.func) == "NewType":
        return TypeKind.NEW_TYPE
    is_applied = isinstance(value, ast.Subscript) and _last_name(value.value) in _GENERIC_NAMES
    return TypeKind.ALIAS if is_applied or (isinstance(value, ast.BinOp) and _looks_like_types(value)) else None


def _looks_like_types(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and _looks_like_types(node.left) and _looks_like_types(node.right)
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or (
        isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str))
    )


def _field_keywords(node: ast.AnnAssign) -> Iterator[ast.keyword]:
    """The keyword arguments of ``Field(...)``: first of the assigned one, then of those in ``Annotated``."""
    annotation = node.annotation
    calls: list[ast.expr | None] = [node.value]
    if isinstance(annotation, ast.Subscript) and _last_name(annotation.value) == "Annotated":
        calls += annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
    for call in calls:
        if isinstance(call, ast.Call) and _last_name(call.func) == "Field":
            yield from call.keywords


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _docstring(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return None


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """The statement lists inside a compound statement that does not open a scope."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    for attribute in ("body", "orelse", "finalbody"):
        nested = getattr(node, attribute, None)
        if isinstance(nested, list):
            yield nested
    for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield handler.body
