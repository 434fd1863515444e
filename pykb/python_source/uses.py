"""Finds what uses a module, and rewrites the imports of modules that move."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykb.python_source import layout
from pykb.python_source.layout import Import
from pykb.python_source.source import CodeStyle, Source


@dataclass(frozen=True, slots=True)
class Use:
    """A place that uses a name of a module.

    Attributes:
        line: The line, counted from 1.
        module: The module.
        name: The name in the module; empty when the module itself is imported.
    """

    line: int
    module: str
    name: str = ""

    @property
    def target(self) -> str:
        """The full dotted name."""
        return f"{self.module}.{self.name}" if self.name else self.module


def uses(source: Source, module: str, *, is_package: bool) -> Iterator[Use]:
    """All uses of other modules.

    Args:
        source: The code.
        module: The name of its own module, to which relative imports refer.
        is_package: Whether it is the module of a package.
    """
    bound: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound[alias.asname or alias.name] = alias.name
                yield Use(alias.lineno, alias.name)
        if isinstance(node, ast.ImportFrom):
            package = origin(node, module, is_package=is_package)
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{package}.{alias.name}"
                yield Use(alias.lineno, package, alias.name)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node.value)) and name in bound:
            yield Use(node.end_lineno or node.lineno, bound[name], node.attr)


def dotted(node: ast.expr) -> str:
    """A dotted name as text; empty for other expressions."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def origin(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """The absolute module of a `from` import."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


_FROM = re.compile(rb"from\s*([\w.]+)\s+import\b")


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the code: its name before and after, and whether it is that of a package."""

    old: str
    new: str
    is_package: bool = False


@dataclass(frozen=True, slots=True)
class Renames:
    """New names of modules. The name of a package stands for everything in it."""

    modules: Mapping[str, str]

    def new(self, name: str) -> str:
        """The new name of a module, or of something in it."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            renamed = self.modules.get(".".join(parts[:length]))
            if renamed is not None:
                return ".".join([renamed, *parts[length:]])
        return name

    def mentioned(self, text: str) -> str:
        """The first renamed module that a text names."""
        words = (word.strip(".") for word in re.findall(r"[\w.]+", text))
        return next((word for word in words if self.new(word) != word), "")


