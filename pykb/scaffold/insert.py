"""Insertion at anchors: text in, text out, nothing twice.

Whether a fragment is there already is decided by structure: a Python fragment by the names it imports or the call it
makes, a YAML fragment by the members of the file's lists. So a fragment that the user changed stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

import yaml

from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.scaffold import ANCHOR_MISSING, FILE_BROKEN
from pykb.reading import python_text, yaml_text
from pykb.scaffold import anchor as anchors
from pykb.scaffold.scope import unknown_names


class FragmentKind(StrEnum):
    """What a fragment is, and so how its presence is recognised and where exactly it goes."""

    IMPORT = "import"
    STATEMENT = "statement"
    LIST_ITEM = "list item"


@dataclass(frozen=True, slots=True)
class Fragment:
    """Lines to insert above an anchor, without indentation.

    Attributes:
        anchor: Name of the anchor.
        text: The lines; a list item is given without its dash.
        kind: What it is.
        key: For a statement, the dotted name whose call or mention proves that it is there.
    """

    anchor: str
    text: str
    kind: FragmentKind
    key: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines as they are pasted."""
        if self.kind is FragmentKind.LIST_ITEM:
            return [f"- {self.text}"]
        return self.text.splitlines()


def insert(text: str, fragments: Sequence[Fragment], *, path: str) -> tuple[str, Diagnostic | None]:
    """The text with the fragments in it, those of one anchor; unchanged, with a finding, where that cannot be done."""
    absent: list[Fragment] = []
    for fragment in fragments:
        present, broken = is_present(text, fragment, path=path)
        if broken is not None:
            return text, broken
        if not present:
            absent.append(fragment)
    result = text
    for fragment in absent:
        lines = result.splitlines(keepends=True)
        anchor = anchors.find(lines, fragment.anchor)
        if anchor is None:
            return text, missing(absent, path)
        result = _with_fragment(lines, anchor, fragment)
        there, broken = is_present(result, fragment, path=path)
        if broken is not None or not there:
            return text, _misplaced(absent, path, anchor.line)
        if unknown := _unknown(result, fragment, path=path):
            return text, _misplaced(absent, path, anchor.line, unknown=unknown)
    return result, None


def _unknown(text: str, fragment: Fragment, *, path: str) -> list[str]:
    """The names in a statement that mean nothing where it came to stand: its anchor was moved out of the function."""
    if fragment.kind is not FragmentKind.STATEMENT or PurePosixPath(path).suffix != ".py":
        return []
    tree = python_text.parse(text)
    wanted = ast.parse(fragment.text).body[0]
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _is_alike(node, wanted))
    # What the fragment is about is imported by another fragment, perhaps a moment later.
    return [name for found in statements for name in unknown_names(tree, found) if name != fragment.key]


