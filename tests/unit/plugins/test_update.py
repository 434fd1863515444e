"""`update` loses no line that somebody wrote: edits of all kinds, in projects of several options and versions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pykb.commands.init import LINKS
from pykb.commands.options import NewApi, NewProject
from pykb.commands.transition import GENERATED, Merged, merge
from pykb.commands.update import Update, combine, recipe
from pykb.plugins import Style
from pykb.project.file import read
from pykb.project.options import ApiOptions
from pykb.scaffold.release import render, running
from pykb.tools import git
from pykb.tools.git import File
from tests.unit.plugins.older import EARLIER, NEXT, TODAY, scaffold
from tests.unit.plugins.scaffolding import start
from tests.unit.plugins.test_delete import tree
from tests.unit.plugins.test_regroup import ADDITIONS

Files = dict[str, File]
UPDATES = [(EARLIER, TODAY), (TODAY, NEXT)]
NAMES = ("webhooks", "groups")  # a plain project has no file that these do not have


def lines(file: File) -> list[bytes]:
    """The lines of a file, whatever ends them."""
    return file.content.splitlines()


class Author:
    """Somebody who edits a project. Each line that they write is unlike all others."""

    def __init__(self, files: Files, seed: str, *, again: bool = False) -> None:
        self.files = dict(files)
        self.again = again
        self.random = random.Random(seed)
        self._number = count()
        self._untouched = sorted(path for path, file in files.items() if len(lines(file)) > 3 and path != GENERATED)

    def text(self, path: str = "") -> bytes:
        """A line of their own, as a comment where there are comments."""
        start = b"" if path.endswith((".md", ".json")) else b"# "
        return b"%swritten by hand %d\n" % (start, next(self._number))

    def some(self) -> str:
        """A file, not edited before unless they edit files again."""
        if self.again:
            return self.random.choice(sorted(path for path, file in self.files.items() if len(lines(file)) > 3))
        return self._untouched.pop(self.random.randrange(len(self._untouched)))

    def edit(self, path: str, change: Callable[[list[bytes]], None]) -> None:
        """Change the lines of a file."""
        content = self.files[path].content.splitlines(keepends=True)
        change(content)
        self.files[path] = File(b"".join(content), self.files[path].executable)

    def place(self, content: list[bytes]) -> int:
        """A line in a file."""
        return self.random.randrange(len(content))


def append(author: Author) -> None:
    """Write at the end of a file."""
    path = author.some()
    author.edit(path, lambda content: content.append(author.text(path)))


def prepend(author: Author) -> None:
    """Write at its beginning."""
    path = author.some()
    author.edit(path, lambda content: content.insert(0, author.text(path)))


def insert(author: Author) -> None:
    """Write in several places."""
    path = author.some()
    for _ in range(4):
        author.edit(path, lambda content: content.insert(author.place(content), author.text(path)))


def change(author: Author) -> None:
    """Write something else in place of lines."""
    path = author.some()
    for _ in range(4):
        author.edit(path, lambda content: content.__setitem__(author.place(content), author.text(path)))


def lengthen(author: Author) -> None:
    """Add a comment to the end of lines."""
    path = author.some()

    def add(content: list[bytes]) -> None:
        at = author.place(content)
        content[at] = content[at].rstrip(b"\n") + b"  " + author.text(path)

    for _ in range(3):
        author.edit(path, add)


def remove(author: Author) -> None:
    """Delete lines, and write beside them."""
    path = author.some()

    def cut(content: list[bytes]) -> None:
        at = author.place(content)
        del content[at : at + 2]
        content.insert(at, author.text(path))

    author.edit(path, cut)


def move(author: Author) -> None:
    """Move the end of a file to its beginning."""
    path = author.some()

    def turn(content: list[bytes]) -> None:
        at = len(content) * 2 // 3
        content[:] = [*content[at:], author.text(path), *content[:at]]

    author.edit(path, turn)


def indent(author: Author) -> None:
    """Indent everything, as in a new `if`."""
    path = author.some()
    author.edit(path, lambda content: content.__setitem__(slice(None), [b"    " + line for line in content]))
    author.edit(path, lambda content: content.insert(0, author.text(path)))


def rewrite(author: Author) -> None:
    """Write a file anew."""
    path = author.some()
    author.files[path] = File(b"".join(author.text(path) for _ in range(20)))


def rename(author: Author) -> None:
    """Move a file elsewhere, and edit it there."""
    path = author.some()
    target = f"elsewhere/{path}"
    author.files[target] = author.files.pop(path)
    author.edit(target, lambda content: content.insert(author.place(content), author.text(path)))


def move_folder(author: Author) -> None:
    """Rename a folder, and write a new file there."""
    for path in [path for path in author.files if path.startswith("config/rbac/")]:
        author.files[f"config/permissions/{path.removeprefix('config/rbac/')}"] = author.files.pop(path)
        if path in author._untouched:
            author._untouched.remove(path)
    author.files["config/permissions/own.yaml"] = File(author.text())


def delete(author: Author) -> None:
    """Delete a file."""
    del author.files[author.some()]


def add(author: Author) -> None:
    """Write new files, also where later versions have some."""
    for path in ("own.py", "TASKS.md", "config/network-policy/kustomization.yaml", "docs/own.md"):
        if path not in author.files:
            author.files[path] = File(author.text(path) + author.text(path))


def add_dependency(author: Author) -> None:
    """Require a package, beside the pin of pykb."""
    at = next(number for number, line in enumerate(lines(author.files["pyproject.toml"])) if b"pykubebuilder" in line)
    author.edit("pyproject.toml", lambda content: content.insert(at + 1, author.text()))
    author._untouched = [path for path in author._untouched if path != "pyproject.toml"]


def use_crlf(author: Author) -> None:
    """Edit a file on Windows."""
    path = author.some()
    author.edit(path, lambda content: content.insert(author.place(content), author.text(path)))
    author.edit(path, lambda content: content.__setitem__(slice(None), [x.rstrip(b"\n") + b"\r\n" for x in content]))


def end_without_newline(author: Author) -> None:
    """Leave out the last end of a line."""
    path = author.some()
    author.edit(path, lambda content: content.append(author.text(path).rstrip(b"\n")))


KINDS = (
    *(append, prepend, insert, change, lengthen, remove, move, indent, rewrite, rename, move_folder, delete, add),
    *(add_dependency, use_crlf, end_without_newline),
)


def written(mine: Files, before: Files) -> Counter[bytes]:
    """The lines that the author wrote."""
    own = Counter(line for file in mine.values() for line in lines(file))
    return own - Counter(line for file in before.values() for line in lines(file))


def assert_nothing_is_lost(mine: Files, before: Files, update: Update) -> None:
    """Each line that the author wrote is in the result as often."""
    result = Counter(line for file in update.files.values() for line in lines(file))
    assert written(mine, before) - result == Counter()
    for path in before.keys() - mine.keys():
        assert path not in update.files or path in update.conflicts, f"{path} is back"


COMBINATIONS = [
    (kind.__name__, NAMES[(number + at) % 2], *versions)
    for number, kind in enumerate(KINDS)
    for at, versions in enumerate(UPDATES)
]
"""Each kind of edit in each update, and each project in turn."""


@pytest.mark.parametrize(("kind", "name", "then", "now"), COMBINATIONS)
def test_no_edit_is_lost(kind: str, name: str, then: str, now: str) -> None:
    """It is in the result, beside git's conflict markers or without them."""
    before, after = scaffold(then, name), scaffold(now, name)
    author = Author(before, f"{kind} {name} {then} {now}")
    edit = next(each for each in KINDS if each.__name__ == kind)
    for _ in range(1 if edit in {move_folder, add, add_dependency} else 3):
        edit(author)

    update = combine(before, author.files, after)

    assert_nothing_is_lost(author.files, before, update)
    for path in update.conflicts:
        assert path in update.files
    if kind == "use_crlf":  # else, each line would be one that both have changed
        assert update.conflicts == []
    if kind in {"add_dependency", "delete", "append"} and now == TODAY:
        assert "pyproject.toml" not in update.conflicts


