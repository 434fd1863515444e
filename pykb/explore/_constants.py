"""The constants with which the user's code compares: specs near them lead into branches that others never reach."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pykb.reading import read_python

_MOST = 500
"""Constants of a project."""

_LONGEST = 253
"""Characters of a text. Longer ones are messages."""


class Constant(NamedTuple):
    """A constant, and what is compared with it.

    Attributes:
        name: The last name of what is compared, such as ``size`` for ``animal.spec.size``, as :func:`plain` gives it.
        value: The constant.
    """

    name: str
    value: int | str


def plain(name: str) -> str:
    """A name as Python and JSON spell it alike."""
    return name.replace("_", "").lower()


def constants_of(sources: Iterable[str]) -> tuple[Constant, ...]:
    """The constants in comparisons, in cases of ``match``, in look-ups and in tests of prefixes, each once.

    Args:
        sources: The texts of files. One that cannot be parsed has none.
    """
    found: dict[Constant, None] = {}
    trees = [tree for tree in map(_parsed, sources) if tree is not None]
    named = {name: value for tree in trees for name, value in _named(tree)}
    for tree in trees:
        for node in ast.walk(tree):
            for constant in _of(node, named):
                found.setdefault(constant)
                if len(found) >= _MOST:
                    return tuple(found)
    return tuple(found)


def _parsed(source: str) -> ast.Module | None:
    try:
        return read_python(source)
    except SyntaxError:
        return None


def _named(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of modules and classes that stand for constants."""
    classes = (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))
    for statement in [*tree.body, *(each for found in classes for each in found.body)]:
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=ast.expr() as value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                yield name, value


def _of(node: ast.AST, named: Mapping[str, ast.expr]) -> Iterator[Constant]:
    """Yield the constants of one comparison or its like."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            for one in (left, *comparators):
                for other in (left, *comparators):
                    if one is not other:
                        yield from _pairs(one, other, named)
        case ast.Match(subject=subject, cases=cases):
            for case in cases:
                for part in ast.walk(case.pattern):
                    if isinstance(part, ast.MatchValue):
                        yield from _pairs(subject, part.value, named)
        case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith"), args=[given, *_]):
            yield from _pairs(value, given, named)
        case (
            ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_])
            | ast.Subscript(value=table, slice=key)
        ):
            yield from _pairs(key, table, named)


def _pairs(compared: ast.expr, constant: ast.expr, named: Mapping[str, ast.expr]) -> Iterator[Constant]:
    name = _name_of(compared)
    if name:
        for value in _values(constant, named):
            yield Constant(plain(name), value)


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(str(name)), *_]):
            return name
        case ast.Call(func=ast.Name("len" | "int" | "str" | "bool"), args=[value]) | ast.Await(value=value):
            return _name_of(value)
        case ast.Call(func=ast.Attribute(value=value)) | ast.BoolOp(values=[value, *_]):  # `.lower()`; `x or 1`
            return _name_of(value)
    return ""


def _values(node: ast.expr | None, named: Mapping[str, ast.expr], depth: int = 0) -> Iterator[int | str]:
    match node:
        case ast.Constant(value) if type(value) is int or (isinstance(value, str) and len(value) <= _LONGEST):
            yield value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(int(value))):
            yield -value
        case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Set(elts=several) | ast.Dict(keys=several):
            for each in several:
                yield from _values(each, named, depth)
        case ast.Call(func=ast.Name("frozenset" | "set" | "tuple"), args=[value]):
            yield from _values(value, named, depth)
        case ast.Name(name) | ast.Attribute(attr=name) if depth == 0:
            yield from _values(named.get(name), named, depth + 1)
