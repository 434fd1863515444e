"""Merging three states of a folder with git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pykb.tools.git import File, Merged, merge

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
