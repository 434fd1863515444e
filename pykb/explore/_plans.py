"""The histories to run for each code, and what must hold in them."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from itertools import chain, zip_longest
from typing import Any

import orjson

from pykb.client.owner import controller_of
from pykb.client.ranges import Ranges, ShardBy
from pykb.diagnostics import Code, Span
from pykb.diagnostics.codes import explore as codes
from pykb.explore._actors import KINDS, MAKES_PODS, NO_SUCH, needs
from pykb.explore._constants import MARKED, Mark
from pykb.explore._context import (
    DAY_SECONDS,
    IDLE_SECONDS,
    Case,
    Context,
    Judge,
    Verdict,
    Violation,
    about,
    bug_of,
    by_itself,
    calm,
    cause_of,
    comes_back,
    first_bug,
    lasting,
    place_among,
    place_of,
    restless,
    same_end,
    same_states,
    times,
)
from pykb.explore._earlier import name_of
from pykb.explore._gate import MOST_RECONCILES, Sent
from pykb.explore._history import (
    SECOND_NAMESPACE,
    Fault,
    FaultKind,
    History,
    Identity,
    Manifest,
    Step,
    Takeover,
    Verb,
)
from pykb.explore._outcome import Change, Failure, Outcome, unfitness
from pykb.explore._past import REVISIONS, WORK, is_done, is_revision
from pykb.explore._selecting import mixed_up
from pykb.explore._signs import is_paused, is_refused, is_unchangeable
from pykb.explore._state import Difference, State, differences, read
from pykb.explore._variants import another, leaves, patch_of, put, schema_of, shorten, spell, spread, variants
from pykb.explore._webhooks import defaulting
from pykb.meta.json_diff import Path, changes

_WORKLOADS_LATE_SECONDS = 120.0
_LAGS_SECONDS = (3.0, 30.0)
_MOST_FIRST = 6
_MOST_SECOND = 3
"""Of two faults. The second ones are those for each first one."""

_EVENTS_LATE_SECONDS = 10.0
_CATCH_UP_SECONDS = 30.0
_ARRIVES_SECONDS = 60.0
"""How long a request of a leader that is paused is on its way. The next process works after 32 seconds: a lease is
valid for 15. The world is at rest after 90."""

_MOST_FIELDS = 16
"""Of one child, fields that somebody changes."""

_MOST_NOTED = 4
"""Children that somebody annotates."""

_MOST_VIEWS = 8
"""Earlier states that the caches of another process show."""

_STATUS = {FaultKind.REFUSE: 500}

_MOST_CHANGES = 2
"""Of another sample."""

_MOST_LESSER = 12
"""Specs that may do without a child."""

_MOST_SOURCES = 4
"""Objects that the operator reads and somebody changes."""

_OFTEN_REMADE = 3
"""Updates without a change that a webhook changes. One may be the first since there is a new default."""

_HOLD = "example.com/somebody-else"
_NOTE = {"example.com/note": "somebody else's"}


def crash(context: Context) -> Iterator[Case]:
    """The process dies before or after each write."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    kinds = (FaultKind.CRASH_AFTER, FaultKind.CRASH_BEFORE)
    faults = [(sent, Fault(kind, sent.number)) for sent in expected.writes for kind in kinds]
    judge = same_states(context, expected, "after a crash")
    yield from one_in_each_step(codes.CRASH, steps, expected, judge, faults)
    rest = steps[:-1]
    judge = same_states(context, context.undisturbed(*rest), "after a restart")
    yield Case(codes.CRASH, History(rest, Fault(FaultKind.BACK)), judge)
    both = (_create_another(context), context.create)  # a new process sees them in the other order
    judge = same_states(context, context.undisturbed(*both), "after a restart with two objects")
    yield Case(codes.CRASH, History(both, Fault(FaultKind.BACK)), judge)
    yield from _in_changes(context, 0, codes.CRASH, kinds, "after a crash")
    yield from _in_a_row(context, codes.CRASH, kinds, "after a crash")


def error(context: Context) -> Iterator[Case]:
    """Each request fails once."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    faults = [(sent, fault) for sent in expected.sent if sent.number for fault in _errors(sent)]
    judge = same_states(context, expected, "after an error")
    yield from one_in_each_step(codes.ERROR, steps, expected, judge, faults)
    yield from _in_changes(context, 1, codes.ERROR, (FaultKind.LOSE_ANSWER, FaultKind.REFUSE), "after an error")


def leader(context: Context) -> Iterator[Case]:
    """A write of the former leader arrives when the next one has done its work. kopf's own notes are not the user's."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    faults = [(sent, _overtaken(sent)) for sent in expected.writes if not sent.is_of_kopf]
    yield from one_in_each_step(codes.LEADER, steps, expected, same_states(context, expected, _OVERTAKEN), faults)
    row, end = _soon(context)
    if row:
        usual = context.undisturbed(*row)
        changing = [sent for sent in usual.writes if _step_of(sent, usual) > 1 and not sent.is_of_kopf]
        judge = same_end(context, end, _OVERTAKEN)
        for sent in changing:
            yield Case(codes.LEADER, History(row, _overtaken(sent)), judge)


_OVERTAKEN = "after a write of the former leader came late"


def _overtaken(sent: Sent) -> Fault:
    return Fault(FaultKind.OVERTAKEN, sent.number, seconds=_ARRIVES_SECONDS)


def two_faults(context: Context) -> Iterator[Case]:
    """A second fault while the operator recovers from the first one, if it does recover."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    writes = [sent for sent in expected.writes if not sent.is_of_kopf]
    kinds = (FaultKind.REFUSE, FaultKind.CRASH_AFTER)
    strikes = [Fault(kind, sent.number, _STATUS.get(kind, 0)) for kind in kinds for sent in writes]
    lag = Fault(FaultKind.LAG, seconds=_LAGS_SECONDS[0])
    judge = _survived(context, expected)
    for first in (*spread(strikes, _MOST_FIRST), lag):
        alone = context.run(History(steps, first))
        if alone.at_rest and not any(judge(alone)):
            for second in _in_recovery(alone, first):
                yield Case(codes.TWO_FAULTS, History(steps, first, further=(second,)), judge)


def _survived(context: Context, expected: Outcome) -> Verdict:
    """A verdict: two faults have no lasting effect. Each of them alone has none, so the line is the cause."""
    same = same_states(context, expected, "after two faults")

    def judge(outcome: Outcome) -> Iterator[Violation]:
        yield from (replace(each, cause=("two faults", each.place)) for each in same(outcome))

    return Verdict(judge, lambda other, steps: _survived(other, calm(other, steps)))


def _in_recovery(alone: Outcome, first: Fault) -> Iterator[Fault]:
    """Yield faults at the writes that follow a fault before the world is at rest: at one that is repeated, and others.

    Args:
        alone: What comes of the first fault.
        first: The first fault.
    """
    later = [sent for sent in alone.writes if not sent.is_of_kopf]
    struck = alone.struck.get(first)
    if struck is not None:
        step = _step_of(struck, alone)
        later = [sent for sent in later if sent.number > struck.number and _step_of(sent, alone) == step]
    again = [sent for sent in later if first.kind is FaultKind.REFUSE and str(sent) == str(struck)][:1]
    yield from (Fault(FaultKind.REFUSE, sent.number, _STATUS[FaultKind.REFUSE]) for sent in again)
    yield from (Fault(FaultKind.CRASH_AFTER, sent.number) for sent in spread(later, _MOST_SECOND - len(again)))


def _in_changes(context: Context, turn: int, code: Code, kinds: Sequence[FaultKind], what: str) -> Iterator[Case]:
    """Yield cases of faults at the writes of several changes of the sample."""
    steps = context.walk(turn)
    if len(steps) == 1:
        return
    expected = context.undisturbed(*steps)
    changing = [sent for sent in expected.writes if _step_of(sent, expected) > 1]
    faults = [(sent, Fault(kind, sent.number, _STATUS.get(kind, 0))) for sent in changing for kind in kinds]
    yield from one_in_each_step(code, steps, expected, same_states(context, expected, what), faults)


def _in_a_row(context: Context, code: Code, kinds: Sequence[FaultKind], what: str) -> Iterator[Case]:
    """Yield cases of faults at the writes of two changes, of which the second one comes soon after the first."""
    steps, expected = _soon(context)
    if steps:
        usual = context.undisturbed(*steps)
        changing = [sent for sent in usual.writes if _step_of(sent, usual) > 1]
        judge = same_end(context, expected, what)
        for fault in [Fault(kind, sent.number) for sent in changing for kind in kinds]:
            yield Case(code, History(steps, fault), judge)


def _soon(context: Context) -> tuple[tuple[Step, ...], Outcome]:
    """Two changes of the sample in a row, and what comes of them if there is time in between.

    None if that is not what comes of the sample alone, since the operator refuses it, or is wrong: then the end depends
    on what was before, and so on how far the operator was.
    """
    smaller, base = context.smaller(), context.base
    if smaller is None:
        return (), base
    back = Step(Verb.REPLACE, context.sample)
    expected = context.undisturbed(context.create, smaller, back)
    if context.compare(base.states[0], expected.states[-1], outcome=expected, of=base):
        return (), base
    return (context.create, replace(smaller, soon=True), back), expected


def _errors(sent: Sent) -> Iterator[Fault]:
    yield Fault(FaultKind.REFUSE, sent.number, 500)
    if sent.write and not sent.is_of_kopf:  # kopf 1.45 forgets an object when the answer to its finalizer is lost
        yield Fault(FaultKind.LOSE_ANSWER, sent.number)
    if sent.write:
        yield Fault(FaultKind.REFUSE, sent.number, 0)
    if sent.verb in ("update", "patch") and not sent.is_of_kopf:  # its patches hardly ever conflict
        yield Fault(FaultKind.REFUSE, sent.number, 409)


def history(context: Context) -> Iterator[Case]:
    """From one spec to another and back; children that become ready late."""
    if _workloads(context):
        judge = same_states(context, context.base, "when its children become ready late")
        yield Case(
            codes.HISTORY, History((context.create,), Fault(FaultKind.LATE, seconds=_WORKLOADS_LATE_SECONDS)), judge
        )
    for path, other in context.changed(edges=False):
        yield from to_and_back(context, path, other)
    row, expected = _soon(context)
    if row:
        yield Case(codes.HISTORY, History(row), same_end(context, expected, "after two changes in a row"))
    yield from _put_right(context)
    yield from _many_revisions(context)
    yield from converted(context)


def to_and_back(context: Context, path: str, other: Manifest) -> Iterator[Case]:
    """The sample gets another spec, and is changed back."""
    create = Step(Verb.CREATE, other, note=path)
    fresh = context.undisturbed(create)
    if not fresh.at_rest:
        yield Case(codes.LOOP, History((create,)), _ends(f"with `{path}`"))
    if first_bug(fresh):
        yield Case(codes.BUG, History((create,)), _without_bugs((create,)))
    if fresh.refused or fresh.fails or not fresh.at_rest:
        return
    steps = (context.create, Step(Verb.REPLACE, other, note=path), Step(Verb.REPLACE, context.sample))
    yield Case(codes.HISTORY, History(steps), _as_fresh(context, fresh, path))


def _as_fresh(context: Context, fresh: Outcome, path: str) -> Verdict:
    """A verdict: a change leads to the same as a fresh object, and the change back to the same as the sample."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused:
            return  # the field cannot be changed
        yield from _ends(f"after the change to `{path}`")(outcome)
        expected = (fresh, context.base)
        words = (f"after the change to `{path}`", f"after a change to `{path}` and back")
        every = zip(expected, outcome.states[1:], words, strict=False)
        for number, (wanted, found, what) in enumerate(every, start=2):
            if _keeps_default(context, outcome, wanted.states[0], found):
                return
            unlike_in = partial(_unlike, context, wanted)
            unlike = unlike_in(outcome, found)
            other = context.base if wanted is fresh else fresh
            may_be = unlike and _is_left_alone(context, wanted, other, outcome, number)
            if unlike and not may_be and not context.waits(outcome, number, unlike_in):
                place = place_among(unlike, outcome, fresh)
                yield Violation(f"{unlike[0]} {what}", place, unlike, cause_of(unlike), steps=number)
                return

    def again(other: Context, steps: Sequence[Step]) -> Verdict:
        changed = steps[min(1, len(steps) - 1)]
        return _as_fresh(other, other.undisturbed(replace(changed, verb=Verb.CREATE)), path)

    return Verdict(judge, again)


