"""What no history has run is said, line by line."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from pykb.explore import CODES, Explorer, Report
from pykb.explore._lines import Coverage, LineCounter, statements_of
from pykb.runtime import Manager
from tests.explorer.zoo import sound
from tests.explorer.zoo.kinds import subject_of

OPERATOR = """\
from tests.explorer.keeper import Keeper


class Hopes(Keeper):
    async def keep(self, animal):
        if animal.spec.food == "never" + "ever":
            self.log = [
                animal,
            ]
            await self.despair(animal)
        await super().keep(animal)

    async def despair(self, animal):
        raise NotImplementedError
"""
ROLE = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


@pytest.fixture
def hopes(tmp_path: Path) -> ModuleType:
    """An operator in a file of its own."""
    file = tmp_path / "hopes.py"
    file.write_text(OPERATOR, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("hopes", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(20)
def test_a_pipe_in_the_place_of_a_file_has_no_lines(tmp_path):
    """It would be read for ever."""
    os.mkfifo(tmp_path / "hopes.py")
    assert Coverage(tmp_path).source_of("hopes.py") == ""


def explored(module: ModuleType, **options: object) -> Report:
    """What the explorer says of the operator in a file."""
    assert module.__file__ is not None
    subject = replace(
        subject_of(lambda manager: module.Hopes(manager.client).setup(manager)), root=Path(module.__file__).parent
    )
    return Explorer(subject, **options).run()  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 2])
def test_lines_that_no_history_has_run_are_named(hopes, workers):
    """Whoever ran the histories, with the beginning of each place. It is a note, not a finding."""
    report = explored(
        hopes, ignore=[code for code in CODES if code not in ("explore-loop", "explore-leak")], workers=workers
    )
    report.check()
    assert [str(each) for each in report.unreached] == ["hopes.py:7-10: self.log = ["]
    assert report.lines() == "2 of 4 lines"
    assert report.tried() == (f"{report.histories.total()} histories, 2 of 4 lines, finished: loop, leak")
    [note] = [each for each in report.notes() if each.code.slug == "explore-unreached"]
    assert note.message == "no history reached 2 of 4 lines"
    assert note.span is not None
    assert (note.span.path, note.span.line) == ("hopes.py", 7)


def test_who_asks_for_one_code_is_not_told_of_lines_that_others_reach(hopes):
    """How many were run is said all the same."""
    report = explored(hopes, only=["explore-leak"])
    assert report.lines() == "2 of 4 lines"
    assert not report.unreached


def test_lines_are_counted_again_by_the_next_explorer(hopes):
    """The interpreter tells of each line once."""
    first, second = (explored(hopes, only=["explore-leak"]).lines() for _ in range(2))
    assert first == second == "2 of 4 lines"


def test_lines_in_threads_count():
    """Those of plain functions that reconcile."""

    def register(manager: Manager) -> None:
        sound.Threaded(manager.client).setup(manager)

    coverage = Explorer(subject_of(register), only=["explore-leak"]).run().coverage
    source = Path(sound.__file__).read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(source, start=1) if "class Threaded" in line)
    first = next(number for number, line in enumerate(source, start=1) if number > start and "self.client.sync" in line)
    assert first in coverage.reached["sound.py"]


def test_other_tools_see_what_they_saw_before(hopes):
    """A trace function, as debuggers and coverage.py set it, is called for the same lines."""
    seen: list[int] = []

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        if frame.f_code.co_name == "despair" and event == "line":
            seen.append(frame.f_lineno)
        return trace

    assert hopes.__file__
    before = sys.gettrace()
    with LineCounter(Path(hopes.__file__).parent):
        sys.settrace(trace)
        try:
            with pytest.raises(AttributeError):
                hopes.Hopes.keep(None, None).send(None)
            with pytest.raises(NotImplementedError):
                hopes.Hopes.despair(None, None).send(None)
        finally:
            kept = sys.gettrace()
            sys.settrace(before)
    assert kept is trace
    assert seen == [14]


SOURCE = '''\
"""A docstring."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
NUMBER = 1


def first(value):
    """Its docstring."""
    global NUMBER
    if TYPE_CHECKING:
        value = 1
    wide: int
    while (
        value
    ):
        value = [
            each
            for each in value
        ]
        continue
    else:
        NUMBER = 2
    try:
        match value:
            case 1:
                return 1
            case _:
                pass
    except ValueError:
        raise
    finally:
        value = 2
    return value
    value = 3


class Second:
    number = 3

    def third(self):
        raise NotImplementedError("later")

    def fourth(self):
        if self.number:  # pragma: no cover
            return 1
        else:
            return 2

    def fifth(self):  # pragma: no cover
        return 5


def main():
    first(1)
'''


def test_statements_of_functions_count():
    """A statement is one, however many lines it has."""
    statements = statements_of(SOURCE)
    assert sorted(set(statements.values())) == [15, 18, 22, 24, 25, 26, 28, 30, 32, 34, 35, 49]
    assert {statements[line] for line in (18, 19, 20, 21)} == {18}
    assert {statements[line] for line in (15, 16, 17)} == {15}


@pytest.mark.parametrize(
    "source", ["def broken(:", "# Code generated by pykb. DO NOT EDIT.\ndef f():\n    return 1\n", "\0"]
)
def test_what_is_generated_or_no_python_has_no_lines(source):
    """Nothing fails."""
    assert statements_of(source) == {}
