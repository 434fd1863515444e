"""Takes scaffolded files and lines out of a project, and finds what users changed in them.

The inverse of ``insert.py`` and ``kustomization.py``: places are found by structure, as for an insertion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import yaml

from pykb._regular_file import is_bytecode
from pykb.python_source import layout
from pykb.python_source.layout import lines_of
from pykb.python_source.source import CodeStyle, Source, is_same_code
from pykb.reading import read_python, yaml_text
from pykb.scaffold.insert import Fragment, FragmentKind, Member, covers, last_line, says
from pykb.scaffold.plan import PlanBuilder, Scaffold


def _without_fragment(text: str, fragment: Fragment, *, path: str, style: CodeStyle) -> tuple[str, list[int]]:
    """Take a fragment out. A text that does not have it, or cannot be parsed, stays as it is.

    Returns also those of the removed lines, by their number before, that are not as pykb wrote them.
    """
    if fragment.kind is FragmentKind.TEXT_ITEM:
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if line.strip().removesuffix(",") != f'"{fragment.text}"'), []
    if PurePosixPath(path).suffix != ".py":
        return _without_item(text, yaml_text.load(fragment.text), ()), []
    source = Source.attempt(text)
    if source is None:
        return text, []
    if fragment.kind is FragmentKind.IMPORT:
        return source.without_import(layout.parse_import(fragment.text), style).text, []
    return _without_statement(source, fragment)


def _without_statement(source: Source, fragment: Fragment) -> tuple[str, list[int]]:
    """Remove the statements that use the key. They may have been edited."""
    written = ast.dump(read_python(fragment.text).body[0])
    edited: list[int] = []
    at, before = 0, source
    while True:
        found = [node for node in source.statements(fragment.key) if node.lineno > at]
        if not found:
            return source.text, edited
        is_edited = ast.dump(found[0]) != written
        if is_edited:
            edited.append(found[0].lineno + len(before.lines) - len(source.lines))
        if is_edited and not isinstance(found[0], ast.Expr):
            at = found[0].lineno  # other code uses its value
            continue
        source = source.without_statement(found[0])


def _without_member(text: str, member: Member) -> str:
    """Take a member out of a kustomization. A list that it was alone in goes as well."""
    if member.key != "replacements":
        return _without_item(text, member.content, member.comment, key=member.key)
    for target in member.content["targets"]:
        text = _without_target(text, member, target)
    return text


def _with_other_member(text: str, old: Member, new: Member) -> str:
    """Put a member in the place of another one, and its comment in the place of the other's.

    An item that says the same stays as it is. So does a comment that was edited.
    """
    found = _items(text, old.key)
    node = next((node for node, each in found if says(each, old.content)), None)
    if node is None:
        return text
    lines = text.splitlines(keepends=True)
    first, last = node.start_mark.line, last_line(node, lines)
    dash = lines[first].find("- ")
    ending = "\r\n" if lines[first].endswith("\r\n") else "\n"
    comment, item = ([f"{' ' * dash}{line}{ending}" for line in part] for part in (new.heading, new.item))
    if not says(old.content, new.content):
        lines[first : last + 1] = item
    if old.comment and _is_above(lines, first, old.comment):
        lines[first - len(old.comment) : first] = comment
    return "".join(lines)


def _without_target(text: str, member: Member, wanted: Any) -> str:
    """Remove a target of a replacement, and the replacement with the last one."""
    for number, (node, each) in enumerate(_items(text, member.key)):
        if not isinstance(each, dict) or each.get("source") != member.content["source"]:
            continue
        targets = each.get("targets") or []
        places = [index for index, target in enumerate(targets) if covers(target, wanted)]
        inner = next((value for key, value in node.value if key.value == "targets"), None)
        if not places or not isinstance(inner, yaml.SequenceNode) or inner.flow_style:
            continue
        if len(targets) > 1:
            return _cut(text, inner, places[0], ())
        outer = _list_of(yaml_text.compose(text), member.key)
        return text if outer is None else _cut(text, outer, number, member.comment, key=member.key)
    return text


def _without_item(text: str, wanted: Any, comment: tuple[str, ...], *, key: str = "") -> str:
    """Remove an item of the list under a key, or of any list."""
    try:
        root, content = yaml_text.compose(text), yaml_text.load(text)
    except yaml.MarkedYAMLError:  # the generator reports it
        return text
    for node, present in _lists(root, content):
        if key and node is not _list_of(root, key):
            continue
        index = next((index for index, each in enumerate(present) if says(each, wanted)), None)
        if index is not None and not node.flow_style:
            return _cut(text, node, index, comment, key=key)
    return text


def _lists(node: yaml.Node | None, content: Any) -> Iterator[tuple[yaml.SequenceNode, list[Any]]]:
    """The lists in a document, as nodes and as data."""
    if isinstance(node, yaml.SequenceNode) and isinstance(content, list):
        yield node, content
        for child, value in zip(node.value, content, strict=True):
            yield from _lists(child, value)
    if isinstance(node, yaml.MappingNode) and isinstance(content, dict):
        for name, child in node.value:
            yield from _lists(child, content.get(name.value))


def _list_of(root: yaml.Node | None, key: str) -> yaml.SequenceNode | None:
    pairs = root.value if isinstance(root, yaml.MappingNode) else ()
    return next((v for name, v in pairs if name.value == key and isinstance(v, yaml.SequenceNode)), None)


def _items(text: str, key: str) -> list[tuple[yaml.Node, Any]]:
    try:
        node, content = _list_of(yaml_text.compose(text), key), yaml_text.load(text)
    except yaml.MarkedYAMLError:
        return []
    if node is None or node.flow_style:
        return []
    return list(zip(node.value, content[key], strict=True))


def _cut(text: str, node: yaml.SequenceNode, index: int, comment: tuple[str, ...], *, key: str = "") -> str:
    """Remove the lines of an item, and the comment that pykb put above it."""
    lines = text.splitlines(keepends=True)
    item = node.value[index]
    first, last = item.start_mark.line, last_line(item, lines)
    if comment and _is_above(lines, first, comment):
        first -= len(comment)
    del lines[first : last + 1]
    if key and len(node.value) == 1:
        _cut_key(lines, key, first)
    return "".join(lines)


def _is_above(lines: list[str], first: int, comment: tuple[str, ...]) -> bool:
    """Whether the comment that pykb wrote is above a line."""
    return [line.strip() for line in lines[max(0, first - len(comment)) : first]] == [f"# {line}" for line in comment]


def _cut_key(lines: list[str], key: str, at: int) -> None:
    """Remove the key of an empty list, and the blank line above it, unless the list has comments."""
    is_alone = at > 0 and lines[at - 1].strip() == f"{key}:"
    if not is_alone or (at < len(lines) and lines[at].strip()):
        return
    del lines[at - 1]
    if at > 1 and not lines[at - 2].strip():
        del lines[at - 2]


def withdraw(plan: PlanBuilder, gone: Scaffold, style: CodeStyle) -> None:
    """Plan the removal.

    A shared file that was edited, or is in a folder with other files, stays.
    """
    _fragments(plan, gone, style)
    for path, member in gone.members:
        text = plan.text(path)
        if text is not None:
            plan.update(path, _without_member(text, member).encode())
    for path in sorted(gone.files, key=_inner_first):
        content = plan.current(path)
        if content is None:
            continue
        is_edited = not any(same(path, content, fresh) for fresh in gone.files[path])
        if path in gone.shared and ((is_edited and not _is_bare(path, content)) or _holds_others(plan, path)):
            plan.keep(path)
            continue
        plan.update(path, None)
        if is_edited and path in gone.shared:
            plan.back_up(path)
        elif is_edited:
            plan.lose(path)


def exchange(plan: PlanBuilder, path: str, old: Member, new: Member) -> None:
    """Plan to put a member in the place of another one. A file without that one stays as it is."""
    text = plan.text(path)
    if text is not None:
        plan.update(path, _with_other_member(text, old, new).encode())


def _fragments(plan: PlanBuilder, gone: Scaffold, style: CodeStyle) -> None:
    for path, fragment in gone.fragments:
        text = plan.text(path)
        if text is None:
            continue
        after, edited = _without_fragment(text, fragment, path=path, style=style)
        plan.update(path, after.encode())
        for line in edited:
            plan.lose(path, on_disk(plan, path, text, line))


def on_disk(plan: PlanBuilder, path: str, text: str, line: int) -> int:
    """The number, on disk, of a line of a text from which other lines were removed."""
    lines = lines_of((plan.before(path) or b"").decode("utf-8", "replace"))
    wanted = lines_of(text)[line - 1]
    return lines.index(wanted, line - 1) + 1 if wanted in lines[line - 1 :] else line


def _inner_first(path: str) -> tuple[int, bool, str]:
    """Files of inner folders come first, and the `__init__.py` of a folder last."""
    pure = PurePosixPath(path)
    return -len(pure.parts), pure.name == "__init__.py", path


def _is_bare(path: str, content: bytes) -> bool:
    """Whether an `__init__.py` has a docstring only. It may be that of another group, whose command made the file."""
    if PurePosixPath(path).name != "__init__.py":
        return False
    try:
        tree = read_python(content.decode("utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return False
    return len(tree.body) == (ast.get_docstring(tree) is not None)


def _holds_others(plan: PlanBuilder, path: str) -> bool:
    """Whether a package has files besides its `__init__.py`."""
    pure = PurePosixPath(path)
    if pure.name != "__init__.py":
        return False
    for each in (plan.root / pure.parent).rglob("*"):
        name = plan.place(each.relative_to(plan.root).as_posix())
        if each.is_file() and not is_bytecode(each) and name != path and plan.current(name) is not None:
            return True
    return False


def same(path: str, content: bytes, fresh: bytes) -> bool:
    """Whether a file has no edits."""
    one, other = _compared(path, content), _compared(path, fresh)
    if one == other or not path.endswith(".py"):
        return one == other
    return is_same_code(one.decode("utf-8", "replace"), other.decode())


def _compared(path: str, content: bytes) -> bytes:
    """A file without what does not make an edit: the licence header, which may be a later one, and line endings."""
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    while path.endswith(".py") and lines and (not lines[0].strip() or lines[0].startswith(b"#")):
        del lines[0]
    return b"\n".join(lines)
