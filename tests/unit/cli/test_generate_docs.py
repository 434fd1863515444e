"""`pykb generate docs` as a command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3] / "testdata" / "virtulmachine"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The golden project, as the working directory."""
    root = tmp_path / "sealvm"
    shutil.copytree(PROJECT, root)
    monkeypatch.chdir(root)
    return root


def test_the_page_is_written_and_then_up_to_date(here: Path, pykb) -> None:
    """`--check` agrees with what was just written, and disagrees after a change."""
    written = pykb("generate", "docs")
    assert written.code == 0
    assert written.err.endswith("created docs/api.md\n")
    assert pykb("generate", "docs", "--check").code == 0
    (here / "docs/api.md").write_text("old")
    checked = pykb("generate", "docs", "--check")
    assert checked.code == 1
    assert "pykb generate docs" in checked.err
    assert (here / "docs/api.md").read_text() == "old"


def test_nothing_is_written_with_an_error(here: Path, pykb) -> None:
    """The findings have the format that was asked for."""
    (here / "sealvm/api/v1/virtulmachine_types.py").write_text("from pykb.api import CustomResource\n1/0\n")
    ended = pykb("generate", "docs", "--format", "json")
    assert ended.code == 1
    assert json.loads(ended.err)
    assert not (here / "docs").exists()


def test_generate_itself_is_still_there(here: Path, pykb) -> None:
    """The word `docs` alone leads to the other command."""
    assert pykb("generate", "--check").code == 0
    assert "crd" in pykb("generate", "--help").out
    assert "--output" in pykb("generate", "docs", "--help").out
