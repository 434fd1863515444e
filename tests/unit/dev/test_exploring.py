"""What the explorer says beside the manager, whatever its process writes."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.dev import _exploring as module
from pykb.dev._exploring import Explored, explore
from pykb.dev.project import DevProject

FOUND = {"code": "explore-bug", "message": "a \x1b[2J hole", "replay": ".pykb/explore/1.json"}
TOLD = {"findings": [FOUND], "histories": {"explore-bug": 3, "explore-loop": 1}, "unfinished": ["explore-loop"]}


def project_that(folder: Path, program: str) -> DevProject:
    """A project whose Python is a program."""
    file = folder / "python"
    file.write_text(f"#!{sys.executable}\nimport os, sys, time\n{program}\n", encoding="utf-8")
    file.chmod(0o700)
    return DevProject(folder, "shop", str(file))


async def said(folder: Path, program: str) -> Explored:
    """What is made of a program in place of the explorer."""
    found = await explore(project_that(folder, program), lambda: True)
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manager runs already."""
    monkeypatch.setattr("pykb.dev._exploring._SETTLE", timedelta(0))


async def test_findings_are_told_with_how_to_see_them_again(tmp_path: Path) -> None:
    """And with what was not tried. A terminal shows no control characters."""
    found = await said(tmp_path, f"print({json.dumps(TOLD)!r}); sys.exit(1)")
    first, last = found.lines()
    assert first == "explore-bug: a \N{SYMBOL FOR ESCAPE}[2J hole (`pykb explore --replay .pykb/explore/1.json`)"
    assert last == "the explorer has 1 finding in 4 histories, and 1 of its codes are not finished"
    assert found.to_json()["findings"] == [FOUND]


def is_there(name: Path) -> bool:
    """Whether there is still a file whose path is in another one."""
    return Path(name.read_text(encoding="utf-8")).exists()


@pytest.mark.parametrize(("size", "kept"), [(100, 100), (module._LARGEST_PAGE + 1, 0)])
async def test_the_page_with_the_drawings_is_taken_if_it_is_not_too_large(tmp_path: Path, size: int, kept: int) -> None:
    """It is part of what is recorded and sent to the page. Nothing of it stays in the file system."""
    name = tmp_path / "name"
    writes = f"open(sys.argv[-1], 'w').write('x' * {size}); open({str(name)!r}, 'w').write(sys.argv[-1])"
    found = await said(tmp_path, f"{writes}; print({json.dumps(TOLD)!r}); sys.exit(1)")
    assert len(found.to_json()["html"]) == kept
    assert not is_there(name)


async def test_no_findings_are_said_only_if_it_was_explored(tmp_path: Path) -> None:
    """A program that ends otherwise, or writes something else, has failed."""
    none = json.dumps({**TOLD, "findings": [], "unfinished": []})
    assert (await said(tmp_path, f"print({none!r})")).lines() == ["the explorer has no findings in 4 histories"]
    problem = json.dumps([{"message": "the project does not import"}])
    for program in (f"print({none!r}); sys.stderr.write({problem!r}); sys.exit(1)", f"sys.stderr.write({problem!r})"):
        [line] = (await said(tmp_path, program)).lines()
        assert line == "the explorer could not run: the project does not import; try `pykb explore`"
    for program in (
        "print('[]')",
        "print('{')",
        "sys.exit(7)",
        "os.kill(os.getpid(), 9)",
        f"print({none!r}); sys.exit(2)",
    ):
        assert (await said(tmp_path, program)).state == "failed"


async def test_nothing_is_explored_when_the_manager_has_ended(tmp_path: Path) -> None:
    """Its error is what there is to mend."""
    assert await explore(project_that(tmp_path, ""), lambda: False) is None
