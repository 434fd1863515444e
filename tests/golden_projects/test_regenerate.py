"""The projects of testdata/ are what the command line and the recorded edits make today."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from hack.samples.build import PROJECTS, build, files
from hack.samples.steps import TESTDATA


@pytest.mark.parametrize("name", PROJECTS)
def test_project_is_regenerated_byte_for_byte(name: str, tmp_path: Path) -> None:
    """No file differs, none is missing, none is left over; else: `python -m hack.samples`, and look at the diff."""
    built = build(name, tmp_path)
    committed = TESTDATA / name
    assert list(files(built)) == list(files(committed))
    for path in files(built):
        new, old = (built / path).read_text(encoding="utf-8"), (committed / path).read_text(encoding="utf-8")
        difference = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "committed", "built"))
        assert not difference, f"{name}/{path}\n{difference}"


def test_every_project_has_a_recipe() -> None:
    """A folder with a PROJECT file is rebuilt by the script."""
    assert {path.parent.name for path in TESTDATA.glob("*/PROJECT")} == set(PROJECTS)


@pytest.mark.parametrize("name", PROJECTS)
def test_project_tells_of_no_machine(name: str) -> None:
    """A committed project holds no path of the machine that made it."""
    for path in files(TESTDATA / name):
        text = (TESTDATA / name / path).read_text(encoding="utf-8")
        for trace in ("/work/", "/root/", "/home/", "/tmp/pytest", "file://"):
            assert trace not in text, path
