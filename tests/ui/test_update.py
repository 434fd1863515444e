"""Diagnostics of `pykb update`, which need a repository, or another pykb."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pykb.cli import app
from tests.ui.conftest import Golden
from tests.unit.plugins.older import checkout


@pytest.fixture
def root(starts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a kind, committed; the working directory."""
    root = tmp_path / "sealvm"
    shutil.copytree(starts["machine"], root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("NO_COLOR", "1")
    commit(root)
    return root


def commit(root: Path) -> None:
    """Commit everything."""
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    author = ("-c", "user.name=fanux", "-c", "user.email=fanux@example.com", "-c", "commit.gpgSign=false")
    subprocess.run(["git", *author, "commit", "--quiet", "--message=Edit"], cwd=root, check=True)


def stderr_of(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """What a refused command prints."""
    capfd.readouterr()
    assert app.run(words) == 1
    return capfd.readouterr().err


def findings(text: str) -> dict[str, str]:
    """The findings by code."""
    parts = [part for part in text.split("\n\n") if "[" in part.splitlines()[0]]
    return {part.partition("[")[2].partition("]")[0]: f"{part}\n" for part in parts}


def test_edits_and_the_scaffold_differ(root: Path, golden: Golden, capfd: pytest.CaptureFixture[str]) -> None:
    """A conflict, a deleted file, and one that the scaffold no longer has."""
    older, project = checkout()
    makefile = project / "Makefile"
    makefile.write_text(makefile.read_text().replace("IMG ?= controller:latest", "IMG ?= older:latest"))
    (project / "AGENTS.md").write_text("Older.\n")
    (project / "TASKS.md").write_text("Older tasks.\n")
    own = root / "Makefile"
    own.write_text(own.read_text().replace("IMG ?= controller:latest", "IMG ?= mine:latest"))
    (root / "AGENTS.md").unlink()
    (root / "TASKS.md").write_text("Older tasks.\nMy task.\n")
    commit(root)

    shown = findings(stderr_of(capfd, "update", "--from", str(older)))

    expected = ("update-conflict/scaffold", "update-kept/scaffold", "update-deleted/scaffold")
    assert set(shown) == {name.partition("/")[0] for name in expected}
    for name in expected:
        golden(name, shown[name.partition("/")[0]])


def test_a_project_with_uncommitted_changes(root: Path, golden: Golden, capfd: pytest.CaptureFixture[str]) -> None:
    """Only tracked files count."""
    (root / "notes.txt").write_text("mine\n")
    (root / "Makefile").write_text("all:\n")
    (root / "Dockerfile").unlink()
    golden("update-uncommitted/edited", stderr_of(capfd, "update"))


def test_a_release_that_fails(root: Path, tmp_path: Path, golden: Golden, capfd: pytest.CaptureFixture[str]) -> None:
    """What its command wrote is quoted."""
    older = tmp_path / "older"
    (older / "templates").mkdir(parents=True)
    (older / "pykb/cli").mkdir(parents=True)
    (older / "pykb/__init__.py").write_text('__version__ = "0.0.3"\n')
    (older / "pykb/cli/__init__.py").write_text("")
    code = 'import sys\n\n\ndef run(argv):\n    print("error: no", *argv[:1], file=sys.stderr)\n    return 2\n'
    (older / "pykb/cli/app.py").write_text(code)
    golden("not-rendered/init", stderr_of(capfd, "update", "--from", str(older)))
