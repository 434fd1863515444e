"""Merging three states of a folder with git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.tools.git import Commit, File, Merged, has_repository, merge, tracked, uncommitted

LONG = "".join(f"line {number}\n" for number in range(20))


def tree(**files: str) -> dict[str, File]:
    """A tree; ``a__b`` stands for ``a/b``."""
    return {name.replace("__", "/"): File(text.encode()) for name, text in files.items()}


def merged(base: dict[str, File], mine: dict[str, File], theirs: dict[str, File]) -> Merged:
    """The merge, with a label."""
    return merge(base, mine, theirs, label="pykb-0.2.0")


def test_changes_of_both_sides_are_in_the_result() -> None:
    """Files that only one side has are there as well."""
    base = tree(f=LONG, gone="x\n")
    mine = tree(f=LONG.replace("line 3\n", "line 3\nmine\n"), gone="x\n", own="own\n")
    theirs = tree(f=LONG.replace("line 15", "line fifteen"), new="new\n")

    result = merged(base, mine, theirs)

    expected = LONG.replace("line 3\n", "line 3\nmine\n").replace("line 15", "line fifteen")
    assert result == Merged(tree(f=expected, own="own\n", new="new\n"))


def test_a_conflict_has_the_markers_and_the_states_of_git() -> None:
    """The label names the other side."""
    result = merged(tree(f="a\n"), tree(f="mine\n"), tree(f="theirs\n"))

    assert result.files["f"].content == b"<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> pykb-0.2.0\n"
    assert result.conflicts == {"f": frozenset({"base", "mine", "theirs"})}


@pytest.mark.parametrize("who", ["mine", "theirs"])
def test_a_renamed_file_gets_the_changes_of_the_other_side(who: str) -> None:
    """Whoever renamed it."""
    renamed, changed = tree(b=LONG), tree(a=LONG.replace("line 9\n", "line nine\n"))
    mine, theirs = (renamed, changed) if who == "mine" else (changed, renamed)

    result = merged(tree(a=LONG), mine, theirs)

    assert result == Merged(tree(b=LONG.replace("line 9\n", "line nine\n")))


def test_states_say_who_deleted_a_file() -> None:
    """A file that the other side changed is a conflict."""
    base, edited = tree(a=LONG, b="b\n", c=LONG), LONG + "more\n"

    result = merged(base, tree(b="b\n", c=edited), tree(a=edited, b="b\n"))

    assert result.conflicts == {"a": frozenset({"base", "theirs"}), "c": frozenset({"base", "mine"})}
    assert result.files["c"].content == edited.encode()


def test_attributes_of_the_files_have_no_effect() -> None:
    """A repository could choose a driver that merges without conflicts."""
    attributes = "* merge=union text eol=crlf ident filter=evil working-tree-encoding=UTF-16\n"
    own = {".gitattributes": File(attributes.encode())}
    mine = own | tree(f="$Id$ mine\n", g="g\n")

    result = merged(own | tree(f="$Id$\n", g="g\n"), mine, own | tree(f="$Id$ theirs\n", g="g\n"))

    assert result.conflicts == {"f": frozenset({"base", "mine", "theirs"})}
    assert b"<<<<<<<" in result.files["f"].content
    assert b"\r" not in result.files["f"].content
    assert result.files["g"].content == b"g\n"


def test_the_callers_repository_and_settings_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of git may run pykb."""
    hook = tmp_path / "hooks/post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f"[core]\nhooksPath = {hook.parent}\nautocrlf = true\n[user]\nuseConfigOnly = true\n"
    )
    subprocess.run(["git", "init", "--quiet", tmp_path / "other"], check=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))

    result = merged(tree(f="a\n"), tree(f="a\n"), tree(f="b\n"))

    assert result == Merged(tree(f="b\n"))
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "other/.git/index").exists()


def test_names_and_bytes_of_any_kind_survive() -> None:
    """Also line ends, modes, and names that git quotes."""
    odd = {
        'quo"te.txt': File(b"1\n"),
        "new\nline": File(b"2\n"),
        "back\\slash": File(b"3\n"),
        os.fsdecode(b"\xff\xfe"): File(b"\0\xff"),
        "tool.sh": File(b"#!/bin/sh\n", executable=True),
        "crlf.txt": File(b"a\r\nb\r\n"),
        "no newline": File(b"x"),
        "empty": File(b""),
    }

    assert merged({}, odd, tree(new="n\n")) == Merged(odd | tree(new="n\n"))
    assert merged(odd, odd, {}).files == {}


def test_a_conflict_of_bytes_keeps_those_of_the_user() -> None:
    """There are no markers in a binary file."""
    base, mine, theirs = ({"f": File(content)} for content in (b"\0a", b"\0b", b"\0c"))

    result = merged(base, mine, theirs)

    assert result.files == mine
    assert set(result.conflicts) == {"f"}


