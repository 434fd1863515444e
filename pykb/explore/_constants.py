"""The constants with which the user's code compares: specs near them lead into branches that others never reach.

So do annotations and labels that the code looks up.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pykb.reading import read_python

_MOST = 500
"""Constants of a project."""

_LONGEST = 253
"""Characters of a text. Longer ones are messages."""

_MOST_FILES = 256
"""Files whose text was read before. Each exploration of a program reads the same ones, many times."""

_DEPTH = 3
"""Names that stand for names."""


class Constant(NamedTuple):
    """A constant, and what is compared with it.

    Attributes:
        name: The last name of what is compared, such as ``size`` for ``animal.spec.size``, as :func:`plain` gives it.
        value: The constant.
    """

    name: str
    value: int | str


class Mark(NamedTuple):
    """An annotation or a label that the user's code looks up.

    Attributes:
        field: ``annotations`` or ``labels``.
        key: Its name.
        value: What the code compares it with, or else ``true``.
    """

    field: str
    key: str
    value: str


def plain(name: str) -> str:
    """A name as Python and JSON spell it alike."""
    return name.replace("_", "").lower()


def constants_of(sources: Iterable[str]) -> tuple[Constant, ...]:
    """The constants in comparisons, in cases of ``match``, in look-ups and in tests of prefixes, each once.

    Args:
        sources: The texts of files. One that cannot be parsed has none.
    """
    found: dict[Constant, None] = {}
    nodes, named = _read(sources)
    for node in nodes:
        for constant in _of(node, named):
            found.setdefault(constant)
            if len(found) >= _MOST:
                return tuple(found)
    return tuple(found)


class _Code(NamedTuple):
    """What is looked at in files that can be parsed, and what their names stand for."""

    nodes: tuple[ast.AST, ...]
    named: Mapping[str, ast.expr]


_LOOKED_AT = (
    ast.Assign,
    ast.AsyncFunctionDef,
    ast.Call,
    ast.Compare,
    ast.FunctionDef,
    ast.Match,
    ast.NamedExpr,
    ast.Subscript,
)


def _read(sources: Iterable[str]) -> _Code:
    every = [*map(_code_of, sources)]
    return _Code(
        tuple(node for code in every for node in code.nodes),
        {name: value for code in every for name, value in code.named.items()},
    )


@functools.lru_cache(maxsize=_MOST_FILES)
def _code_of(source: str) -> _Code:
    try:
        tree = read_python(source)
    except SyntaxError:
        return _Code((), {})
    return _Code(tuple(node for node in ast.walk(tree) if isinstance(node, _LOOKED_AT)), dict(_named(tree)))


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
    if name and name != "__name__":  # in `if __name__ == "__main__"`
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
        case ast.JoinedStr(values=parts):
            texts = [next(_values(part, named, depth), None) for part in parts]
            if None not in texts:
                yield "".join(map(str, texts))
        case ast.FormattedValue(value=value, format_spec=None):
            yield from _values(value, named, depth)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(int(value))):
            yield -value
        case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Set(elts=several) | ast.Dict(keys=several):
            for each in several:
                yield from _values(each, named, depth)
        case ast.Call(func=ast.Name("frozenset" | "set" | "tuple"), args=[value]):
            yield from _values(value, named, depth)
        case ast.Attribute(value=ast.Name(name), attr="group") if isinstance(called := named.get(name), ast.Call):
            yield from _values(next(iter(called.args), None), named, depth)  # `GroupVersion("example.com", "v1").group`
        case ast.Name(name) | ast.Attribute(attr=name) if depth < _DEPTH:
            yield from _values(named.get(name), named, depth + 1)


# -- Annotations and labels.

MARKED = ("annotations", "labels")
"""Where an object has its marks."""

_QUALIFIED = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+/(?!v\d+((alpha|beta)\d+)?$)[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?")
"""The name of an annotation with the domain of its owner, and not the version of an API.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/#syntax-and-character-set
"""

_TRUE = "true"


def marks_of(sources: Iterable[str], others: Iterable[str] = ()) -> tuple[Mark, ...]:
    """The annotations and labels that code looks up, those first of which it is certain, each once.

    A name with a domain that is looked up elsewhere, or given to a function, may be one, too.

    Args:
        sources: The texts of files.
        others: Those of further files, which have names for constants.
    """
    sources = [*sources]
    texts = [*others, *sources]
    named, compared = _read(texts).named, constants_of(texts)
    nodes = [node for source in sources for node in _code_of(source).nodes]
    looked_up = dict.fromkeys(each for node in nodes for each in _looked_up(node, named))
    values: dict[str, list[str]] = {}
    for key, value in (each for node in nodes for each in _compared_marks(node, named, compared)):
        values.setdefault(key, []).append(value)
    certain = [(field, key) for field, key in looked_up if field]
    known = {key for _, key in certain}
    every = [*certain, *((MARKED[0], key) for field, key in looked_up if not field and key not in known)]
    found = (Mark(field, key, value) for field, key in every for value in values.get(key) or [_TRUE])
    return tuple(dict.fromkeys(found))[:_MOST]


def _looked_up(node: ast.AST, named: Mapping[str, ast.expr]) -> Iterator[tuple[str, str]]:
    """Yield what a part of the code looks up: the field, empty if it is not known, and the name."""
    match node:
        case (
            ast.Call(func=ast.Attribute(value=table, attr="get" | "pop"), args=[key, *_])
            | ast.Subscript(value=table, slice=key, ctx=ast.Load())
            | ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[table])
        ):
            yield from _keys(_name_of(table), key, named)
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            for call in (each for each in decorators if isinstance(each, ast.Call)):
                for keyword in (each for each in call.keywords if isinstance(each.value, ast.Dict)):
                    yield from _keys(keyword.arg or "", keyword.value, named)
        case ast.Call(func=function, args=arguments):
            for argument in arguments:
                yield from _keys(_name_of(function), argument, named)


def _keys(looked_in: str, key: ast.expr, named: Mapping[str, ast.expr]) -> Iterator[tuple[str, str]]:
    name = plain(looked_in)
    field = next((each for each in MARKED if name.endswith(each)), "")
    if "finalizer" not in name:
        for value in _values(key, named):
            if isinstance(value, str) and (field or _QUALIFIED.fullmatch(value)):
                yield field, value


def _compared_marks(
    node: ast.AST, named: Mapping[str, ast.expr], compared: Iterable[Constant]
) -> Iterator[tuple[str, str]]:
    """Yield names that are looked up, each with a text that what is found is compared with, or a variable for it is."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()], comparators=[right]):
            for one, other in ((left, right), (right, left)):
                for key in _looked_up_in(one, named):
                    yield from ((key, value) for value in _values(other, named) if isinstance(value, str))
        case ast.Assign(targets=[ast.Name(name)], value=value) | ast.NamedExpr(target=ast.Name(name), value=value):
            for key in _looked_up_in(value, named):
                yield from ((key, str(each.value)) for each in compared if each.name == plain(name))
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            for part in (each for decorator in decorators for each in ast.walk(decorator)):
                if isinstance(part, ast.Dict):
                    for key_node, content in zip(part.keys, part.values, strict=True):
                        texts = [str(each) for each in _values(content, named)]
                        yield from ((str(each), text) for each in _values(key_node, named) for text in texts)


def _looked_up_in(node: ast.expr, named: Mapping[str, ast.expr]) -> Iterator[str]:
    for part in ast.walk(node):
        if not isinstance(part, ast.Compare):
            yield from (key for _, key in _looked_up(part, named))
