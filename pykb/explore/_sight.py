"""Histories in which the operator sees less than there is: late, out of order, an older state, or only the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Case, Context, Violation
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, FaultKind, History, Identity, Step, Verb
from pykb.explore._outcome import Change, Outcome
from pykb.explore._state import Difference, read
from pykb.explore._together import one_process_after_the_other
from pykb.explore._variants import spread
from pykb.explore._verdicts import comes_back, place_of, same_end, same_states

_LAGS = (3.0, 30.0)
_LATE = 10.0
_CATCH_UP = 30.0
_MOST_VIEWS = 8


def stale(context: Context) -> Iterator[Case]:
    """The caches lag behind, or those of the next process do."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    for seconds in _LAGS:
        judge = _nothing_twice(context, expected)
        yield Case(codes.STALE, History(steps, Fault(FaultKind.LAG, seconds=seconds)), judge)
    lives: tuple[tuple[Step, ...], ...] = ((context.create, context.delete, context.create), steps[:-1])
    for life in lives:
        yield from _behind(context, life)


def _nothing_twice(context: Context, expected: Outcome) -> Callable[[Outcome], Iterator[Violation]]:
    same = same_states(context, expected, "when caches lag")
    normal = _made(expected)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        yield from same(outcome)
        extra = _made(outcome) - normal
        for (what, identity), times in sorted(extra.items()):
            if what == "deleted" and times <= extra["created", identity]:
                continue  # what was too much is removed again
            usual = normal[what, identity]
            message = f"{identity} is {what} {_times(usual + times)} when caches lag, instead of {_times(usual)}"
            last = _last(outcome, identity, what)
            steps = sum(began <= last.at for began in outcome.began) if last is not None else None
            found = (Difference(identity, "", None, {}),) if what == "created" else ()
            yield Violation(message, place_of(last), found, (what, identity.kind, place_of(last)), steps, last)

    return judge


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
    faults = [Fault(FaultKind.BACK, seconds=_CATCH_UP, version=view.version) for view in chosen]
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
        yield Case(codes.UNSEEN, History((context.create, lost)), comes_back(context, "unseen deletion"))
    for path, other in context.changed(edges=False):
        changed = (context.create, Step(Verb.REPLACE, other, note=path))
        expected = context.undisturbed(*changed)
        if expected.refused:
            continue
        step = Step(Verb.REPLACE, other, unseen=True, note=path)
        judge = same_states(context, expected, f"when the change to `{path}` was not seen")
        yield Case(codes.UNSEEN, History((context.create, step)), judge)


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
        fault = Fault(FaultKind.LAG, seconds=_LATE, resource=resource)
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


def _times(number: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")
