"""The sample has a mark for a time, with which the operator may leave it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pykb.diagnostics.codes import explore as codes
from pykb.explore._constants import MARKED, Mark
from pykb.explore._context import Context
from pykb.explore._history import History, Identity, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._state import Difference, State, differences
from pykb.explore._variants import shorten
from pykb.explore._verdicts import Case, Verdict, Violation, cause_of, ends, never_let_go, place_among


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
            yield from ends(what)(outcome)
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
            yield from never_let_go(context, outcome, own, " after it was deleted with a mark")

    return Verdict(judge, lambda other, _: _lets_go(other))
