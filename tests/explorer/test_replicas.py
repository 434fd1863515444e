"""Replicas that share the objects: how they live in a history, what is found only with them, and who is not accused."""

from __future__ import annotations

import importlib
import itertools
import json
import shutil
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from pykb.client.ranges import Ranges, ShardBy
from pykb.explore import Explorer, Fault, FaultKind, History, Report, Step, Subject, Verb, subject_of
from pykb.explore import _process as processes
from pykb.explore._context import Context
from pykb.explore._outcome import Outcome
from pykb.explore._plans.shards import shards
from pykb.explore._replicas import ranges_of
from pykb.explore._runner import Runner
from pykb.project.file import read as read_project
from pykb.runtime import Client, Defaulter, Manager, ManagerOptions, WebhookBuilder, ensure_applied
from pykb.runtime.options import DEFAULT_LEADER_ELECTION_ID
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.test_zoo import _subject_of
from tests.explorer.zoo import replicas, sound
from tests.explorer.zoo.kinds import SAMPLE, Animal
from tests.explorer.zoo.kinds import subject_of as subject_of_zoo

OTHER = {**SAMPLE, "spec": {**SAMPLE["spec"], "count": 1}}
SHARDS = "explore-shards"
SAMPLES = Path(__file__).parents[2] / "testdata"
PLUGIN = "plugins:\n  kustomize.common.pykb.dev/v1:\n    shards: 8\n"


def keeper() -> Subject:
    """A right operator that shares its objects."""
    return replace(_subject_of(Keeper), ranges=Ranges(3))


def run(*steps: Step, fault: Fault | None = None) -> Outcome:
    """What comes of a history with replicas."""
    with Runner(keeper(), 0) as runner:
        return runner.run(History(steps, fault, shards=3))


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


def sibling(name: str) -> dict[str, object]:
    """Another animal."""
    return {**SAMPLE, "metadata": {**SAMPLE["metadata"], "name": name}}


def test_each_of_three_replicas_has_one_of_three_objects_and_two_share_them():
    """When the third one leaves, the first one has what was its own."""
    create = [Step(Verb.CREATE, sibling(name)) for name in ("a", "b", "c")]
    change = Step(Verb.PATCH, {**sibling("a"), "spec": {"count": 1}}, members=2)
    outcome = run(replace(create[0], members=3), *create[1:], change)
    assert workers(outcome) == [3, 2, 1]
    assert (outcome.writes[-1].process, outcome.writes[-1].name) == (1, "a")


def test_by_namespace_the_namespace_decides_who_has_an_object():
    """Of two ranges, the first replica keeps that of the first namespace."""
    second = {**sibling("kiki"), "metadata": {"name": "kiki", "namespace": "second"}}
    ranges = Ranges(3, ShardBy.NAMESPACE)
    with Runner(replace(keeper(), ranges=ranges), 0) as runner:
        outcome = runner.run(History((Step(Verb.CREATE, SAMPLE, members=2), Step(Verb.CREATE, second)), shards=3))
    assert [ranges.of(name) for name in ("default", "second")] == [2, 1]
    assert workers(outcome) == [2, 1]


@pytest.mark.parametrize("kind", [FaultKind.JOIN, FaultKind.LEAVE])
def test_a_replica_comes_or_is_stopped_while_an_answer_is_on_its_way(kind):
    """An object moves only after its reconcile has ended, or was cancelled. Then the other one continues."""
    members = 1 if kind is FaultKind.JOIN else 2
    steps = (Step(Verb.CREATE, SAMPLE, members=members), replace(Step(Verb.REPLACE, OTHER)))
    first = run(*steps)
    [owner] = set(workers(first))
    number = next(sent.number for sent in first.writes)
    outcome = run(*steps, fault=Fault(kind, number, seconds=40.0))
    assert not outcome.at_once
    assert outcome.states == first.states
    [other] = {*workers(outcome)} - {owner}
    began, ended = ([sent.at for sent in outcome.writes if sent.process == each] for each in (other, owner))
    assert min(began) > outcome.writes[0].at + 30.0
    assert (max(ended) > outcome.writes[0].at) is (kind is FaultKind.JOIN)


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
    report = explored(replace(_subject_of(operator), ranges=Ranges(3)))
    report.check()
    assert "finished: shards" in report.tried()


