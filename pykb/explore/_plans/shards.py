"""Replicas that share the objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pykb.client.ranges import Ranges, ShardBy
from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._gate import Sent
from pykb.explore._history import SECOND_NAMESPACE, Fault, FaultKind, History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._plans.steps import overtaken, placed, renamed
from pykb.explore._plans.views import nothing_twice
from pykb.explore._variants import spread
from pykb.explore._verdicts import Case, Verdict, Violation, calm, place_among, same_states


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
    lambda sent: [Fault(FaultKind.CRASH_AFTER, sent.number), replace(overtaken(sent), seconds=_TAKEN_SECONDS)],
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
    moving = context if place == own else context.with_sample(placed(context.sample, place), context.note)
    return moving, [placed(each, beside) for each in others], count


def _at(members: int, step: Step) -> Step:
    return replace(step, members=members)


def _step_to_another(context: Context) -> tuple[Step, ...]:
    """Changes the sample, if that can be done."""
    smaller = context.smaller()
    return context.replaced() if smaller is None else (smaller,)


def _siblings(context: Context) -> Sequence[Manifest]:
    """Two other objects of the kind, with the same spec."""
    second = renamed(context.sample)
    return second, renamed(second)


def _shared(context: Context, steps: tuple[Step, ...], ranges: int, what: str) -> Iterator[Case]:
    """Yield a case of steps in which nothing but the number of replicas changes."""
    expected = calm(context, steps)
    if not expected.refused and not expected.fails and expected.at_rest:
        judge = _in_turn(expected, nothing_twice(context, expected, what))
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
