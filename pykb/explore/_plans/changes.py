"""Somebody changes the sample, and changes it back. Also to what is at the edges of its schema."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import orjson

from pykb.diagnostics.codes import explore as codes
from pykb.explore._actors import MAKES_PODS, NO_SUCH, needs
from pykb.explore._context import Context
from pykb.explore._history import Fault, FaultKind, History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._past import REVISIONS, is_revision
from pykb.explore._plans.steps import MOST_SOURCES, WORKLOADS_LATE_SECONDS, two_in_a_row, workloads
from pykb.explore._plans.versions import converted, converted_edges
from pykb.explore._signs import is_paused, is_refused, is_unchangeable
from pykb.explore._state import Difference, State, differences
from pykb.explore._variants import leaves, put, shorten, spell
from pykb.explore._verdicts import (
    Case,
    Verdict,
    Violation,
    bug_of,
    by_itself,
    cause_of,
    ends,
    first_bug,
    place_among,
    place_of,
    same_end,
    same_states,
    was_done,
    without_bugs,
)
from pykb.meta.json_diff import changes


def history(context: Context) -> Iterator[Case]:
    """From one spec to another and back; from nothing to the same; children that become ready late."""
    if workloads(context):
        judge = same_states(context, context.base, "when its children become ready late")
        yield Case(
            codes.HISTORY, History((context.create,), Fault(FaultKind.LATE, seconds=WORKLOADS_LATE_SECONDS)), judge
        )
    for path, other in context.changed(edges=False):
        yield from to_and_back(context, path, other)
    row, expected = two_in_a_row(context)
    if row:
        yield Case(codes.HISTORY, History(row), same_end(context, expected, "after two changes in a row"))
    again = History((context.create, context.delete, context.create))
    judge = same_end(context, context.base, "after it was deleted and made again", is_alone=False, is_new=True)
    yield Case(codes.HISTORY, again, judge)
    yield from _put_right(context)
    yield from _many_revisions(context)
    yield from converted(context)


def to_and_back(context: Context, path: str, other: Manifest) -> Iterator[Case]:
    """The sample gets another spec, and is changed back."""
    create = Step(Verb.CREATE, other, note=path)
    fresh = context.undisturbed(create)
    if not fresh.at_rest:
        yield Case(codes.LOOP, History((create,)), ends(f"with `{path}`"))
    if first_bug(fresh):
        yield Case(codes.BUG, History((create,)), without_bugs((create,)))
    if fresh.refused or fresh.fails or not fresh.at_rest:
        return
    steps = (context.create, Step(Verb.REPLACE, other, note=path), Step(Verb.REPLACE, context.sample))
    yield Case(codes.HISTORY, History(steps), _as_fresh(context, fresh, path))


def _as_fresh(context: Context, fresh: Outcome, path: str) -> Verdict:
    """A verdict: a change leads to the same as a fresh object, and the change back to the same as the sample."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused:
            return  # the field cannot be changed
        yield from ends(f"after the change to `{path}`")(outcome)
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


def bug(context: Context) -> Iterator[Case]:
    """Valid specs at the edges of the schema, and back to the sample. The sample itself, if it shows an error."""
    if first_bug(context.base):
        yield Case(codes.BUG, History((context.create,)), without_bugs((context.create,)))
    for path, other in context.changed(edges=True):
        yield without_way_back(context, path, other)
    yield from converted_edges(context)
    for source in context.sources()[:MOST_SOURCES]:
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
        yield from ends(f"with `{path}`")(outcome)
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
        if not was_done(outcome, Verb.DELETE, identity):
            return
        if failure := first_bug(outcome):
            message = f"{failure.kind} without {identity}: {failure.message}"
            yield Violation(message, failure.place, (), (failure.kind, failure.place))
        elif not outcome.refused:
            yield from ends(f"without {identity}")(outcome)

    yield Case(codes.BUG, History((context.create, gone)), by_itself(judge))
    yield Case(codes.BUG, History((gone, context.create)), by_itself(judge))
