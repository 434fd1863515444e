"""Inserts fragments at anchors, which are comments: text in, text out, without duplicates.

A fragment is found by structure: Python by the names that it imports or the call that it makes, YAML and TOML by the
members of the file's lists. A fragment that the user changed is found, too, and stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

import yaml

from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.scaffold import ANCHOR_MISSING, FILE_BROKEN
from pykb.python_source import layout
from pykb.python_source.layout import WIDTH, fitted
from pykb.python_source.source import CodeStyle, Source, unknown_names
from pykb.reading import TomlError, read_toml, yaml_text

_PREFIX = "+pykb:scaffold:"

_LINE = re.compile(r"^(?P<indent>[ \t]*)#[ \t]*\+(?:pykb|kubebuilder):scaffold:(?P<name>[A-Za-z0-9-]+)[ \t]*$")


@dataclass(frozen=True, slots=True)
class Anchor:
    """An anchor in a text: the index of its line, and its indentation."""

    line: int
    indent: str


class FragmentKind(StrEnum):
    """The kind of a fragment. It decides how a fragment is found and where exactly it is inserted."""

    IMPORT = "import"
    STATEMENT = "statement"
    LIST_ITEM = "list item"
    TEXT_ITEM = "text in a list of TOML"


@dataclass(frozen=True, slots=True)
class Fragment:
    """Lines to insert above an anchor, without indentation.

    Attributes:
        anchor: Name of the anchor.
        text: The lines. A list item comes without its dash, a text without its quotes.
        kind: What it is.
        key: For a statement, the dotted name whose use shows that it is present.
    """

    anchor: str
    text: str
    kind: FragmentKind
    key: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines as inserted."""
        if self.kind is FragmentKind.LIST_ITEM:
            return [f"- {self.text}"]
        if self.kind is FragmentKind.TEXT_ITEM:
            return [f'"{self.text}",']
        return self.text.splitlines()


def insert(text: str, fragments: Sequence[Fragment], *, path: str, width: int = WIDTH) -> tuple[str, Diagnostic | None]:
    """Insert the fragments of one anchor. Returns the text unchanged, with a finding, when that fails."""
    absent: list[Fragment] = []
    for fragment in fragments:
        present, broken = _is_present(text, fragment, path=path)
        if broken is not None:
            return text, broken
        if not present:
            absent.append(fragment)
    result = text
    for fragment in absent:
        anchor = _find_anchor(result.splitlines(keepends=True), fragment.anchor)
        if anchor is None:
            return text, missing(absent, path)
        if PurePosixPath(path).suffix == ".py":
            result, unknown = _in_python(Source.parse(result), anchor, fragment, width)
        else:
            result, unknown = _above(result, anchor, fragment.lines), []
        there, broken = _is_present(result, fragment, path=path)
        if unknown or broken is not None or not there:
            return text, _misplaced(absent, path, anchor.line, unknown=unknown)
    return result, None


def _in_python(source: Source, anchor: Anchor, fragment: Fragment, width: int) -> tuple[str, list[str]]:
    """The text with a fragment, and its names that are undefined there because the anchor was moved."""
    if fragment.kind is FragmentKind.IMPORT:
        wanted = layout.parse_import(fragment.text)
        style = CodeStyle(wanted.module.partition(".")[0], width)  # imports at anchors are those of the package itself
        return source.with_import(wanted, style, fallback=anchor.line).text, []
    line = fitted(f"{anchor.indent}{fragment.text}", width)
    text = _above(source.text, anchor, [each.removeprefix(anchor.indent) for each in line.split("\n")])
    try:
        tree = Source.parse(text).tree
    except SyntaxError:  # the caller reports it
        return text, []
    found = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == anchor.line + 1)
    # Another fragment imports the name, possibly later.
    return text, [name for each in found for name in unknown_names(tree, each) if name != fragment.key]


def _above(text: str, anchor: Anchor, added: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[anchor.line].endswith("\r\n") or lines[0].endswith("\r\n") else "\n"
    new = [f"{anchor.indent}{line}{newline}" for line in added]
    return "".join([*lines[: anchor.line], *new, *lines[anchor.line :]])


def _is_present(text: str, fragment: Fragment, *, path: str) -> tuple[bool, Diagnostic | None]:
    """Whether a text already has a fragment. Returns a finding when the text cannot be parsed."""
    if PurePosixPath(path).suffix == ".py":
        try:
            source = Source.parse(text)
        except SyntaxError as error:
            span = Span(path, error.lineno or 1, error.offset or 1)
            return False, _broken(span, path, error.msg)
        if fragment.kind is FragmentKind.IMPORT:
            return set(Source.parse(fragment.text).aliases()) <= set(source.aliases()), None
        return source.mentions(fragment.key), None
    if fragment.kind is FragmentKind.TEXT_ITEM:
        try:
            return any(fragment.text in members for members in _lists(read_toml(text.encode()))), None
        except TomlError as error:
            return False, _broken(Span(path, error.line, error.column), path, str(error))
    try:
        documents = yaml_text.load_all(text)
    except yaml.MarkedYAMLError as error:
        return False, _broken(yaml_text.place(error, path), path, error.problem or "no YAML")
    wanted = yaml_text.load(fragment.text)
    return any(wanted in members for members in _lists(documents)), None


def missing(fragments: Sequence[Fragment], path: str) -> Diagnostic:
    """The finding for a missing anchor: what to paste, and where."""
    place = {
        FragmentKind.IMPORT: "among the imports",
        FragmentKind.STATEMENT: "where controllers are registered",
        FragmentKind.LIST_ITEM: "at the end of the list",
        FragmentKind.TEXT_ITEM: "at the end of the list",
    }[fragments[0].kind]
    comment = f"# {_PREFIX}{fragments[0].anchor}"  # all files with anchors have such comments
    message = f"`{path}` has no `{comment}` line to insert above"
    helps = (
        f"add these lines to `{path}`, {place}, then run the command again:\n"
        + "\n".join((*_lines(fragments), comment)),
    )
    return ANCHOR_MISSING.at(None, message, *helps, notes="nothing was written")


def _broken(span: Span, path: str, problem: str) -> Diagnostic:
    message = f"`{path}` does not parse: {problem}"
    return FILE_BROKEN.at(span, message, notes="pykb must add lines to this file; nothing was written")


def _misplaced(fragments: Sequence[Fragment], path: str, line: int, *, unknown: Sequence[str]) -> Diagnostic:
    reason = "lines inserted above it would not be part of the file's structure"
    if unknown:
        reason = f"lines inserted above it need {', '.join(f'`{name}`' for name in unknown)}, not defined here"
    message = f"`{path}` cannot take the lines at this anchor"
    helps = ("add these lines in the right place, then run the command again:\n" + "\n".join(_lines(fragments)),)
    return ANCHOR_MISSING.at(Span(path, line + 1, 1), message, *helps, label=reason, notes="nothing was written")


def _lines(fragments: Sequence[Fragment]) -> list[str]:
    return [line for fragment in fragments for line in fragment.lines]


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


def _find_anchor(lines: list[str], name: str) -> Anchor | None:
    """The first anchor with a name, in pykb's or kubebuilder's spelling."""
    for index, line in enumerate(lines):
        match = _LINE.match(line.rstrip("\r\n"))
        if match and match["name"] == name:
            return Anchor(index, match["indent"])
    return None
