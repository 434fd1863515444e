"""Adds code to a module, and checks which names it can use. Places are found in the syntax tree.

Existing code stays byte for byte.
"""

from __future__ import annotations

import ast
import builtins
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import StringIO
from typing import Self

from pykb.python_source import layout
from pykb.python_source.layout import WIDTH, Import, fitted, laid_out, lines_of, section
from pykb.reading import read_python


def is_same_code(one: str, other: str) -> bool:
    r"""Whether two texts have the same syntax tree and comments.

    >>> is_same_code("f(a, b)  # c\n", "f(\n    a,\n    b,\n)  # c\n"), is_same_code("f(a)", "f(a)  # c")
    (True, False)
    """
    if one == other:
        return True
    found = _meaning(one)
    return found is not None and found == _meaning(other)


def _meaning(text: str) -> tuple[str, list[str]] | None:
    """The syntax tree and the comments; ``None`` if the text cannot be parsed or is nested too deeply to compare."""
    try:
        tree = ast.dump(read_python(text))
        tokens = [*tokenize.generate_tokens(StringIO(text).readline)]
    except (SyntaxError, RecursionError, tokenize.TokenError):
        return None
    return tree, [token.string for token in tokens if token.type == tokenize.COMMENT]


@dataclass(frozen=True, slots=True)
class CodeStyle:
    """The Python style of a project.

    Attributes:
        package: Its own package. Imports from it are the last section.
        width: The maximum width of a line, in columns.
    """

    package: str
    width: int = WIDTH

    def formatted(self, text: str) -> str:
        """Format a new module: sort its imports, and break statements that are too long."""
        return _formatted(text, self.package, self.width)


@lru_cache(maxsize=256)  # commands that compare scaffolds render the same modules hundreds of times
def _formatted(text: str, package: str, width: int) -> str:
    source = Source.parse(text)
    found = [*source.imports()]
    if found:
        first, last = found[0][0].lineno - 1, found[-1][0].end_lineno
        head = layout.import_block([each for _, each in found], package, width)
        text = "".join([*source.lines[:first], head, *source.lines[last:]])
    return laid_out(text, width)


@lru_cache(maxsize=256)
def _tree(text: str) -> ast.Module:
    """The syntax tree of a text. Nobody changes it."""
    return read_python(text)


