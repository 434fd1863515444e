"""Links in `.pykb` of a cloned project: what writes there follows none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.components import write_private
from pykb.files.state import opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project beside a folder of the user's."""
    (tmp_path / "victim/left").mkdir(parents=True)
    (tmp_path / "victim/left/keep").write_text("mine")
    (tmp_path / "p").mkdir()
    return tmp_path / "p"


def test_the_folder_ignores_itself_and_is_made_once(root: Path) -> None:
    """Also for commands that scaffold nothing."""
    for _ in range(2):
        with opened(root, "dev") as folder:
            assert folder.path == root / ".pykb/dev"
            assert folder.own_status.st_mode & 0o777 == 0o700
    assert (root / ".pykb/.gitignore").read_text().startswith("*\n")


@pytest.mark.parametrize("link", [".pykb", ".pykb/dev"])
def test_no_folder_in_it_is_a_link(root: Path, link: str) -> None:
    """Nor is it one itself."""
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to("../victim" if link == ".pykb" else "../../victim")
    with pytest.raises(EnvironmentProblem, match=link), opened(root, "dev"):
        pass
    assert [path.name for path in (root.parent / "victim").iterdir()] == ["left"]


def test_a_file_in_place_of_a_folder_is_refused(root: Path) -> None:
    """With what to do about it."""
    (root / ".pykb").mkdir()
    (root / ".pykb/dev").write_text("")
    with pytest.raises(EnvironmentProblem, match=r"\.pykb/dev"), opened(root, "dev"):
        pass


def test_a_private_file_is_not_written_through_a_link(root: Path) -> None:
    """A kubeconfig, say."""
    (root / "kubeconfig").symlink_to("../victim/left/keep")
    with pytest.raises(OSError, match="symbolic"):
        write_private(root / "kubeconfig", b"theirs")
    assert (root.parent / "victim/left/keep").read_text() == "mine"