def _unlike(context: Context, wanted: Outcome, outcome: Outcome, state: State) -> tuple[Difference, ...]:
    """The differences of a state from that of a fresh object."""
    return context.compare_with_new(wanted.states[0], state, outcome=outcome, of=wanted)


def _is_left_alone(context: Context, fresh: Outcome, usual: Outcome, outcome: Outcome, number: int) -> bool:
    """Whether the operator is right to leave all as it was at a step: it is paused, or says that it refuses the spec.

    Then it makes nothing for a fresh object with this spec either, unless it says that the field cannot be changed.
    What it says in a usual run, with another spec, does not count.
    """
    own = context.own
    before, after = (dict(state) for state in outcome.states[number - 2 : number])
    was, told = before.pop(own, {}), after.pop(own, {})
    if not was or differences(before, after, context.ignore):
        return False
    if not {own, *fresh.initial}.issuperset(fresh.states[0]):
        return is_unchangeable(outcome, own, number, usual)
    return is_paused(told) or (is_refused(outcome, own, number, usual) and is_refused(fresh, own, 1, usual))


def _keeps_default(context: Context, outcome: Outcome, expected: State, found: State) -> bool:
    """Whether the object keeps a default of a webhook that a change of another field would make anew.

    As with `kubectl apply`. Then it is another object, and there is nothing to compare it with.
    """
    one, two = (dict(state.get(context.own) or {}).get("spec") for state in (expected, found))
    if not context.subject.webhooks or one is None or two is None or one == two:
        return False
    return not any(
        orjson.loads(change.before).get("spec") != orjson.loads(change.after).get("spec")
        for change in outcome.changes
        if change.identity == context.own and change.by is not None and change.before and change.after
    )


def _many_revisions(context: Context) -> Iterator[Case]:
    """Somebody changes a text again and again. Of the revisions that stay for a way back, old ones must go."""
    if not any(identity.kind in REVISIONS for identity in context.children()):
        return
    for _, other in context.changed(edges=False):
        found = changes(context.sample.get("spec"), other.get("spec"))
        texts = [(path, value) for path, _, value in found if isinstance(value, str)]
        once = context.undisturbed(context.create, Step(Verb.REPLACE, other))
        if len(texts) == len(found) == 1 and len(once.states) > 1 and _revisions(once):
            [(path, text)] = texts
            steps = [context.create]
            for number in range(_MANY):
                manifest = copy.deepcopy(context.sample)
                put(manifest, ("spec", *path), f"{text}{number}")
                note = f"{spell(('spec', *path))} = {shorten(f'{text}{number}')}"
                steps.append(Step(Verb.REPLACE, manifest, note=note))
            yield Case(codes.HISTORY, History(tuple(steps)), _pruned)
            return


def _revisions(outcome: Outcome) -> list[Identity]:
    """The old revisions that are there in the end."""
    last = outcome.states[-1]
    return [each for each in sorted(last) if is_revision(each, last[each]) and each not in outcome.initial]


def _pruned(outcome: Outcome) -> Iterator[Violation]:
    """Whether not all of them stay."""
    if outcome.refused or not outcome.at_rest or len(left := _revisions(outcome)) < _MANY:
        return
    message = f"{len(left)} {left[0].kind}s of former specs are left after {_MANY} changes: nobody deletes the oldest"
    found = Difference(left[0], "", None, outcome.states[-1][left[0]])
    yield Violation(message, place_of(outcome.creator_of(left[0])), (found,), ("revisions", left[0].kind))


_MANY = 12
"""Changes. A Deployment keeps 10 revisions by default."""


def _put_right(context: Context) -> Iterator[Case]:
    """Workloads cannot become ready for a time: somebody wants an image that is nowhere, or a quota is used up."""
    right = Step(Verb.REPLACE, context.sample)
    for path, other in list(_broken(context))[:_MOST_BROKEN]:
        what = f"after `{path}` was put right, with which no pod becomes ready"
        judge = same_end(context, context.base, what, is_alone=False, is_new=True)  # a Job can only be made again
        wrong = Step(Verb.REPLACE, other, note=path)
        yield Case(codes.HISTORY, History((replace(wrong, verb=Verb.CREATE), right)), judge)
        yield Case(codes.HISTORY, History((context.create, wrong, right)), judge)
        # An operator that waits in its reconcile does not rest before.
        yield Case(codes.HISTORY, History((context.create, replace(wrong, soon=True), right)), judge)
    if any(identity.kind in MAKES_PODS for identity in context.children()):
        quota = {**_QUOTA, "metadata": {**_QUOTA["metadata"], "namespace": _namespace_of_pods(context)}}
        steps = (Step(Verb.CREATE, quota, note="no pods"), context.create, Step(Verb.DELETE, quota))
        yield Case(codes.HISTORY, History(steps), same_end(context, context.base, "after a quota was there for a time"))


_QUOTA: Manifest = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-pods"},
    "spec": {"hard": {"pods": "0"}},
}
_MOST_BROKEN = 2
"""Fields of the sample without which no pod becomes ready."""


def _broken(context: Context) -> Iterator[tuple[str, Manifest]]:
    """Yield samples with which no workload becomes ready, each with a text: a text of the spec leads nowhere.

    It is one that is in the name of an image, in a probe or a storage class of a child.
    """
    own = context.base.states[0].get(context.own) or {}
    wanted = {need for identity in context.children() for need in needs(context.created(identity))}
    for path, value in leaves({"spec": own.get("spec")}):
        is_ours = not any(isinstance(step, int) for step in path) or path in dict(leaves(context.sample))
        if isinstance(value, str) and value and is_ours and any(value in need for need in wanted):
            other = copy.deepcopy(context.sample)
            put(other, path, f"{value}{NO_SUCH}")
            yield f"{spell(path)} = {shorten(f'{value}{NO_SUCH}')}", other


def _namespace_of_pods(context: Context) -> str:
    """The namespace of the first child that makes pods."""
    return next(each.namespace for each in context.children() if each.kind in MAKES_PODS)


def paused(context: Context, mark: Mark) -> Iterator[Case]:
    """The object has an annotation or a label for a time, which may let the operator leave it alone."""
    where = f"metadata.{mark.field}[{shorten(mark.key)}]"
    put_on, take_off = (
        Step(
            Verb.PATCH,
            {**context.own.manifest, "metadata": {**context.own.manifest["metadata"], mark.field: {mark.key: value}}},
            note=f"{where} = {shorten(value)}" if value is not None else f"no {where}",
        )
        for value in (mark.value, None)
    )
    metadata = context.sample["metadata"]
    marked = {**metadata, mark.field: {**(metadata.get(mark.field) or {}), mark.key: mark.value}}
    born = Step(Verb.CREATE, {**context.sample, "metadata": marked}, note=put_on.note)
    lost = [Step(Verb.DELETE, child.manifest) for child in context.children()[:1]]
    for steps in ((context.create, put_on, *context.replaced(), *lost, take_off), (born, take_off)):
        yield Case(codes.HISTORY, History(steps), _resumes(context, steps))
    steps = (context.create, put_on, context.delete, take_off)
    yield Case(codes.LEAK, History(steps), _lets_go(context), hinders=True)


