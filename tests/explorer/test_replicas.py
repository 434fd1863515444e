"""Replicas that share the objects: how they live in a history, what is found only with them, and who is not accused."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.explore import Explorer, Fault, FaultKind, History, Report, Step, Subject, Verb, subject_of
from pykb.explore import _process as processes
from pykb.explore._outcome import Outcome
from pykb.explore._runner import Runner
from pykb.runtime import Manager, ManagerOptions
from pykb.runtime.options import DEFAULT_LEADER_ELECTION_ID
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.test_zoo import _subject_of
from tests.explorer.zoo import replicas, sound
from tests.explorer.zoo.kinds import SAMPLE
from tests.explorer.zoo.kinds import subject_of as subject_of_zoo

OTHER = {**SAMPLE, "spec": {**SAMPLE["spec"], "count": 1}}
SHARDS = "explore-shards"
SAMPLES = Path(__file__).parents[2] / "testdata"
PLUGIN = "plugins:\n  kustomize.common.pykb.dev/v1:\n    shards: 8\n"


def keeper() -> Subject:
    """A right operator that shares its objects."""
    return replace(_subject_of(Keeper), shards=2)


def run(*steps: Step, fault: Fault | None = None) -> Outcome:
    """What comes of a history with replicas."""
    with Runner(keeper(), 0) as runner:
        return runner.run(History(steps, fault, shards=2))


def workers(outcome: Outcome) -> list[int]:
    """The processes that wrote, one after the other."""
    return [number for number, _ in itertools.groupby(sent.process for sent in outcome.writes)]


def test_an_object_moves_to_the_replica_that_comes_and_back_when_it_leaves():
    """The first process is the same before and after, with what it remembers."""
    create, change, back = Step(Verb.CREATE, SAMPLE), Step(Verb.REPLACE, OTHER), Step(Verb.REPLACE, SAMPLE)
    outcome = run(create, replace(change, members=2), replace(back, members=1))
    assert outcome.at_rest
    assert workers(outcome) == [1, 2, 1]
    assert not outcome.at_once


def test_each_of_two_replicas_has_one_of_two_objects():
    """What is created first is the second one's."""
    second = {**SAMPLE, "metadata": {**SAMPLE["metadata"], "name": "koko"}}
    outcome = run(Step(Verb.CREATE, SAMPLE, members=2), Step(Verb.CREATE, second))
    assert len(set(workers(outcome))) == 2


@pytest.mark.parametrize("kind", [FaultKind.CRASH_AFTER, FaultKind.OVERTAKEN])
def test_a_replica_that_lives_continues_the_work_of_one_that_died(kind):
    """And not the new one in its place, which comes only later."""
    change = replace(Step(Verb.REPLACE, OTHER), members=2)
    first = run(Step(Verb.CREATE, SAMPLE), change)
    number = next(sent.number for sent in first.writes if sent.process == 2)
    outcome = run(Step(Verb.CREATE, SAMPLE), change, fault=Fault(kind, number, seconds=60.0))
    assert outcome.at_rest
    assert workers(outcome) == [1, 2, 1]
    assert outcome.states == first.states


def test_the_leases_of_replicas_are_neither_the_work_of_the_operator_nor_part_of_the_state():
    """Without that, an operator with replicas would never come to rest."""
    outcome = run(Step(Verb.CREATE, SAMPLE, members=2))
    assert not [change for change in outcome.changes if change.identity.is_record]
    assert not [sent for sent in outcome.sent if sent.resource == "leases"]


def test_two_replicas_that_work_on_one_object_at_the_same_time_are_noted(monkeypatch):
    """Pykb promises that they do not. Here, neither knows of the other one."""
    names = (f"{DEFAULT_LEADER_ELECTION_ID}-{number}" for number in itertools.count())

    def apart(**options: object) -> ManagerOptions:
        return ManagerOptions(leader_election_id=next(names), **options)

    monkeypatch.setattr(processes, "ManagerOptions", apart)
    outcome = run(Step(Verb.CREATE, SAMPLE, members=2))
    assert outcome.at_once == "default/kiki"
    report = Explorer(keeper(), only=(SHARDS,), histories=1).run()
    assert "two replicas work on default/kiki at the same time" in [str(each.message) for each in report.findings]


