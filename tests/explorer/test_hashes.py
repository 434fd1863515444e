"""Sets have another order in each process: what an operator makes of one must not show."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.diagnostics import EnvironmentProblem
from pykb.explore import Explorer, subject_of
from pykb.explore._elsewhere import is_portable
from pykb.runtime import Manager
from tests.explorer.keeper import Keeper
from tests.explorer.zoo import kinds
from tests.explorer.zoo.kinds import Animal

FOODS = frozenset({"hay", "oats", "bran", "corn", "leaves", "bark", "moss"})


class Unordered(Keeper):
    """Writes what is in a set."""

    def child(self, animal: Animal) -> ConfigMap:
        """With all that it may eat."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "foods": ",".join(self.foods())}
        return child

    def foods(self) -> list[str]:
        """In the order of the set."""
        return list(FOODS)


class Ordered(Unordered):
    """Sorts it."""

    def foods(self) -> list[str]:
        """By name."""
        return sorted(FOODS)


class Restless(Unordered):
    """Never comes to rest."""

    def foods(self) -> list[str]:
        """With the time."""
        return [*super().foods(), datetime.now(UTC).isoformat()]


def register_restless(manager: Manager) -> None:
    """A function that another process can import."""
    Restless(manager.client).setup(manager)


def register_unordered(manager: Manager) -> None:
    """A function that another process can import."""
    Unordered(manager.client).setup(manager)


def register_ordered(manager: Manager) -> None:
    """The same of the mended one."""
    Ordered(manager.client).setup(manager)


def register_nowhere_else(manager: Manager) -> None:
    """Another process never comes back from it."""
    if Path(sys.argv[0]).stem == "_elsewhere":
        threading.Event().wait()
    Ordered(manager.client).setup(manager)


def register_broken(manager: Manager) -> None:
    """Of a project that cannot be run."""
    raise LookupError


@pytest.mark.parametrize("workers", [1, 2])
def test_an_order_that_each_process_has_anew_is_found(workers):
    """With the field."""
    subject = kinds.subject_of(register_unordered)
    [finding] = Explorer(subject, only=("explore-crash",), workers=workers).run().findings
    assert finding.code.slug == "explore-crash"
    assert "data.foods" in finding.message
    assert "in a process with other hashes" in finding.message


def test_an_operator_that_never_rests_is_not_compared_with_other_processes():
    """It hides what else is wrong."""
    [finding] = Explorer(kinds.subject_of(register_restless)).run().findings
    assert finding.code.slug == "explore-loop"


def test_what_is_sorted_is_not_accused():
    """And the worlds are the same in each process."""
    Explorer(kinds.subject_of(register_ordered), only=("explore-crash",)).run().check()


def test_the_limit_of_time_holds_for_other_processes():
    """They are not waited for. What they would have shown is not tried."""
    subject = kinds.subject_of(register_nowhere_else)
    explorer = Explorer(subject, only=("explore-crash",), histories=1, seconds=4, workers=2)
    assert "explore-crash" in explorer.run().unfinished


def test_a_project_that_cannot_be_run_leaves_no_process_and_no_thread():
    """Those that were to help wait for work already."""

    def others() -> set[object]:
        children = (path.read_text(encoding="utf-8").split() for path in Path("/proc/self/task").glob("*/children"))
        return {*threading.enumerate(), *(child for each in children for child in each)}

    before = others()
    with pytest.raises(EnvironmentProblem, match="LookupError"):
        Explorer(kinds.subject_of(register_broken), only=("explore-crash",)).run()
    assert others() <= before


def test_another_process_can_import_a_project():
    """Those that the command line reads."""
    app = Path(__file__).parents[2] / "testdata/app"
    assert is_portable(subject_of(app, package="app_operator"))
