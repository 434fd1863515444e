"""The version in which objects are stored: as soon as a kind has two, one of them must say that it is the one."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pykb.scaffold.plan import PlanBuilder

MARKER = "+kubebuilder:storageversion"


def mark(plan: PlanBuilder, files: Sequence[str], kind: str) -> None:
    """Mark the oldest version of a kind, unless one is marked: what is stored stays as it is.

    Args:
        plan: Takes the change.
        files: The modules of its versions, in the order of creation.
        kind: The name of the class.
    """
    texts = {path: content.decode("utf-8", "replace") for path in files if (content := plan.current(path)) is not None}
    if any(MARKER in text for text in texts.values()):
        return
    for path, text in texts.items():
        marked = _marked(text, kind)
        if marked is not None:
            plan.update(path, marked.encode())
            return


def _marked(text: str, kind: str) -> str | None:
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the generator reports it
        return None
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind), None)
    if found is None:
        return None
    line = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)]) - 1
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[line].endswith("\r\n") else "\n"
    return "".join([*lines[:line], f"# {MARKER}{newline}", *lines[line:]])