# -- the repository of a stranger


def git(folder: Path, *words: str) -> str:
    """Run git as somebody."""
    somebody = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *somebody, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository whose settings name a program wherever git reads one. It makes the file `ran` beside it."""
    root = tmp_path / "clone"
    (root / "crds").mkdir(parents=True)
    (root / "crds/a.yaml").write_text("a: 1\n")
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=first")
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    names = (
        "core.fsmonitor core.sshCommand core.pager core.askPass core.gitProxy core.alternateRefsCommand diff.external"
    )
    names += " diff.evil.textconv filter.evil.clean filter.evil.process gpg.program alias.status credential.helper"
    for name in names.split():
        git(root, "config", name, str(evil))
    for name, value in {"hooksPath": str(tmp_path), "repositoryFormatVersion": "1"}.items():
        git(root, "config", f"core.{name}", value)
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "protocol.allow", "always")
    git(root, "config", "protocol.ext.allow", "always")
    git(root, "config", "remote.origin.url", f"ext::{evil}")
    return root


def lose(root: Path, name: str) -> None:
    """Remove an object that a commit has."""
    found = git(root, "rev-parse", name).strip()
    (root / ".git/objects" / found[:2] / found[2:]).unlink()


@pytest.mark.parametrize("url", ["ext::{evil}", "file://{root}", "{root}", "ssh://host/x", "https://localhost:1/x"])
@pytest.mark.parametrize("missing", ["HEAD:crds/a.yaml", "HEAD:crds", "HEAD^{tree}", "HEAD"])
def test_git_fetches_no_missing_object_and_the_commit_is_not_empty(clone: Path, url: str, missing: str) -> None:
    """What cannot be read is an error: neither a file that the commit lacks nor a program that fetches it."""
    git(clone, "config", "remote.origin.url", url.format(evil=clone.parent / "evil", root=clone))
    git(clone, "config", "remote.origin.uploadpack", str(clone.parent / "evil"))
    lose(clone, missing)
    with pytest.raises(EnvironmentProblem) as problem:
        _read_all(clone)
    assert problem.value.diagnostic.code.slug == "repository-unreadable"
    assert not (clone.parent / "ran").exists()


def _read_all(root: Path) -> dict[str, str | None]:
    commit = Commit.find(root, "HEAD")
    assert commit is not None
    return {name: commit.read(f"crds/{name}") for name in commit.files("crds")}


def test_a_remote_helper_of_the_repository_is_not_run(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`remote.NAME.vcs` names a program on PATH: `git-remote-evil`."""
    (clone.parent / "evil").rename(clone.parent / "git-remote-evil")
    monkeypatch.setenv("PATH", f"{clone.parent}:{os.environ['PATH']}")
    git(clone, "config", "remote.origin.vcs", "evil")
    lose(clone, "HEAD:crds/a.yaml")
    with pytest.raises(EnvironmentProblem):
        _read_all(clone)
    assert not (clone.parent / "ran").exists()


def test_no_question_runs_a_program_of_the_repository(clone: Path) -> None:
    """A whole repository is read; the file was touched, so git looks into it."""
    (clone / "crds/a.yaml").write_text("a: 2\n")
    assert _read_all(clone) == {"a.yaml": "a: 1\n"}
    assert has_repository(clone / "crds")
    assert uncommitted(clone / "crds") == ["a.yaml"]
    assert tracked(clone / "crds") >= {"a.yaml"}
    assert not (clone.parent / "ran").exists()


@pytest.mark.parametrize("driver", ["a=b", "a.x=y", "a b=c", "="])
@pytest.mark.parametrize("command", ["clean", "process"])
def test_a_filter_is_not_run_whatever_its_name_is(clone: Path, driver: str, command: str) -> None:
    """`git -c NAME=VALUE` ends the name at the first `=`, so it cannot switch these off."""
    git(clone, "config", f"filter.{driver}.{command}", str(clone.parent / "evil"))
    (clone / ".gitattributes").write_text(f"* filter={driver}\n" if " " not in driver else "")
    (clone / "crds/a.yaml").write_text("a: 2\n")
    with pytest.raises(EnvironmentProblem, match="cannot read the repository") as problem:
        uncommitted(clone)
    assert f"filter.{driver}.{command}" in problem.value.diagnostic.notes[0]
    assert not (clone.parent / "ran").exists()


