"""What must hold in a history: verdicts that the plans share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pykb.explore._context import Context, Violation
from pykb.explore._gate import Place, Sent
from pykb.explore._outcome import Failure, Outcome
from pykb.explore._state import Difference


def same_states(context: Context, expected: Outcome, what: str) -> Callable[[Outcome], Iterator[Violation]]:
    """A verdict: the same states at rest as in another run."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            if expected.at_rest:
                yield restless(outcome, what)
            return
        for number, (one, other) in enumerate(zip(expected.states, outcome.states, strict=False), start=1):
            if found := context.compare(one, other, outcome=outcome):
                struck = outcome.struck_before(number)
                place = struck.place if struck is not None else place_among(found, outcome, expected)
                yield Violation(f"{found[0]} {what}", place, found, cause_of(found), steps=number)
                return

    return judge


def same_end(context: Context, expected: Outcome, what: str) -> Callable[[Outcome], Iterator[Violation]]:
    """A verdict: the same last state as in another run, of which each step was accepted."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused or expected.refused:
            return
        if not outcome.at_rest:
            if expected.at_rest:
                yield restless(outcome, what)
        elif found := context.compare(expected.states[-1], outcome.states[-1], outcome=outcome):
            yield Violation(f"{found[0]} {what}", place_among(found, outcome, expected), found, cause_of(found))

    return judge


def comes_back(context: Context, after: str, cause: tuple[str, ...] = ()) -> Callable[[Outcome], Iterator[Violation]]:
    """A verdict: what somebody did to a child has no lasting effect."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused:
            return  # the API server does not let anybody do it
        if not outcome.at_rest:
            yield restless(outcome, f"after the {after}")
            return
        found = context.compare(outcome.states[0], outcome.states[-1], outcome=outcome)
        unlike = tuple(each for each in found if not _is_extended(each))
        if unlike:
            place = place_among(unlike, outcome, context.base)
            yield Violation(f"{unlike[0]} after the {after}", place, unlike, cause or cause_of(unlike))

    return judge


def first_bug(outcome: Outcome) -> Failure | None:
    """The first error of programming."""
    return next((failure for failure in outcome.failures if failure.is_bug), None)


def bug_of(failure: Failure, accepted: str, *, steps: int | None = None) -> Violation:
    """The operator, a webhook or a converter fails for what the schema accepts."""
    message = f"{failure.kind}, though the schema accepts {accepted}: {failure.message}"
    return Violation(message, failure.place, (), (failure.kind, failure.place), steps)


def _is_extended(difference: Difference) -> bool:
    """Whether a list only has more members. With server-side apply, those of others stay, as under another port."""
    expected, found = difference.expected, difference.found
    return isinstance(expected, list) and isinstance(found, list) and all(each in found for each in expected)


def place_of(sent: Sent | None) -> Place | None:
    """The line that sent a request."""
    return sent.place if sent is not None else None


def restless(outcome: Outcome, when: str) -> Violation:
    """The operator writes or reconciles without end."""
    last = next((sent for sent in reversed(outcome.sent) if sent.write), None)
    message = f"the operator does not come to rest {when}: it {last or 'reconciles again and again'}"
    return Violation(message, place_of(last), (), ("restless", place_of(last)), by=last)


def place_among(found: Sequence[Difference], outcome: Outcome, expected: Outcome) -> Place | None:
    """The line that wrote the first of the objects that differ."""
    for difference in found:
        maker = outcome.maker_of(difference.identity) or expected.maker_of(difference.identity)
        if maker is not None:
            return maker.place
    return None


def cause_of(found: Sequence[Difference]) -> tuple[Any, ...]:
    """What differs, without names and numbers."""
    return tuple(sorted({(each.identity.kind, each.path.partition("[")[0], each.found is None) for each in found}))
