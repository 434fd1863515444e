"""The histories to run for each code, and what must hold in them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Case, Context, Violation
from pykb.explore._gate import Place, Sent
from pykb.explore._history import Fault, FaultKind, History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._sight import stale, unseen
from pykb.explore._state import Difference, read
from pykb.explore._together import one_after_the_other, one_in_each_step
from pykb.explore._variants import leaves, patch_of, put, spell, spread
from pykb.explore._verdicts import (
    bug_of,
    cause_of,
    comes_back,
    first_bug,
    place_among,
    place_of,
    restless,
    same_end,
    same_states,
)
from pykb.explore._versioned import converted, converted_edges, defaulted
from pykb.explore._workloads import KINDS

_HOURS = 2 * 3600.0
_LATE = 120.0
_MOST_RECONCILES = 3600
_MOST_LEAVES = 16
_MOST_NOTED = 4
_NOTE = {"example.com/note": "somebody else's"}


def crash(context: Context) -> Iterator[Case]:
    """The process dies before or after each write."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    kinds = (FaultKind.CRASH_AFTER, FaultKind.CRASH_BEFORE)
    faults = [(sent, Fault(kind, sent.number)) for sent in expected.writes for kind in kinds]
    judge = same_states(context, expected, "after a crash")
    yield from one_in_each_step(codes.CRASH, steps, expected, judge, faults)


def error(context: Context) -> Iterator[Case]:
    """Each request fails once."""
    steps = context.life()
    expected = context.undisturbed(*steps)
    faults = [(sent, fault) for sent in expected.sent if sent.number for fault in _errors(sent)]
    judge = same_states(context, expected, "after an error")
    yield from one_in_each_step(codes.ERROR, steps, expected, judge, faults)


def _errors(sent: Sent) -> Iterator[Fault]:
    yield Fault(FaultKind.REFUSE, sent.number, 500)
    if sent.write:
        yield Fault(FaultKind.LOSE_ANSWER, sent.number)
        yield Fault(FaultKind.REFUSE, sent.number, 0)
    if sent.verb in ("update", "patch"):
        yield Fault(FaultKind.REFUSE, sent.number, 409)


def history(context: Context) -> Iterator[Case]:
    """From one spec to another and back; children that become ready late."""
    if _workloads(context):
        judge = same_states(context, context.base, "when its children become ready late")
        yield Case(codes.HISTORY, History((context.create,), Fault(FaultKind.LATE, seconds=_LATE)), judge)
    for path, other in context.changed(edges=False):
        fresh = context.undisturbed(Step(Verb.CREATE, other, note=path))
        if fresh.refused or fresh.fails or not fresh.at_rest:
            continue

        def judge(outcome: Outcome, fresh: Outcome = fresh, path: str = path) -> Iterator[Violation]:
            if outcome.refused:
                return  # the field cannot be changed
            expected = (fresh.states[0], context.base.states[0])
            words = (f"after the change to `{path}`", f"after a change to `{path}` and back")
            every = zip(expected, outcome.states[1:], words, strict=False)
            for number, (wanted, found, what) in enumerate(every, start=2):
                if unlike := context.compare(wanted, found, outcome=outcome):
                    place = place_among(unlike, outcome, fresh)
                    yield Violation(f"{unlike[0]} {what}", place, unlike, cause_of(unlike), steps=number)
                    return

        steps = (context.create, Step(Verb.REPLACE, other, note=path), Step(Verb.REPLACE, context.sample))
        yield Case(codes.HISTORY, History(steps), judge)
    yield from converted(context)


def drift(context: Context) -> Iterator[Case]:
    """Somebody changes or deletes what the operator made."""
    for identity in context.children():
        yield one_after_the_other(list(_drifts(context, identity)), context.create)


def _drifts(context: Context, identity: Identity) -> Iterator[Case]:
    lost = Step(Verb.DELETE, identity.manifest)
    yield Case(codes.DRIFT, History((context.create, lost)), comes_back(context, "deletion"))
    made = context.created(identity)
    for path, value in _owned(made):
        change = {**identity.manifest, **patch_of(made, path, _another(value))}
        change["metadata"] = {**change.get("metadata", {}), **identity.manifest["metadata"]}
        step = Step(Verb.PATCH, change, note=spell(path))
        judge = comes_back(context, f"change of `{spell(path)}`", cause=(identity.kind, "changed"))
        yield Case(codes.DRIFT, History((context.create, step)), judge)


