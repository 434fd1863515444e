"""Finds the declarations in a Python file's syntax tree that markers can describe."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pykb.diagnostics import Span
from pykb.markers.comments import split_lines
from pykb.markers.model import TypeKind

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
        end = node.end_col_offset or 0
        return Span(
            self._path,
            node.lineno,
            self.column(node.lineno, node.col_offset),
            end_line,
            self.column(end_line, end),
        )

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
    docstring: str | None
    bases: tuple[str, ...]
    top_level: bool
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
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        found = TypeNode(
            name=node.name,
            qualname=prefix + node.name,
            kind=TypeKind.CLASS,
            line=first,
            name_line=node.lineno,
            column=self._columns.column(node.lineno, node.col_offset),
            span=self._columns.name_span(node),
            docstring=ast.get_docstring(node, clean=False),
            bases=tuple(ast.unparse(b) for b in node.bases),
            top_level=not prefix and owner is None,
        )
        self._found.types.append(found)
        self._scope(node, f"the class `{node.name}`", is_class=True)
        if found.docstring is not None:
            self._docstring_lines(node.body[0])
        self.body(node.body, f"{prefix}{node.name}.", found)

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
        found = TypeNode(
            name=target.id,
            qualname=prefix + target.id,
            kind=kind,
            line=node.lineno,
            name_line=node.lineno,
            column=self._columns.column(node.lineno, node.col_offset),
            span=self._columns.span(target),
            docstring=None,
            bases=(ast.unparse(value),),
            top_level=not prefix,
        )
        self._found.types.append(found)
        return found


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
