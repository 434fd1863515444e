"""Finds where Python code uses a module or its names: imports, and attributes of imported modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pykb.python_source.source import Source


@dataclass(frozen=True, slots=True)
class Use:
    """A place that uses a name of a module.

    Attributes:
        node: The alias of an import, the import itself, or an attribute.
        line: Its line, counted from 1.
        module: The module.
        name: The name in the module; empty when the module itself is imported.
    """

    node: ast.AST
    line: int
    module: str
    name: str = ""

    @property
    def target(self) -> str:
        """The full dotted name."""
        return f"{self.module}.{self.name}" if self.name else self.module


def uses(source: Source, module: str, *, is_package: bool = False) -> Iterator[Use]:
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
                yield Use(alias, alias.lineno, alias.name)
        if isinstance(node, ast.ImportFrom):
            package = origin(node, module, is_package=is_package)
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{package}.{alias.name}"
                yield Use(alias, alias.lineno, package, alias.name)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node.value)) and name in bound:
            yield Use(node, node.end_lineno or node.lineno, bound[name], node.attr)


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