def _is_alike(found: object, wanted: object) -> bool:
    """Whether two syntax trees say the same; looks no deeper into the first than the second goes."""
    if isinstance(wanted, ast.AST):
        return type(found) is type(wanted) and all(
            _is_alike(getattr(found, name, None), value) for name, value in ast.iter_fields(wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(_is_alike(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return found == wanted


def _with_fragment(lines: list[str], anchor: anchors.Anchor, fragment: Fragment) -> str:
    newline = "\r\n" if lines[anchor.line].endswith("\r\n") or lines[0].endswith("\r\n") else "\n"
    position = _import_position(lines, anchor, fragment) if fragment.kind is FragmentKind.IMPORT else anchor.line
    added = [f"{anchor.indent}{line}{newline}" if line else newline for line in fragment.lines]
    if fragment.kind is FragmentKind.IMPORT:
        added = _with_blank_lines(lines, position, added, newline)
    return "".join([*lines[:position], *added, *lines[position:]])


def is_present(text: str, fragment: Fragment, *, path: str) -> tuple[bool, Diagnostic | None]:
    """Whether a text has what a fragment adds; a finding where the text cannot be parsed."""
    if PurePosixPath(path).suffix == ".py":
        try:
            tree = python_text.parse(text)
        except SyntaxError as error:
            span = Span(path, error.lineno or 1, error.offset or 1)
            return False, _broken(span, path, error.msg)
        return (
            _imports(tree, ast.parse(fragment.text))
            if fragment.kind is FragmentKind.IMPORT
            else _mentions(tree, fragment)
        ), None
    try:
        documents = yaml_text.load_all(text)
    except yaml.MarkedYAMLError as error:
        return False, _broken(yaml_text.place(error, path), path, error.problem or "no YAML")
    wanted = yaml_text.load(fragment.text)
    return any(wanted in members for members in _lists(documents)), None


def missing(fragments: Sequence[Fragment], path: str) -> Diagnostic:
    """The anchor is gone: what to paste, and where."""
    place = {
        FragmentKind.IMPORT: "among the imports",
        FragmentKind.STATEMENT: "where controllers are registered",
        FragmentKind.LIST_ITEM: "at the end of the list",
    }[fragments[0].kind]
    comment = anchors.comment(fragments[0].anchor)
    return ANCHOR_MISSING.at(
        None,
        f"`{path}` has no `{comment}` line to insert above",
        notes=("nothing was written",),
        help=(
            f"put these lines into `{path}`, {place}, then run the command again:\n"
            + "\n".join((*_lines(fragments), comment)),
        ),
    )


def _broken(span: Span, path: str, problem: str) -> Diagnostic:
    return FILE_BROKEN.at(
        span,
        f"`{path}` does not parse: {problem}",
        notes=("lines must be added to this file, and nothing was written",),
    )


def _misplaced(fragments: Sequence[Fragment], path: str, line: int, *, unknown: Sequence[str] = ()) -> Diagnostic:
    reason = "what is inserted above would not be part of the file's structure"
    if unknown:
        reason = (
            f"what is inserted above needs {', '.join(f'`{name}`' for name in unknown)}, which nothing here defines"
        )
    return ANCHOR_MISSING.at(
        Span(path, line + 1, 1),
        f"`{path}` cannot take the lines at this anchor",
        label=reason,
        notes=("nothing was written",),
        help=("put these lines where they belong, then run the command again:\n" + "\n".join(_lines(fragments)),),
    )


def _lines(fragments: Sequence[Fragment]) -> list[str]:
    return [line for fragment in fragments for line in fragment.lines]


def _imports(tree: ast.Module, wanted: ast.Module) -> bool:
    want = {
        (node.module, alias.name, alias.asname or alias.name)
        for node in ast.walk(wanted)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    have = {
        (node.module, alias.name, alias.asname or alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return want <= have


def _mentions(tree: ast.Module, fragment: Fragment) -> bool:
    """Whether the code uses the name outside of imports: called, handed on or registered in another way."""
    return any(
        isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and _dotted(node) == fragment.key
        for node in ast.walk(tree)
    )


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or an attribute; empty where it is one of something else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _lists(node: object) -> list[list[object]]:
    found: list[list[object]] = []
    if isinstance(node, list):
        found.append(node)
        for item in node:
            found += _lists(item)
    if isinstance(node, dict):
        for value in node.values():
            found += _lists(value)
    return found


def _import_key(line: str) -> tuple[str, str]:
    """How the formatter orders ``from`` imports: by module, then by name, without regard to case."""
    words = line.split()
    return (words[1].casefold(), words[3].casefold() if len(words) > 3 else "")


def _is_import(line: str) -> bool:
    return line.lstrip().startswith("from ") and " import " in line


def _package(line: str) -> str:
    return line.split()[1].partition(".")[0]


def _import_position(lines: list[str], anchor: anchors.Anchor, fragment: Fragment) -> int:
    """Where the import goes: sorted among those of its package above the anchor, else behind the imports there."""
    own = fragment.lines[0]
    index = anchor.line
    while index > 0 and not lines[index - 1].strip():
        index -= 1
    block = _import_ending_at(lines, index)
    if block is None:
        return anchor.line
    position = index
    while block is not None and _package(lines[block]) == _package(own):
        if _import_key(own) < _import_key(lines[block]):
            position = block
        index = block
        block = _import_ending_at(lines, index)
    return position


def _import_ending_at(lines: list[str], end: int) -> int | None:
    """The first line of the import that ends just before ``end``."""
    if end == 0:
        return None
    if lines[end - 1].strip() == ")":
        return next((i for i in range(end - 2, -1, -1) if _is_import(lines[i])), None)
    return end - 1 if _is_import(lines[end - 1]) else None


def _with_blank_lines(lines: list[str], position: int, added: list[str], newline: str) -> list[str]:
    """An import is parted by a blank line from imports of other packages above, and from the anchor below."""
    above = lines[position - 1] if position else ""
    if above.strip() and not (_is_import(above) and _package(above) == _package(added[0])) and above.strip() != ")":
        added = [newline, *added]
    below = lines[position] if position < len(lines) else ""
    return [*added, newline] if below.strip() and not _is_import(below) else added