def _resumes(context: Context, steps: Sequence[Step]) -> Verdict:
    """A verdict: an operator that left the object alone because of a mark does the rest when the mark is gone."""
    own = context.own
    marking = [number for number, step in enumerate(steps) if _is_marked(context, step)]
    unmarked = [context.create if step.verb is Verb.CREATE else step for step in steps]
    expected = context.undisturbed(*(step for step in unmarked if not _is_marked(context, step)))
    what = f"after `{steps[-1].note.removeprefix('no ')}` was there for a time"

    def undone(outcome: Outcome, state: State) -> tuple[Difference, ...]:
        """What is missing, or as it was before the mark."""
        usual = expected.states[-1]
        before = outcome.states[0] if marking[0] else {}
        were = {(each.identity, each.path): each.found for each in differences(usual, before)}
        every = context.compare(usual, state, outcome=outcome, of=expected)
        return tuple(each for each in every if each.found is None or were.get((each.identity, each.path)) == each.found)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if len(marking) < 2 or outcome.refused or expected.refused or len(outcome.began) < len(steps):
            return
        since, until = outcome.began[marking[0]], outcome.began[marking[-1]]
        meanwhile = [change for change in outcome.changes if change.by is not None and since <= change.at < until]
        if any(change.identity != own and not change.identity.is_record for change in meanwhile):
            return  # the mark means something else
        if not outcome.at_rest:
            yield from _ends(what)(outcome)
            return
        found = undone(outcome, outcome.states[-1])
        if found and not context.comes_right(outcome, undone):
            yield Violation(f"{found[0]} {what}", place_among(found, outcome, expected), found, cause_of(found))

    return Verdict(judge, _resumes)


def _is_marked(context: Context, step: Step) -> bool:
    """Whether a step puts an annotation or a label on the object, or takes it off."""
    metadata, usual = step.manifest["metadata"], context.sample["metadata"]
    is_it = step.verb in (Verb.PATCH, Verb.CREATE) and Identity.of(step.manifest).key == context.own.key
    return is_it and any(metadata.get(field, usual.get(field)) != usual.get(field) for field in MARKED)


def _lets_go(context: Context) -> Verdict:
    """A verdict: an object that was deleted while it had a mark goes at last when the mark is gone."""
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if len(outcome.states) > 1 and all(own in state for state in outcome.states[-2:]):
            yield from _never_let_go(context, outcome, own, " after it was deleted with a mark")

    return Verdict(judge, lambda other, _: _lets_go(other))


def _ends(when: str) -> Verdict:
    """A verdict: the operator comes to rest."""
    return by_itself(lambda outcome: () if outcome.at_rest else (restless(outcome, when),))


def upgrade(context: Context) -> Iterator[Case]:
    """An earlier version of the operator worked before, and stopped at any moment."""
    earlier = context.subject.earlier
    life = earlier.life_of(context.sample) if earlier is not None else None
    if earlier is None or life is None:
        return
    what = f"after {earlier.before}"
    *working, end = (
        Takeover(earlier.name, name_of(Identity.of(life.sample)), moment.write, moment.what, earlier.is_recorded)
        for moment in life.records[0].moments
    )
    unchanged = Step(Verb.REWRITE, Identity.of(context.sample).manifest)
    if dropped := _dropped(context, earlier.crds):
        yield Case(codes.UPGRADE, History((unchanged,), after=end), lambda _: (dropped,))
        return
    steps = (unchanged, context.delete)
    judge = _continues(context, what)
    for start in (end, *working):
        yield Case(codes.UPGRADE, History(steps, after=start), judge)
    if life.sample != context.sample and life.sample["apiVersion"] == context.sample["apiVersion"]:
        applied = Step(Verb.REPLACE, context.sample, note="the sample of today")
        steps = (applied, context.delete)
        yield Case(codes.UPGRADE, History(steps, after=end), judge)


def _dropped(context: Context, crds: Sequence[Manifest]) -> Violation | None:
    """Whether today's definition lacks the version in which the objects of then are stored.

    Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    today = context.definition
    then = next((crd for crd in crds if today and crd["metadata"]["name"] == today["metadata"]["name"]), None)
    if today is None or then is None:
        return None
    stored = next(version["name"] for version in then["spec"]["versions"] if version.get("storage"))
    if any(version["name"] == stored for version in today["spec"]["versions"]):
        return None
    message = f"the API server refuses today's definition of {context.own.kind}: objects are stored in {stored}"
    place = context.subject.places.get(Identity.of(context.sample))
    return Violation(f"{message}, which it lacks", place, (), ("dropped", stored))


def _continues(context: Context, what: str) -> Verdict:
    """A verdict: today's operator ends in the same states as if it had made everything, from the sample of then."""
    earlier, own = context.subject.earlier, context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        history = outcome.history
        if earlier is None or history is None or history.after is None:
            return
        first, *rest = history.steps
        applied = first.manifest if first.verb is Verb.REPLACE else earlier.life_before(history.after).sample
        expected = context.undisturbed(Step(Verb.CREATE, applied), *rest)
        counts = _kept_right(context, expected) if earlier.is_recorded else _lasting(expected)
        same = same_states(context, expected, what, counts=counts)
        for why in [why for _, why in outcome.refused if not why.endswith("404)")][:1]:
            message = f"the API server refuses {own} as it is {what}: {why}"
            yield Violation(message, context.subject.places.get(Identity.of(context.sample)), (), ("refused",), steps=1)
            return
        if expected.refused:
            return  # nobody can create it today
        violations = list(same(outcome))
        for violation in violations:
            if violation.found and violation.found[0].identity == own and not violation.found[0].path:
                message = f"{own} is never let go {what}: a finalizer stays"
                yield replace(violation, message=message, place=_holding(outcome), cause=("finalizer",))
            else:
                yield replace(violation, place=violation.place or _writer_of_kind(violation.found, context.base))
        if not violations and not expected.failures and (failure := last_failure(outcome, 1)):
            message = f"each reconcile fails {what}: {failure.kind}: {failure.message}"
            yield Violation(message, failure.place, (), ("fails", failure.kind, failure.place), steps=1)

    return Verdict(judge, lambda other, _: _continues(other, what))


def last_failure(outcome: Outcome, step: int) -> Failure | None:
    """How the last reconcile until the end of a step failed; ``None`` if it did not."""
    _, end = outcome.time_of(step)
    ended = [at for at in outcome.reconciles if at < end]
    failed = [failure for failure in outcome.failures if failure.at < end]
    return failed[-1] if failed and ended and failed[-1].at >= ended[-1] else None


def _lasting(expected: Outcome) -> Callable[[Difference], bool]:
    """Which differences must not stay. The other samples, and what belongs to them, are no part of the comparison.

    Jobs and pods have done their work, if the cluster deletes them with the object, and an old finalizer may go at the
    deletion.
    """

    def matters(difference: Difference) -> bool:
        identity, left_over = difference.identity, difference.found or {}
        is_over = identity.kind in WORK or difference.path == "metadata.finalizers"
        if not difference.path:
            is_over = is_done(identity, left_over) and "ownerReferences" in left_over["metadata"]
        return identity not in expected.initial and not is_over

    return matters


def _kept_right(context: Context, expected: Outcome) -> Callable[[Difference], bool]:
    """Which differences from a cluster's objects matter. In a cluster, others act, too, and more is made over time.

    What the operator always makes must be there, with the values that it always writes. Without an owner, what it made
    cannot be told from what is somebody else's.
    """
    written = {
        identity: [spell(path) for path, _ in _contents(context, identity) if not context.is_random(identity, path)]
        for identity in context.children()
    }

    def matters(difference: Difference) -> bool:
        identity, path = difference.identity, difference.path
        if not path:
            return identity == context.own or (difference.found is None and identity not in expected.initial)
        if identity.is_secret or identity.kind in WORK or difference.expected is None:
            return False
        is_written = any(f"{each}.".startswith((f"{path}.", f"{path}[")) for each in written.get(identity, ()))
        return is_written and not _has_all(difference.found, difference.expected)

    return matters


def _has_all(found: Any, expected: Any) -> bool:
    """Whether a value has all parts of another one. A cluster adds defaults, and webhooks add containers."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return all(name in found and _has_all(found[name], value) for name, value in expected.items())
    if isinstance(found, list) and isinstance(expected, list):
        return all(any(_has_all(one, value) for one in found) for value in expected)
    return bool(found == expected)


def _contents(context: Context, identity: Identity) -> Iterator[tuple[Path, Any]]:
    """The values of a child that the operator writes."""
    made = context.created(identity)
    return leaves({name: made[name] for name in _CONTENT if name in made})


def _writer_of_kind(found: Sequence[Difference], base: Outcome) -> Span | None:
    """Where today's operator writes objects of a kind."""
    kinds = [difference.identity.kind for difference in found]
    writes = (each.by for each in reversed(base.changes) if each.by is not None and each.identity.kind in kinds)
    return next((sent.place for sent in writes if sent.place), None)


def drift(context: Context) -> Iterator[Case]:
    """Somebody changes or deletes what the operator made."""
    for identity in context.children():
        if context.is_owned(identity):
            yield one_after_the_other(context, list(_drifts(context, identity)))
        else:  # it may come back only hours later
            yield from _drifts(context, identity)
    for source in context.sources()[:_MOST_SOURCES]:
        yield from _followed(context, source)
    for other in context.others()[:_MOST_SOURCES]:
        yield from _beside_changing(context, other)
    yield from _freed(context)


def _beside_changing(context: Context, other: Manifest) -> Iterator[Case]:
    """Another sample, which may name this one or be named by it, comes only later, or changes."""
    identity = Identity.of(other)
    late = (Step(Verb.DELETE, other), context.create, Step(Verb.CREATE, other))
    judge = _follows(context, other, context.base, f"when {identity} came late", of_sample=True)
    yield Case(codes.DRIFT, History(late), judge)
    schema = schema_of(context.subject.crds, other)
    for note, changed in spread(list(variants(schema, other, edges=False)), _MOST_CHANGES):
        change = Step(Verb.REPLACE, changed, note=note)
        expected = context.undisturbed(change, context.create)
        if not expected.refused and not unfitness(expected):
            judge = _follows(context, other, expected, f"after the change of {identity}", of_sample=True)
            yield Case(codes.DRIFT, History((context.create, change)), judge)


def _freed(context: Context) -> Iterator[Case]:
    """Another object of the kind came first, and goes: the sample may have waited for what that one had."""
    another = _create_another(context)
    steps = (another, context.create, Step(Verb.DELETE, another.manifest))
    what = f"after another {context.own.kind}, which came first, has gone"
    remedy = f"when one goes, wake the others: `.watches({context.own.kind}, others)`, or look again after a while"
    judge = _follows(context, another.manifest, context.base, what, remedy=remedy)
    yield Case(codes.DRIFT, History(steps), lambda outcome: filter(_lacks, judge(outcome)))


