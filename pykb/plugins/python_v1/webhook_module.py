"""Additions to a module of webhooks: text in, text out; what the user wrote stays as it is.

Places are found by the syntax tree: a class goes above the function that registers the webhooks, a call before the
builder's ``complete()``, a name to the import of ``pykb.runtime``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.create_webhook import WEBHOOK_MODULE
from pykb.diagnostics.codes.scaffold import FILE_BROKEN
from pykb.reading import python_text

RUNTIME = "pykb.runtime"
WIDTH = 120


@dataclass(frozen=True, slots=True)
class Addition:
    """One webhook that a module has to have.

    Attributes:
        class_name: Its class; empty where it is imported.
        class_text: The class with the marker above it.
        method: The builder's method.
        call: The whole call of it.
        names: What the class needs of ``pykb.runtime``.
        imports: Imports to add, a statement each.
        module: For an imported class, where it comes from.
    """

    class_name: str
    class_text: str
    method: str
    call: str
    names: tuple[str, ...]
    imports: tuple[str, ...] = ()
    module: str = ""


def extend(
    text: str, additions: Sequence[Addition], *, path: str, function: str, setup: str = ""
) -> tuple[str, Diagnostic | None]:
    """The text with all additions; unchanged, with a finding, where one cannot be made.

    Args:
        text: The module.
        additions: What it has to have; what it has already is left alone.
        path: How to call it in findings.
        function: The name of the function that registers the webhooks.
        setup: That function without any webhook, and its imports, for a module that builds none.
    """
    try:
        tree = python_text.parse(text)
    except SyntaxError as error:
        message = f"`{path}` does not parse: {error.msg}"
        notes = ("lines must be added to this file, and nothing was written",)
        return text, FILE_BROKEN.at(Span(path, error.lineno or 1, error.offset or 1), message, notes=notes)
    newline = "\r\n" if "\r\n" in text else "\n"
    result = text.replace("\r\n", "\n")
    for addition in additions:
        if _is_complete(tree, addition):
            continue
        place = _complete(tree, function)
        if place is None:
            return text, _unfit(path, additions, tree, function, setup)
        result = _with(result, tree, addition, function, place)
        tree = python_text.parse(result)
    return result.replace("\n", newline), None


def _is_complete(tree: ast.Module, addition: Addition) -> bool:
    return _has_class(tree, addition) and _is_called(tree, addition)


def _has_class(tree: ast.Module, addition: Addition) -> bool:
    if not addition.class_name:
        return any(isinstance(node, ast.ImportFrom) and node.module == addition.module for node in ast.walk(tree))
    return any(isinstance(node, ast.ClassDef) and node.name == addition.class_name for node in ast.walk(tree))


def _is_called(tree: ast.Module, addition: Addition) -> bool:
    """Whether the builder is given the webhook; of converters there may be several, told apart by their classes."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == addition.method
    ]
    if addition.class_name:
        return bool(calls)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == addition.module
        for alias in node.names
    }
    used = {name.id for call in calls for name in ast.walk(call) if isinstance(name, ast.Name)}
    return bool(names & used)


def _complete(tree: ast.Module, function: str) -> ast.Call | None:
    """The call of the builder's ``complete()`` in the function that registers."""
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function), None)
    calls = [] if found is None else [node for node in ast.walk(found) if isinstance(node, ast.Call)]
    named = (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "complete")
    return next((call for call in named if not call.args), None)  # that of a controller takes its reconciler


def _with(text: str, tree: ast.Module, addition: Addition, function: str, place: ast.Call) -> str:
    """One addition made, from the end of the file to its beginning, so that places stay what they are."""
    lines = text.splitlines(keepends=True)
    if not _is_called(tree, addition):
        _add_call(lines, place, addition.call)
    if not _has_class(tree, addition):
        if addition.class_text:
            start = _start(lines, next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function))
            lines[start:start] = [f"{addition.class_text.strip()}\n", "\n", "\n"]
        _add_imports(lines, tree, addition)
    return "".join(lines)