def leak(context: Context) -> Iterator[Case]:
    """The object is deleted at any moment."""
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            yield restless(outcome, "after the deletion")
            return
        left = outcome.states[-1]
        if own in left:
            found = Difference(own, "", None, left[own])
            yield Violation(f"{own} is never let go: a finalizer stays", _holding(outcome), (found,), ("finalizer",))
            return
        for found in context.compare({}, left):
            maker = outcome.maker_of(found.identity)
            if maker is not None:
                yield Violation(f"{found} after the deletion", maker.place, (found,), (found.identity.kind,))

    yield Case(codes.LEAK, History((context.create, context.delete)), judge)
    for sent in context.base.writes:
        if sent.status >= HTTPStatus.BAD_REQUEST:
            continue  # nobody acts after a write that was refused
        steps = (context.create, Step(Verb.DELETE, context.sample, after_write=sent.write))
        yield Case(codes.LEAK, History(steps), judge)


def theft(context: Context) -> Iterator[Case]:
    """What is somebody else's: an object of a child's name, another object of the kind, a note on a child."""
    yield from _beside_another(context)
    yield from _noted(context)
    for identity in context.children():
        # Soon after it, the object is created: the name of a child may say at what time that was.
        foreign = Step(Verb.CREATE, _foreign(context.created(identity)), soon=True)

        def judge(outcome: Outcome, identity: Identity = identity, foreign: Step = foreign) -> Iterator[Violation]:
            if outcome.refused:
                return  # nobody else can have it
            for change in outcome.changes:
                if change.identity == identity and change.by is not None:
                    verb = "changed" if change.after else "deleted"
                    place = change.by.place
                    message = f"{identity} of somebody else is {verb}"
                    early = None if change.at >= outcome.began[-1] else 2  # the deletion does not matter
                    yield Violation(message, place, (), (verb, identity.kind, place), steps=early)
                    return
            if outcome.states and not _is_said(context, outcome) and _is_wanted(context, identity, foreign):
                place = place_of(context.base.maker_of(identity))
                message = f"{identity} is somebody else's, and neither an event nor the status says so"
                yield Violation(message, place, (), ("said", identity.kind))

        steps = (foreign, context.create, context.delete)
        yield Case(codes.THEFT, History(steps), judge)


def _beside_another(context: Context) -> Iterator[Case]:
    """Another object of the kind comes and goes, with the same spec."""
    name = f"{context.sample['metadata']['name']}-2"
    other = {**context.sample, "metadata": {**context.sample["metadata"], "name": name}}
    judge = same_end(context, context.base, f"after another {other['kind']} came and went")
    steps = (context.create, Step(Verb.CREATE, other), Step(Verb.DELETE, other))
    yield Case(codes.THEFT, History(steps), judge)


def _noted(context: Context) -> Iterator[Case]:
    """Somebody annotates a child."""
    replaced = context.replaced()
    for identity in context.children()[:_MOST_NOTED]:

        def judge(outcome: Outcome, identity: Identity = identity) -> Iterator[Violation]:
            is_new = any(change.identity == identity and change.after is None for change in outcome.changes)
            child = outcome.states[-1].get(identity) if outcome.states else None
            if outcome.refused or is_new or child is None:
                return
            if not _NOTE.items() <= (child["metadata"].get("annotations") or {}).items():
                message = f"an annotation of somebody else on {identity} is removed"
                yield Violation(message, place_of(outcome.maker_of(identity)), (), ("note", identity.kind))

        note = {**identity.manifest, "metadata": {**identity.manifest["metadata"], "annotations": _NOTE}}
        steps = (context.create, Step(Verb.PATCH, note, note="metadata.annotations"), *replaced)
        yield Case(codes.THEFT, History(steps), judge)


