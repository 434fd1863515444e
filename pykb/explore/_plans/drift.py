"""Somebody changes or deletes what the operator has made or reads."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import DAY_SECONDS, IDLE_SECONDS, Context
from pykb.explore._history import History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome, unfitness
from pykb.explore._plans.steps import CONTENT, MOST_SOURCES, create_another
from pykb.explore._plans.together import one_after_the_other
from pykb.explore._state import Difference, State
from pykb.explore._variants import another, leaves, patch_of, put, schema_of, spell, spread, variants
from pykb.explore._verdicts import Case, Judge, Violation, comes_back, ends, place_among

_MOST_FIELDS = 16
"""Of one child, fields that somebody changes."""

_MOST_CHANGES = 2
"""Of another sample."""


def drift(context: Context) -> Iterator[Case]:
    """Somebody changes or deletes what the operator made."""
    for identity in context.children():
        if context.is_owned(identity):
            yield one_after_the_other(context, list(_drifts(context, identity)))
        else:  # it may come back only hours later
            yield from _drifts(context, identity)
    for source in context.sources()[:MOST_SOURCES]:
        yield from _followed(context, source)
    for other in context.others()[:MOST_SOURCES]:
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
    another = create_another(context)
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
    changed = copy.deepcopy({name: source[name] for name in CONTENT if name in source})
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
            yield from ends(what)(outcome) if not outcome.refused else ()
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


_KEYS = ("name", "key", "type", "ip", "port", "containerPort", "protocol", "mountPath", "devicePath", "topologyKey")


def _owned(made: Manifest) -> Sequence[tuple[tuple[str | int, ...], Any]]:
    """Some values that the operator has set, spread over the object."""
    content = {name: made[name] for name in CONTENT if name in made}
    # Without an owner reference, labels may be how the operator knows its objects.
    labels = made["metadata"].get("labels") if made["metadata"].get("ownerReferences") else None
    contents = [leaf for leaf in leaves(content) if not _is_key(leaf[0])]
    every = [*contents, *(leaves({"metadata": {"labels": labels}}) if labels else ())]
    return spread(every, _MOST_FIELDS)


def _is_key(path: tuple[str | int, ...]) -> bool:
    """Whether the API server tells elements of a list apart by this value. With another one, it is another element."""
    return len(path) > 1 and isinstance(path[-2], int) and path[-1] in _KEYS
