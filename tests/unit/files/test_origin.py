"""The key of a user: made once, read by nobody else, and what follows without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.files.durable import Folder
from pykb.files.state import UnusableError, missing_key, require_key, seal, unseal

ROOT = Path(__file__).parents[3]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/pykubebuilder"


def sealed(root: Path) -> bytes:
    """A record in a folder."""
    with Folder.open(root) as folder:
        return seal("kind", root, folder, {"a": [1, "\u00e9"]})


def unsealed(root: Path, text: bytes, kind: str = "kind", place: Path | None = None) -> object:
    """Its content."""
    with Folder.open(root) as folder:
        return unseal(kind, place or root, folder, text)


def test_a_record_is_that_of_one_user_kind_place_and_folder(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything else is refused. To look makes no key."""
    for text in (b"", b"{}", b'{"content": 1, "mac": "0"}'):
        with pytest.raises(UnusableError):
            unsealed(tmp_path, text)
    assert not state.exists()
    text = sealed(tmp_path)
    assert unsealed(tmp_path, text) == {"a": [1, "\u00e9"]}
    (tmp_path / "other").mkdir()
    for root, kind, place in (
        (tmp_path, "kinds", tmp_path),
        (tmp_path, "kind", state),
        (tmp_path / "other", "kind", tmp_path),
    ):
        with pytest.raises(UnusableError):
            unsealed(root, text, kind, place)
    with pytest.raises(UnusableError):
        unsealed(tmp_path, text.replace(b"1,", b"2,"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    with pytest.raises(UnusableError):
        unsealed(tmp_path, text)


def test_the_key_is_private_and_the_first_one_stays(state: Path, tmp_path: Path) -> None:
    """Of processes that need one at the same time, all get the same."""
    program = "from pykb.files.state import _made_key; print(_made_key().hex())"
    words = [sys.executable, "-c", program]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    keys = {process.communicate()[0] for process in processes}
    assert len(keys) == 1
    assert [path.name for path in state.iterdir()] == ["key"]
    assert (state / "key").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700
    assert (state / "key").read_bytes().hex() == keys.pop().strip()


@pytest.mark.parametrize("damage", ["readable", "short", "link", "folder", "taken"])
def test_a_key_that_others_may_know_proves_nothing(state: Path, tmp_path: Path, damage: str) -> None:
    """What follows is said, with what to type. Records of this process count in it."""
    if damage == "taken":
        state.parent.write_text("")
    else:
        state.mkdir(parents=True)
        (tmp_path / "theirs").write_bytes(bytes(32))
        match damage:
            case "link":
                (state / "key").symlink_to(tmp_path / "theirs")
            case "folder":
                (state / "key").mkdir()
            case _:
                (state / "key").write_bytes(bytes(31 if damage == "short" else 32))
                (state / "key").chmod(0o600 if damage == "short" else 0o640)
    note = missing_key("something follows")
    assert note is not None
    assert str(note.severity) == "note"
    assert note.notes == ("something follows",)
    assert "export XDG_STATE_HOME=" in note.help[0]
    with pytest.raises(EnvironmentProblem):
        require_key("something follows")
    assert unsealed(tmp_path, sealed(tmp_path)) == {"a": [1, "\u00e9"]}
    program = (
        f"from tests.unit.files.test_origin import *; print(unsealed(Path({str(tmp_path)!r}), {sealed(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "UnusableError: you did not write it here" in done.stderr
