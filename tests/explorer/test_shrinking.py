"""A finding is told by the least that shows it."""

from __future__ import annotations

import json

import pytest

from pykb.explore import Explorer, Fault, FaultKind, Finding, History, Step, Verb
from pykb.explore._shrinking import milder, simpler, smaller
from pykb.explore._variants import schema_of
from pykb.runtime import Manager, Reconciler
from tests.explorer.test_zoo import _subject_of
from tests.explorer.zoo import crashes, invariants, loops, owners, sound, specs
from tests.explorer.zoo.kinds import CRDS, SAMPLE, Animal, subject_of


def finding_of(operator: type[Reconciler], code: str) -> Finding:
    """The only finding about an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)

    once = getattr(operator, "once", ())
    [finding] = Explorer(subject_of(register, once=once), only=(code,)).run().findings
    return finding


def test_acts_that_do_not_matter_are_left_out():
    """The change before the deletion was there only because the plan tries all three."""
    finding = finding_of(crashes.LetsGoFirst, "explore-crash")
    assert [step.verb for step in finding.history.steps] == [Verb.CREATE, Verb.DELETE]
    assert len(finding.story) == 4


def test_values_that_do_not_matter_are_left_out_of_all_steps():
    """The sample has four fields, of which none matters."""
    finding = finding_of(crashes.StatusBeforeChild, "explore-crash")
    [created] = finding.history.steps
    assert created.manifest["spec"] == {}
    assert created.manifest["metadata"] == SAMPLE["metadata"]


@pytest.mark.parametrize(
    ("operator", "code", "expected", "seen"),
    [
        (owners.TakesOver, "explore-theft", [None, {}], "    ConfigMap kiki-menu is changed"),
        (loops.PollsAndWrites, "explore-loop", [{}], "operator patches configmaps/kiki-menu (loops.py:"),
        (specs.BadEdge, "explore-bug", [{"count": 0}], "the reconcile fails: ZeroDivisionError: division by zero"),
        (invariants.PromotesFirst, "explore-invariant", [{"count": 1}, {"count": 2}], "patches configmaps/kiki-0"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_findings_of_each_kind_are_shrunk_and_shown_again_by_their_history(operator, code, expected, seen):
    """Fewer acts, and smaller specs. The last act of the history of a theft is the deletion, which does not matter."""
    explorer = Explorer(_subject_of(operator), only=(code,), histories=30)
    finding = next(each for each in explorer.run().findings if each.code.slug == code)
    assert [step.manifest.get("spec") for step in finding.history.steps] == expected
    again = History.from_json(json.loads(json.dumps(finding.history.to_json())))
    lines = [line for line in explorer.replay(again) if seen in line]
    assert lines
    assert code != "explore-loop" or len(lines) > 2


class NeverLooksAgain(sound.NamesByUid):
    """Does not see that its child has gone."""

    pause = None


class NotesFirst(sound.NamesByUid):
    """Says that its child is there before it is, whose name has a uid."""

    async def make(self, animal: Animal) -> None:
        """Note it, then make it."""
        if animal.status.child is None:
            animal.status.child = "made"
            await self.client.status.update(animal)
            await super().make(animal)


def test_a_finding_about_a_name_with_a_uid_has_its_line():
    """It is that of the last write of such a name."""
    finding = finding_of(NeverLooksAgain, "explore-drift")
    assert finding.message == "Secret key-<random value of Secret: metadata.name> is missing after the deletion"
    assert finding.span.path == "owners.py"


def test_a_finding_about_a_name_with_a_uid_is_shrunk():
    """The uid is another one in each run, so the fault is found by what the request does."""
    finding = finding_of(NotesFirst, "explore-crash")
    assert finding.message == "Secret key-<random value of Secret: metadata.name> is missing after a crash"
    [created] = finding.history.steps
    assert created.manifest["spec"] == {}


def test_a_value_at_an_edge_is_made_smaller():
    """And a further field that was changed for it is put back. The note says what is left."""
    spec = {**SAMPLE["spec"], "count": 90, "names": ["a"] * 12}
    step = Step(Verb.CREATE, {**SAMPLE, "spec": spec}, note="spec.count = 90`, `spec.names = [...]")
    every = [history.steps[0] for history in milder(SAMPLE, History((step,)))]
    assert {each.note for each in every} >= {"spec.count = 90"}
    tried = [(each.manifest["spec"]["count"], len(each.manifest["spec"]["names"])) for each in every]
    assert tried == [(2, 12), (90, 2), (1, 12), (10, 12), (90, 1), (90, 2), (90, 10)]
    assert not list(milder(SAMPLE, History((Step(Verb.CREATE, SAMPLE),))))


def test_a_shrunk_finding_is_the_same_each_time():
    """It is not bounded by the clock, but by the number of trials."""
    first, second = (finding_of(crashes.SendsAgain, "explore-crash") for _ in range(2))
    assert first == second
    assert len(first.history.steps) == 1


def test_a_fault_keeps_its_place_when_a_step_before_it_goes():
    """And a step that a fault needs does not go."""
    steps = (Step(Verb.CREATE, SAMPLE), Step(Verb.REPLACE, SAMPLE, note="a"), Step(Verb.REPLACE, SAMPLE, note="b"))
    fault = Fault(FaultKind.CRASH_AFTER, 1, step=3, what="patches animals/kiki")
    [shorter] = simpler(History(steps, fault))
    assert [step.note for step in shorter.steps] == ["", "b"]
    assert shorter.fault is not None
    assert shorter.fault.step == 2


def test_what_a_step_changes_stays():
    """Else the change would be another one."""
    other = {**SAMPLE, "spec": {**SAMPLE["spec"], "food": "straw"}}
    history = History((Step(Verb.CREATE, SAMPLE), Step(Verb.REPLACE, other)))
    every = [sample["spec"] for sample, _ in smaller(schema_of(CRDS, SAMPLE), SAMPLE, history)]
    assert all(spec["food"] == "hay" for spec in every)
    assert {"food": "hay", "count": 1, "house": "north", "names": ["a", "b"]} in every
    assert {"food": "hay", "count": 2, "house": "north", "names": ["a"]} in every
    assert {"food": "hay", "count": 2, "names": ["a", "b"]} in every
