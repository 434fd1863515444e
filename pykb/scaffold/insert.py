"""Inserts fragments into files, at anchors and into kustomizations: text in, text out, without duplicates.

A fragment is found by structure: Python by the names that it imports or the call that it makes, YAML and TOML by the
members of the file's lists. A fragment that the user changed is found, too, and stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

import yaml

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Span
from pykb.diagnostics.codes.commands import KUSTOMIZATION_FORM
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
    made = Source.attempt(text)
    if made is None:  # the caller reports it
        return text, []
    found = (node for node in ast.walk(made.tree) if isinstance(node, ast.stmt) and node.lineno == anchor.line + 1)
    # Another fragment imports the name, possibly later.
    return text, [name for each in found for name in unknown_names(made.tree, each) if name != fragment.key]


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
            return False, broken(span, path, error.msg)
        if fragment.kind is FragmentKind.IMPORT:
            return set(Source.parse(fragment.text).aliases()) <= set(source.aliases()), None
        return source.mentions(fragment.key), None
    if fragment.kind is FragmentKind.TEXT_ITEM:
        try:
            return any(fragment.text in members for members in _lists(read_toml(text.encode()))), None
        except TomlError as error:
            return False, broken(Span(path, error.line, error.column), path, str(error))
    try:
        documents = yaml_text.load_all(text)
    except yaml.MarkedYAMLError as error:
        return False, broken(yaml_text.place(error, path), path, error.problem or "not YAML")
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
    return ANCHOR_MISSING.at(None, message, *helps, notes=NOTHING_WRITTEN)


def broken(span: Span, path: str, problem: str) -> Diagnostic:
    """The finding for a file that must get lines and does not parse."""
    message = f"`{path}` does not parse: {problem}"
    return FILE_BROKEN.at(span, message, notes="pykb must add lines to this file; nothing was written")


def _misplaced(fragments: Sequence[Fragment], path: str, line: int, *, unknown: Sequence[str]) -> Diagnostic:
    reason = "lines inserted above it would not be part of the file's structure"
    if unknown:
        reason = f"lines inserted above it need {', '.join(f'`{name}`' for name in unknown)}, not defined here"
    message = f"`{path}` cannot take the lines at this anchor"
    helps = ("add these lines in the right place, then run the command again:\n" + "\n".join(_lines(fragments)),)
    return ANCHOR_MISSING.at(Span(path, line + 1, 1), message, *helps, label=reason, notes=NOTHING_WRITTEN)


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


# Adds members to a kustomization: text in, text out, without duplicates, with comments and order kept.
#
# Places are found by the structure of the file and not by anchors. New members go below the last member of a list.
# Members are compared by content, so that one in another style or with more fields is found.


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a list of a kustomization.

    Attributes:
        key: The list: ``resources``, ``patches``, ``replacements``.
        text: The member as YAML, without its dash. A replacement has a ``source`` and ``targets``.
        comment: Lines to put above it, without ``#``.
    """

    key: str
    text: str
    comment: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The lines below the key."""
        return [*self.heading, *self.item]

    @property
    def heading(self) -> list[str]:
        """The lines of the comment."""
        return [f"# {line}" for line in self.comment]

    @property
    def item(self) -> list[str]:
        """The lines of the member, with its dash."""
        return _item(self.text)

    @property
    def content(self) -> Any:
        """The member as data."""
        return yaml_text.load(self.text)

    def without(self, kept: Iterable[Member]) -> Member | None:
        """The member unless it is one of the others. A replacement keeps the targets that the others do not have."""
        alike = [member for member in kept if member.key == self.key]
        if self.key != "replacements":
            return None if self in alike else self
        own = self.content
        others = [each.content for each in alike if each.content["source"] == own["source"]]
        present = [target for other in others for target in other["targets"]]
        targets = [target for target in own["targets"] if target not in present]
        return replace(self, text=_dumped({**own, "targets": targets})) if targets else None


def extend(text: str, members: Sequence[Member], *, path: str) -> tuple[str, Diagnostic | None]:
    """Add the members. Returns the text unchanged, with a finding, when one cannot be added."""
    result = text
    for member in members:
        try:
            result = _with(result, member)
        except yaml.MarkedYAMLError as error:
            if result != text:  # the text could be parsed before
                return text, _unfit(path, 0, members)
            return text, broken(yaml_text.place(error, path), path, error.problem or "not YAML")
        except _FormError as error:
            return text, _unfit(path, error.line, members)
    return (result, None) if _keeps(text, result) else (text, _unfit(path, 0, members))


def _keeps(before: str, after: str) -> bool:
    """Whether the change only added members at the ends of lists. A check, since texts can end in unusual ways."""
    try:
        old, new = (yaml_text.load(text) or {} for text in (before, after))
    except yaml.YAMLError:
        return False
    return _grew(old, new)


def _grew(old: object, new: object) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and (_grew(value, new[key]) or value is None) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) <= len(new) and all(_grew(one, other) for one, other in zip(old, new, strict=False))
    return bool(old == new)


def with_renamed_items(text: str, names: Mapping[str, str]) -> str:
    """The text with other names for members of its lists. Their places and comments stay."""
    try:
        root = yaml_text.compose(text)
    except yaml.MarkedYAMLError:  # the generator reports it
        return text
    lines = text.splitlines(keepends=True)
    found = [node for node in _scalars(root) if node.value in names and node.start_mark.line == node.end_mark.line]
    for node in sorted(found, key=lambda node: node.start_mark.index, reverse=True):
        start, end = node.start_mark, node.end_mark
        line = lines[start.line]
        lines[start.line] = line[: start.column] + names[node.value] + line[end.column :]
    return "".join(lines)


def _scalars(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """The scalars in the lists of a document."""
    if isinstance(node, yaml.SequenceNode):
        yield from (each for each in node.value if isinstance(each, yaml.ScalarNode))
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in child if isinstance(child, tuple) else (child,):
            yield from _scalars(part)


def pasted(members: Sequence[Member]) -> str:
    """The members as text to paste, each list under its key."""
    out: list[str] = []
    for key in dict.fromkeys(member.key for member in members):
        out += [f"{key}:", *(line for member in members if member.key == key for line in member.lines)]
    return "\n".join(out)


class _FormError(Exception):
    """A list that cannot be extended."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _unfit(path: str, line: int, members: Sequence[Member]) -> Diagnostic:
    return KUSTOMIZATION_FORM.at(
        Span(path, line + 1, 1),
        f"`{path}` has a list that pykb cannot add to",
        "add these lines in the right place, then run the command again:\n" + pasted(members),
        label="expected one entry per line, each after a dash",
        notes=NOTHING_WRITTEN,
    )


