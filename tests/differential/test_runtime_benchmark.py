"""The runtime's benchmark works: each row measures what it is to show, of each program."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import runtime
from benchmarks.operators.results import END, Results, publish
from benchmarks.operators.rows import GOALS, ROWS
from benchmarks.operators.run import GO

pytestmark = [pytest.mark.differential, pytest.mark.apiserver, pytest.mark.slow]


@pytest.fixture(scope="module")
def peer(go: Callable[..., subprocess.CompletedProcess[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in Go."""
    binary = tmp_path_factory.mktemp("peer") / "peer"
    go(runtime.HERE / "controller_runtime", "build", "-o", str(binary), ".", GOFLAGS="-mod=readonly")
    return binary


@pytest.mark.parametrize("row", ROWS)
def test_a_row_measures_what_it_has_goals_for(row: str, peer: Path, tmp_path: Path) -> None:
    """Small, but with every program and every figure."""
    runtime.main([row, "--quick", "--peer", str(peer), "--results", str(tmp_path / "results.json")])
    results = Results(tmp_path / "results-quick.json")
    goals = [goal for goal in GOALS if goal.row == row]
    assert goals
    for goal in goals:
        for program in {"pykb", goal.peer or "pykb"}:
            assert results.median(row, program, goal.figure) is not None, f"{program}: {goal.figure}"


def test_every_goal_is_of_a_row() -> None:
    """One with a wrong name would never be shown."""
    assert {goal.row for goal in GOALS} == set(ROWS)
    assert {goal.peer for goal in GOALS} == {None, GO, "kopf"}


def test_the_page_has_a_place_for_the_figures(tmp_path: Path) -> None:
    """What stands around it stays."""
    page = tmp_path / "page.md"
    page.write_text(runtime.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    results = Results(tmp_path / "results.json")
    results.begin("sync", {}, resume=False)
    results.add("sync", "pykb", {"CPU": 3.0})
    results.add("sync", GO, {"CPU": 2.0})
    publish(results, GOALS, page)
    written, _, rest = page.read_text(encoding="utf-8").partition(END)
    assert "| `sync` | CPU, s | 3 | 2 |  | 1.50x | at most 1x Go | **not reached** |" in written
    assert rest == runtime.PAGE.read_text(encoding="utf-8").partition(END)[2]
