"""Checks which names are bound in a module, to see whether an inserted statement can run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator


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
