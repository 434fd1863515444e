"""Finds code that stays and uses modules or names that a plan removes, and kustomizations that use files."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator

import yaml

from pykb.diagnostics import Span
from pykb.python_source import layout
from pykb.python_source.source import Source
from pykb.python_source.uses import uses
from pykb.reading import yaml_text
from pykb.scaffold.insert import FragmentKind
from pykb.scaffold.plan import PlanBuilder, Scaffold, project_files
from pykb.scaffold.withdraw import on_disk

_KUSTOMIZATION = "kustomization.yaml"


def remaining_uses(plan: PlanBuilder, gone: Scaffold) -> Iterator[tuple[Span, str]]:
    """The uses, with the places in the files on disk."""
    removed = _removed(plan, gone)
    for path in python_files(plan):
        source = _source(plan.current(path))
        if source is None:
            continue
        found = _by_line(source, path, removed)
        before = (plan.before(path) or b"").decode("utf-8", "replace")
        if source.text != before:
            found = {**dict(_unbound(Source.parse(before), source)), **found}
        for line, name in sorted(found.items()):
            text = source.lines[line - 1]
            yield Span(path, on_disk(plan, path, source.text, line), len(text) - len(text.lstrip()) + 1), name
    yield from _kustomizations(plan, {path for path in gone.files if plan.current(path) is None})


def _removed(plan: PlanBuilder, gone: Scaffold) -> set[str]:
    """The modules that are removed, and the names that packages no longer export."""
    removed = {module_of(path) for path in gone.files if path.endswith(".py") and plan.current(path) is None}
    for path, fragment in gone.fragments:
        if fragment.kind is FragmentKind.IMPORT and path.endswith("/__init__.py"):
            wanted = layout.parse_import(fragment.text)
            removed |= {f"{module_of(path)}.{name.rpartition(' as ')[2]}" for name in wanted.names}
    return removed


def _by_line(source: Source, path: str, removed: set[str]) -> dict[int, str]:
    """The lines that use what is removed, each with the longest name of it."""
    found: dict[int, str] = {}
    for use in uses(source, module_of(path), is_package=path.endswith("__init__.py")):
        name = next((name for name in (use.target, use.module) if name in removed), "")
        if len(name) > len(found.get(use.line, "")):
            found[use.line] = name
    return found


def _kustomizations(plan: PlanBuilder, removed: set[str]) -> Iterator[tuple[Span, str]]:
    """The places in kustomizations that name a removed file, or a folder without its kustomization."""
    folders = {path.removesuffix(f"/{_KUSTOMIZATION}") for path in removed if path.endswith(f"/{_KUSTOMIZATION}")}
    for path in project_files(plan) if removed else ():
        content = plan.current(path) if path.endswith(f"/{_KUSTOMIZATION}") else None
        text = (content or b"").decode("utf-8", "replace")
        for node in _scalars(text):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), node.value))
            if name in removed | folders:
                line = on_disk(plan, path, text, node.start_mark.line + 1)
                yield Span(path, line, node.start_mark.column + 1), name


def _scalars(text: str) -> Iterator[yaml.ScalarNode]:
    """The scalars of a document, in order."""
    try:
        nodes: list[object] = [yaml_text.compose(text)]
    except yaml.MarkedYAMLError:  # kustomize reports it
        return
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node
        inner = node.value if isinstance(node, yaml.CollectionNode) else node if isinstance(node, tuple) else ()
        nodes += reversed(inner)


def _unbound(before: Source, after: Source) -> Iterator[tuple[int, str]]:
    """The uses of names whose imports were removed."""
    lost = {called for *_, called in before.aliases()} - {called for *_, called in after.aliases()}
    for node in ast.walk(after.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in lost:
            yield node.lineno, node.id


def _source(content: bytes | None) -> Source | None:
    try:
        return None if content is None else Source.parse(content.decode("utf-8"))
    except (SyntaxError, UnicodeDecodeError):  # the generator reports it
        return None


def module_of(path: str) -> str:
    """The dotted name of a file's module."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def python_files(plan: PlanBuilder) -> Iterator[str]:
    """The Python files of a project."""
    return (path for path in project_files(plan) if path.endswith(".py"))
