"""A finding is told by the least that shows it."""

from __future__ import annotations

from pykb.explore import Explorer, Fault, FaultKind, Finding, History, Step, Verb
from pykb.explore._shrinking import simpler, smaller
from pykb.explore._variants import schema_of
from pykb.runtime import Manager, Reconciler
from tests.explorer.zoo import crashes
from tests.explorer.zoo.kinds import CRDS, SAMPLE, subject_of


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