@pytest.mark.parametrize("place", ["main", "linked"])
def test_the_variables_of_a_hook_do_not_move_the_root_of_the_repository(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets them for hooks and `rebase --exec`, and then takes the current folder for the root."""
    main, folder = tmp_path / "main", tmp_path / place
    (main / "app").mkdir(parents=True)
    (main / "app/a.yaml").write_text("a: 1\n")
    git(main, "init", "--quiet")
    git(main, "add", ".")
    git(main, "commit", "--quiet", "--message=first")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    monkeypatch.setenv("GIT_DIR", git(folder, "rev-parse", "--git-dir").strip())
    monkeypatch.setenv("GIT_INDEX_FILE", git(folder, "rev-parse", "--git-path", "index").strip())
    (folder / "app/a.yaml").write_text("a: 2\n")
    commit = Commit.find(folder / "app", "HEAD")
    assert commit is not None
    assert commit.read("a.yaml") == "a: 1\n"
    assert uncommitted(folder / "app") == ["a.yaml"]
    assert tracked(folder / "app") >= {"a.yaml"}


def test_a_repository_elsewhere_is_the_one_that_the_variables_name(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for home folders that are kept in git."""
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setenv("GIT_DIR", str(clone / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tree))
    assert uncommitted(tree) == [".gitattributes", "crds/a.yaml"]


def test_what_a_commit_does_not_have_is_no_error(clone: Path) -> None:
    """Nor are revisions that name no commit, a folder without a repository, and a repository without a commit."""
    commit = Commit.find(clone, "HEAD")
    assert commit is not None
    assert commit.read("crds/none.yaml") is None
    assert commit.read("crds") is None
    assert commit.files("none") == []
    assert [Commit.find(clone, name) for name in ("none", "", "--help", "HEAD:crds", "a" * 40)] == [None] * 5
    (clone.parent / "new").mkdir()
    assert not has_repository(clone.parent / "new")
    assert Commit.find(clone.parent / "new", "HEAD") is None
    git(clone.parent / "new", "init", "--quiet")
    assert Commit.find(clone.parent / "new", "HEAD") is None


def test_a_folder_with_the_files_of_a_repository_is_none(clone: Path) -> None:
    """Such a folder can be committed, and its settings are those of whoever did."""
    inner = clone / "app"
    git(clone, "init", "--quiet", "--bare", "app")
    git(inner, "config", "core.bare", "false")
    git(inner, "config", "core.worktree", str(clone))
    git(inner, "config", "core.fsmonitor", str(clone.parent / "evil"))
    with pytest.raises(EnvironmentProblem, match="cannot read the repository"):
        uncommitted(inner)
    assert not (clone.parent / "ran").exists()


def test_a_repository_that_git_refuses_has_no_commits_to_say_so(clone: Path) -> None:
    """An update would take its files for committed ones."""
    (clone / ".git/config").write_text("[core\n")
    for ask in (has_repository, uncommitted, tracked):
        with pytest.raises(EnvironmentProblem, match="cannot read the repository"):
            ask(clone)


def test_a_commit_is_exported_as_git_stores_it(clone: Path, tmp_path: Path) -> None:
    """Without filters, without what is not committed, and without links, which could lead anywhere."""
    (clone / "crds/link.yaml").symlink_to("/etc/hostname")
    (clone / "crds/a b\n.bin").write_bytes(b"\0\r\n\xff")
    for setting in ("filter.evil.clean", "filter.evil.process", "core.fsmonitor"):
        git(clone, "config", "--unset", setting)
    git(clone, "-c", "core.hooksPath=/dev/null", "add", ".")
    git(clone, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message=second")
    git(clone, "config", "filter.evil.smudge", str(clone.parent / "evil"))
    (tmp_path / "ran").unlink(missing_ok=True)
    (clone / "crds/a.yaml").write_text("a: 2\n")
    commit = Commit.find(clone / "crds", "HEAD")
    assert commit is not None
    target = tmp_path / "target"
    target.mkdir()
    commit.export(target)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        "a.yaml": b"a: 1\n",
        "a b\n.bin": b"\0\r\n\xff",
    }
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["..", "."])
def test_a_tree_that_leads_elsewhere_is_not_exported(clone: Path, tmp_path: Path, name: str) -> None:
    """Git itself makes no such tree, but reads it."""
    blob = git(clone, "rev-parse", "HEAD:crds/a.yaml").strip()
    inner = _tree_of(clone, "100644 blob", "evil.yaml", blob)
    tree = _tree_of(clone, "40000 tree", name, inner)
    found = git(clone, "commit-tree", tree, "-m", "evil").strip()
    target = tmp_path / "target"
    target.mkdir()
    commit = Commit.find(clone, found)
    assert commit is not None
    with pytest.raises(EnvironmentProblem, match="cannot read the repository"):
        commit.export(target)
    assert not (tmp_path / "evil.yaml").exists()


def _tree_of(root: Path, mode: str, name: str, found: str) -> str:
    """Store a tree with one entry, whatever its name is."""
    content = f"{mode.split(maxsplit=1)[0]} {name}".encode() + b"\0" + bytes.fromhex(found)
    words = ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    return subprocess.run(words, cwd=root, input=content, check=True, capture_output=True).stdout.decode().strip()
