"""What must hold in a history: cases, and verdicts that several plans give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pykb.diagnostics import Code, Span
from pykb.explore._context import Context
from pykb.explore._gate import Sent
from pykb.explore._history import History, Identity, Step, Verb
from pykb.explore._outcome import Failure, Outcome
from pykb.explore._past import WORK
from pykb.explore._state import Difference, State, differences, look_at, read


@dataclass(frozen=True, slots=True)
class Violation:
    """What did not hold in a history.

    Attributes:
        message: The headline.
        place: The line of the user's code.
        found: The differences of the states.
        cause: Violations with the same cause are one finding.
        steps: How many steps of the history show it. Defaults to all.
        by: The request that should not have been sent.
        remedy: What to do, if that of the code does not fit.
    """

    message: str
    place: Span | None = None
    found: tuple[Difference, ...] = ()
    cause: tuple[Any, ...] = ()
    steps: int | None = None
    by: Sent | None = None
    remedy: str = ""


Judge = Callable[["Outcome"], Iterable[Violation]]
"""Says what did not hold in a run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge that can judge other histories of its kind, too.

    Attributes:
        judge: Judges the history.
        again: Makes the verdict about other steps, perhaps with another sample.
        compares: Whether it compares with another run of the sample. The operator must be right there.
    """

    judge: Judge
    again: Callable[[Context, Sequence[Step]], Verdict]
    compares: bool = True

    def __call__(self, outcome: Outcome) -> Iterator[Violation]:
        """What did not hold."""
        yield from self.judge(outcome)


def by_itself(judge: Judge) -> Verdict:
    """A verdict that needs no other run."""
    return Verdict(judge, lambda *_: by_itself(judge), compares=False)


@dataclass(frozen=True, slots=True)
class Case:
    """A history, and its verdict.

    Attributes:
        code: What is looked for.
        history: The history.
        judge: Its verdict.
        parts: The cases that one run tries together. Each is run alone if anything does not hold.
        is_telling: Whether the run did try all of them.
        hinders: Whether not even a right operator can do its work at rest.
        about: The context of the case, if it is not that of the sample.
    """

    code: Code
    history: History
    judge: Callable[[Outcome], Iterable[Violation]]
    parts: tuple[Case, ...] = ()
    is_telling: Callable[[Outcome], bool] = lambda _: True
    hinders: bool = False
    about: Context | None = None


def about(case: Case, context: Context) -> Case:
    """The same case, which is about another context."""
    return replace(case, about=context, parts=tuple(replace(part, about=context) for part in case.parts))


def same_states(
    context: Context, expected: Outcome, what: str, counts: Callable[[Difference], bool] = lambda _: True
) -> Verdict:
    """A verdict: the same states at rest as in another run.

    Args:
        context: The sample.
        expected: The other run.
        what: What happened.
        counts: Whether a difference matters.
    """

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            if expected.at_rest:
                yield restless(outcome, what)
            return
        for number, (one, other) in enumerate(zip(expected.states, outcome.states, strict=False), start=1):
            every = (
                *context.compare(one, other, outcome=outcome, of=expected),
                *_of_claims(expected, one, outcome, other),
            )
            if found := tuple(each for each in every if counts(each)):
                struck = outcome.struck_before(number)
                place = struck.place if struck is not None else place_among(found, outcome, expected)
                yield Violation(f"{found[0]} {what}", place, found, cause_of(found), steps=number)
                return
        yield from once(context, expected, outcome, what)

    return Verdict(judge, lambda other, steps: same_states(other, calm(other, steps), what, counts))


def _of_claims(expected: Outcome, one: State, outcome: Outcome, other: State) -> tuple[Difference, ...]:
    """How the claims of StatefulSets differ that the operator has changed or deleted. No state has such claims."""
    (wanted, ours), (found, theirs) = _claims(expected, one), _claims(outcome, other)
    touched = {each for each in ours | theirs if each not in one and each not in other}

    def sizes(claims: Mapping[Identity, bytes | None]) -> State:
        there = {each: last for each in touched if (last := claims.get(each))}
        return {each: {"spec": {"resources": look_at(last)["spec"].get("resources")}} for each, last in there.items()}

    return differences(sizes(wanted), sizes(found))


def _claims(outcome: Outcome, state: State) -> tuple[dict[Identity, bytes | None], set[Identity]]:
    """The claims at a rest, or that have gone, and those that the operator had changed or deleted."""
    until = next((count for rest, count in outcome.rests if rest is state), 0)
    changes = [each for each in outcome.changes[:until] if each.identity.kind == "PersistentVolumeClaim"]
    return {each.identity: each.after for each in changes}, {each.identity for each in changes if each.by is not None}


def calm(context: Context, steps: Sequence[Step]) -> Outcome:
    """What comes of steps if the operator sees each of them, and has the time for it."""
    return context.undisturbed(*(replace(step, unseen=False, soon=False, together=False, members=0) for step in steps))


def once(context: Context, expected: Outcome, outcome: Outcome, what: str) -> Iterator[Violation]:
    """No effect comes more often than in another run of the same steps, whatever is left of it in the end."""
    usual, found = _effects(context, expected), _effects(context, outcome)
    for kind, made in sorted(found.items()):
        before = len(usual.get(kind, ()))
        if len(made) > before:
            last = made[-1]
            message = f"a {kind} is created {times(len(made))} {what}, instead of {times(before)}"
            yield Violation(message, last.place, (), ("once", kind, last.place), by=last)
            return


def _effects(context: Context, outcome: Outcome) -> dict[str, list[Sent]]:
    kinds = {*WORK, *context.subject.once}
    every: dict[str, list[Sent]] = {}
    gone: set[str] = set()
    for change in outcome.changes:
        if change.after is None:
            gone.add(read(change.before or b"{}")["metadata"]["uid"])
        elif change.before is None and change.by is not None and change.identity.kind in kinds:
            owners = [owner["uid"] for owner in read(change.after)["metadata"].get("ownerReferences") or ()]
            if not owners or not gone.issuperset(owners):  # else the cluster takes it away before it does something
                every.setdefault(change.identity.kind, []).append(change.by)
    return every


def times(number: int) -> str:
    """How often, as a word."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def same_end(context: Context, expected: Outcome, what: str, *, is_alone: bool = True, is_new: bool = False) -> Verdict:
    """A verdict: the same last state as in another run, of which each step was accepted.

    Args:
        context: The sample.
        expected: The other run.
        what: What happened.
        is_alone: Whether there was no other object of the kind, for which the operator works, too.
        is_new: Whether everything was made anew in the other run.
    """
    compare = context.compare_with_new if is_new else context.compare

    def unlike_in(outcome: Outcome, state: State) -> tuple[Difference, ...]:
        return compare(expected.states[-1], state, outcome=outcome, of=expected)

    def comes_later(outcome: Outcome, found: Iterable[Difference]) -> bool:
        states = (expected.states[-1], outcome.states[-1])
        is_watched = any(context.is_watched(each.identity, *states) for each in found)
        if not is_watched and context.comes_right(outcome, unlike_in):
            return True
        return context.waits(outcome, len(outcome.states), unlike_in)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused or expected.refused:
            return
        if not outcome.at_rest:
            if expected.at_rest:
                yield restless(outcome, what)
        elif (found := unlike_in(outcome, outcome.states[-1])) and not comes_later(outcome, found):
            yield Violation(f"{found[0]} {what}", place_among(found, outcome, expected), found, cause_of(found))
        elif is_alone:
            yield from once(context, expected, outcome, what)

    return Verdict(
        judge, lambda other, steps: same_end(other, calm(other, steps), what, is_alone=is_alone, is_new=is_new)
    )