@lru_cache(maxsize=256)
def _aliases(text: str) -> tuple[tuple[str, str, str], ...]:
    """See :meth:`Source.aliases`."""
    nodes = (node for node in ast.walk(_tree(text)) if isinstance(node, ast.ImportFrom))
    return tuple((node.module or "", each.name, each.asname or each.name) for node in nodes for each in node.names)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a module. Immutable: a change gives a new value."""

    text: str
    tree: ast.Module = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a module.

        Raises:
            SyntaxError: It does not parse.
        """
        return cls(text, _tree(text))

    @classmethod
    def attempt(cls, text: str) -> Self | None:
        """Parse a module. Returns ``None`` if it does not parse, for callers that leave it to others to report."""
        try:
            return cls.parse(text)
        except SyntaxError:
            return None

    @property
    def lines(self) -> list[str]:
        """Python's lines, with their ends."""
        return lines_of(self.text)

    @property
    def newline(self) -> str:
        """The line ending of the module."""
        return "\r\n" if self.text.partition("\n")[0].endswith("\r") else "\n"

    def find_class(self, name: str) -> ast.ClassDef | None:
        """Find a top-level class."""
        return next((node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)

    def find_function(self, name: str) -> ast.FunctionDef | None:
        """Find a top-level function."""
        return next((node for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None)

    def imports(self) -> Iterator[tuple[ast.stmt, Import]]:
        """The top-level imports that can be sorted."""
        for node in self.tree.body:
            found = layout.import_of(node)
            if found is not None:
                yield node, found

    def aliases(self) -> tuple[tuple[str, str, str], ...]:
        """All names imported with ``from``: the module, the name, and the name in this module."""
        return _aliases(self.text)

    def mentions(self, name: str) -> bool:
        """Whether the code uses a dotted name outside of imports, in a call or in any other way."""
        used = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name | ast.Attribute))
        return any(isinstance(node.ctx, ast.Load) and _says(node, name) for node in used)

    def start(self, node: ast.ClassDef | ast.FunctionDef) -> int:
        """The index of the first line of a class or a function, with its decorators."""
        return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1

    def comments_above(self, node: ast.ClassDef | ast.FunctionDef, *, blank: bool = True) -> list[int]:
        """The indices of comment lines directly above a class or function. With ``blank``, also across blank lines."""
        lines, at = self.lines, self.start(node)
        found: list[int] = []
        while at > 0 and (lines[at - 1].startswith("#") or (blank and not lines[at - 1].strip())):
            at -= 1
            if lines[at].strip():
                found.append(at)
        return found

    def with_text(self, line: int, offset: int, added: str) -> Self:
        """Insert a text into a line, at an offset of the syntax tree."""
        lines = self.lines
        old = lines[line].encode()
        lines[line] = (old[:offset] + added.encode() + old[offset:]).decode()
        return self.parse("".join(lines))

    def with_lines(self, at: int, *lines: str) -> Self:
        """Insert lines before the line with the index ``at``."""
        old = self.lines
        if 0 < at == len(old) and not old[-1].endswith("\n"):
            old[-1] += self.newline
        return self.parse("".join([*old[:at], *(f"{line}{self.newline}" for line in lines), *old[at:]]))

    def without_line(self, at: int) -> Self:
        """Remove the line with an index."""
        return self.without_lines(at, at + 1)

    def without_lines(self, start: int, end: int) -> Self:
        """Remove the lines from an index up to another one."""
        lines = self.lines
        return self.parse("".join([*lines[:start], *lines[end:]]))

    def without_span(self, left: ast.expr, whole: ast.expr) -> Self:
        """Remove the rest of an expression after the part on its left."""
        lines = self.lines
        first, last = (left.end_lineno or left.lineno) - 1, (whole.end_lineno or whole.lineno) - 1
        head, tail = lines[first].encode()[: left.end_col_offset], lines[last].encode()[whole.end_col_offset :]
        lines[first : last + 1] = [(head + tail).decode()]
        return self.parse("".join(lines))

    def statements(self, name: str) -> list[ast.stmt]:
        """The simple statements, alone on their lines, that use a dotted name."""
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
        used = [node for node in found if _uses(node, name) and self._is_alone(node)]
        return sorted(used, key=lambda node: node.lineno)

    def _is_alone(self, node: ast.stmt) -> bool:
        """Whether only comments share the lines of a statement."""
        lines = self.lines
        before = lines[node.lineno - 1].encode()[: node.col_offset]
        after = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset :].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def without_statement(self, node: ast.stmt) -> Self:
        """Remove a simple statement. A block that it was alone in gets a `pass`."""
        lines, first, last = self.lines, node.lineno - 1, node.end_lineno or node.lineno
        blocks = (block for each in ast.walk(self.tree) for block in _blocks(each))
        is_alone = any(block == [node] for block in blocks)
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines[first:last] = [f"{indent}pass{self.newline}"] if is_alone and indent else []
        return self.parse("".join(lines))

    def without_import(self, unwanted: Import, style: CodeStyle) -> Self:
        """Remove names that are imported from a module, under any alias, and the blank line of an empty section."""
        names = {name.partition(" as ")[0] for name in unwanted.names}
        for node, each in self.imports():
            kept = tuple(name for name in each.names if name.partition(" as ")[0] not in names)
            if each.module != unwanted.module or kept == each.names:
                continue
            if kept:
                return self._with_names(node, replace(each, names=kept), style)
            lines, first = self.lines, node.lineno - 1
            del lines[first : node.end_lineno]
            around = [*(lines[at].strip() for at in (first - 1, first) if 0 <= at < len(lines))]
            if around == ["", ""] or (first == len(lines) and around == [""]):
                del lines[first - 1]
            return self.parse("".join(lines))
        return self

    def _with_names(self, node: ast.stmt, kept: Import, style: CodeStyle) -> Self:
        """Reduce an import to the names to keep. Comments beside them stay."""
        present = layout.import_of(node)
        if present is None or self._is_plain(node, present, style) or not isinstance(node, ast.ImportFrom):
            return self._with_import_at(node, fitted(kept.text, style.width))
        names = {name.partition(" as ")[0] for name in kept.names}
        gone = [each.lineno - 1 for each in node.names if each.name not in names]
        lines = self.lines
        if any(each.lineno - 1 in gone for each in node.names if each.name in names) or node.lineno - 1 in gone:
            return self._with_import_at(node, fitted(kept.text, style.width))
        return self.parse("".join(line for at, line in enumerate(lines) if at not in gone))

    def with_import(self, wanted: Import, style: CodeStyle, *, fallback: int | None = None) -> Self:
        """Add an import: join it to one of the same module, or sort it into its section.

        Args:
            wanted: The import to add. Names that are already imported are left out.
            style: The style of the project.
            fallback: The index of the line to insert it before, if the module has no imports.
        """
        of_module = [(node, each) for node, each in self.imports() if each.module == wanted.module]
        known = {name for _, each in of_module for name in each.names}
        absent = tuple(name for name in wanted.names if not {name, f"{name} as {name}"} & known)
        if wanted.names and not absent:
            return self
        for node, each in of_module:
            if each.can_join and wanted.can_join and self._is_plain(node, each, style):
                names = tuple(sorted({*each.names, *absent}, key=layout.member_key))
                return self._with_import_at(node, fitted(Import(each.module, names).text, style.width))
        return self._with_new_import(replace(wanted, names=absent), style, fallback)

    def _with_new_import(self, wanted: Import, style: CodeStyle, fallback: int | None) -> Self:
        """Add a statement, and the blank lines around it if it is the first of its section."""
        at, is_first = self._place(wanted, style, fallback)
        lines = fitted(wanted.text, style.width).split("\n")
        if is_first and at and self.lines[at - 1].strip():
            lines.insert(0, "")
        behind = "".join(self.lines[at : at + 1])
        if behind.strip() and (is_first or not behind.startswith(("from ", "import "))):
            lines.append("")
        return self.with_lines(at, *lines)

    def with_module(self, old: str, new: str, style: CodeStyle) -> Self:
        """Replace a module in imports by another one."""
        source = self
        for number, (_, each) in enumerate(self.imports()):
            if each.module == old:
                node = [*source.imports()][number][0]
                text = "".join(source.lines[node.lineno - 1 : node.end_lineno]).replace("\r\n", "\n").rstrip("\n")
                is_plain = source._is_plain(node, each, style)
                wanted = fitted(replace(each, module=new).text, style.width)
                source = source._with_import_at(node, wanted if is_plain else text.replace(old, new, 1))
        return source

    def _place(self, wanted: Import, style: CodeStyle, fallback: int | None) -> tuple[int, bool]:
        """The line for a new import, and whether it is the first of its section."""
        present = [*self.imports()]
        own, key = section(wanted.module, style.package), wanted.key(style.package)
        alike = [(node, each) for node, each in present if section(each.module, style.package) == own]
        if alike:
            below = next((node for node, each in alike if each.key(style.package) > key), None)
            return (below.lineno - 1 if below else alike[-1][0].end_lineno or 0), False
        above = [node for node, each in present if section(each.module, style.package) < own]
        if above:
            return above[-1].end_lineno or 0, True
        if present:
            return present[0][0].lineno - 1, True
        if fallback is not None:
            return fallback, True
        has_doc = ast.get_docstring(self.tree) is not None
        return (self.tree.body[0].end_lineno or 0) if has_doc else 0, True

    def is_plain(self, node: ast.ImportFrom) -> bool:
        """Whether an import has its lines alone, without comments."""
        text = "".join(self.lines[node.lineno - 1 : node.end_lineno])
        return self._is_alone(node) and "#" not in text and "\\" not in text

    def _is_plain(self, node: ast.stmt, each: Import, style: CodeStyle) -> bool:
        """Whether an import is in the formatter's form, without comments or other code on its lines."""
        text = "".join(self.lines[node.lineno - 1 : node.end_lineno]).replace("\r\n", "\n").strip()
        return text in {each.text, fitted(each.text, style.width)}

    def _with_import_at(self, node: ast.stmt, text: str) -> Self:
        lines = self.lines
        new = "".join(f"{line}{self.newline}" for line in text.split("\n"))
        return self.parse("".join([*lines[: node.lineno - 1], new, *lines[node.end_lineno :]]))