def loop(context: Context) -> Iterator[Case]:
    """Nothing happens for hours. The children are ready, or have failed."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            yield restless(outcome, "though nobody else does anything")
            return
        for sent in outcome.sent:
            if sent.write and sent.at > outcome.rested_at:
                message = f"the operator writes for ever, though nothing has changed: it {sent}"
                yield Violation(message, sent.place, (), ("restless", sent.place), by=sent)
                return
        late = [moment for moment in outcome.reconciles if moment > outcome.rested_at]
        if len(late) > _MOST_RECONCILES:
            message = f"{len(late)} reconciles in {_HOURS / 3600:g} hours, though nothing has changed"
            yield Violation(message, None, (), ("reconciles",))

    yield Case(codes.LOOP, History((context.create,), idle=_HOURS), judge)
    if _workloads(context):
        yield Case(codes.LOOP, History((context.create,), Fault(FaultKind.FAIL, seconds=_LATE), _HOURS), judge)
    yield from defaulted(context)


def bug(context: Context) -> Iterator[Case]:
    """Valid specs at the edges of the schema, and back to the sample."""
    for path, other in context.changed(edges=True):

        def judge(outcome: Outcome, path: str = path) -> Iterator[Violation]:
            if failure := first_bug(outcome):
                yield bug_of(failure, f"`{path}`", steps=1 if failure.at < outcome.began[-1] else None)
                return
            if outcome.refused:
                return
            if outcome.at_rest and len(outcome.states) > 1:
                unlike = context.compare(context.base.states[0], outcome.states[1], outcome=outcome)
                if unlike:
                    place = place_among(unlike, outcome, context.base)
                    message = f"{unlike[0]}: no way back from `{path}`"
                    yield Violation(message, place, unlike, cause_of(unlike))

        steps = (Step(Verb.CREATE, other, note=path), Step(Verb.REPLACE, context.sample))
        yield Case(codes.BUG, History(steps), judge)
    yield from converted_edges(context)


PLANS: dict[str, Callable[[Context], Iterator[Case]]] = {
    codes.LOOP.slug: loop,
    codes.CRASH.slug: crash,
    codes.ERROR.slug: error,
    codes.HISTORY.slug: history,
    codes.LEAK.slug: leak,
    codes.THEFT.slug: theft,
    codes.DRIFT.slug: drift,
    codes.STALE.slug: stale,
    codes.UNSEEN.slug: unseen,
    codes.BUG.slug: bug,
}
"""The plan of each code, the most telling first."""

CODES = (*PLANS, codes.RBAC.slug)
"""All codes. Access control is checked in the histories of all plans."""


_KEYS = ("name", "key", "type", "ip", "port", "containerPort", "protocol", "mountPath", "devicePath", "topologyKey")
_CONTENT = ("spec", "data", "binaryData", "rules", "subjects", "webhooks")


def _owned(made: Manifest) -> Sequence[tuple[tuple[str | int, ...], Any]]:
    """Some values that the operator has set, spread over the object."""
    content = {name: made[name] for name in _CONTENT if name in made}
    # Without an owner reference, labels may be how the operator knows its objects.
    labels = made["metadata"].get("labels") if made["metadata"].get("ownerReferences") else None
    contents = [leaf for leaf in leaves(content) if not _is_key(leaf[0])]
    every = [*contents, *(leaves({"metadata": {"labels": labels}}) if labels else ())]
    return spread(every, _MOST_LEAVES)


def _is_key(path: tuple[str | int, ...]) -> bool:
    """Whether the API server tells elements of a list apart by this value. With another one, it is another element."""
    return len(path) > 1 and isinstance(path[-2], int) and path[-1] in _KEYS


def _workloads(context: Context) -> list[Identity]:
    return [identity for identity in context.children() if identity.kind in KINDS]


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return f"{value}x" if isinstance(value, str) else value


def _foreign(made: Manifest) -> Manifest:
    """An object of the same name that somebody else has made, with another content."""
    metadata = {name: made["metadata"][name] for name in ("name", "namespace") if name in made["metadata"]}
    content = {name: copy.deepcopy(value) for name, value in made.items() if name not in ("metadata", "status")}
    every = [leaf for leaf in leaves({name: content[name] for name in _CONTENT if name in content}) if leaf[0]]
    # A number can be changed everywhere. Texts refer to each other, mostly to those before them.
    for path, value in [leaf for leaf in every if type(leaf[1]) is int][:1] or every[-1:]:
        put(content, path, _another(value))
    return {**content, "metadata": {**metadata, "labels": {"owner": "somebody-else"}}}


def _is_wanted(context: Context, identity: Identity, foreign: Step) -> bool:
    """Whether the operator makes a child of that name at that time, if it is free."""
    named = foreign.manifest["metadata"]
    beside = {**foreign.manifest, "metadata": {**named, "name": f"{named['name']}-other"}}
    free = context.undisturbed(replace(foreign, manifest=beside), context.create)
    return bool(free.refused) or identity in free.states[0]


def _is_said(context: Context, outcome: Outcome) -> bool:
    """Whether an event warns, or the status is not that of success."""
    for change in outcome.changes:
        is_event = change.by is not None and change.identity.kind == "Event"
        if is_event and change.after and read(change.after).get("type") == "Warning":
            return True
    own = context.own
    normal, found = context.base.states[0].get(own, {}), outcome.states[0].get(own, {})
    return normal.get("status") != found.get("status")


def _holding(outcome: Outcome) -> Place | None:
    """Where the clean-up fails, or else what set the finalizer."""
    failed = next((failure.place for failure in reversed(outcome.failures) if failure.place), None)
    return failed or next(
        (sent.place for sent in outcome.sent if sent.verb in ("patch", "update") and sent.place), None
    )