Problem = tuple[int, str]
"""What cannot be rewritten: the line and the reason."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A module after the renames, and the places that cannot be rewritten."""

    text: str
    problems: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A new text for a part of the code. Places are those of the syntax tree: lines from 1, offsets in bytes."""

    line: int
    start: int
    end_line: int
    end: int
    text: str


def rewrite(source: Source, module: Module, renames: Renames, style: CodeStyle) -> Rewritten:
    """Rewrite the imports of a module and its qualified names. A sorted block of imports is sorted again."""
    edits: list[_Edit] = []
    problems = [*_strings(source, renames)]
    for each in (*_imports(source, module, renames, style), *_attributes(source, module, renames)):
        if isinstance(each, _Edit):
            edits.append(each)
        else:
            problems.append(each)
    text = _applied(source, edits)
    if text != source.text and not problems:
        text = _sorted(source, Source.parse(text), style)
    return Rewritten(text, problems)


def _imports(source: Source, module: Module, renames: Renames, style: CodeStyle) -> Iterator[_Edit | Problem]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                new = renames.new(alias.name)
                if new != alias.name:
                    end = alias.col_offset + len(alias.name)
                    yield _Edit(alias.lineno, alias.col_offset, alias.lineno, end, new)
        if isinstance(node, ast.ImportFrom):
            yield from _from_import(source, node, module, renames, style)


def _from_import(
    source: Source, node: ast.ImportFrom, module: Module, renames: Renames, style: CodeStyle
) -> Iterator[_Edit | Problem]:
    before = origin(node, module.old, is_package=module.is_package)
    parents: dict[str, list[str]] = {}
    for alias in node.names:
        full = before if alias.name == "*" else f"{before}.{alias.name}"
        new = renames.new(full)
        parent = new if alias.name == "*" else new.rpartition(".")[0]
        parents.setdefault(parent, []).append(f"{alias.name} as {alias.asname}" if alias.asname else alias.name)
    stays = origin(node, module.new, is_package=module.is_package) if node.level else before
    if list(parents) == [stays]:
        return
    match = _FROM.match(source.lines[node.lineno - 1].encode(), node.col_offset)
    if match is None or (len(parents) > 1 and not source.is_plain(node)):
        yield node.lineno, "this import of a module that would move has an unusual form"
    elif len(parents) == 1:
        yield _Edit(node.lineno, match.start(1), node.lineno, match.end(1), next(iter(parents)))
    else:
        statements = [Import(parent, tuple(names)) for parent, names in parents.items()]
        block = layout.import_block(statements, style.package, style.width - node.col_offset).splitlines()
        text = f"{source.newline}{' ' * node.col_offset}".join(filter(None, block))
        yield _Edit(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0, text)


def _attributes(source: Source, module: Module, renames: Renames) -> Iterator[_Edit | Problem]:
    """Qualified names such as ``package.api.v1``."""
    bound = dict(_bound(source, module))
    for node in ast.walk(source.tree):
        root, _, rest = dotted(node).partition(".") if isinstance(node, ast.Attribute) else ("", "", "")
        full = f"{bound[root]}.{rest}" if root in bound else ""
        new = renames.modules.get(full, full)
        if not isinstance(node, ast.Attribute) or new == full:
            continue
        if node.lineno != node.end_lineno or not new.startswith(f"{bound[root]}."):
            yield node.lineno, f"`{root}.{rest}` would become `{new}`, which this line cannot name"
        else:
            renamed = root + new.removeprefix(bound[root])
            yield _Edit(node.lineno, node.col_offset, node.lineno, node.end_col_offset or 0, renamed)


def _bound(source: Source, module: Module) -> Iterator[tuple[str, str]]:
    """The names that imports bind, with the full names of what they mean."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        if isinstance(node, ast.ImportFrom):
            before = origin(node, module.old, is_package=module.is_package)
            yield from ((alias.asname or alias.name, f"{before}.{alias.name}") for alias in node.names)


def _strings(source: Source, renames: Renames) -> Iterator[Problem]:
    """Texts that name a renamed module, or that may be completed to such a name. They are not rewritten."""
    docs = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    parents = {f"{name.rpartition('.')[0]}." for name in renames.modules}
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docs:
            continue
        name = renames.mentioned(node.value) or (node.value if node.value in parents else "")
        if name:
            yield node.lineno, f"this text names `{name}`, which would move"


def _applied(source: Source, edits: Iterable[_Edit]) -> str:
    lines = [line.encode() for line in source.lines]
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.start), reverse=True):
        head, tail = lines[edit.line - 1][: edit.start], lines[edit.end_line - 1][edit.end :]
        lines[edit.line - 1 : edit.end_line] = [head + edit.text.encode() + tail]
    return b"".join(lines).decode()


def _sorted(before: Source, after: Source, style: CodeStyle) -> str:
    """Sort the block of imports if it was sorted before."""
    first, last = _extent(before)
    if "".join(before.lines[first:last]).replace("\r\n", "\n") != _block(before, style):
        return after.text
    first, last = _extent(after)
    return "".join([*after.lines[:first], _block(after, style).replace("\n", after.newline), *after.lines[last:]])


def _extent(source: Source) -> tuple[int, int]:
    """The indices of the first line with an import and of the line after the last one."""
    statements = [node for node, _ in source.imports()]
    return (statements[0].lineno - 1, statements[-1].end_lineno or 0) if statements else (0, 0)


def _block(source: Source, style: CodeStyle) -> str:
    return layout.import_block(
        [_with_remark(source, node, each) for node, each in source.imports()], style.package, style.width
    )


def _with_remark(source: Source, node: ast.stmt, each: Import) -> Import:
    _, sign, remark = source.lines[node.lineno - 1].rstrip("\r\n").partition("  #")
    return Import(each.module, each.names, f"#{remark}") if sign and node.end_lineno == node.lineno else each
