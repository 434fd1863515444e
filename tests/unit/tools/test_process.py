"""Programs are run without a shell, and what goes wrong is told."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.tools.process import find_program, quote, run, succeeded


def script(folder: Path, name: str, text: str) -> Path:
    """A program in a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_run_passes_arguments_untouched() -> None:
    """What a shell would expand reaches the program as it is."""
    words = ["$HOME", "a b", "*", "; echo no"]
    done = run([sys.executable, "-c", "import sys; print(sys.argv[1:])", *words])
    assert done.stdout.strip() == str(words)


def test_run_gives_an_empty_input() -> None:
    """A program that reads its input ends instead of waiting for a keyboard."""
    assert run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"]).stdout == "''\n"


def test_run_adds_variables() -> None:
    """Variables come on top of one's own."""
    program = "import os; print(os.environ['PYKB_T'], 'PATH' in os.environ)"
    assert run([sys.executable, "-c", program], env={"PYKB_T": "1"}).stdout == "1 True\n"


def test_a_missing_program_is_a_problem_with_its_name() -> None:
    """Which program is missing is said."""
    with pytest.raises(EnvironmentProblem, match="`no-such-program-here`"):
        run(["no-such-program-here"])


def test_a_file_that_cannot_be_executed_is_a_problem(tmp_path: Path) -> None:
    """A file without the right to execute is told from a missing one."""
    (tmp_path / "p").write_text("")
    with pytest.raises(EnvironmentProblem, match="not executable"):
        run([tmp_path / "p"])


def test_check_quotes_the_last_lines_of_a_failure() -> None:
    """The program's own words are what helps."""
    with pytest.raises(EnvironmentProblem) as caught:
        succeeded(run([sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(3)"]))
    assert "exit code 3" in caught.value.diagnostic.message
    assert caught.value.diagnostic.notes == ("it wrote:\nwhy",)


def test_a_timeout_is_a_problem() -> None:
    """A program that hangs is ended."""
    with pytest.raises(EnvironmentProblem, match=r"within 0\.2 s"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=timedelta(seconds=0.2))


def test_quote_keeps_the_end() -> None:
    """Of a long output the last lines count; of none there is no note."""
    (note,) = quote("\n".join(f"line {n}" for n in range(100)), source="it wrote")
    assert note.splitlines()[1] == "line 88"
    assert note.endswith("line 99")
    assert quote(" \n", source="it wrote") == ()


def test_quote_leaves_out_the_middle_of_a_long_line() -> None:
    """The API server and kustomize write whole objects, and the reason behind them."""
    assert quote(f"failed: {'x' * 70_000}: the reason", source="it wrote") == (
        f"it wrote:\nfailed: {'x' * 492} ... {'x' * 488}: the reason",
    )


def test_find_program_prefers_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A control plane's own kubectl wins over the one on PATH."""
    on_path, own = tmp_path / "path", tmp_path / "own"
    on_path.mkdir()
    own.mkdir()
    monkeypatch.setenv("PATH", str(on_path))
    assert find_program("tool", folders=[own]) is None
    found = script(on_path, "tool", "")
    assert find_program("tool", folders=[own]) == found
    mine = script(own, "tool", "")
    assert find_program("tool", folders=[own]) == mine