def _lacks(violation: Violation) -> bool:
    """Whether more is wrong than what an object leaves behind that has gone."""
    return not violation.found or any(each.path or each.found is None for each in violation.found)


def _followed(context: Context, source: Manifest) -> Iterator[Case]:
    """Somebody changes an object that the operator reads, or creates it only after the sample."""
    identity = Identity.of(source)
    late = (Step(Verb.DELETE, source), context.create, Step(Verb.CREATE, source))
    if not (source.get("status") or source["metadata"].get("uid")):  # nobody can create a recorded object as it was
        yield Case(codes.DRIFT, History(late), _follows(context, source, context.base, f"when {identity} came late"))
    changed = copy.deepcopy({name: source[name] for name in _CONTENT if name in source})
    for path, value in list(leaves(changed))[:_MOST_FIELDS]:
        put(changed, path, another(identity.kind, path, value))
    changes = [(", ".join(changed), changed, "")] if changed else []
    for note, patch, remedy in (*changes, *_fewer(source)):
        change = Step(Verb.PATCH, _merged(identity.manifest, patch), note=note)
        expected = context.undisturbed(change, context.create)
        if expected.refused or not unfitness(expected):
            judge = _follows(context, source, expected, f"after the change of {identity}", remedy=remedy)
            yield Case(codes.DRIFT, History((context.create, change)), judge)


def _fewer(source: Manifest) -> Iterator[tuple[str, Manifest, str]]:
    """Yield patches by which an object loses its last label or annotation, each with a text about it, and a remedy."""
    remedy = "what an object has lost must go from the copy, too: watch it, and set all labels that are yours each time"
    for name in ("labels", "annotations"):
        for path in [("metadata", name, key) for key in sorted(source["metadata"].get(name) or ())][-1:]:
            yield f"no {spell(path)}", patch_of(source, path, None), remedy


def _follows(
    context: Context, source: Manifest, expected: Outcome, what: str, *, of_sample: bool = False, remedy: str = ""
) -> Judge:
    """A verdict: the same end as in another run, at once or when the operator looks again in some hours.

    Args:
        context: The sample.
        source: What has changed.
        expected: The other run.
        what: What happened.
        of_sample: Whether only the sample and its children count: the operator works on the other one, too.
        remedy: See :class:`Violation`.
    """
    identity = Identity.of(source)
    wanted = expected.states[-1]
    own = {context.own, *context.children()}

    def unlike(outcome: Outcome, state: State) -> tuple[Difference, ...]:
        versions = [_last_version(run, identity) for run in (expected, outcome)]
        every = context.compare_with_new(wanted, state, outcome=outcome, of=expected)
        counted = (each for each in every if not of_sample or each.identity in own)
        return tuple(each for each in counted if [str(each.expected), str(each.found)] != versions)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused or not outcome.at_rest:
            yield from _ends(what)(outcome) if not outcome.refused else ()
            return
        found = unlike(outcome, outcome.states[-1])
        # An error that everybody sees may wait for the next resync, if the controller tries it no more often.
        if found and not context.comes_right(outcome, unlike, after=DAY_SECONDS if outcome.fails else IDLE_SECONDS):
            place = place_among(found, outcome, expected)
            yield Violation(f"{found[0]} {what}", place, found, (what, identity.kind), remedy=remedy)

    return judge


def _last_version(outcome: Outcome, identity: Identity) -> str:
    """The ``resourceVersion`` that an object has in the end. Operators note it."""
    return next((str(change.version) for change in reversed(outcome.changes) if change.identity == identity), "")


def _drifts(context: Context, identity: Identity) -> Iterator[Case]:
    lost = Step(Verb.DELETE, identity.manifest)
    yield Case(codes.DRIFT, History((context.create, lost)), comes_back(context, "deletion"))
    made = context.created(identity)
    for path, value in _owned(made):
        if context.is_random(identity, path):
            continue
        step, undo = (
            Step(Verb.PATCH, _merged(identity.manifest, patch_of(made, path, each)), note=spell(path))
            for each in (another(identity.kind, path, value), value)
        )
        judge = comes_back(context, f"change of `{spell(path)}`", cause=(identity.kind, "changed"), undo=(step, undo))
        yield Case(codes.DRIFT, History((context.create, step)), judge)


def _merged(manifest: Manifest, change: Manifest) -> Manifest:
    """A patch of an object, which it names."""
    return {**manifest, **change, "metadata": {**change.get("metadata", {}), **manifest["metadata"]}}


def leak(context: Context) -> Iterator[Case]:
    """The object is deleted at any moment."""
    judge = _nothing_left(context)
    yield Case(codes.LEAK, History((context.create, context.delete)), judge)
    for sent in context.base.writes:
        if sent.status >= HTTPStatus.BAD_REQUEST or not _step_of(sent, context.base):
            continue  # nobody acts after a write that was refused, nor is there anything to delete at the start
        steps = (context.create, Step(Verb.DELETE, context.sample, after_write=sent.write))
        yield Case(codes.LEAK, History(steps), judge)
        if not sent.is_of_kopf:  # the next process learns of the object only when it goes
            yield Case(codes.LEAK, History(steps, Fault(FaultKind.CRASH_AFTER, sent.number)), judge)
    for other in context.others()[:_MOST_SOURCES]:  # the clean-up may need what has gone
        yield Case(codes.LEAK, History((context.create, Step(Verb.DELETE, other), context.delete)), _goes(context))


def _nothing_left(context: Context) -> Verdict:
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            yield restless(outcome, "after the deletion")
            return
        left = outcome.states[-1]
        if own in left:
            yield from _never_let_go(context, outcome, own)
            return
        if taken := _taken(outcome, since=0):
            message = f"{taken.identity}, which was there before, is deleted with {own}"
            missing = (Difference(taken.identity, "", {}, None),)
            yield Violation(message, place_of(taken.by), missing, cause_of(missing))
            return
        for found in context.compare(outcome.initial, left):
            maker = outcome.creator_of(found.identity) or outcome.spoiler_of(found) or outcome.maker_of(found.identity)
            if maker is not None:
                message, remedy = f"{found} after the deletion", _SHARED if found.identity in outcome.initial else ""
                yield Violation(message, maker.place, (found,), (found.identity.kind,), remedy=remedy)

    return Verdict(judge, lambda other, _: _nothing_left(other))


def _goes(context: Context) -> Verdict:
    """A verdict: nothing holds an object that was deleted."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.at_rest and len(outcome.states) > 2:
            yield from _never_let_go(context, outcome, context.own)

    return Verdict(judge, lambda other, _: _goes(other))


def _never_let_go(context: Context, outcome: Outcome, deleted: Identity, when: str = "") -> Iterator[Violation]:
    """Whether an object that was deleted stays, also when the other samples have gone: they may have used it."""
    obj = outcome.states[-1].get(deleted) if outcome.states else None
    if outcome.history is None or obj is None or "deletionTimestamp" not in obj["metadata"]:
        return
    if others := outcome.history.background:
        steps = (*outcome.history.steps, *(Step(Verb.DELETE, each) for each in others))
        last = context.run(replace(outcome.history, steps=steps))
        if last.at_rest and deleted not in last.states[-1]:
            return
        when += ", not even when the other samples have gone"
    message = f"{deleted} is never let go{when}: a finalizer stays"
    found = (Difference(deleted, "", None, obj),)
    yield Violation(message, _holding(outcome), found, ("finalizer",), remedy=_LET_GO)


_LET_GO = "let each clean-up end: what is gone is done, and what holds the object must wake the operator when it goes"


_SHARED = "the object was there before: change only what is yours in it, as one member of a list, and take that back"


def _taken(outcome: Outcome, *, since: int) -> Change | None:
    """What the operator deleted after the last step of that which was there since so many steps."""
    if outcome.history is None or not outcome.history.is_plain or len(outcome.began) <= since:
        return None
    there = outcome.states[since - 1] if since else outcome.initial
    newer = [change for change in outcome.changes if change.at >= outcome.began[since]]
    made = {change.identity for change in newer if change.before is None and change.at < outcome.began[-1]}
    gone = (each for each in newer if each.at >= outcome.began[-1] and each.after is None and each.by is not None)
    return next((change for change in gone if change.identity in there and change.identity not in made), None)


def theft(context: Context) -> Iterator[Case]:
    """What is somebody else's: an object of a child's name, another object of the kind, a note on a child."""
    yield from _beside_another(context)
    yield from _beside_namesake(context)
    yield from _at_once(context)
    yield from _noted(context)
    yield from _held(context)
    for identity in context.children():
        # Soon after it, the object is created: the name of a child may say at what time that was.
        steps = (_somebody_elses(context, identity), context.create, context.delete)
        yield Case(codes.THEFT, History(steps), _stays_as_it_is(context, identity), hinders=True)
    yield from _unwanted(context)


def _unwanted(context: Context) -> Iterator[Case]:
    """Another spec does without a child, whose name somebody else's object has: it is none of the operator's."""
    left = context.children()
    for path, other in sorted(context.changed(edges=False), key=lambda each: _wants(each[1]))[:_MOST_LESSER]:
        if not left:
            return
        without = context.with_sample(other, path)
        if without.base.refused or unfitness(without.base):
            continue
        unwanted = [identity for identity in left if identity not in without.base.states[0]]
        left = [identity for identity in left if identity not in unwanted]
        for identity in unwanted:
            steps = (_somebody_elses(context, identity), without.create, without.delete)
            yield about(Case(codes.THEFT, History(steps), _stays_as_it_is(without, identity), hinders=True), without)


def _wants(sample: Manifest) -> int:
    """How much a spec has: a child goes when a field is left out, empty, 0 or false."""
    return sum(bool(value) for _, value in leaves(sample.get("spec")))


def _stays_as_it_is(context: Context, identity: Identity) -> Verdict:
    """A verdict: what somebody else has created with the name of a child is not touched, and the operator says so."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        foreign, *_ = outcome.history.steps if outcome.history is not None else (None,)
        if outcome.refused or foreign is None or Identity.of(foreign.manifest) != identity:
            return  # nobody else can have it
        for change in outcome.changes:
            if change.identity == identity and change.by is not None and not change.is_own_work:
                verb = "changed" if change.after else "deleted"
                place = change.by.place
                message = f"{identity} of somebody else is {verb}"
                early = None if change.at >= outcome.began[-1] else 2  # the deletion does not matter
                yield Violation(message, place, (), (verb, identity.kind, place), steps=early)
                return
        if outcome.states and not _is_said(context, outcome) and _is_wanted(context, identity, foreign):
            place = place_of(context.base.maker_of(identity))
            message = f"{identity} is somebody else's, and neither an event nor the status says so"
            yield Violation(message, place, (), ("said", identity.kind))

    return Verdict(judge, lambda other, _: _stays_as_it_is(other, identity))