@pytest.mark.parametrize(("then", "now"), UPDATES)
def test_two_hundred_edits_are_kept(then: str, now: str) -> None:
    """In one project of several groups."""
    before, after = scaffold(then, "groups"), scaffold(now, "groups")
    author = Author(before, f"{then} {now}", again=True)
    edits = [append, prepend, insert, change, lengthen, remove, move, indent, rename, delete, use_crlf]
    for _ in range(200):
        author.random.choice(edits)(author)

    update = combine(before, author.files, after)

    assert_nothing_is_lost(author.files, before, update)
    assert sum(written(author.files, before).values()) > 200


def test_an_edited_file_takes_a_change_in_an_update_as_in_other_commands() -> None:
    """Where git finds no conflict, `edit` would write the same bytes. It also writes some that git calls a conflict."""
    older, newer = scaffold(EARLIER, "groups"), scaffold(TODAY, "groups")
    changed = [path for path in older if path in newer and older[path] != newer[path] and path != GENERATED]
    before, after = ({path: files[path] for path in changed} for files in (older, newer))
    agreed = []
    for kind in (append, insert, change, remove):
        author = Author(before, f"as elsewhere {kind.__name__}")
        while author._untouched:
            kind(author)
        found = git.merge(before, author.files, after, label="next")
        for path in changed:
            if path not in found.conflicts:
                taken = merge(author.files[path].content, before[path].content, after[path].content)
                assert taken == Merged(found.files[path].content), path
                agreed.append(path)
    assert len(set(agreed)) > 3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("then", "now"), UPDATES)
def test_without_edits_the_result_is_a_new_scaffold(name: str, then: str, now: str) -> None:
    """To the byte, but for the role that `pykb generate` writes."""
    before, after = scaffold(then, name), scaffold(now, name)

    update = combine(before, before, after)

    assert {path: file for path, file in update.files.items() if path != GENERATED} == {
        path: file for path, file in after.items() if path != GENERATED
    }
    assert (update.conflicts, update.deleted, update.kept) == ([], [], [])


def test_options_of_kinds_are_repeated(tmp_path: Path) -> None:
    """Those that PROJECT records. A copy of a version that is gone is made without it."""
    copied = NewApi("infra", "v1", "Machine", controller=False, api=ApiOptions("v1beta1"))
    disk = NewApi("infra", "v1", "Disk", style=Style.HANDLERS, api=ApiOptions(short_name="dk"))
    root = start(NewProject("example.com", project_name="fleet"), tmp_path / "fleet", ADDITIONS[0], copied, disk)
    project, found = read(root)
    header = (root / "hack/boilerplate.py.txt").read_text().strip()
    made = recipe(project, root, header)
    assert [step.newer for step in made.steps] == [(), (), ("--from=v1beta1",), ("--short-name=dk",)]
    files = {path: file.content for path, file in render(running(), made, found).items()}
    mine = {path: text.replace(LINKS, b"") for path, text in tree(root).items() if path != "PROJECT"}
    assert not list(found)
    assert files == mine
    left = replace(project, resources=project.resources[1:])
    assert [step.newer for step in recipe(left, root, header).steps] == [(), (), ("--short-name=dk",)]
