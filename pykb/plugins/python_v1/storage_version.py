"""The version in which objects are stored: as soon as a kind has two, one of them must say that it is the one."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pykb.reading import python_text
from pykb.scaffold.plan import PlanBuilder

MARKER = "+kubebuilder:storageversion"


def mark(plan: PlanBuilder, files: Sequence[str], kind: str) -> None:
    """Mark the oldest version of a kind, unless one is marked: what is stored stays as it is.

    Args:
        plan: Takes the change.
        files: The modules of its versions, in the order of creation.
        kind: The name of the class.
    """
    texts = {path: text for path in files if (text := plan.text(path)) is not None}
    if any(MARKER in text for text in texts.values()):
        return
    for path, text in texts.items():
        marked = _marked(text, kind)
        if marked is not None:
            plan.update(path, marked.encode())
            return


def move(plan: PlanBuilder, hub: str, others: Sequence[str], kind: str) -> None:
    """Make one version the one that is stored: conversion can then bring what was stored in another.

    Args:
        plan: Takes the changes.
        hub: The module of that version.
        others: The modules of the other versions.
        kind: The name of the class.
    """
    for path in others:
        text = plan.text(path) or ""
        for line in reversed(_marker_lines(text, kind)):
            lines = text.splitlines(keepends=True)
            text = "".join([*lines[:line], *lines[line + 1 :]])
            plan.update(path, text.encode())
    text = plan.text(hub) or ""
    if not _marker_lines(text, kind):
        marked = _marked(text, kind)
        if marked is not None:
            plan.update(hub, marked.encode())


def is_marked(text: str, kind: str) -> bool:
    """Whether a module says that its version of a kind is the stored one."""
    return bool(_marker_lines(text, kind))


def _marker_lines(text: str, kind: str) -> list[int]:
    """The indices of the marker's lines in the comments above a class."""
    start = _start(text, kind)
    if start is None:
        return []
    lines = text.splitlines()
    found: list[int] = []
    while start > 0 and (lines[start - 1].startswith("#") or not lines[start - 1].strip()):
        start -= 1
        if lines[start].lstrip("# \t").rstrip() == MARKER:
            found.insert(0, start)
    return found


def _marked(text: str, kind: str) -> str | None:
    line = _start(text, kind)
    if line is None:
        return None
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[line].endswith("\r\n") else "\n"
    return "".join([*lines[:line], f"# {MARKER}{newline}", *lines[line:]])


def _start(text: str, kind: str) -> int | None:
    """The index of the first line of a class; ``None`` where there is none."""
    try:
        tree = python_text.parse(text)
    except SyntaxError:  # the generator reports it
        return None
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind), None)
    if found is None:
        return None
    return min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)]) - 1