def explored(subject: Subject) -> Report:
    """What is found with replicas."""
    return Explorer(subject, only=(SHARDS,)).run()


@pytest.mark.parametrize("operator", [Guard, sound.Mirrors, sound.ListsMembers], ids=lambda each: each.__name__)
def test_a_right_operator_is_not_accused(operator):
    """All histories with replicas are tried, and the report says so."""
    report = explored(replace(_subject_of(operator), shards=2))
    report.check()
    assert "finished: shards" in report.tried()


@pytest.mark.parametrize(
    "operator",
    [replicas.RemembersReport, replicas.CountsOwnShare, replicas.DeletesUnknown],
    ids=lambda each: each.__name__,
)
def test_what_is_wrong_only_with_replicas_is_not_found_without(operator):
    """A project that does not share its objects has no such fault, and none of these histories."""
    report = Explorer(replace(_subject_of(operator), shards=0)).run()
    report.check()
    assert SHARDS not in report.histories


MODULE = """
from tests.explorer.keeper import Keeper

SEEN = set()


class Remembers(Keeper):
    async def keep(self, animal):
        SEEN.add(animal.metadata.uid)
        await super().keep(animal)
"""


def test_replicas_that_share_a_variable_of_a_module_are_not_judged(tmp_path, monkeypatch):
    """In a cluster, each has its own. The variable is named with its line, and the code does not count as tried."""
    (tmp_path / "remembers.py").write_text(MODULE.lstrip(), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def register(manager: Manager) -> None:
        module = importlib.import_module("remembers")
        module.Remembers(manager.client).setup(manager)

    report = explored(replace(subject_of_zoo(register, shards=2), root=tmp_path))
    monkeypatch.delitem(sys.modules, "remembers")
    report.check()
    assert report.tried().endswith("finished: no code")
    [note] = [note for note in report.notes() if note.code.slug == "explore-shared-memory"]
    assert "they share `SEEN` (remembers.py:3)" in note.message


def test_a_project_that_deploys_shards_is_explored_with_replicas(tmp_path):
    """That is in PROJECT. A project without it runs one process at a time."""
    root = tmp_path / "app"
    shutil.copytree(SAMPLES / "app", root)
    assert not subject_of(root, package="app_operator").shards
    project = (root / "PROJECT").read_text(encoding="utf-8")
    assert "shards" not in project
    (root / "PROJECT").write_text(PLUGIN + project, encoding="utf-8")
    assert subject_of(root, package="app_operator").shards == 8


def test_a_replica_that_has_died_can_leave():
    """Nothing waits for the new one in its place."""
    steps = (Step(Verb.CREATE, SAMPLE), Step(Verb.REPLACE, OTHER, members=2), Step(Verb.DELETE, SAMPLE, members=1))
    first = run(*steps)
    number = next(sent.number for sent in first.writes if sent.process == 2)
    outcome = run(*steps, fault=Fault(FaultKind.CRASH_AFTER, number))
    assert outcome.at_rest
    assert outcome.states == first.states
    assert {sent.process for sent in outcome.sent} == {1, 2}


def test_who_asks_for_shards_alone_hears_that_there_are_none():
    """`no findings` would be wrong."""
    report = explored(replace(keeper(), shards=0))
    [problem] = report.problems
    assert "do not share the objects" in problem.message


def test_the_same_seed_plays_the_same_history():
    """Who takes which range does not depend on the machine."""
    steps = (Step(Verb.CREATE, SAMPLE, members=2), Step(Verb.DELETE, SAMPLE))
    first, second = (run(*steps) for _ in range(2))
    told = [[(sent.at, sent.process, str(sent)) for sent in outcome.sent] for outcome in (first, second)]
    assert told[0] == told[1]


def test_a_history_with_replicas_is_stored_and_read_again():
    """And one with more of them than anybody tries is refused."""
    history = History((Step(Verb.CREATE, SAMPLE, members=2),), shards=2)
    assert History.from_json(history.to_json()) == history
    wrong = replace(history, steps=(replace(history.steps[0], members=1000),))
    with pytest.raises(ValueError, match="members"):
        History.from_json(wrong.to_json())