def _with(text: str, member: Member) -> str:
    root = yaml_text.compose(text)
    if root is None:
        root = yaml.MappingNode("tag:yaml.org,2002:map", [])
    if not isinstance(root, yaml.MappingNode):
        raise _FormError(0)
    node = _value(root, member.key)
    content = yaml_text.load(text) or {}
    wanted = yaml_text.load(member.text)
    present = content.get(member.key) if isinstance(content, dict) else None
    if node is None:
        gap = [""] if text.strip() else []
        return _ended(text) + "".join(f"{line}{_newline(text)}" for line in [*gap, f"{member.key}:", *member.lines])
    if present is None:
        return _inserted(text, node.start_mark.line + 1, member.lines, "")
    if not isinstance(node, yaml.SequenceNode):
        raise _FormError(node.start_mark.line)
    if member.key == "replacements":
        return _with_replacement(text, node, present, member, wanted)
    return text if any(says(each, wanted) for each in present) else _below(text, node, member.lines)


def _with_replacement(
    text: str, node: yaml.SequenceNode, present: Sequence[Any], member: Member, wanted: Mapping[str, Any]
) -> str:
    """Add targets to an existing replacement with the same source."""
    alike = [pair for pair in zip(node.value, present, strict=True) if _has_source(pair[1], wanted["source"])]
    if not alike:
        return _below(text, node, member.lines)
    known = [target for _, each in alike for target in each.get("targets") or ()]
    absent = [target for target in wanted["targets"] if not any(covers(each, target) for each in known)]
    if not absent:
        return text
    targets = _value(alike[-1][0], "targets")
    if not isinstance(targets, yaml.SequenceNode):
        raise _FormError(node.start_mark.line)
    lines = [line for target in absent for line in _item(_dumped(target))]
    return _below(text, targets, lines)


def _has_source(replacement: object, source: object) -> bool:
    return isinstance(replacement, dict) and replacement.get("source") == source


def says(present: object, wanted: object) -> bool:
    """Whether a member is present. Folders and files are compared only by path."""
    if isinstance(present, str) and isinstance(wanted, str):
        return present.rstrip("/") == wanted.rstrip("/")
    if isinstance(present, dict) and isinstance(wanted, dict) and "path" in wanted:
        return bool(present.get("path") == wanted["path"])
    return bool(present == wanted)


def covers(present: object, wanted: Mapping[str, Any]) -> bool:
    """Whether a target of a replacement includes another one."""
    if not isinstance(present, dict):
        return False
    fields = set(wanted["fieldPaths"]) <= set(present.get("fieldPaths") or ())
    same = (present.get(key) == wanted.get(key) for key in ("select", "options"))
    return fields and all(same)


def _value(node: yaml.Node, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _below(text: str, node: yaml.SequenceNode, lines: Sequence[str]) -> str:
    if node.flow_style or not node.value:
        raise _FormError(node.start_mark.line)
    last = last_line(node.value[-1], text.splitlines())
    return _inserted(text, last + 1, lines, " " * node.start_mark.column)


def last_line(node: yaml.Node, lines: Sequence[str]) -> int:
    """The index of the last line of a node."""
    last = min(max(_last_lines(node)), len(lines) - 1)
    while not lines[last].strip():  # the end mark of a block scalar is after its blank lines
        last -= 1
    return last


def _last_lines(node: yaml.Node) -> Iterator[int]:
    """The last lines of the scalars in a node."""
    if isinstance(node, yaml.ScalarNode) or not node.value:
        mark = node.end_mark
        yield mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line
        return
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _last_lines(part)


def _inserted(text: str, line: int, added: Sequence[str], indent: str) -> str:
    lines = _ended(text).splitlines(keepends=True)
    return "".join([*lines[:line], *(f"{indent}{each}{_newline(text)}" for each in added), *lines[line:]])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}{_newline(text)}"


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(content: object) -> str:
    return yaml.safe_dump(content, sort_keys=False)


def _item(text: str) -> list[str]:
    first, *rest = text.strip("\n").splitlines()
    return [f"- {first}", *(f"  {line}" for line in rest)]