def _beside_another(context: Context) -> Iterator[Case]:
    """Another object of the kind comes and goes, with the same spec."""
    another = _create_another(context)
    steps = (context.create, another, Step(Verb.DELETE, another.manifest))
    yield Case(codes.THEFT, History(steps), _apart(context, f"after another {context.own.kind} came and went"))


def _apart(context: Context, what: str) -> Verdict:
    """A verdict: another object has children of its own, and takes nothing along when it goes."""
    nothing_taken = _nothing_taken(context, what)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        wrong = _takeover(context, outcome) or _collision(context, outcome) or _mixed_up(context, outcome)
        yield from nothing_taken(outcome) if wrong is None else (wrong,)

    return Verdict(judge, lambda other, _: _apart(other, what))


def _takeover(context: Context, outcome: Outcome) -> Violation | None:
    """Whether a second object gets a child of the first one, whatever the operator says of that."""
    if outcome.history is None or len(outcome.states) < 2:
        return None
    owners = [context.own.name, _other_than(context.own).name]
    one, two = outcome.states[:2]
    for change in outcome.changes:
        identity, before, after = change.identity, change.before, change.after
        if change.by is None or not (before and after and identity in one and identity in two):
            continue
        if [found and found.name for found in (controller_of(read(each)) for each in (before, after))] == owners:
            message = f"{identity} of {context.own} is taken by {_other_than(context.own)}"
            found = context.compare({identity: one[identity]}, {identity: two[identity]})
            return Violation(message, change.by.place, found, cause_of(found), steps=2)
    return None


def _collision(context: Context, outcome: Outcome) -> Violation | None:
    """Whether the operator refuses a second object only because of its name. It may refuse a second one of a spec."""
    if outcome.history is None or len(outcome.states) < 2 or outcome.refused:
        return None
    second = context.own._replace(name=outcome.history.steps[1].manifest["metadata"]["name"])
    free = context.own._replace(name=f"other-{context.own.name}")
    if not (context.children() and _has_trouble(context, outcome, second)):
        return None
    create = {**context.sample, "metadata": {**context.sample["metadata"], "name": free.name}}
    beside = context.undisturbed(context.create, Step(Verb.CREATE, create))
    if beside.refused or len(beside.states) < 2 or _has_trouble(context, beside, free):
        return None
    message = f"{second} is refused beside {context.own}, and {free} is not: the names of their children are the same"
    place = place_of(context.base.maker_of(context.children()[0]))
    return Violation(message, place, (), ("names", place), steps=2)


def _has_trouble(context: Context, outcome: Outcome, second: Identity) -> bool:
    """Whether the operator fails for an object that came second, or says that it refuses it."""
    return last_failure(outcome, 2) is not None or is_refused(outcome, second, 2, context.base)


def _mixed_up(context: Context, outcome: Outcome) -> Violation | None:
    """Whether a child selects the pods of a second object as well."""
    if len(outcome.states) < 2 or outcome.refused:
        return None
    alone, both = outcome.states[:2]
    found = next(mixed_up(context.children(), alone, both, context.sample), None)
    if found is None:
        return None
    (child, selector), place = found, place_of(context.base.maker_of(found[0]))
    message = f"{child} of {context.own} selects the pods of {_other_than(context.own)}, too: `{selector}`"
    remedy = f"give the pods of each {context.own.kind} a label with its name, and select them by it"
    return Violation(message, place, (), ("selects", place), steps=2, remedy=remedy)


def _as_alone(context: Context, what: str) -> Verdict:
    """A verdict: the same end as of the sample alone, after other objects of its kind have gone."""
    same = same_end(context, context.base, what, is_alone=False)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        steps = outcome.history.steps if outcome.history is not None else ()
        # A simpler history may lack the deletion.
        if deleted := [Identity.of(step.manifest) for step in steps if step.verb is Verb.DELETE]:
            yield from list(_never_let_go(context, outcome, deleted[-1], f" {what}")) or same(outcome)

    return Verdict(judge, lambda other, _: _as_alone(other, what))


def _create_another(context: Context) -> Step:
    """Creates another object of the kind, with the same spec."""
    return Step(Verb.CREATE, _renamed(context.sample))


def _renamed(sample: Manifest) -> Manifest:
    """Another object of the kind, with the same spec."""
    return {**sample, "metadata": {**sample["metadata"], "name": _other_than(Identity.of(sample)).name}}


def _other_than(identity: Identity) -> Identity:
    """The identity of another object of the kind."""
    return identity._replace(name=f"{identity.name}-2")


def _beside_namesake(context: Context) -> Iterator[Case]:
    """Another object with the same name comes and goes in a second namespace, after the first one or before it."""
    sample = context.sample
    if not sample["metadata"].get("namespace") or context.subject.namespaces:
        return  # there is but one of a name, or the operator does not look there
    change = context.smaller()
    spec = change.manifest if change is not None else sample
    namesake, other = (_placed(each, SECOND_NAMESPACE) for each in (spec, _renamed(spec)))
    come, go = Step(Verb.CREATE, namesake), Step(Verb.DELETE, namesake)
    what = f"after another {sample['kind']} came and went in another namespace"

    def all_made(outcome: Outcome) -> Iterator[Violation]:
        expected = context.undisturbed(Step(Verb.CREATE, other), context.create, Step(Verb.DELETE, other))
        same = same_end(context, _without_left_over(context, expected), what, is_alone=False)
        if not _is_said(context, outcome, step=2):  # the name of a child may be taken
            yield from list(_never_let_go(context, outcome, Identity.of(namesake), f" {what}")) or same(outcome)

    yield Case(codes.THEFT, History((context.create, come, go)), _nothing_taken(context, what))
    yield Case(codes.THEFT, History((come, context.create, go)), all_made)


def _nothing_taken(context: Context, what: str) -> Verdict:
    """A verdict: nothing of the first object goes with the one that goes last, and the end is as without that one."""
    same = _as_alone(context, what)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.history is not None and outcome.states and (taken := _taken(outcome, since=1)):
            gone = Identity.of(outcome.history.steps[-1].manifest)
            message = f"{taken.identity} is deleted with {gone}, which is another one"
            cause = ("deleted", taken.identity.kind, place_of(taken.by))
            yield Violation(message, place_of(taken.by), (), cause, by=taken.by)
        else:
            yield from same(outcome)

    return Verdict(judge, lambda other, _: _nothing_taken(other, what))


def _without_left_over(context: Context, expected: Outcome) -> Outcome:
    """A run in which nothing is left of what was made in the first step: under another name, it would be missing."""
    if not expected.states:
        return expected
    left_over = {*expected.states[0]} - {*context.base.states[-1]}
    last = {identity: state for identity, state in expected.states[-1].items() if identity not in left_over}
    return replace(expected, states=[*expected.states[:-1], last])


def _at_once(context: Context) -> Iterator[Case]:
    """Another object of the kind changes at the same time."""
    first = context.smaller()
    if first is None:
        return
    create, second = _create_another(context), replace(first, manifest=_renamed(first.manifest))
    steps = (context.create, create, replace(first, together=True), second)
    expected = context.run(History(_in_order(steps)))
    if expected.refused or not unfitness(expected):  # or the two do not bear each other, and the operator may say so
        what = f"when another {first.manifest['kind']} changes at the same time"
        yield Case(codes.THEFT, History(steps), _as_in_order(context, expected, steps, what))


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps at almost the same time: an operator may act by the clock."""
    return tuple(replace(step, together=False, soon=step.soon or step.together) for step in steps)


def _as_in_order(context: Context, expected: Outcome, steps: Sequence[Step], what: str) -> Verdict:
    """A verdict: the same end as if what is done at one moment were done one after the other.

    If two objects want the same child, either of them may get it. The other one must say so.
    """
    same = same_end(context, expected, what, is_alone=False)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        violations = list(same(outcome))
        if violations and _is_said_of_one(context, outcome):
            exchanged = context.run(History(_in_order(_exchanged(steps))))
            violations = list(same_end(context, exchanged, what, is_alone=False)(outcome))
        yield from violations

    def again(other: Context, fewer: Sequence[Step]) -> Verdict:
        return _as_in_order(other, other.run(History(_in_order(fewer))), fewer, what)

    return Verdict(judge, again)


def _exchanged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps, with each one that is taken together with the next one after it."""
    every = list(steps)
    for index, step in enumerate(steps[:-1]):
        if step.together:
            every[index : index + 2] = replace(steps[index + 1], together=True), replace(step, together=False)
    return tuple(every)


def _noted(context: Context) -> Iterator[Case]:
    """Somebody annotates a child."""
    replaced = context.replaced()
    for identity in context.children()[:_MOST_NOTED]:
        note = {**identity.manifest, "metadata": {**identity.manifest["metadata"], "annotations": _NOTE}}
        steps = (context.create, Step(Verb.PATCH, note, note="metadata.annotations"), *replaced)
        yield Case(codes.THEFT, History(steps), _keeps_note(identity))


