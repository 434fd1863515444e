"""Plans to take scaffolded files and lines out of a project, and finds what users changed in them."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath

from pykb.python_source.layout import lines_of
from pykb.python_source.meaning import is_same_code
from pykb.python_source.source import CodeStyle
from pykb.reading import read_python
from pykb.scaffold._removal import with_other_member, without_fragment, without_member
from pykb.scaffold.kustomization import Member
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.record import Scaffold


def withdraw(plan: PlanBuilder, gone: Scaffold, style: CodeStyle) -> None:
    """Plan the removal.

    A shared file that was edited, or is in a folder with other files, stays.
    """
    _fragments(plan, gone, style)
    for path, member in gone.members:
        text = plan.text(path)
        if text is not None:
            plan.update(path, without_member(text, member).text.encode())
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
        plan.update(path, with_other_member(text, old, new).encode())


def _fragments(plan: PlanBuilder, gone: Scaffold, style: CodeStyle) -> None:
    for path, fragment in gone.fragments:
        text = plan.text(path)
        if text is None:
            continue
        removal = without_fragment(text, fragment, path=path, style=style)
        plan.update(path, removal.text.encode())
        for line in removal.edited:
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
        name = each.relative_to(plan.root).as_posix()
        if each.is_file() and "__pycache__" not in each.parts and name != path and plan.current(name) is not None:
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