def _add_call(lines: list[str], place: ast.Call, call: str) -> None:
    """A statement of its own before ``builder.complete()``; in a chain, a link before the last."""
    func = place.func
    assert isinstance(func, ast.Attribute)  # noqa: S101 - by how it was found
    receiver = func.value
    first, last = func.value.lineno - 1, (func.end_lineno or func.lineno) - 1
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    if isinstance(receiver, ast.Name) and lines[first].strip().startswith(f"{receiver.id}.complete("):
        lines.insert(first, f"{indent}{receiver.id}.{call}\n")
        return
    end = (receiver.end_lineno or receiver.lineno) - 1
    column = len(lines[end].encode()[: receiver.end_col_offset].decode())
    if end == last:
        lines[end] = f"{lines[end][:column]}.{call}{lines[end][column:]}"
        return
    deeper = lines[last][: len(lines[last]) - len(lines[last].lstrip())]
    lines[end] = f"{lines[end][:column]}\n{deeper}.{call}{lines[end][column:]}"


def _start(lines: list[str], node: ast.FunctionDef) -> int:
    """The first line of a function, with its decorators and the comments above it."""
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    return start


def _add_imports(lines: list[str], tree: ast.Module, addition: Addition) -> None:
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom | ast.Import)]
    runtime = [node for node in imports if isinstance(node, ast.ImportFrom) and node.module == RUNTIME]
    known = {alias.name for node in runtime for alias in node.names if alias.asname is None}
    absent = [name for name in addition.names if name not in known]
    for statement in addition.imports:
        _put_import(lines, imports, statement)
    if not absent:
        return
    plain = next((node for node in runtime if _is_plain(lines, node)), None)
    if plain is None:
        _put_import(lines, imports, f"from {RUNTIME} import {', '.join(absent)}")
        return
    names = sorted({*absent, *(alias.name for alias in plain.names)}, key=str.casefold)
    end = plain.end_lineno or plain.lineno
    lines[plain.lineno - 1 : end] = [f"{_import_of(names)}\n"]


def _is_plain(lines: list[str], node: ast.ImportFrom) -> bool:
    """Whether an import stands there as the formatter writes it: no comments, no aliases, nothing else on its lines."""
    if any(alias.asname or alias.name == "*" for alias in node.names):
        return False
    names = [alias.name for alias in node.names]
    text = "".join(lines[node.lineno - 1 : node.end_lineno]).strip()
    return text in {_import_of(names), f"from {RUNTIME} import {', '.join(names)}"}


def _import_of(names: Sequence[str]) -> str:
    line = f"from {RUNTIME} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"    {name},\n" for name in names)
    return f"from {RUNTIME} import (\n{inner})"


def _put_import(lines: list[str], imports: Sequence[ast.stmt], statement: str) -> None:
    """Sorted among the imports of its package, else behind the last one."""
    module = statement.split()[1]
    package = module.partition(".")[0]
    own = [n for n in imports if isinstance(n, ast.ImportFrom) and (n.module or "").partition(".")[0] == package]
    below = next((node for node in own if (node.module or "").casefold() > module.casefold()), None)
    if below is not None:
        lines.insert(below.lineno - 1, f"{statement}\n")
        return
    last = max((node.end_lineno or node.lineno for node in own or imports), default=0)
    gap = ["\n"] if imports and not own else []
    lines[last:last] = [*gap, f"{statement}\n"]


def _unfit(path: str, additions: Sequence[Addition], tree: ast.Module, function: str, setup: str) -> Diagnostic:
    absent = [addition for addition in additions if not _is_complete(tree, addition)]
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function), None)
    reason = f"`{function}` calls no `complete()`" if found else f"there is no function `{function}`"
    names = sorted({name for addition in absent for name in addition.names}, key=str.casefold)
    pasted = [_import_of(names)] if names else []
    pasted += [statement for addition in absent for statement in addition.imports]
    pasted += [addition.class_text.strip() for addition in absent if addition.class_text]
    pasted += [f"builder.{addition.call}" for addition in absent]
    if setup and not any(isinstance(node, ast.Name) and node.id == "WebhookBuilder" for node in ast.walk(tree)):
        pasted = [setup]  # there is no builder to give the webhook to; the command does the rest
    return WEBHOOK_MODULE.at(
        Span(path, found.lineno if found else 1, 1),
        f"`{path}` cannot take another webhook: {reason}",
        notes=("nothing was written",),
        help=("put these lines into it where they belong, then run the command again:\n" + "\n".join(pasted),),
    )