def _keeps_note(identity: Identity) -> Verdict:
    """A verdict: an annotation on a child stays."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        is_new = any(change.identity == identity and change.after is None for change in outcome.changes)
        child = outcome.states[-1].get(identity) if outcome.states else None
        if outcome.refused or is_new or child is None or not _is_done(outcome, Verb.PATCH, identity):
            return
        if not _NOTE.items() <= (child["metadata"].get("annotations") or {}).items():
            message = f"an annotation of somebody else on {identity} is removed"
            yield Violation(message, place_of(outcome.maker_of(identity)), (), ("note", identity.kind))

    return by_itself(judge)


def _held(context: Context) -> Iterator[Case]:
    """Somebody else has a finalizer on the object, and it is deleted."""
    own, metadata = context.own, context.sample["metadata"]
    held = {**context.sample, "metadata": {**metadata, "finalizers": [*(metadata.get("finalizers") or ()), _HOLD]}}

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for change in outcome.changes:
            if change.identity != own:
                continue
            left = read(change.after)["metadata"].get("finalizers") or () if change.after else ()
            if _HOLD in left or change.by is None or change.by.is_of_kopf:
                continue  # nobody but the operator removes it
            place = change.by.place
            message = f"the finalizer of somebody else on {own} is removed"
            yield Violation(message, place, (), ("finalizer", place), by=change.by)
            return

    steps = (Step(Verb.CREATE, held, note="metadata.finalizers"), context.delete)
    yield Case(codes.THEFT, History(steps), by_itself(judge), hinders=True)


def _is_done(outcome: Outcome, verb: Verb, identity: Identity) -> bool:
    """Whether somebody does this to an object in a history."""
    steps = outcome.history.steps if outcome.history is not None else ()
    return any(step.verb is verb and Identity.of(step.manifest) == identity for step in steps)


def loop(context: Context) -> Iterator[Case]:
    """Nothing happens for hours. The children are ready, or have failed."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            webhooks = (path for path, number in outcome.remade.items() if number >= _OFTEN_REMADE)
            if place := next((outcome.defaulters[path] for path in webhooks if path in outcome.defaulters), None):
                message = "the webhook changes an object again with each update: it is not idempotent"
                yield Violation(message, place, (), ("defaulter", place), remedy=_FILL_IN)
            else:
                yield restless(outcome, "though nobody else does anything")
            return
        if sent := outcome.repeated:
            message = f"the operator writes for ever, though nothing has changed: it {sent}"
            yield Violation(message, sent.place, (), ("restless", sent.place), by=sent)
            return
        late = [moment for moment in outcome.reconciles if moment > outcome.rested_at]
        if len(late) > MOST_RECONCILES:
            took = late[-1] - outcome.rested_at
            message = f"{len(late)} reconciles in {took:.0f} seconds, though nothing has changed"
            yield Violation(message, outcome.unrest_at, (), ("reconciles",))

    yield Case(codes.LOOP, History((context.create,), idle=IDLE_SECONDS), by_itself(judge))
    if _workloads(context):
        yield Case(
            codes.LOOP,
            History((context.create,), Fault(FaultKind.FAIL, seconds=_WORKLOADS_LATE_SECONDS), IDLE_SECONDS),
            by_itself(judge),
            hinders=True,
        )
    for identity in context.children():
        if identity.kind == "Job" and context.created(identity)["spec"].get("ttlSecondsAfterFinished") is not None:
            history = History((context.create, Step(Verb.DELETE, identity.manifest)))
            yield Case(codes.LOOP, history, by_itself(partial(_runs_again, identity)))
    yield from defaulted(context)


_FILL_IN = "a default is for a field that has no value: leave one that is there, as the webhook may have set it before"


def _runs_again(identity: Identity, outcome: Outcome) -> Iterator[Violation]:
    """Whether the operator makes a Job again that has run. The cluster deletes it each time, as its spec wants."""
    if len(outcome.states) < 2 or not is_done(identity, outcome.states[0].get(identity, {})):
        return
    later = [change for change in outcome.changes if change.at >= outcome.began[1] and change.identity == identity]
    made = next((each.by for each in later if each.before is None and each.by is not None), None)
    if made is not None:
        message = f"{identity} runs again each time the cluster deletes it by its `ttlSecondsAfterFinished`"
        yield Violation(message, made.place, (), ("runs again", made.place), by=made)


def bug(context: Context) -> Iterator[Case]:
    """Valid specs at the edges of the schema, and back to the sample. The sample itself, if it shows an error."""
    if first_bug(context.base):
        yield Case(codes.BUG, History((context.create,)), _without_bugs((context.create,)))
    for path, other in context.changed(edges=True):
        yield without_way_back(context, path, other)
    yield from converted_edges(context)
    for source in context.sources()[:_MOST_SOURCES]:
        yield from _without(context, source)


def without_way_back(context: Context, path: str, other: Manifest) -> Case:
    """The object has another spec from the beginning, and then that of the sample."""
    steps = (Step(Verb.CREATE, other, note=path), Step(Verb.REPLACE, context.sample))
    return Case(codes.BUG, History(steps), _leads_back(context, path))


def _leads_back(context: Context, path: str) -> Verdict:
    """A verdict: there is no error of programming for a spec, and the sample can be reached from it."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if failure := first_bug(outcome):
            yield bug_of(failure, f"`{path}`", steps=1 if failure.at < outcome.began[-1] else None)
            return
        if outcome.refused:
            return
        yield from _ends(f"with `{path}`")(outcome)
        if outcome.at_rest and len(outcome.states) > 1:
            base = context.base
            if _keeps_default(context, outcome, base.states[0], outcome.states[1]):
                return
            unlike_in = partial(_unlike, context, base)
            unlike = unlike_in(outcome, outcome.states[1])
            may_be = unlike and _is_left_alone(context, base, base, outcome, 2)
            if unlike and not may_be and not context.waits(outcome, 2, unlike_in):
                place = place_among(unlike, outcome, context.base)
                message = f"{unlike[0]}: no way back from `{path}`"
                yield Violation(message, place, unlike, cause_of(unlike))

    return Verdict(judge, lambda other, steps: _leads_back(other, steps[0].note))


def _without(context: Context, source: Manifest) -> Iterator[Case]:
    """An object that the operator reads is not there, or goes. Errors of the API server are right then."""
    gone, identity = Step(Verb.DELETE, source), Identity.of(source)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not _is_done(outcome, Verb.DELETE, identity):
            return
        if failure := first_bug(outcome):
            message = f"{failure.kind} without {identity}: {failure.message}"
            yield Violation(message, failure.place, (), (failure.kind, failure.place))
        elif not outcome.refused:
            yield from _ends(f"without {identity}")(outcome)

    yield Case(codes.BUG, History((context.create, gone)), by_itself(judge))
    yield Case(codes.BUG, History((gone, context.create)), by_itself(judge))


_KEYS = ("name", "key", "type", "ip", "port", "containerPort", "protocol", "mountPath", "devicePath", "topologyKey")
_CONTENT = ("spec", "data", "binaryData", "rules", "subjects", "webhooks")


def _owned(made: Manifest) -> Sequence[tuple[tuple[str | int, ...], Any]]:
    """Some values that the operator has set, spread over the object."""
    content = {name: made[name] for name in _CONTENT if name in made}
    # Without an owner reference, labels may be how the operator knows its objects.
    labels = made["metadata"].get("labels") if made["metadata"].get("ownerReferences") else None
    contents = [leaf for leaf in leaves(content) if not _is_key(leaf[0])]
    every = [*contents, *(leaves({"metadata": {"labels": labels}}) if labels else ())]
    return spread(every, _MOST_FIELDS)


def _is_key(path: tuple[str | int, ...]) -> bool:
    """Whether the API server tells elements of a list apart by this value. With another one, it is another element."""
    return len(path) > 1 and isinstance(path[-2], int) and path[-1] in _KEYS


def _workloads(context: Context) -> list[Identity]:
    return [identity for identity in context.children() if identity.kind in KINDS]


def _somebody_elses(context: Context, identity: Identity) -> Step:
    """Creates an object with the name of a child. If the API server refuses another content, with the same one."""
    made = context.created(identity)
    step = Step(Verb.CREATE, _foreign(made), soon=True)
    if context.undisturbed(replace(step, soon=False)).refused:
        return replace(step, manifest=_foreign(made, is_other=False))
    return step


def _foreign(made: Manifest, *, is_other: bool = True) -> Manifest:
    """An object of the same name that somebody else has made, with another content."""
    metadata = {name: made["metadata"][name] for name in ("name", "namespace") if name in made["metadata"]}
    content = {name: copy.deepcopy(value) for name, value in made.items() if name not in ("metadata", "status")}
    every = [leaf for leaf in leaves({name: content[name] for name in _CONTENT if name in content}) if leaf[0]]
    # A number can be changed everywhere. Texts refer to each other, mostly to those before them.
    for path, value in ([leaf for leaf in every if type(leaf[1]) is int][:1] or every[-1:]) if is_other else ():
        put(content, path, another(content["kind"], path, value))
    return {**content, "metadata": {**metadata, "labels": {"owner": "somebody-else"}}}


def _is_wanted(context: Context, identity: Identity, foreign: Step) -> bool:
    """Whether the operator makes a child of that name at that time, if it is free."""
    named = foreign.manifest["metadata"]
    beside = {**foreign.manifest, "metadata": {**named, "name": f"{named['name']}-other"}}
    free = context.undisturbed(replace(foreign, manifest=beside), context.create)
    return bool(free.refused) or identity in free.states[0]


def _is_said(context: Context, outcome: Outcome, step: int = 1) -> bool:
    """Whether an event warns, or the status is not that of success after a step."""
    if _warns(outcome):
        return True
    own = context.own
    after = outcome.states[step - 1] if len(outcome.states) >= step else {}
    normal, found = ({own: {"status": state.get(own, {}).get("status")}} for state in (context.base.states[0], after))
    return bool(differences(normal, found, context.ignore))


def _is_said_of_one(context: Context, outcome: Outcome) -> bool:
    """Whether an event warns, or two objects with the same spec have another status in the end. Names do not matter."""
    every = [(each, outcome.states[-1].get(each, {})) for each in (context.own, _other_than(context.own))]
    one, two = (repr(obj.get("status")).replace(each.name, "") for each, obj in every)
    return _warns(outcome) or one != two


def _warns(outcome: Outcome) -> bool:
    """Whether the operator makes an event that warns."""
    events = (each for each in outcome.changes if each.by is not None and each.identity.kind == "Event" and each.after)
    return any(read(each.after or b"{}").get("type") != "Normal" for each in events)


def _holding(outcome: Outcome) -> Span | None:
    """Where the clean-up fails, or else what set the finalizer."""
    failed = next((failure.place for failure in reversed(outcome.failures) if failure.place), None)
    return failed or next(
        (sent.place for sent in outcome.sent if sent.verb in ("patch", "update") and sent.place), None
    )


def stale(context: Context) -> Iterator[Case]:
    """The caches lag behind, or those of the next process do."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    for seconds in _LAGS_SECONDS:
        judge = _nothing_twice(context, expected)
        yield Case(codes.STALE, History(steps, Fault(FaultKind.LAG, seconds=seconds)), judge)
    lives = [(context.create, context.delete, context.create), steps[:-1]]
    if smaller := context.smaller():
        lives += [(context.create, smaller), (context.create, smaller, Step(Verb.REPLACE, context.sample))]
    for life in lives:
        yield from _behind(context, life)
    walk = context.walk(2)
    expected = context.undisturbed(*walk)
    row, end = _soon(context)
    for seconds in _LAGS_SECONDS:
        fault = Fault(FaultKind.LAG, seconds=seconds)
        yield Case(codes.STALE, History(walk, fault), _nothing_twice(context, expected))
        if row:
            yield Case(codes.STALE, History(row, fault), same_end(context, end, "when caches lag"))


