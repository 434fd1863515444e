"""The sample is deleted, at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._history import Fault, FaultKind, History, Step, Verb
from pykb.explore._outcome import Change, Outcome
from pykb.explore._plans.steps import MOST_SOURCES
from pykb.explore._plans.together import step_of
from pykb.explore._state import Difference
from pykb.explore._verdicts import Case, Verdict, Violation, cause_of, never_let_go, place_of, restless


def leak(context: Context) -> Iterator[Case]:
    """The object is deleted at any moment."""
    judge = _nothing_left(context)
    yield Case(codes.LEAK, History((context.create, context.delete)), judge)
    for sent in context.base.writes:
        if sent.status >= HTTPStatus.BAD_REQUEST or not step_of(sent, context.base):
            continue  # nobody acts after a write that was refused, nor is there anything to delete at the start
        steps = (context.create, Step(Verb.DELETE, context.sample, after_write=sent.write))
        yield Case(codes.LEAK, History(steps), judge)
        if not sent.is_of_kopf:  # the next process learns of the object only when it goes
            yield Case(codes.LEAK, History(steps, Fault(FaultKind.CRASH_AFTER, sent.number)), judge)
    # The clean-up may need what has gone. Without a password, it may have to wait.
    sources = [each for each in context.sources() if each["kind"] != "Secret"]
    for other in [*context.others(), *sources][:MOST_SOURCES]:
        yield Case(codes.LEAK, History((context.create, Step(Verb.DELETE, other), context.delete)), _goes(context))


def _nothing_left(context: Context) -> Verdict:
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            yield restless(outcome, "after the deletion")
            return
        left = outcome.states[-1]
        if own in left:
            yield from never_let_go(context, outcome, own)
            return
        if taken := taken_along(outcome, since=0):
            message = f"{taken.identity}, which was there before, is deleted with {own}"
            missing = (Difference(taken.identity, "", {}, None),)
            yield Violation(message, place_of(taken.by), missing, cause_of(missing))
            return
        for found in context.compare(outcome.initial, left):
            is_of_cluster = found.identity in outcome.initial and found.path.startswith("status")
            if is_of_cluster and outcome.writer_of(found.identity, found.path) is None:
                continue
            maker = outcome.creator_of(found.identity) or outcome.spoiler_of(found) or outcome.maker_of(found.identity)
            if maker is not None:
                message, remedy = f"{found} after the deletion", _SHARED if found.identity in outcome.initial else ""
                yield Violation(message, maker.place, (found,), (found.identity.kind,), remedy=remedy)

    return Verdict(judge, lambda other, _: _nothing_left(other))


def _goes(context: Context) -> Verdict:
    """A verdict: nothing holds an object that was deleted."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.at_rest and len(outcome.states) > 2:
            yield from never_let_go(context, outcome, context.own)

    return Verdict(judge, lambda other, _: _goes(other))


_SHARED = "the object was there before: change only what is yours in it, as one member of a list, and take that back"


def taken_along(outcome: Outcome, *, since: int) -> Change | None:
    """What the operator deleted after the last step of that which was there since so many steps."""
    if outcome.history is None or not outcome.history.is_plain or len(outcome.began) <= since:
        return None
    there = outcome.states[since - 1] if since else outcome.initial
    newer = [change for change in outcome.changes if change.at >= outcome.began[since]]
    made = {change.identity for change in newer if change.before is None and change.at < outcome.began[-1]}
    gone = (each for each in newer if each.at >= outcome.began[-1] and each.after is None and each.by is not None)
    return next((change for change in gone if change.identity in there and change.identity not in made), None)