def _uses(statement: ast.stmt, name: str) -> bool:
    used = (node for node in ast.walk(statement) if isinstance(node, ast.Name | ast.Attribute))
    return any(_says(node, name) for node in used)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements of a node."""
    return [block for name in ("body", "orelse", "finalbody") if isinstance(block := getattr(node, name, None), list)]


def _says(node: ast.expr, name: str) -> bool:
    """Whether an expression is this dotted or plain name."""
    # `ast.unparse` is not used, since it recurses to the depth of the expression.
    first, *attributes = name.split(".")
    for attribute in reversed(attributes):
        if not isinstance(node, ast.Attribute) or node.attr != attribute:
            return False
        node = node.value
    return isinstance(node, ast.Name) and node.id == first


def unknown_names(tree: ast.Module, statement: ast.stmt) -> list[str]:
    r"""The names that a statement uses and that are not bound there, in order.

    >>> tree = ast.parse("import os\ndef f(a):\n    g(a, os)\ng(a, b)\ndef g(): ...")
    >>> unknown_names(tree, tree.body[1].body[0]), unknown_names(tree, tree.body[2])
    ([], ['a', 'b'])
    """
    known = set(dir(builtins)) | set(_bound(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _holds(node, statement):
            known |= {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            known |= set(_bound(node))
    used = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return sorted({name for name in used if name not in known})


def _holds(function: ast.AST, statement: ast.stmt) -> bool:
    return any(node is statement for node in ast.walk(function))


def _bound(scope: ast.AST) -> Iterator[str]:
    """The names that a module or function binds itself, without those in its inner functions and classes."""
    waiting = [*ast.iter_child_nodes(scope)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case _:
                waiting += ast.iter_child_nodes(node)
