"""The operator sees late, in another order, or never what has happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, FaultKind, History, Identity, Step, Verb
from pykb.explore._outcome import Change, Outcome
from pykb.explore._plans.steps import LAGS_SECONDS, made_again, two_in_a_row
from pykb.explore._plans.together import one_process_after_the_other
from pykb.explore._state import Difference, read
from pykb.explore._variants import spread
from pykb.explore._verdicts import Case, Verdict, Violation, calm, comes_back, place_of, same_end, same_states, times

_EVENTS_LATE_SECONDS = 10.0

_CATCH_UP_SECONDS = 30.0

_MOST_VIEWS = 8
"""Earlier states that the caches of another process show."""


def stale(context: Context) -> Iterator[Case]:
    """The caches lag behind, or those of the next process do."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    for seconds in LAGS_SECONDS:
        judge = nothing_twice(context, expected)
        yield Case(codes.STALE, History(steps, Fault(FaultKind.LAG, seconds=seconds)), judge)
    lives = [steps[:-1]]
    if made_again(context) is not None:
        lives = [(context.create, context.delete, context.create), *lives]
    if smaller := context.smaller():
        lives += [(context.create, smaller), (context.create, smaller, Step(Verb.REPLACE, context.sample))]
    for life in lives:
        yield from _behind(context, life)
    walk = context.walk(2)
    expected = context.undisturbed(*walk)
    row, end = two_in_a_row(context)
    for seconds in LAGS_SECONDS:
        fault = Fault(FaultKind.LAG, seconds=seconds)
        yield Case(codes.STALE, History(walk, fault), nothing_twice(context, expected))
        if row:
            yield Case(codes.STALE, History(row, fault), same_end(context, end, "when caches lag"))


def nothing_twice(context: Context, expected: Outcome, what: str = "when caches lag") -> Verdict:
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

    return Verdict(judge, lambda other, steps: nothing_twice(other, calm(other, steps), what))


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
    expected = made_again(context)
    if expected is not None:
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
