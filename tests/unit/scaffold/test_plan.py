"""Plans: what would be written, checked before anything is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.files.apply import apply
from pykb.files.plan import Action
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder

MakeTree = Callable[..., Path]


def slugs(builder: PlanBuilder) -> list[str]:
    """The codes of the findings."""
    return [d.code.slug for d in builder.diagnostics]


@pytest.mark.parametrize(
    ("on_exists", "actions", "found"),
    [
        (OnExists.REFUSE, [], ["file-exists"]),
        (OnExists.KEEP, [], []),
        (OnExists.OVERWRITE, [Action.OVERWRITE], []),
    ],
)
def test_a_file_with_other_content_is_not_simply_written_over(
    make_tree: MakeTree, on_exists: OnExists, actions: list[Action], found: list[str]
) -> None:
    """Refused, kept, or overwritten: whichever was asked for."""
    builder = PlanBuilder(make_tree({"a.txt": "mine"}))
    builder.create("a.txt", b"theirs", on_exists=on_exists)
    assert [c.action for c in builder.build().changes] == actions
    assert slugs(builder) == found


def test_the_same_content_is_no_change(make_tree: MakeTree) -> None:
    """Writing what is there is nothing to do."""
    builder = PlanBuilder(make_tree({"a.txt": "same"}))
    builder.create("a.txt", b"same")
    builder.update("a.txt", b"same")
    assert builder.build().is_empty
    assert not builder.diagnostics


def test_later_changes_see_earlier_ones(make_tree: MakeTree) -> None:
    """A file made in the plan can be inserted into, and that stays one creation."""
    builder = PlanBuilder(make_tree({}))
    builder.create("k.yaml", b"resources:\n# +pykb:scaffold:x\n")
    for name in ("b", "a"):
        builder.insert("k.yaml", Fragment("x", name, FragmentKind.LIST_ITEM))
    (change,) = builder.build().changes
    assert (change.action, change.after) == (Action.CREATE, b"resources:\n- b\n- a\n# +pykb:scaffold:x\n")


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\..\\x", "", "link/x", "loop"])
def test_paths_that_leave_the_project_are_refused(make_tree: MakeTree, tmp_path: Path, path: str) -> None:
    """Whether spelt out or by a symbolic link: nothing outside is ever written."""
    root = make_tree({"a/b": ""})
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(outside / "x")
    builder = PlanBuilder(root)
    builder.create(path, b"x")
    assert slugs(builder) == ["path-outside"]
    assert builder.build().is_empty
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", ["folder", "file/below"])
def test_what_is_no_file_is_not_replaced(make_tree: MakeTree, path: str) -> None:
    """A folder in a file's place, a file in a folder's place: said beforehand."""
    builder = PlanBuilder(make_tree({"folder/x": "", "file": ""}))
    builder.create(path, b"x")
    assert slugs(builder) == ["not-a-file"]


@pytest.mark.parametrize(
    ("path", "content", "line"),
    [
        ("a.py", b"x = 1\ndef f(:\n", 2),
        ("a.py", "# \N{SNOWMAN}".encode("utf-16"), 1),
        ("a.yaml", b"a: 1\nb: [\n", 3),
        ("a.toml", b"a = \n", 1),
        ("Makefile", b"all: x\n    echo hi\n", 2),
    ],
)
def test_rendered_files_are_checked(make_tree: MakeTree, path: str, content: bytes, line: int) -> None:
    """What a template gives must be what its name says."""
    builder = PlanBuilder(make_tree({}))
    builder.create(path, content)
    (finding,) = builder.diagnostics
    assert (finding.code.slug, finding.span and finding.span.line) == ("rendered-broken", line)
    assert builder.build().is_empty


@pytest.mark.parametrize(
    "content",
    [
        b"all: x ## y\n\techo hi\n\nX := 1\n",
        b"A = b \\\n  c\n",
        b"ifeq (a,b)\n  X := 1\nendif\n",
        b"define x\n  a\nendef\n",
    ],
)
def test_makefiles_that_make_takes_are_taken(make_tree: MakeTree, content: bytes) -> None:
    """Indented lines outside of rules are no recipes."""
    builder = PlanBuilder(make_tree({}))
    builder.create("Makefile", content)
    assert not builder.diagnostics


def test_an_insertion_into_a_missing_file_says_what_it_would_add(make_tree: MakeTree) -> None:
    """The lines to paste are in the help."""
    builder = PlanBuilder(make_tree({}))
    builder.insert("k.yaml", Fragment("x", "a.yaml", FragmentKind.LIST_ITEM))
    (finding,) = builder.diagnostics
    assert finding.code.slug == "file-missing"
    assert "- a.yaml" in finding.help[0]


def test_the_diff_is_one_that_git_applies(make_tree: MakeTree) -> None:
    """`--diff` piped to `git apply` does what the command would do, also without a last newline."""
    root = make_tree({"a.txt": "one\ntwo", "sub/b.py": "x = 1\n"})
    builder = PlanBuilder(root)
    builder.update("a.txt", b"one\n2")
    builder.update("sub/b.py", b"x = 2\n")
    builder.create("sub/new.py", b"y = 1\n")
    builder.create("bin/run.sh", b"#!/bin/sh\n", mode=0o755)
    plan = builder.build()
    subprocess.run(["git", "apply"], input=plan.diff().encode(), cwd=root, check=True)
    assert {c.path: (root / c.path).read_bytes() for c in plan.changes} == {c.path: c.after for c in plan.changes}
    assert (root / "bin/run.sh").stat().st_mode & 0o100


def test_binary_files_are_named_in_the_diff(make_tree: MakeTree) -> None:
    """A wheel is not printed to a terminal."""
    builder = PlanBuilder(make_tree({}))
    builder.create("a.whl", b"PK\0\0")
    assert "Binary files /dev/null and b/a.whl differ" in builder.build().diff()


def test_state_that_is_no_folder_is_said(make_tree: MakeTree) -> None:
    """A file named `.pykb` is in the way of every command: a broken environment, not a bug."""
    from pykb.diagnostics import EnvironmentProblem

    builder = PlanBuilder(make_tree({".pykb": "x"}))
    builder.create("a", b"")
    with pytest.raises(EnvironmentProblem, match="must be a folder"):
        apply(builder.build())
