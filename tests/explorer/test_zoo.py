"""Every faulty operator of the zoo is found, with the right code. Nothing is found in its mended twin."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pykb.diagnostics.render import render
from pykb.explore import Explorer, Finding, History, Report
from pykb.runtime import Manager, Reconciler
from tests.explorer.zoo import operators
from tests.explorer.zoo.kinds import subject_of

TWINS = [getattr(operators, f"{faulty.__name__}Mended") for faulty in operators.ALL]
SHOWN = (
    operators.StatusBeforeChild,
    operators.CreatesTwice,
    operators.LeavesOldName,
    operators.DoesNotWatch,
    operators.FinalizerTooLate,
    operators.TakesOver,
    operators.PollsAndWrites,
    operators.BadEdge,
    operators.DeletesByStaleList,
)
"""Those whose finding docs/reference/explore.md shows."""
PAGE = Path(__file__).parents[2] / "docs/reference/explore.md"
SOUND = [*TWINS, operators.Keeper, operators.Threaded, operators.Sleeps]


def explored(operator: type[Reconciler], only: tuple[str, ...] = ()) -> Report:
    """What the explorer says of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)

    return Explorer(subject_of(register), only=only).run()


@pytest.mark.parametrize("operator", operators.ALL, ids=lambda each: each.__name__)
def test_a_fault_is_found_with_its_line(operator):
    """The code is the right one, and the line is one of the operator's."""
    report = explored(operator, (operator.fault,))
    found = {finding.code.slug: finding for finding in report.findings}
    assert operator.fault in found, [str(each.message) for each in report.findings]
    span = found[operator.fault].span
    assert span is not None
    assert span.path == "operators.py"
    assert found[operator.fault].story
    if operator in SHOWN:
        page = PAGE.read_text(encoding="utf-8")
        assert any(f"```text\n{told(finding)}\n```" in page for finding in report.findings)


def told(finding: Finding) -> str:
    """A finding as the reference shows it: without places and advice."""
    lines = render([finding.to_diagnostic()]).splitlines()
    return re.sub(r" \(operators.py:\d+\)", "", "\n".join(each for each in lines if each[:4] in ("erro", "note")))


@pytest.mark.parametrize("operator", SOUND, ids=lambda each: each.__name__)
def test_a_sound_operator_is_not_accused(operator):
    """No false alarm."""
    report = explored(operator)
    report.check()
    assert report.histories.total() > 20


def test_the_same_seed_finds_the_same():
    """Byte for byte, with the same histories."""
    first, second = (explored(operators.CreatesTwice, ("explore-error",)) for _ in range(2))
    assert first.findings
    assert first.findings == second.findings
    assert first.histories == second.histories


def test_a_request_that_no_rule_allows_is_found_with_its_marker():
    """And a grant that nothing needs is named."""

    def register(manager: Manager) -> None:
        operators.Keeper(manager.client).setup(manager)

    every = ["get", "list", "watch", "create", "patch", "update"]
    rules = [
        {"apiGroups": ["zoo.example.com"], "resources": ["animals", "animals/status"], "verbs": every},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "patch"]},
    ]
    report = Explorer(subject_of(register, rules=rules)).run()
    [finding] = report.findings
    assert finding.code.slug == "explore-rbac"
    assert '`# +kubebuilder:rbac:groups="",resources=configmaps,verbs=create`' in finding.message
    assert ("update", "zoo.example.com", "animals") in report.unused


def test_a_history_is_replayed_from_json():
    """The requests and changes of a saved history, with their times."""

    def register(manager: Manager) -> None:
        operators.LeavesOldName(manager.client).setup(manager)

    explorer = Explorer(subject_of(register), only=("explore-history",))
    [finding, *_] = explorer.run().findings
    saved = json.loads(json.dumps(finding.history.to_json()))
    lines = list(explorer.replay(History.from_json(saved)))
    assert any("ConfigMap north-b-menu is created" in line for line in lines)
    with pytest.raises(ValueError, match="not a history"):
        History.from_json({"steps": 3})


def test_the_time_limit_leaves_the_rest_out_and_says_so():
    """Nothing is run after it."""

    def register(manager: Manager) -> None:
        operators.Keeper(manager.client).setup(manager)

    report = Explorer(subject_of(register), seconds=0).run()
    assert not report.histories
    assert "explore-crash" in report.unfinished


def test_ignored_fields_may_differ():
    """By kind and path."""

    def register(manager: Manager) -> None:
        operators.KeepsRemovedKeys(manager.client).setup(manager)

    subject = subject_of(register)
    assert Explorer(subject, only=("explore-history",)).run().findings
    assert not Explorer(subject, only=("explore-history",), ignore=("ConfigMap.data",)).run().findings
