"""Faults at the operator's requests: crashes, errors, a former leader, two faults at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pykb.diagnostics import Code
from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, FaultKind, History, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._plans.steps import LAGS_SECONDS, create_another, overtaken, two_in_a_row
from pykb.explore._plans.together import one_in_each_step, step_of
from pykb.explore._variants import spread
from pykb.explore._verdicts import Case, Verdict, Violation, calm, same_end, same_states

_MOST_FIRST = 6

_MOST_SECOND = 3
"""Of two faults. The second ones are those for each first one."""

_STATUS = {FaultKind.REFUSE: 500}


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
    both = (create_another(context), context.create)  # a new process sees them in the other order
    judge = same_states(context, context.undisturbed(*both), "after a restart with two objects")
    yield Case(codes.CRASH, History(both, Fault(FaultKind.BACK)), judge)
    yield from _in_changes(context, 0, codes.CRASH, kinds, "after a crash")
    yield from _at_other_lines(context, codes.CRASH, kinds, "after a crash")
    yield from _in_a_row(context, codes.CRASH, kinds, "after a crash")


def error(context: Context) -> Iterator[Case]:
    """Each request fails once."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    faults = [(sent, fault) for sent in expected.sent if sent.number for fault in _errors(sent)]
    judge = same_states(context, expected, "after an error")
    yield from one_in_each_step(codes.ERROR, steps, expected, judge, faults)
    kinds = (FaultKind.LOSE_ANSWER, FaultKind.REFUSE)
    yield from _in_changes(context, 1, codes.ERROR, kinds, "after an error")
    yield from _at_other_lines(context, codes.ERROR, kinds, "after an error")


def leader(context: Context) -> Iterator[Case]:
    """A write of the former leader arrives when the next one has done its work. kopf's own notes are not the user's."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    faults = [(sent, overtaken(sent)) for sent in expected.writes if not sent.is_of_kopf]
    yield from one_in_each_step(codes.LEADER, steps, expected, same_states(context, expected, _OVERTAKEN), faults)
    row, end = two_in_a_row(context)
    if row:
        usual = context.undisturbed(*row)
        changing = [sent for sent in usual.writes if step_of(sent, usual) > 1 and not sent.is_of_kopf]
        judge = same_end(context, end, _OVERTAKEN)
        for sent in changing:
            yield Case(codes.LEADER, History(row, overtaken(sent)), judge)


_OVERTAKEN = "after a write of the former leader came late"


def two_faults(context: Context) -> Iterator[Case]:
    """A second fault while the operator recovers from the first one, if it does recover."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    writes = [sent for sent in expected.writes if not sent.is_of_kopf]
    kinds = (FaultKind.REFUSE, FaultKind.CRASH_AFTER)
    strikes = [Fault(kind, sent.number, _STATUS.get(kind, 0)) for kind in kinds for sent in writes]
    lag = Fault(FaultKind.LAG, seconds=LAGS_SECONDS[0])
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
        step = step_of(struck, alone)
        later = [sent for sent in later if sent.number > struck.number and step_of(sent, alone) == step]
    again = [sent for sent in later if first.kind is FaultKind.REFUSE and str(sent) == str(struck)][:1]
    yield from (Fault(FaultKind.REFUSE, sent.number, _STATUS[FaultKind.REFUSE]) for sent in again)
    yield from (Fault(FaultKind.CRASH_AFTER, sent.number) for sent in spread(later, _MOST_SECOND - len(again)))


def _in_changes(context: Context, turn: int, code: Code, kinds: Sequence[FaultKind], what: str) -> Iterator[Case]:
    """Yield cases of faults at the writes of several changes of the sample."""
    steps = context.walk(turn)
    if len(steps) == 1:
        return
    expected = context.undisturbed(*steps)
    changing = [sent for sent in expected.writes if step_of(sent, expected) > 1]
    faults = [(sent, Fault(kind, sent.number, _STATUS.get(kind, 0))) for sent in changing for kind in kinds]
    yield from one_in_each_step(code, steps, expected, same_states(context, expected, what), faults)


def _at_other_lines(context: Context, code: Code, kinds: Sequence[FaultKind], what: str) -> Iterator[Case]:
    """Yield cases of faults at writes in changes that reach a line which no other history with faults reaches."""
    usual = [context.undisturbed(*steps) for steps in (context.life(), context.walk(0), context.walk(1))]
    known = {_line(sent) for outcome in usual for sent in outcome.writes}
    for path, other in context.changed(edges=False):
        steps = (context.create, Step(Verb.REPLACE, other, note=path), Step(Verb.REPLACE, context.sample))
        expected = context.undisturbed(*steps)
        if expected.refused or expected.fails or not expected.at_rest:
            continue
        rare = {_line(sent): sent for sent in reversed(expected.writes) if _line(sent) not in known}
        if not rare:
            continue
        known.update(rare)
        judge = same_states(context, expected, what)
        for sent in sorted(rare.values(), key=lambda each: each.number):
            for kind in kinds:
                yield Case(code, History(steps, Fault(kind, sent.number, _STATUS.get(kind, 0))), judge)


def _line(sent: Sent) -> tuple[object, ...]:
    """The line of a write, which may be called for several kinds."""
    return sent.place, sent.verb, sent.resource


def _in_a_row(context: Context, code: Code, kinds: Sequence[FaultKind], what: str) -> Iterator[Case]:
    """Yield cases of faults at the writes of two changes, of which the second one comes soon after the first."""
    steps, expected = two_in_a_row(context)
    if steps:
        usual = context.undisturbed(*steps)
        changing = [sent for sent in usual.writes if step_of(sent, usual) > 1]
        judge = same_end(context, expected, what)
        for fault in [Fault(kind, sent.number) for sent in changing for kind in kinds]:
            yield Case(code, History(steps, fault), judge)


def _errors(sent: Sent) -> Iterator[Fault]:
    yield Fault(FaultKind.REFUSE, sent.number, 500)
    if sent.write and not sent.is_of_kopf:  # kopf 1.45 forgets an object when the answer to its finalizer is lost
        yield Fault(FaultKind.LOSE_ANSWER, sent.number)
    if sent.write:
        yield Fault(FaultKind.REFUSE, sent.number, 0)
    if sent.verb in ("update", "patch") and not sent.is_of_kopf:  # its patches hardly ever conflict
        yield Fault(FaultKind.REFUSE, sent.number, 409)
