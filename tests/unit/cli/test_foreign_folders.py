"""Commands in a folder that somebody else filled, and below one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a link in the place of what pykb empties; the working directory. Gives where the link leads."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/keep").write_text("mine")
    (tmp_path / "repo/.pykb").mkdir(parents=True)
    (tmp_path / "repo/.pykb/transaction.new").symlink_to("../../victim")
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "victim"


@pytest.mark.parametrize(
    "words", [("version",), ("explain", "usage"), ("completion", "bash"), ("--help",), ("init", "-h")]
)
def test_a_command_that_has_nothing_to_do_with_the_folder_does_not_look_into_it(
    pykb, trap: Path, words: tuple[str, ...]
) -> None:
    """It neither touches the trap nor speaks of it."""
    ended = pykb(*words)
    assert ended.code == 0
    assert ended.err == ""
    assert (trap / "keep").exists()


def test_completing_a_word_does_not_write(spawn, trap: Path) -> None:
    """Nobody expects a key to change files."""
    for words in ("pykb ", "pykb init --", "pykb create api --gr"):
        complete = {"_PYKB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
        spawn((), env={**os.environ, **complete})
    assert (trap / "keep").exists()
    assert [path.name for path in Path(".pykb").iterdir()] == ["transaction.new"]


def test_a_command_that_writes_refuses(pykb, trap: Path) -> None:
    """One that only looks says what is there, and does its work."""
    ended = pykb("init", "--domain", "example.com")
    assert (ended.code, "transaction-unusable" in ended.err) == (1, True)
    ended = pykb("init", "--domain", "example.com", "--dry-run")
    assert (ended.code, "transaction-pending" in ended.err) == (0, True)
    assert (trap / "keep").exists()


def test_a_transaction_in_a_folder_above_is_nobodys_business(pykb, project: Path) -> None:
    """Neither one above the project, nor one in a folder below it."""
    for folder in (project.parent, project / "sealvm"):
        (folder / ".pykb/transaction").mkdir(parents=True)
        (folder / ".pykb/transaction/changes.json").write_text("{")
    ended = pykb("create", "api", "--group", "g", "--version", "v1", "--kind", "Disk", "--no-make")
    assert ended.code == 0
    assert "transaction" not in ended.err


def test_a_project_above_is_used_if_it_belongs_to_the_user_or_to_root(
    pykb, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git has it."""
    words = ("create", "api", "--group", "g", "--version", "v1", "--kind", "Disk", "--dry-run")
    monkeypatch.chdir(project / "sealvm")
    assert pykb(*words).code == 0
    real = Path.lstat

    def lstat(self: Path) -> os.stat_result:
        found = real(self)
        return os.stat_result((*found[:4], 4711, *found[5:])) if self.name == "PROJECT" else found

    monkeypatch.setattr(Path, "lstat", lstat)
    ended = pykb(*words)
    assert (ended.code, "project-owner" in ended.err) == (1, True)
    monkeypatch.chdir(project)
    assert pykb(*words).code == 0