@pytest.mark.parametrize(
    "operator",
    [replicas.RemembersReport, replicas.CountsOwnShare, replicas.DeletesUnknown],
    ids=lambda each: each.__name__,
)
def test_what_is_wrong_only_with_replicas_is_not_found_without(operator):
    """A project that does not share its objects has no such fault, and none of these histories."""
    report = Explorer(replace(_subject_of(operator), ranges=None), histories=40).run()
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

    report = explored(replace(subject_of_zoo(register, ranges=Ranges(3)), root=tmp_path))
    monkeypatch.delitem(sys.modules, "remembers")
    report.check()
    assert report.tried().endswith("finished: no code")
    [note] = [note for note in report.notes() if note.code.slug == "explore-shared-memory"]
    assert "they share `SEEN` (remembers.py:3)" in note.message


@pytest.fixture
def project(tmp_path) -> Path:
    """A project without shards."""
    root = tmp_path / "app"
    shutil.copytree(SAMPLES / "app", root)
    assert ranges_of(root, read_project(root)[0]) is None
    return root


def change(file: Path, old: str, new: str) -> None:
    """Replace a part of a file."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_project_that_deploys_shards_is_explored_with_replicas(project):
    """That is in PROJECT. A project without it runs one process at a time."""
    assert subject_of(project, package="app_operator").ranges is None
    change(project / "PROJECT", "repo:", f"{PLUGIN}repo:")
    assert subject_of(project, package="app_operator").ranges == Ranges(8)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("- --shards=16", Ranges(16)),
        ("- --shards\n        - 16\n        - --shard-by=namespace", Ranges(16, ShardBy.NAMESPACE)),
        ("- --shards=$(SHARDS)", Ranges(8)),
        ("- --shards=0", None),
        ("- --shard-by=namespace", None),
        ("- null", None),
    ],
)
def test_the_flags_of_the_manager_say_whether_its_replicas_share_the_objects(project, argument, expected):
    """They count more than the code. What only the running program knows is some number."""
    change(project / "app_operator/__main__.py", "cache=cache)", "cache=cache, shards=0)")
    change(project / "config/manager/manager.yaml", "- --leader-elect", argument)
    assert ranges_of(project, read_project(project)[0]) == expected


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("shards=16", Ranges(16)),
        ("shards=16, shard_by=ShardBy.NAMESPACE", Ranges(16, ShardBy.NAMESPACE)),
        ("shards=int(os.environ['SHARDS'])", Ranges(8)),
        ("shards=99999", Ranges(4096)),
    ],
)
def test_the_code_says_whether_replicas_share_the_objects(project, keyword, expected):
    """Without a flag and without a word in PROJECT. A file that is no Python says nothing."""
    main = project / "app_operator/__main__.py"
    change(main, "cache=cache)", f"cache=cache, {keyword})")
    assert ranges_of(project, read_project(project)[0]) == expected
    main.write_text("def", encoding="utf-8")
    (project / "config/manager/manager.yaml").write_text("- [", encoding="utf-8")
    assert ranges_of(project, read_project(project)[0]) is None


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
    report = explored(replace(keeper(), ranges=None))
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
    history = History((Step(Verb.CREATE, SAMPLE, members=2),), shards=3)
    assert History.from_json(history.to_json()) == history
    wrong = replace(history, steps=(replace(history.steps[0], members=1000),))
    with pytest.raises(ValueError, match="members"):
        History.from_json(wrong.to_json())


_NUMBER = "zoo.example.com/number"
_RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["animals"], "operations": ["CREATE"]}
_HOOK = {"name": "number.example.com", "clientConfig": {"service": {"path": "/number"}}, "rules": [_RULE]}
_NUMBERING = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "number"}, "webhooks": [_HOOK]}


class NamesItself(Defaulter[Animal]):
    """Says which replica was asked."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def default(self, obj: Animal) -> None:
        """In an annotation."""
        obj.metadata.annotations = {"asked": str(self._number)}


