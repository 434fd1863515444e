"""The projects of testdata/ are what the command line and the recorded edits make today."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TESTDATA = Path(__file__).parents[2] / "testdata"


def load_recipes() -> ModuleType:
    """Import testdata/regenerate.py, which belongs to no package."""
    spec = importlib.util.spec_from_file_location("regenerate", TESTDATA / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


regenerate = load_recipes()


@pytest.mark.parametrize("name", regenerate.PROJECTS)
def test_project_is_regenerated_byte_for_byte(name: str, tmp_path: Path) -> None:
    """No file differs, none is missing, none is left over; else: `python testdata/regenerate.py`, and look at the diff."""
    built = regenerate.build(name, tmp_path)
    committed = TESTDATA / name
    assert list(regenerate.files(built)) == list(regenerate.files(committed))
    for path in regenerate.files(built):
        new, old = (built / path).read_text(encoding="utf-8"), (committed / path).read_text(encoding="utf-8")
        difference = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "committed", "built"))
        assert not difference, f"{name}/{path}\n{difference}"


def test_every_project_has_a_recipe() -> None:
    """A folder with a PROJECT file is rebuilt by the script."""
    assert {path.parent.name for path in TESTDATA.glob("*/PROJECT")} == set(regenerate.PROJECTS)


@pytest.mark.parametrize("name", regenerate.PROJECTS)
def test_project_tells_of_no_machine(name: str) -> None:
    """A committed project holds no path of the machine that made it."""
    for path in regenerate.files(TESTDATA / name):
        text = (TESTDATA / name / path).read_text(encoding="utf-8")
        for trace in ("/work/", "/root/", "/home/", "/tmp/pytest", "file://"):
            assert trace not in text, path