def comes_back(context: Context, after: str, cause: tuple[str, ...] = (), undo: tuple[Step, ...] = ()) -> Verdict:
    """A verdict: what somebody did to a child has no lasting effect, unless nobody can undo it.

    The operator may look again for a child that it cannot watch, and one of kopf for each child, by a timer.

    Args:
        context: The sample.
        after: What somebody did.
        cause: See :class:`Violation`.
        undo: What somebody did, and the opposite. The API server may refuse it, as if a volume became smaller.
    """
    unlike_in = partial(lasting, context)

    def comes_later(outcome: Outcome) -> bool:
        child = Identity.of(outcome.history.steps[-1].manifest) if outcome.history is not None else None
        may_look_later = child is not None and (outcome.is_of_kopf or not context.is_owned(child))
        if may_look_later and context.comes_right(outcome, unlike_in):
            return True
        return context.waits(outcome, len(outcome.states), unlike_in)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused:
            return  # the API server does not let anybody do it
        if not outcome.at_rest:
            yield restless(outcome, f"after the {after}")
            return
        unlike = unlike_in(outcome, outcome.states[-1])
        if unlike and not comes_later(outcome) and not (undo and context.undisturbed(context.create, *undo).refused):
            place = place_among(unlike, outcome, context.base)
            yield Violation(f"{unlike[0]} after the {after}", place, unlike, cause or cause_of(unlike))

    return Verdict(judge, lambda other, _: comes_back(other, after, cause, undo))