def _nothing_twice(context: Context, expected: Outcome, what: str = "when caches lag") -> Verdict:
    """A verdict: the same states as in another run, on a way on which no more was made and deleted."""
    same = same_states(context, expected, what)
    normal = _made(expected)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        yield from same(outcome)
        extra = _made(outcome) - normal
        for (done, identity), more in sorted(extra.items()):
            is_first = any(change.identity == identity for change in outcome.changes) is (done == "deleted")
            if not is_first and more <= extra["deleted" if done == "created" else "created", identity]:
                continue  # what was too much is removed again, or what was removed is made again under its name
            usual = normal[done, identity]
            message = f"{identity} is {done} {times(usual + more)} {what}, instead of {times(usual)}"
            last = _last(outcome, identity, done)
            steps = sum(began <= last.at for began in outcome.began) if last is not None else None
            found = (Difference(identity, "", None, {}),) if done == "created" else ()
            yield Violation(message, place_of(last), found, (done, identity.kind, place_of(last)), steps, last)

    return Verdict(judge, lambda other, steps: _nothing_twice(other, calm(other, steps), what))


def _behind(context: Context, steps: tuple[Step, ...]) -> Iterator[Case]:
    """Another process takes over, whose caches show the state after an earlier change."""
    expected = context.undisturbed(*steps)
    if expected.refused or not expected.at_rest:
        return
    what = "after a process took over whose caches were behind"
    same, kept, newest = same_states(context, expected, what), expected.states[-1], expected.changes[-1].version

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for change in outcome.changes:
            if change.version > newest and change.by and change.after is None and change.identity in kept:
                message = f"{change.identity} is deleted {what}"
                cause = ("deleted", change.identity.kind, change.by.place)
                yield Violation(message, change.by.place, (), cause, by=change.by)
                return
        yield from same(outcome)

    views = [change for change in expected.changes[:-1] if not change.identity.is_record]
    chosen = spread(views, _MOST_VIEWS)
    faults = [Fault(FaultKind.BACK, seconds=_CATCH_UP_SECONDS, version=view.version) for view in chosen]
    if cases := [Case(codes.STALE, History(steps, fault), judge) for fault in faults]:
        yield one_process_after_the_other(cases)


def shards(context: Context) -> Iterator[Case]:
    """Replicas share the objects, and one of them comes, leaves or dies while another one lives."""
    ranges = context.subject.ranges
    if ranges is None:
        return
    count, others = _RANGES, _siblings(context)
    if ranges.by is ShardBy.NAMESPACE:
        context, others, count = _in_namespaces(context, others)
    other = _step_to_another(context)
    same = Step(Verb.REWRITE, Identity.of(context.sample).manifest)
    back = [Step(Verb.REPLACE, context.sample)] * bool(other)
    moving = (context.create, _at(2, same), *other, *[_at(1, same)] * bool(other), *back, _at(2, context.delete))
    yield from _shared(context, moving, count, _MOVES)
    second, third = (Step(Verb.CREATE, each) for each in others)
    beside = (second, third, *other, Step(Verb.DELETE, second.manifest))
    two = (_at(2, context.create), *beside, context.delete)
    yield from _shared(context, two, count, "when two replicas share the objects")
    three = (_at(3, context.create), *beside, *(_at(2, each) for each in back or [same]), context.delete)
    yield from _shared(context, three, count, "when three replicas share the objects")
    joined = (context.create, *other, _at(1, same), *back, context.delete)
    yield from _struck(context, joined, count, _JOINS)
    shared = (context.create, *(_at(2, each) for each in other), *back, context.delete)
    yield from _struck(context, shared, count, _LEAVES, _DIES)


_MOVES = "after it moved to another replica"
_RANGES = 3
"""Of two replicas, the second one has what is created first, and the first one the rest. Of three, each has one."""

_ANSWER_SECONDS = 40.0
"""How long the answer to a write is on its way. Meanwhile, a replica that comes waits for the object, and the time runs
out in which one that is stopped may finish its reconcile."""

_TAKEN_SECONDS = 80.0
"""Others have the objects of a replica that is paused for so long, and everything is not yet at rest."""

_Strikes = tuple[str, int, Callable[[Sent], Sequence[Fault]]]
"""What happened to a replica in a write, in how many writes it does, and the faults that do so."""

_JOINS: _Strikes = (
    "after it moved in the middle of a reconcile",
    4,
    lambda sent: [Fault(FaultKind.JOIN, sent.number, seconds=_ANSWER_SECONDS)],
)
_LEAVES: _Strikes = (
    "after its replica was stopped in a reconcile",
    3,
    lambda sent: [Fault(FaultKind.LEAVE, sent.number, seconds=_ANSWER_SECONDS)],
)
_DIES: _Strikes = (
    "after its replica died",
    8,
    lambda sent: [Fault(FaultKind.CRASH_AFTER, sent.number), replace(_overtaken(sent), seconds=_TAKEN_SECONDS)],
)


def _in_namespaces(context: Context, others: Sequence[Manifest]) -> tuple[Context, Sequence[Manifest], int]:
    """The sample and other objects in two namespaces, and a number of ranges with which only the sample's one moves.

    Who has a namespace depends on its name. Some names are always those of the first replica: then, the sample is in
    the second namespace.
    """
    own = context.sample["metadata"].get("namespace")
    if own is None or context.subject.namespaces:
        return context, others, _RANGES
    places = ((count, name) for count in (_RANGES, 2) for name in (own, SECOND_NAMESPACE))
    count, place = next(each for each in places if Ranges(each[0], ShardBy.NAMESPACE).of(each[1]) == each[0] - 1)
    beside = SECOND_NAMESPACE if place == own else own
    moving = context if place == own else context.with_sample(_placed(context.sample, place), context.note)
    return moving, [_placed(each, beside) for each in others], count


