"""The modules of testdata/import/expected are what `pykb import crd` makes of the CRDs beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Definition, find_definitions, read_sources
from pykb.importer.plan import needed_inits, package_files

ROOT = Path(__file__).parents[2] / "testdata" / "import"
EXPECTED = ROOT / "expected"
BIN = Path(sys.executable).parent


def definitions() -> list[Definition]:
    """The CRDs to import."""
    found = Diagnostics()
    documents = read_sources([str(ROOT / "crds")], stdin="", kubectl=None, diagnostics=found)
    read = find_definitions(documents, found)
    assert not list(found)
    return read


def imported() -> dict[str, str]:
    """The files of an import, by path."""
    found = Diagnostics()
    files = package_files(definitions(), found)
    assert not list(found)
    return {f"expected/{file.path}": file.text for file in files} | dict(needed_inits("expected", files))


def test_modules_are_as_committed(request: pytest.FixtureRequest) -> None:
    """An unexplained difference is a bug; `--update-golden` accepts an explained one."""
    files = imported()
    if request.config.getoption("--update-golden"):
        shutil.rmtree(EXPECTED, ignore_errors=True)
        for path, text in files.items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
    committed = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in EXPECTED.rglob("*.py")}
    assert files == committed


@pytest.mark.parametrize("length", ["79", "88", "120"])
def test_imports_are_sorted_for_lines_of_any_usual_length(length: str) -> None:
    """A project with other settings of Ruff's `I` finds nothing to change either."""
    command = [BIN / "ruff", "check", "--no-cache", "--isolated", "--select", "I", "--line-length", length, EXPECTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("tool", [("check",), ("format", "--check")], ids=["lint", "format"])
def test_modules_are_clean_under_the_settings_of_a_generated_project(tool: tuple[str, ...], tmp_path: Path) -> None:
    """What is imported needs no reformatting and has no findings, whatever the CRDs' texts are like."""
    shutil.copy(_project_settings(), tmp_path / "pyproject.toml")
    shutil.copytree(EXPECTED, tmp_path / "expected")
    done = subprocess.run(
        [BIN / "ruff", *tool, "--no-cache", "expected"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_modules_pass_a_strict_type_check(tmp_path: Path) -> None:
    """Imported types are complete under `mypy --strict`, with Pydantic's plugin."""
    shutil.copytree(EXPECTED, tmp_path / "expected")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\nplugins = pydantic.mypy\n", encoding="utf-8")
    done = subprocess.run(
        [BIN / "mypy", "--cache-dir", os.devnull, "expected"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def _project_settings() -> Path:
    return Path(__file__).parents[2] / "testdata" / "virtulmachine" / "pyproject.toml"