def unbroken(*, hinders: bool = False) -> Verdict:
    """A verdict: the invariants hold.

    Args:
        hinders: Whether they need not hold at rest, see :class:`Case`.
    """
    return by_itself(partial(_broken, hinders=hinders))


def _broken(outcome: Outcome, *, hinders: bool) -> Iterator[Violation]:
    for breach in outcome.breaches:
        if breach.at_rest and hinders:
            continue
        change = breach.change
        by = change.by if change is not None else None
        maker = outcome.maker_of(change.identity) if change is not None and by is None else None
        struck = outcome.struck_before(breach.step)
        place = next((sent.place for sent in (by, struck, maker) if sent is not None and sent.place), None)
        message = f"the invariant `{breach.name}` does not hold: {breach.text}".removesuffix(": it does not hold")
        yield Violation(message, place, (), ("invariant", breach.name), breach.step, by)


def first_bug(outcome: Outcome) -> Failure | None:
    """The first error of programming."""
    return next((failure for failure in outcome.failures if failure.is_bug), None)


def without_bug(context: Context) -> Verdict:
    """A verdict: no error of programming comes up, whatever happens, beside one that the sample itself shows.

    Operators check with ``assert`` and raise ``ValueError`` on purpose, so that they are called again.
    """

    def judge(outcome: Outcome) -> Iterator[Violation]:
        known = {(each.kind, each.place) for each in context.base.failures}
        for each in outcome.failures:
            if each.is_bug and each.kind not in _RAISED and (each.kind, each.place) not in known:
                steps = max(1, sum(began <= each.at for began in outcome.began))
                told = f"{each.kind} in a reconcile: {each.message}"
                yield Violation(told, each.place, (), _bug(each), steps, remedy=_MEND)
                return

    return Verdict(judge, lambda other, _: without_bug(other), compares=False)


_MEND = "it hides the error that led here, and what the operator would do next: mend the line, and test it"
_RAISED = ("ValueError", "ValidationError", "AssertionError")


def _bug(failure: Failure) -> tuple[Any, ...]:
    return failure.kind, failure.place


def bug_of(failure: Failure, accepted: str, *, steps: int | None = None) -> Violation:
    """The operator, a webhook or a converter fails for what the schema accepts."""
    told = f"{failure.kind}, though the schema accepts {accepted}: {failure.message}"
    if failure.kind == SystemExit.__name__:
        told = f"the process ends, though the schema accepts {accepted}: {failure.kind}: {failure.message}"
    return Violation(told, failure.place, (), _bug(failure), steps)