def answered(*steps: Step, fault: Fault | None = None) -> tuple[Outcome, list[str]]:
    """What comes of steps, and which replica was asked for each object that somebody creates."""
    numbers = itertools.count(1)

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)
        WebhookBuilder(manager).for_(Animal).with_defaulter(NamesItself(next(numbers)), path="/number").complete()

    subject = replace(subject_of_zoo(register, ranges=Ranges(3)), webhooks=[_NUMBERING])
    with Runner(subject, 0) as runner:
        outcome = runner.run(History(steps, fault, shards=3))
    created = [change for change in outcome.changes if change.identity.kind == "Animal" and change.before is None]
    return outcome, [json.loads(change.after or b"")["metadata"]["annotations"]["asked"] for change in created]


def test_replicas_that_live_are_asked_in_turn():
    """As those behind a Service. One that has left, or has died and is not yet replaced, is not asked."""
    create = [Step(Verb.CREATE, sibling(name)) for name in ("a", "b", "c", "d", "e")]
    steps = (replace(create[0], members=2), *create[1:3], replace(create[3], members=1), create[4])
    outcome, (first, second, *others) = answered(*steps)
    assert first != second
    assert others == [first] * 3
    died = next(sent for sent in outcome.writes if sent.process == 2)
    dies = Fault(FaultKind.CRASH_AFTER, died.number)
    _, asked = answered(steps[0], *create[1:], fault=dies)
    assert asked[:4] == [first] * 4
    assert asked[4] not in (first, second)


class NumbersByOwnShare(Keeper):
    """Gives each animal a number when it is created. The replica that is asked sees only its own share of the others."""

    reader: Client

    def setup(self, manager: Manager) -> None:
        """Read from the cache."""
        self.reader = manager.client
        super().setup(manager)
        self.number(manager)

    def number(self, manager: Manager) -> None:
        """Serve the webhook."""
        WebhookBuilder(manager).for_(Animal).with_defaulter(_Numbers(self), path="/number").complete()

    async def keep(self, animal: Animal) -> None:
        """Apply the child with the number."""
        child = self.child(animal)
        child.data = {"number": (animal.metadata.annotations or {}).get(_NUMBER, "")}
        await ensure_applied(self.client, child, owner=animal)


class _Numbers(Defaulter[Animal]):
    def __init__(self, operator: NumbersByOwnShare) -> None:
        self._operator = operator

    async def default(self, obj: Animal) -> None:
        """Give the lowest number that is free."""
        others = await self._operator.reader.list(Animal)
        taken = {(each.metadata.annotations or {}).get(_NUMBER) for each in others}
        free = next(number for number in range(1, len(others) + 2) if str(number) not in taken)
        obj.metadata.annotations = {**(obj.metadata.annotations or {}), _NUMBER: str(free)}


class NumbersByOwnShareMended(NumbersByOwnShare):
    """Asks the API server for all of them."""

    def setup(self, manager: Manager) -> None:
        """Read without the cache, which has only a part."""
        super().setup(manager)
        self.reader = manager.api_reader


@pytest.mark.parametrize(("operator", "is_right"), [(NumbersByOwnShare, False), (NumbersByOwnShareMended, True)])
def test_webhooks_are_judged_with_replicas_too(operator, is_right):
    """Two of three animals get the same number if each replica reads its own share."""
    subject = replace(_subject_of(operator), ranges=Ranges(3), webhooks=[_NUMBERING])
    with Runner(subject, 0) as runner:

        def run(history: History) -> Outcome:
            outcome = runner.run(history)
            outcome.history = history
            return outcome

        _, case, *_ = islice(shards(Context(subject, SAMPLE, run)), 2)
        found = [each.message for each in case.judge(run(case.history))]
    what = 'ConfigMap kiki-2-2-menu: data.number is "1" instead of "3" when two replicas share the objects'
    assert found == ([] if is_right else [what])
