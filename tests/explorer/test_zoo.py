"""Every faulty operator of the zoo is found, with the right code. Nothing is found in its mended twin."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.api.core.v1 import Secret
from pykb.diagnostics.render import render
from pykb.explore import CODES, Explorer, Finding, History, Report, Subject
from pykb.runtime import AlreadyExists, Manager, Reconciler, Result, set_controller_reference
from tests.explorer.feeder import Feeder
from tests.explorer.handled import Handled
from tests.explorer.keeper import Guard, Keeper, record
from tests.explorer.zoo import (
    branches,
    clusters,
    companies,
    crashes,
    errors,
    handlers,
    ingresses,
    invariants,
    leaders,
    loops,
    owners,
    pairs,
    passwords,
    pauses,
    replicas,
    roles,
    sights,
    sound,
    specs,
    upgrades,
    workloads,
)
from tests.explorer.zoo.kinds import CRDS, HERE, Animal, AnimalStatus, subject_of

THEMES = (
    branches,
    clusters,
    companies,
    crashes,
    errors,
    handlers,
    ingresses,
    invariants,
    leaders,
    loops,
    owners,
    pairs,
    passwords,
    pauses,
    replicas,
    roles,
    sights,
    specs,
    upgrades,
    workloads,
)
EVERY = [
    each
    for theme in THEMES
    for each in vars(theme).values()
    if isinstance(each, type) and each.__module__ == theme.__name__ and hasattr(each, "fault")
]
FAULTY = [each for each in EVERY if each.fault]
TWINS = [each for each in EVERY if not each.fault]
SHOWN = (
    crashes.StatusBeforeChild,
    errors.CreatesTwice,
    specs.LeavesOldName,
    owners.DoesNotWatch,
    owners.FinalizerTooLate,
    owners.TakesOver,
    loops.TimeInStatus,
    specs.BadEdge,
    sights.CountsInCache,
    leaders.LooksThenGenerates,
    pairs.RestoresOnce,
    replicas.CountsOwnShare,
    upgrades.RenamesChild,
)
"""Those whose finding docs/reference/explore.md shows."""
SEVERAL = {
    branches.CountsPackFirst: 2,  # nor is a pack that was fed ever fed otherwise
    crashes.ForgetsOldName: 2,  # the order of note and deletion; nothing prunes what an older process makes again
    errors.SwallowsErrors: 2,  # nor does it watch the child
    errors.CreatesTwice: 2,  # nor does it ever change the child
    loops.PollsAndWrites: 2,  # nor is it the owner, so it overwrites what others made
    clusters.LeavesNamespace: 2,  # nor does it say that the name is taken
    owners.FinalizerTooLate: 2,  # nor does it say that the name is taken
    owners.SharesChild: 2,  # nor does it delete the child of a former name
    sights.TrustsOwnStatus: 2,  # nor does it ever change the child
    specs.UpdatesOnlyNew: 2,  # nor does it say that the name is taken
}
"""Operators with further bugs."""
ALSO = {
    branches.CountsPackFirst: ("explore-crash", "explore-error", "explore-bug"),
    branches.ForgetsPool: ("explore-history", "explore-bug"),
    specs.CannotChangeJob: ("explore-history", "explore-bug"),
    specs.CannotChangeSet: ("explore-history", "explore-bug"),
    specs.SwallowsRefusal: ("explore-history", "explore-bug"),
    workloads.ChangesOnlyReplicas: ("explore-history", "explore-drift", "explore-bug"),
    workloads.RollsByVersion: ("explore-crash", "explore-history", "explore-leader", "explore-stale"),
    specs.WrongGeneration: ("explore-history", "explore-drift", "explore-bug"),
    specs.KeepsRemovedKeys: ("explore-history", "explore-bug"),
    specs.LeavesOldName: ("explore-history", "explore-bug"),
    crashes.LetsGoFirst: ("explore-crash", "explore-error"),
    crashes.StatusBeforeChild: ("explore-crash", "explore-error", "explore-history", "explore-drift", "explore-bug"),
    **dict.fromkeys(
        [crashes.RemembersInMemory, crashes.RemembersInModule],
        ("explore-crash", "explore-history", "explore-drift", "explore-unseen", "explore-bug"),
    ),
    crashes.ForgetsOldName: ("explore-crash", "explore-error", "explore-stale"),
    errors.SwallowsErrors: ("explore-error", "explore-drift"),
    errors.CreatesTwice: ("explore-error", "explore-history", "explore-stale", "explore-unseen", "explore-bug"),
    **dict.fromkeys([invariants.PromotesFirst, invariants.BlocksDrains], ("explore-history", "explore-invariant")),
    loops.PollsAndWrites: ("explore-loop", "explore-leak", "explore-theft"),
    owners.WrongParent: ("explore-drift", "explore-unseen"),
    **dict.fromkeys([owners.NoOwner, owners.FinalizerTooLate, owners.NoFinalizer], ("explore-leak", "explore-theft")),
    clusters.LeavesNamespace: ("explore-leak", "explore-theft"),
    owners.FinalizerStays: ("explore-crash", "explore-error", "explore-leak"),
    owners.LosesKeyFirst: ("explore-leak", "explore-theft"),
    owners.DeletesForeign: ("explore-theft", "explore-stale"),
    owners.SharesChild: ("explore-history", "explore-theft", "explore-bug"),
    sights.TrustsOwnStatus: ("explore-error", "explore-history", "explore-stale", "explore-unseen", "explore-bug"),
    specs.UpdatesOnlyNew: ("explore-history", "explore-theft", "explore-drift", "explore-bug"),
    specs.WaitsOnce: ("explore-history", "explore-drift"),
    specs.FailsToSayIt: ("explore-theft", "explore-bug"),
    **dict.fromkeys([each for each in FAULTY if each.fault == "explore-rbac"], CODES),
}
"""The codes under which a bug shows that shows under more than its own. To look for all of them takes time."""
FAULT_OF = {twin: next(base for base in twin.__mro__ if base in FAULTY) for twin in TWINS}
"""What each twin mends."""
FIRST = {faulty.fault: twin for twin, faulty in reversed(FAULT_OF.items())}
"""One twin for each code."""
SOUND = [
    *FIRST.values(),
    Keeper,
    Guard,
    Handled,
    Feeder,
    owners.SeizesNameMended,
    workloads.LeavesStuckJobMended,
    workloads.KeepsRunningMended,
    workloads.RoutesToOldColourMended,
    sound.RunsForEachSpec,
    sound.NamesByUid,
    sound.LooksAgain,
    sound.AwaitsApproval,
    sound.GivesUp,
    sound.Stores,
    sound.Threaded,
    sound.Sleeps,
    sound.Mirrors,
    sound.CreatesFirst,
    sound.AppliesAgain,
    sound.LooksByTimer,
    sound.TurnsIdle,
    sound.Expires,
    sound.Generates,
    sound.ListsMembers,
]
OTHER_TWINS = [twin for twin in TWINS if twin not in SOUND]
PAGE = Path(__file__).parents[2] / "docs/reference/explore.md"


BRIEFLY = 18
"""Histories of the codes in turn, which find nearly all. At night, all are run."""
LATE = {
    branches.CountsPackFirst: None,
    **dict.fromkeys([branches.ForgetsPool, crashes.ForgetsOldName, roles.MayNotDelete, sights.TrustsOwnStatus], 40),
    **dict.fromkeys([specs.KeepsRemovedKeys, specs.UpdatesOnlyNew, specs.WrongGeneration, specs.FailsToSayIt], 40),
    workloads.KeepsAllRevisions: 40,
}
"""How many histories find the others; ``None`` for all."""


def explored(operator: type[Reconciler], only: tuple[str, ...] = (), *, most: int | None = BRIEFLY) -> Report:
    """What the explorer says of an operator, after at most so many histories; ``None`` for all."""
    subject = _subject_of(operator)
    if earlier := getattr(operator, "Earlier", None):
        subject = replace(subject, earlier=record(_subject_of(earlier), "v1"))
    return Explorer(subject, only=only, histories=most, ignore=getattr(operator, "ignore", ())).run()


def _subject_of(operator: type[Reconciler]) -> Subject:
    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)

    more = {name: getattr(operator, name, ()) for name in ("once", "invariants", "neighbours", "background")}
    more["ranges"] = getattr(operator, "ranges", None)
    crds = getattr(operator, "crds", CRDS)
    return subject_of(register, rules=operator.rules, sample=operator.sample, crds=crds, **more)


def test_each_operator_has_a_twin_and_each_code_two_operators():
    """The twin mends the fault and nothing else: it is the same class with a few other lines."""
    assert len(FAULTY) >= 30
    twins = {twin.__name__: twin for twin in TWINS}
    assert set(twins) == {f"{faulty.__name__}Mended" for faulty in FAULTY}
    assert all(issubclass(twins[f"{faulty.__name__}Mended"], faulty) for faulty in FAULTY)
    codes = [faulty.fault for faulty in FAULTY]
    assert [code for code in CODES if codes.count(code) < 2] == []


@pytest.mark.parametrize("operator", FAULTY[::2], ids=lambda each: each.__name__)
def test_a_fault_is_found_once_with_its_line(operator):
    """The code is the right one, and the line is the one with the fault. Whatever else shows is the same finding."""
    check_fault(operator)


def check_fault(operator: type[Reconciler], *, most: int | None = BRIEFLY) -> None:
    """Explore a faulty operator. The others are those of `test_zoo_others.py`, in another process."""
    report = explored(operator, ALSO.get(operator, (operator.fault,)), most=most and LATE.get(operator, most))
    assert len(report.findings) == SEVERAL.get(operator, 1), [str(each.message) for each in report.findings]
    every = [found for finding in report.findings for found in (finding, *finding.others)]
    found = [finding for finding in every if finding.code.slug == operator.fault]
    assert found, [str(each.message) for each in every]
    for finding in found:
        assert finding.story
        assert finding.span is not None
        lines = (HERE / finding.span.path).read_text(encoding="utf-8").splitlines()
        assert "# fault" in lines[finding.span.line - 1]
    if operator in SHOWN:
        page = PAGE.read_text(encoding="utf-8")
        assert any(f"```text\n{told(finding)}\n```" in page for finding in found)


def told(finding: Finding) -> str:
    """A finding as the reference shows it: without places, advice and what else shows."""
    lines = render([replace(finding, others=()).to_diagnostic()]).splitlines()
    return re.sub(r" \(\w+\.py:\d+\)", "", "\n".join(each for each in lines if each[:4] in ("erro", "note")))


def test_the_same_seed_finds_the_same():
    """Byte for byte, with the same histories."""
    first, second = (explored(errors.CreatesTwice, ("explore-error",)) for _ in range(2))
    assert first.findings
    assert first.findings == second.findings
    assert first.histories == second.histories


class MakesOnce(Keeper):
    """Makes the child once, on purpose: somebody who deletes it does not want it."""

    async def keep(self, animal: Animal) -> None:
        """Apply the child the first time."""
        if animal.status.phase is None:
            await super().keep(animal)


def test_an_unseen_deletion_need_not_lead_to_more_than_a_seen_one():
    """That the child is not made again is what `explore-drift` says, which a user may ignore."""
    assert explored(MakesOnce, ("explore-drift",)).findings
    explored(MakesOnce, ("explore-unseen",)).check()


def test_a_request_that_no_rule_allows_is_found_with_its_marker():
    """And a grant that nothing needs is named."""

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)

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
        specs.LeavesOldName(manager.client).setup(manager)

    explorer = Explorer(subject_of(register), only=("explore-history",))
    [finding, *_] = explorer.run().findings
    saved = json.loads(json.dumps(finding.history.to_json()))
    lines = list(explorer.replay(History.from_json(saved)))
    assert any("ConfigMap north-b-menu is created" in line for line in lines)
    why = "animal default/kiki, because somebody else changed `spec.house` of Animal kiki: "
    assert any(f"{why}creates ConfigMap north-b-menu (specs.py:" in line for line in lines)
    with pytest.raises(ValueError, match="not a history"):
        History.from_json({"steps": 3})


def test_a_story_says_with_which_error_each_reconcile_fails():
    """The state differs because the API server refuses a change."""
    [finding] = explored(specs.CannotChangeSet, ("explore-history",)).findings
    error = 'Each reconcile fails with Invalid: StatefulSet.apps "kiki-menu" is invalid: spec.serviceName: Invalid '
    assert finding.story[-2].startswith(error)
    assert finding.story[-2].endswith("field is immutable (Invalid, 422)")
    [refused, *_] = finding.to_diagnostic().help
    assert "each time, `spec.serviceName`: field is immutable: " in refused
    assert "`self == oldSelf`" in refused
    [finding] = explored(specs.KeepsRemovedKeys, ("explore-history",)).findings
    assert not any("fails" in step for step in finding.story)
    assert not any("oldSelf" in each for each in finding.to_diagnostic().help)


def test_a_variable_of_a_module_that_a_crash_must_not_lose_is_named():
    """Each process begins with fresh modules. What they had is named only if that made the difference."""
    [finding] = explored(crashes.RemembersInModule, ("explore-crash",)).findings
    [line] = [each for each in finding.to_diagnostic().notes if each.startswith("only the process that died")]
    assert re.search(r"what is in `kept` \(crashes.py:\d+\): with it, this holds", line)
    page = (PAGE.parents[1] / "explanation/explorer.md").read_text(encoding="utf-8")
    assert f"note: {re.sub(':[0-9]+', '', line)}" in re.sub(r"\.py:\d+", ".py", page)
    [finding] = explored(crashes.RemembersInMemory, ("explore-crash",)).findings
    assert finding.forgotten == ()


def test_what_is_put_right_has_a_help_of_its_own():
    """Other specs have another one. A line is where the reconcile waits."""
    [finding] = explored(workloads.WaitsInside, ("explore-history",)).findings
    assert "waits without end in one reconcile" in finding.message
    assert finding.to_diagnostic().help[0].startswith("what keeps a workload from being ready is put right")
    [finding] = explored(specs.LeavesOldName, ("explore-history",)).findings
    assert finding.to_diagnostic().help[0].startswith("users change specs")


class FailsAtOnce(Keeper):
    """Fails for the sample, after a write."""

    async def report(self, animal: Animal, before: object) -> None:
        """Fail."""
        raise TypeError("no such option")


def test_an_error_for_the_sample_itself_is_told_of_the_sample():
    """Not of a spec at an edge, and once: what comes of it is told with it."""
    report = explored(FailsAtOnce, ("explore-bug", "explore-theft"))
    [finding] = report.findings
    assert finding.message == "TypeError, though the schema accepts the sample: no such option"
    assert [each.code.slug for each in finding.others] == ["explore-theft"]
    assert not report.problems


def test_a_refusal_that_is_swallowed_has_the_same_help():
    """The line is that of the write, and the help names the field and the rule."""
    [finding] = explored(specs.SwallowsRefusal, ("explore-history",)).findings
    assert not any("fails" in step for step in finding.story)
    [refused, *_] = finding.to_diagnostic().help
    assert "each time, `spec.serviceName`: field is immutable: " in refused


def test_another_value_of_a_secret_names_the_setting_that_accepts_it():
    """Only the user knows whether it may be made anew. The twin has such a setting."""
    [finding] = explored(passwords.SignsAnew, ("explore-crash",)).findings
    assert finding.message == "Secret kiki-menu: data.password has another value after a crash"
    assert '`ignore = [{ field = "Secret.data.password", reason = "..." }]`' in finding.to_diagnostic().help[0]


class KeepsFirstFood(Keeper):
    """Writes the food into a Secret, once."""

    async def keep(self, animal: Animal) -> None:
        """Create it."""
        secret = Secret(metadata=self.metadata(animal), string_data={"food": animal.spec.food})
        set_controller_reference(animal, secret)
        with contextlib.suppress(AlreadyExists):
            await self.client.create(secret)


def test_a_value_of_a_secret_that_follows_from_the_spec_is_no_password():
    """Nobody should accept that it stays as it was."""
    [finding] = explored(KeepsFirstFood, ("explore-history",)).findings
    assert "data.food has another value" in finding.message
    assert finding.to_diagnostic().help[0].startswith("users change specs")


def test_a_cause_names_the_line_of_the_operator_itself():
    """A loop goes through it."""
    [finding] = explored(loops.MovesTransition, ("explore-loop",)).findings
    assert re.search(r"because it changed `.*` of Animal kiki itself \(loops\.py:\d+\)$", finding.because)


def test_the_time_limit_leaves_the_rest_out_and_says_so():
    """Nothing is run after it."""

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)

    report = Explorer(subject_of(register), seconds=0).run()
    assert not report.histories
    assert "explore-crash" in report.unfinished


def test_ignored_fields_may_differ():
    """By kind and path."""

    def register(manager: Manager) -> None:
        specs.KeepsRemovedKeys(manager.client).setup(manager)

    subject = subject_of(register)
    assert Explorer(subject, only=("explore-history",)).run().findings
    assert not Explorer(subject, only=("explore-history",), ignore=("ConfigMap.data",)).run().findings


def test_an_operator_that_fails_for_its_sample_is_said():
    """As with a double that only fails: nothing after it was ever tried. The rest is explored."""

    class Pays(Keeper):
        async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
            raise ConnectionError(f"the bank of {animal.metadata.name} is closed")

    report = Explorer(subject_of(lambda manager: Pays(manager.client).setup(manager)), only=["explore-drift"]).run()
    [problem] = report.problems
    closed = "ConnectionError: the bank of kiki is closed"
    assert problem.message == f"the operator still fails for the sample Animal kiki at rest: {closed}"
    assert "a double that answers" in problem.help[0]
    assert report.histories["explore-drift"]


def test_what_comes_of_an_operator_that_fails_for_its_sample_is_told_with_it():
    """What it does wrong is a finding of its own. That it says nothing is no surprise."""

    class Pays(Keeper):
        async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
            raise ConnectionError(f"the bank of {animal.metadata.name} is closed")

    class PaysAndTakes(Pays):
        async def keep(self, animal: Animal) -> None:
            await self.client.apply(self.child(animal), force=True)

    report = explored(Pays, ("explore-theft",))
    [problem] = report.problems
    assert problem.notes == (
        "also seen as explore-theft: ConfigMap kiki-menu is somebody else's, and neither an event nor the status says so",
    )
    assert not report.findings
    [finding] = explored(PaysAndTakes, ("explore-theft",)).findings
    assert finding.message == "ConfigMap kiki-menu of somebody else is changed"


def test_a_manager_that_ends_with_an_error_is_said():
    """Nothing was explored, so it does not look as if nothing was found."""

    async def ends() -> None:
        raise OSError("no licence")

    [problem] = Explorer(subject_of(lambda manager: manager.add(ends))).run().problems
    assert "OSError: no licence" in problem.message
