"""Changes of files: which count, and how many make one."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.dev.project import Watched, changed, next_change, shown

SOON = timedelta(seconds=0.01)
QUIET = timedelta(seconds=0.1)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with two modules."""
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "types.py").write_text("a = 1\n")
    (tmp_path / "main.py").write_text("b = 1\n")
    return tmp_path


def test_every_file_of_a_folder_counts_however_deep(package: Path) -> None:
    """And single files beside it, whether they are there or not yet."""
    project = package / "PROJECT"
    watched = Watched((package / "api", project))
    before = watched.stamps()
    (package / "main.py").write_text("c")  # not watched
    assert watched.stamps() == before
    project.write_text("x")
    (package / "api" / "new.py").write_text("")
    (package / "api" / "types.py").unlink()
    assert changed(before, watched.stamps()) == sorted(
        [str(project), str(package / "api" / "new.py"), str(package / "api" / "types.py")]
    )


@pytest.mark.parametrize(
    "name", ["__pycache__/x.py", ".git/index", ".hidden.py", "main.py~", ".main.py.swp", "x.pyc", "4913.tmp"]
)
def test_what_tools_leave_behind_does_not_count(package: Path, name: str) -> None:
    """Caches and the files that editors write for a moment."""
    before = Watched((package,)).stamps()
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("x")
    assert Watched((package,)).stamps() == before


def test_a_change_of_the_same_size_and_second_counts(package: Path) -> None:
    """Nanoseconds are looked at."""
    file = package / "main.py"
    before = Watched((package,)).stamps()
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    assert changed(before, Watched((package,)).stamps()) == [str(file)]


async def test_what_changed_while_nobody_looked_is_found(package: Path) -> None:
    """The caller says how the files were when it last acted on them."""
    watched = Watched((package,))
    known = watched.stamps()
    (package / "main.py").write_text("changed")
    paths, now = await next_change(watched, known, interval=SOON, quiet=SOON)
    assert paths == [str(package / "main.py")]
    assert now == watched.stamps()


async def test_changes_in_quick_succession_are_one(package: Path) -> None:
    """A save of all files, a checkout of a branch."""
    watched = Watched((package,))
    waiting = asyncio.create_task(next_change(watched, watched.stamps(), interval=SOON, quiet=QUIET))
    for number in range(5):
        (package / f"new{number}.py").write_text("x")
        await asyncio.sleep(0.02)
    paths, _ = await waiting
    assert paths == [str(package / f"new{number}.py") for number in range(5)]


async def test_a_folder_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    """The first kind brings the first package."""
    watched = Watched((tmp_path / "api",))
    waiting = asyncio.create_task(next_change(watched, watched.stamps(), interval=SOON, quiet=SOON))
    await asyncio.sleep(0.02)
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "types.py").write_text("x")
    assert (await waiting)[0] == [str(tmp_path / "api" / "types.py")]


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "f0.py"), (3, "f0.py, f1.py, f2.py"), (5, "f0.py, f1.py, f2.py and 2 more")]
)
def test_a_line_names_a_few_files(tmp_path: Path, count: int, expected: str) -> None:
    """Relative to the project."""
    assert shown([str(tmp_path / f"f{number}.py") for number in range(count)], tmp_path) == expected
