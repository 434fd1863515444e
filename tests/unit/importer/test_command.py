"""`pykb import crd` as it is typed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from pykb.cli.app import run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def crd(here: Path, make_crd) -> Path:
    """A CRD in a file."""
    path = here / "crd.yaml"
    path.write_text(yaml.safe_dump(make_crd("size: {type: integer}")))
    return path


def test_it_says_what_it_made_and_how_to_use_it(crd: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each file, then an import to copy."""
    assert run(["import", "crd", str(crd), "--output", "ext"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "create    ext/__init__.py",
        "create    ext/example_com/__init__.py",
        "create    ext/example_com/v1.py",
        "next: from ext.example_com.v1 import Thing",
    ]
    assert run(["generate", "crd", "--paths", "ext", "--output-dir", "out"]) == 0
    assert (here / "out" / "example.com_things.yaml").is_file()


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_nothing_is_written_to_look_first(
    option: str, crd: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both show the module and leave the folder as it was."""
    assert run(["import", "crd", str(crd), "--output", "ext", option]) == 0
    assert "ext/example_com/v1.py" in capsys.readouterr().out
    assert sorted(path.name for path in here.iterdir()) == ["crd.yaml"]


def test_standard_input_is_a_source(
    crd: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubectl get crd -o yaml | pykb import crd -`."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(crd.read_bytes())))
    assert run(["import", "crd", "-", "--output", "ext"]) == 0
    assert (here / "ext" / "example_com" / "v1.py").is_file()
    assert "warning" not in capsys.readouterr().err


def test_a_mistake_ends_with_findings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, the finding on stderr, nothing written."""
    assert run(["import", "crd", "none.yaml", "--output", "ext"]) == 1
    assert "error[import-source-missing]: `none.yaml` cannot be read" in capsys.readouterr().err
    assert not (here / "ext").exists()


def test_output_is_relative_to_where_it_is_typed(
    crd: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also from a folder inside a project."""
    (here / "PROJECT").write_text("version: '3'\n")
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    assert run(["import", "crd", str(crd), "--output", "ext"]) == 0
    assert (here / "sub" / "ext" / "example_com" / "v1.py").is_file()
    capsys.readouterr()
