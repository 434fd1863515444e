"""Proves that a module only declares types, before anything imports it.

All texts of a CRD pass through :mod:`pykb.python_source.quoting`. This is the second lock behind it: a module that an
import makes is compared with the few forms that it can have. A mistake in the importer then ends the command, and
nothing is written or run.
"""

from __future__ import annotations

import ast
import re

from pykb.reading import read_python

_MODULES = re.compile(r"typing|datetime|pykb\.api(\.\w+)*")
_NO_VALUES = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str"})


class NotDeclarativeError(Exception):
    """A module has code other than declarations. This is a mistake in pykb."""


def check_declarative(text: str) -> None:
    """Check that a module has only imports of pykb's types, its group, and classes whose values are constants.

    Raises:
        NotDeclarativeError: It has anything else, or cannot be parsed.
    """
    try:
        _Check().module(read_python(text))
    except SyntaxError as error:
        raise NotDeclarativeError(f"the module does not parse: {error}") from error


class _Check:
    """The forms of statements and expressions. ``names`` are those that a module has bound so far."""

    def __init__(self) -> None:
        self.names = set(_NO_VALUES)

    def module(self, tree: ast.Module) -> None:
        for number, node in enumerate(tree.body):
            match node:
                case ast.Expr(ast.Constant(str())) if number == 0:
                    pass
                case ast.ImportFrom(module=str(module), level=0) if _MODULES.fullmatch(module):
                    self.names |= {alias.asname or alias.name for alias in node.names}
                    self._need(all(alias.asname is None and alias.name != "*" for alias in node.names), node)
                case ast.Assign(targets=[ast.Name("GROUP_VERSION")], value=value):
                    self._data(value)
                    self.names.add("GROUP_VERSION")
                case ast.ClassDef():
                    self._class(node)
                    self.names.add(node.name)
                case _:
                    self._need(False, node)

    def _class(self, node: ast.ClassDef) -> None:
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        self._need(bases in (["Struct"], ["CustomResource"]) and len(bases) == len(node.bases), node)
        self._need(not getattr(node, "type_params", ()), node)
        for value in (*node.decorator_list, *(keyword.value for keyword in node.keywords)):
            self._data(value)
        for each in node.body:
            match each:
                case ast.Expr(ast.Constant(str())) | ast.Pass():
                    pass
                case ast.AnnAssign(target=ast.Name(), annotation=annotation, simple=1):
                    self._type(annotation)
                    if each.value is not None:
                        self._data(each.value)
                case _:
                    self._need(False, each)

    def _type(self, node: ast.expr) -> None:
        """A type. It has no strings outside of ``Literal`` and metadata: Pydantic would evaluate them as code."""
        match node:
            case ast.Name(name):
                self._need(name in self.names, node)
            case ast.Constant(None):
                pass
            case ast.BinOp(left, ast.BitOr(), right):
                self._type(left)
                self._type(right)
            case ast.Subscript(ast.Name("Literal"), values):
                for value in values.elts if isinstance(values, ast.Tuple) else [values]:
                    self._need(isinstance(value, ast.Constant | ast.UnaryOp), node)
                    self._data(value)
            case ast.Subscript(ast.Name("Annotated"), ast.Tuple([base, *metadata])):
                self._type(base)
                for value in metadata:
                    self._data(value)
            case ast.Subscript(ast.Name("list" | "dict"), parts):
                for part in parts.elts if isinstance(parts, ast.Tuple) else [parts]:
                    self._type(part)
            case _:
                self._need(False, node)

    def _data(self, node: ast.expr) -> None:
        """A constant, a list or a mapping of such, or the call of an imported name with such."""
        match node:
            case ast.Constant():
                pass
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float())):
                pass
            case ast.Name(name):
                self._need(name in self.names, node)
            case ast.List(parts):
                for part in parts:
                    self._data(part)
            case ast.Dict(keys, values):
                known = [key for key in keys if key is not None]
                self._need(len(known) == len(values), node)
                for part in (*known, *values):
                    self._data(part)
            case ast.Call(ast.Name(name), arguments, keywords):
                self._need(name in self.names and all(keyword.arg for keyword in keywords), node)
                for part in (*arguments, *(keyword.value for keyword in keywords)):
                    self._data(part)
            case _:
                self._need(False, node)

    @staticmethod
    def _need(holds: bool, node: ast.AST) -> None:
        if not holds:
            raise NotDeclarativeError(f"line {getattr(node, 'lineno', 1)}: {ast.unparse(node)[:200]}")