def _placed(manifest: Manifest, namespace: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _at(members: int, step: Step) -> Step:
    return replace(step, members=members)


def _step_to_another(context: Context) -> tuple[Step, ...]:
    """Changes the sample, if that can be done."""
    smaller = context.smaller()
    return context.replaced() if smaller is None else (smaller,)


def _siblings(context: Context) -> Sequence[Manifest]:
    """Two other objects of the kind, with the same spec."""
    second = _renamed(context.sample)
    return second, _renamed(second)


def _shared(context: Context, steps: tuple[Step, ...], ranges: int, what: str) -> Iterator[Case]:
    """Yield a case of steps in which nothing but the number of replicas changes."""
    expected = calm(context, steps)
    if not expected.refused and not expected.fails and expected.at_rest:
        judge = _in_turn(expected, _nothing_twice(context, expected, what))
        yield Case(codes.SHARDS, History(steps, shards=ranges), judge)


def _struck(context: Context, steps: tuple[Step, ...], ranges: int, *strikes: _Strikes) -> Iterator[Case]:
    """Yield cases in which something happens to a replica while it writes."""
    expected = context.run(History(steps, shards=ranges))
    alone = calm(context, steps)
    if alone.refused or alone.fails or not alone.at_rest or expected.shared:
        return
    for what, most, faults in strikes:
        judge = _in_turn(alone, same_states(context, alone, what))
        for fault in spread([fault for sent in expected.writes for fault in faults(sent)], most):
            yield Case(codes.SHARDS, History(steps, fault, shards=ranges), judge)


def _in_turn(expected: Outcome, verdict: Verdict) -> Verdict:
    """The same verdict, and no two replicas work on one object at the same time. The lines are those of the writes."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.broken:
            yield Violation(f"the manager ends with an error: {outcome.broken}", None, (), ("broken",))
            return
        if outcome.at_once:
            yield Violation(f"two replicas work on {outcome.at_once} at the same time", None, (), ("at once",))
        for violation in verdict(outcome):
            place = place_among(violation.found, outcome, expected)
            yield replace(violation, place=place if outcome.struck and place is not None else violation.place)
            if not outcome.at_rest:
                return  # all else comes of it

    return Verdict(judge, lambda other, steps: _in_turn(calm(other, steps), verdict.again(other, steps)))


def unseen(context: Context) -> Iterator[Case]:
    """Objects come, change and go while the operator does not look, or it sees them in another order."""
    gone = context.undisturbed(context.create, context.delete)
    judge = same_states(context, gone, "when its deletion was not seen")
    lost = Step(Verb.DELETE, context.sample, unseen=True)
    yield Case(codes.UNSEEN, History((context.create, lost)), judge)
    yield from _replaced(context, lost)
    yield from _out_of_order(context)
    for identity in context.children():
        lost = Step(Verb.DELETE, identity.manifest, unseen=True)
        yield Case(codes.UNSEEN, History((context.create, lost)), _as_if_seen(context, (context.create, lost)))
    for path, other in context.changed(edges=False):
        changed = (context.create, Step(Verb.REPLACE, other, note=path))
        expected = context.undisturbed(*changed)
        if expected.refused:
            continue
        step = Step(Verb.REPLACE, other, unseen=True, note=path)
        judge = same_states(context, expected, f"when the change to `{path}` was not seen")
        yield Case(codes.UNSEEN, History((context.create, step)), judge)


def _as_if_seen(context: Context, steps: tuple[Step, ...]) -> Verdict:
    """A verdict: a child that was deleted unseen comes back, unless it does not when its deletion is seen either."""
    after = "unseen deletion"
    returns = comes_back(context, after)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        violations = list(returns(outcome))
        if violations and any(same_end(context, calm(context, steps), f"after the {after}")(outcome)):
            yield from violations

    return Verdict(judge, lambda other, fewer: _as_if_seen(other, tuple(fewer)))


def _replaced(context: Context, lost: Step) -> Iterator[Case]:
    """The object is deleted, and made anew with the same name. The operator sees only the new one."""
    expected = context.undisturbed(context.create, context.delete, context.create)
    judge = same_end(context, expected, "when it was deleted and created anew unseen")
    again = Step(Verb.CREATE, context.sample, unseen=True)
    yield Case(codes.UNSEEN, History((context.create, lost, again)), judge)


def _out_of_order(context: Context) -> Iterator[Case]:
    """The events of one kind come later than those of the others."""
    watched = sorted({sent.resource for sent in context.base.sent if sent.verb == "watch"})
    if len(watched) < 2:
        return
    steps = context.life()
    expected = context.undisturbed(*steps)
    for resource in watched:
        judge = same_states(context, expected, f"when the events of {resource} come late")
        fault = Fault(FaultKind.LAG, seconds=_EVENTS_LATE_SECONDS, resource=resource)
        yield Case(codes.UNSEEN, History(steps, fault), judge)


def _made(outcome: Outcome) -> Counter[tuple[str, Identity]]:
    every: Counter[tuple[str, Identity]] = Counter()
    for change in outcome.changes:
        if change.by is not None and not change.identity.is_record and (change.before is None or change.after is None):
            every["created" if change.before is None else "deleted", _named(change)] += 1
    return every


def _last(outcome: Outcome, identity: Identity, what: str) -> Sent | None:
    for change in reversed(outcome.changes):
        is_it = change.by and (change.before is None or change.after is None) and _named(change) == identity
        if is_it and (change.before is None) == (what == "created"):
            return change.by
    return None


def _named(change: Change) -> Identity:
    """The identity of an object, with the prefix of a name that the API server generated."""
    metadata = read(change.after or change.before or b"{}")["metadata"]
    return change.identity._replace(name=metadata.get("generateName") or change.identity.name)


def defaulted(context: Context) -> Iterator[Case]:
    """Somebody updates the sample without a change. A mutating webhook must not change it again."""
    crd = context.definition
    if crd is None:
        return
    configurations = [*context.subject.webhooks, *context.base.webhooks]
    paths = list(defaulting(configurations, crd["spec"]["group"], crd["spec"]["names"]["plural"]))
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if len(outcome.states) < 2:
            return
        first, second = ({own: state[own]} if own in state else {} for state in outcome.states[:2])
        if unlike := context.compare(first, second):
            place = next((outcome.defaulters[path] for path in paths if path in outcome.defaulters), None)
            message = f"{unlike[0]} after an update without a change: the webhook is not idempotent"
            yield Violation(message, place, unlike, ("defaulter", place), remedy=_FILL_IN)

    if paths:
        update = Step(Verb.REWRITE, Identity.of(context.sample).manifest)
        yield Case(codes.LOOP, History((context.create, update)), by_itself(judge))


def converted(context: Context) -> Iterator[Case]:
    """Somebody reads an object in another version, and writes it back."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for loss in outcome.lost:
            yield Violation(str(loss), loss.place, (), ("lost", loss.place, loss.path), remedy=_KEEP)
            return
        if (
            not outcome.refused
            and outcome.at_rest
            and (unlike := context.compare(*outcome.states[:2], outcome=outcome))
        ):
            message = f"{unlike[0]} after it was written back in another version"
            yield Violation(message, None, unlike, ("rewritten", unlike[0].path))

    for steps in _rewritten(context, context.changed(edges=False)):
        yield Case(codes.HISTORY, History(steps), judge)


_KEEP = "each version must have all that the others have: keep what it has no field for in an annotation"


def converted_edges(context: Context) -> Iterator[Case]:
    """Somebody reads an object at an edge of the schema in another version. Every version must have it."""
    for steps in _rewritten(context, context.changed(edges=True)):
        yield Case(codes.BUG, History(steps), _without_bugs(steps))


def _without_bugs(steps: Sequence[Step]) -> Verdict:
    """A verdict: there is no error of programming."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if failure := first_bug(outcome):
            yield bug_of(failure, f"`{steps[0].note}`" if steps[0].note else "the sample")

    return Verdict(judge, lambda _, fewer: _without_bugs(fewer), compares=False)


def _rewritten(context: Context, others: Iterable[tuple[str, Manifest]]) -> Iterator[tuple[Step, ...]]:
    versions = list(_other_versions(context.definition, context.sample))
    if not versions:
        return
    for path, other in chain([("", context.sample)], others):
        for version in versions:
            manifest = {**Identity.of(other).manifest, "apiVersion": version}
            note = f"apiVersion = {shorten(version)}"
            yield (Step(Verb.CREATE, other, note=path), Step(Verb.REWRITE, manifest, note=note))


def _other_versions(crd: Mapping[str, Any] | None, sample: Manifest) -> Iterator[str]:
    spec = crd["spec"] if crd is not None else {}
    if (spec.get("conversion") or {}).get("strategy") != "Webhook":
        return
    for version in spec["versions"]:
        name = f"{spec['group']}/{version['name']}"
        if version.get("served") and name != sample["apiVersion"]:
            yield name


PLANS: dict[str, Callable[[Context], Iterator[Case]]] = {
    codes.LOOP.slug: loop,
    codes.CRASH.slug: crash,
    codes.ERROR.slug: error,
    codes.HISTORY.slug: history,
    codes.UPGRADE.slug: upgrade,
    codes.LEAK.slug: leak,
    codes.THEFT.slug: theft,
    codes.DRIFT.slug: drift,
    codes.STALE.slug: stale,
    codes.LEADER.slug: leader,
    codes.UNSEEN.slug: unseen,
    codes.SHARDS.slug: shards,
    codes.BUG.slug: bug,
    codes.TWO_FAULTS.slug: two_faults,
}
"""The plan of each code, the most telling first."""

LAST = (codes.TWO_FAULTS.slug,)
"""Codes that are looked for after all others: their histories are worth it only if the simpler ones are right."""

CODES = (*PLANS, codes.RBAC.slug, codes.INVARIANT.slug)
"""All codes. Access control and invariants are checked in the histories of all plans."""


# -- several cases in one run: the world is at rest between them, in the state that each of them begins with. A run in
# which everything holds clears all of them. Otherwise, each is run alone. So findings are those of the single cases.


def one_in_each_step(
    code: Code, steps: tuple[Step, ...], expected: Outcome, judge: Judge, faults: Iterable[tuple[Sent, Fault]]
) -> Iterator[Case]:
    """Yield cases of faults at requests. One run has a fault in each step.

    Args:
        code: What is looked for.
        steps: Those of all cases.
        expected: What comes of them without a fault.
        judge: Compares each state at rest with the expected one.
        faults: The faults, each with the undisturbed request.
    """
    of_step: dict[int, list[tuple[Sent, Fault]]] = {}
    for sent, fault in faults:
        of_step.setdefault(_step_of(sent, expected), []).append((sent, fault))
    for each in zip_longest(*of_step.values()):
        struck = [pair for pair in each if pair is not None]
        parts = tuple(Case(code, History(steps, fault), judge) for _, fault in struck)
        if len(parts) == 1:
            yield parts[0]
        else:
            together = {_counted_in_step(sent, fault, expected): sent for sent, fault in struck}
            first, *further = together
            history = History(steps, first, further=tuple(further))
            yield Case(code, history, judge, parts, _meets(together))


def one_after_the_other(context: Context, cases: Sequence[Case]) -> Case:
    """Make one case of those that change a child, of which each leads back to the state before."""
    if len(cases) == 1:
        return cases[0]

    def leads_back(outcome: Outcome, state: State) -> bool:
        return not lasting(context, outcome, state)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for number, (case, state) in enumerate(zip(cases, outcome.states[1:], strict=False), start=2):
            refused = [each for each in outcome.refused if each[0] == case.history.steps[-1]]
            part = replace(outcome, states=[outcome.states[0], state], refused=refused)
            violations = list(case.judge(part))
            yield from (replace(violation, steps=number) for violation in violations)
            if not violations and not leads_back(outcome, state):
                return  # it is no fault, as nobody can undo it, but the next changes meet it

    def is_telling(outcome: Outcome) -> bool:
        return outcome.at_rest and all(leads_back(outcome, state) for state in outcome.states[1:])

    history = History((context.create, *(case.history.steps[-1] for case in cases)))
    return Case(cases[0].code, history, judge, tuple(cases), is_telling)


def one_process_after_the_other(cases: Sequence[Case]) -> Case:
    """Make one case of those that differ only in the process that takes over in the end."""
    if len(cases) == 1:
        return cases[0]
    history = cases[0].history

    def judge(outcome: Outcome) -> Iterator[Violation]:
        before = len(history.steps) - 1
        for case, state in zip(cases, outcome.states[before:], strict=False):
            yield from case.judge(replace(outcome, states=[*outcome.states[:before], state]))

    faults = [fault for case in cases for fault in case.history.faults]
    together = replace(history, further=tuple(faults[1:]))
    return Case(cases[0].code, together, judge, tuple(cases), lambda outcome: outcome.at_rest)


def _step_of(sent: Sent, expected: Outcome) -> int:
    """The number of the step whose work a request is."""
    return sum(began <= sent.at for began in expected.began)


def _counted_in_step(sent: Sent, fault: Fault, expected: Outcome) -> Fault:
    """The same fault, whatever happens in the steps before."""
    step, what = _step_of(sent, expected), sent.what
    alike = [each for each in expected.sent if _step_of(each, expected) == step and each.what == what and each.number]
    return replace(fault, request=alike.index(sent) + 1, step=step, what=what)


def _meets(faults: dict[Fault, Sent]) -> Callable[[Outcome], bool]:
    """Whether each fault met the request that it was meant for, at the same line."""

    def is_telling(outcome: Outcome) -> bool:
        lines = {fault: sent.place for fault, sent in outcome.struck.items()}
        return lines == {fault: sent.place for fault, sent in faults.items()}

    return is_telling
