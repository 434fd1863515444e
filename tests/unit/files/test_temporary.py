"""Temporary folders of killed commands go with the next command of their kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pykb.files.durable import temporary

KILLED = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from pykb.files.durable import temporary
with temporary("test") as folder:
    (folder / "deep").mkdir()
    (folder / "deep/file").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def test_the_folder_of_a_killed_command_is_removed_by_the_next(place: Path) -> None:
    """Not those in use, of another kind, or of another name, and not what a link leads to."""
    assert subprocess.run([sys.executable, "-c", KILLED, place], check=False).returncode == -signal.SIGKILL
    (left,) = place.iterdir()
    victim = place.parent / "victim"
    (victim / "deep").mkdir(parents=True)
    others = [place / name for name in ("pykb-other-abcdefgh", "pykb-test-mine", "pykb-test-abcdefgh9", "notes")]
    for other in others:
        other.mkdir()
    (place / "pykb-test-abcdefgh").symlink_to(victim)
    with temporary("test") as first, temporary("test") as second:
        assert not left.exists()
        assert first.is_dir()
        assert second.stat().st_mode & 0o777 == 0o700
        assert [*victim.iterdir()] == [victim / "deep"]
    assert {*place.iterdir()} == {*others, place / "pykb-test-abcdefgh"}


def test_the_folder_of_another_user_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in use where locks are not seen."""
    (place / "pykb-test-abcdefgh").mkdir()
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    with temporary("test"):
        assert (place / "pykb-test-abcdefgh").exists()


def test_a_folder_that_another_command_takes_for_an_unused_one_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other command looks after the folder is made, and before it is locked."""
    made = tempfile.mkdtemp

    def slow(**options: str) -> str:
        monkeypatch.setattr(tempfile, "mkdtemp", made)
        path = made(**options)
        with temporary("test"):
            assert not Path(path).exists()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", slow)
    with temporary("test") as folder:
        assert [*place.iterdir()] == [folder]
