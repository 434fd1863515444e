"""A finding as a pytest: it fails as long as the operator has the fault, and passes when it is mended."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.explore import Explorer, Finding, History, name_of
from pykb.explore import test_of as text_of
from pykb.runtime import Manager, Reconciler
from tests.explorer.zoo import crashes, specs
from tests.explorer.zoo.kinds import subject_of

RUFF = Path(sys.executable).parent / "ruff"


def explorer_of(operator: type[Reconciler], only: str = "explore-crash") -> Explorer:
    """An explorer of one operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)

    return Explorer(subject_of(register), only=(only,))


def exported(operator: type[Reconciler], only: str) -> tuple[Finding, str]:
    """A finding, and the test that is written for it."""
    [finding, *_] = explorer_of(operator, only).run().findings
    return finding, text_of(finding, explorer_of(operator).play(finding.history), package="zoo_operator", seed=0)


class _Played:
    """Stands where the fixture stands: plays the history of the test on an operator of the zoo."""

    def __init__(self, operator: type[Reconciler]) -> None:
        self._operator = operator

    def play(self, _: object, history: History) -> object:
        return explorer_of(self._operator).play(history)


def run(text: str, operator: type[Reconciler]) -> None:
    """Run the only test of a module."""
    names: dict[str, object] = {}
    exec(compile(text.replace("from zoo_operator.__main__ import register", "register = None"), "x", "exec"), names)
    [test] = [value for name, value in names.items() if name.startswith("test_")]
    assert callable(test)
    test(_Played(operator))


@pytest.mark.parametrize(
    ("faulty", "mended", "code"),
    [
        (crashes.StatusBeforeChild, crashes.StatusBeforeChildMended, "explore-crash"),
        (specs.LeavesOldName, specs.LeavesOldNameMended, "explore-history"),
        (specs.KeepsRemovedKeys, specs.KeepsRemovedKeysMended, "explore-history"),
    ],
)
def test_it_fails_until_the_operator_is_mended(faulty, mended, code):
    """For an object that is missing, one that is left over, and a field."""
    _, text = exported(faulty, code)
    with pytest.raises(AssertionError):
        run(text, faulty)
    run(text, mended)


def test_it_is_formatted_and_says_what_happens(tmp_path):
    """As a scaffolded project wants it."""
    finding, text = exported(crashes.StatusBeforeChild, "explore-crash")
    path = tmp_path / name_of(finding)
    path.write_text(text, encoding="utf-8")
    assert path.name == "test_explore_crash_configmap_kiki_menu_is_missing_after_a_crash.py"
    assert "# 1. Somebody creates Animal kiki\n" in text
    assert "kind=FaultKind.CRASH_AFTER,\n" in text
    (tmp_path / "zoo_operator").mkdir()
    (tmp_path / "zoo_operator/__main__.py").touch()
    options = ["--isolated", "--line-length", "120", path.name]
    subprocess.run([RUFF, "format", "--check", *options], check=True, cwd=tmp_path)
    subprocess.run([RUFF, "check", "--extend-select", "I", *options], check=True, cwd=tmp_path)


def test_text_of_objects_stays_text():
    """Whatever a name or a message has, it is no Python."""
    finding, _ = exported(crashes.StatusBeforeChild, "explore-crash")
    hostile = '"""\nimport os\nos.abort()  # \\'

    [created] = finding.history.steps
    changed = replace(created, note=hostile)
    bad = replace(finding, message=hostile, story=(hostile, "end"), history=replace(finding.history, steps=(changed,)))
    end = explorer_of(crashes.StatusBeforeChild).play(finding.history)
    text = text_of(bad, end, package="zoo_operator", seed=0)
    assert hostile not in text
    with pytest.raises(AssertionError):
        run(text, crashes.StatusBeforeChild)


def test_what_no_state_shows_is_not_written():
    """The difference must be there in the end of the history."""
    finding, _ = exported(crashes.StatusBeforeChild, "explore-crash")
    mended = explorer_of(crashes.StatusBeforeChildMended).play(finding.history)
    assert mended.list(ConfigMap)
    assert text_of(finding, mended, package="zoo_operator", seed=0) == ""