def lasting(context: Context, outcome: Outcome, state: State) -> tuple[Difference, ...]:
    """In which ways a later state is not like the first one of a run, though somebody only changed a child."""
    found = context.compare_with_new(outcome.states[0], state, outcome=outcome)
    return tuple(each for each in found if not _is_extended(each))


def _is_extended(difference: Difference) -> bool:
    """Whether a list only has more members. With server-side apply, those of others stay, as under another port."""
    expected, found = difference.expected, difference.found
    return isinstance(expected, list) and isinstance(found, list) and all(each in found for each in expected)


def place_of(sent: Sent | None) -> Span | None:
    """The line that sent a request."""
    return sent.place if sent is not None else None


def restless(outcome: Outcome, when: str) -> Violation:
    """The operator writes or reconciles without end."""
    if outcome.unrest:
        place = outcome.unrest_at
        message = f"the operator does not come to rest {when}: it {outcome.unrest}"
        return Violation(message, place, (), ("restless", place))
    last = next((sent for sent in reversed(outcome.sent) if sent.write), None)
    message = f"the operator does not come to rest {when}: it {last or 'reconciles again and again'}"
    return Violation(message, place_of(last), (), ("restless", place_of(last)), by=last)


def place_among(found: Sequence[Difference], outcome: Outcome, expected: Outcome) -> Span | None:
    """The line that made the first of the differences: that wrote the field, or else the object."""
    for difference in found:
        runs = (outcome, expected) if difference.path else ()
        writers = (run.writer_of(difference.identity, difference.path) for run in runs)
        if place := next((writer.place for writer in writers if writer is not None and writer.place), None):
            return place
        if (
            difference.found is not None
            and not difference.path
            and (creator := outcome.creator_of(difference.identity))
        ):
            return creator.place
        maker = outcome.maker_of(difference.identity) or expected.maker_of(difference.identity)
        if maker is not None:
            return maker.place
    return None


def cause_of(found: Sequence[Difference]) -> tuple[Any, ...]:
    """What differs, without names and numbers."""
    return tuple(sorted({(each.identity.kind, each.path.partition("[")[0], each.found is None) for each in found}))


def ends(when: str) -> Verdict:
    """A verdict: the operator comes to rest."""
    return by_itself(lambda outcome: () if outcome.at_rest else (restless(outcome, when),))


def last_failure(outcome: Outcome, step: int) -> Failure | None:
    """How the last reconcile until the end of a step failed; ``None`` if it did not."""
    _, end = outcome.time_of(step)
    ended = [each.at for each in outcome.reconciles if each.at < end]
    failed = [failure for failure in outcome.failures if failure.at < end]
    return failed[-1] if failed and ended and failed[-1].at >= ended[-1] else None


def never_let_go(context: Context, outcome: Outcome, deleted: Identity, when: str = "") -> Iterator[Violation]:
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
    yield Violation(message, holding(outcome), found, ("finalizer",), remedy=_LET_GO)


_LET_GO = "let each clean-up end: what is gone is done, and what holds the object must wake the operator when it goes"


def was_done(outcome: Outcome, verb: Verb, identity: Identity) -> bool:
    """Whether somebody does this to an object in a history."""
    steps = outcome.history.steps if outcome.history is not None else ()
    return any(step.verb is verb and Identity.of(step.manifest) == identity for step in steps)


def holding(outcome: Outcome) -> Span | None:
    """Where the clean-up fails, or else what set the finalizer."""
    failed = next((failure.place for failure in reversed(outcome.failures) if failure.place), None)
    return failed or next(
        (sent.place for sent in outcome.sent if sent.verb in ("patch", "update") and sent.place), None
    )


def without_bugs(steps: Sequence[Step]) -> Verdict:
    """A verdict: there is no error of programming."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if failure := first_bug(outcome):
            yield bug_of(failure, f"`{steps[0].note}`" if steps[0].note else "the sample")

    return Verdict(judge, lambda _, fewer: without_bugs(fewer), compares=False)
