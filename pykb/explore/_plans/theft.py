"""What is somebody else's stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pykb.client.owner import controller_of
from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._history import SECOND_NAMESPACE, History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome, unfitness
from pykb.explore._plans.leak import taken_along
from pykb.explore._plans.steps import CONTENT, create_another, other_than, placed, renamed
from pykb.explore._selecting import mixed_up
from pykb.explore._signs import is_refused
from pykb.explore._state import differences, read
from pykb.explore._variants import another, leaves, put
from pykb.explore._verdicts import (
    Case,
    Verdict,
    Violation,
    about,
    by_itself,
    cause_of,
    last_failure,
    never_let_go,
    place_of,
    same_end,
    was_done,
)

_MOST_NOTED = 4
"""Children that somebody annotates."""

_MOST_LESSER = 12
"""Specs that may do without a child."""

_HOLD = "example.com/somebody-else"

_NOTE = {"example.com/note": "somebody else's"}


def theft(context: Context) -> Iterator[Case]:
    """What is somebody else's: an object of a child's name, another object of the kind, a note on a child."""
    yield from _beside_another(context)
    yield from _beside_namesake(context)
    yield from _at_once(context)
    yield from _noted(context)
    yield from _held(context)
    for identity in context.children():
        # Soon after it, the object is created: the name of a child may say at what time that was.
        steps = (_somebody_elses(context, identity), context.create, context.delete)
        yield Case(codes.THEFT, History(steps), _stays_as_it_is(context, identity), hinders=True)
    yield from _unwanted(context)


def _unwanted(context: Context) -> Iterator[Case]:
    """Another spec does without a child, whose name somebody else's object has: it is none of the operator's."""
    left = context.children()
    for path, other in sorted(context.changed(edges=False), key=lambda each: _wants(each[1]))[:_MOST_LESSER]:
        if not left:
            return
        without = context.with_sample(other, path)
        if without.base.refused or unfitness(without.base):
            continue
        unwanted = [identity for identity in left if identity not in without.base.states[0]]
        left = [identity for identity in left if identity not in unwanted]
        for identity in unwanted:
            steps = (_somebody_elses(context, identity), without.create, without.delete)
            yield about(Case(codes.THEFT, History(steps), _stays_as_it_is(without, identity), hinders=True), without)


def _wants(sample: Manifest) -> int:
    """How much a spec has: a child goes when a field is left out, empty, 0 or false."""
    return sum(bool(value) for _, value in leaves(sample.get("spec")))


def _stays_as_it_is(context: Context, identity: Identity) -> Verdict:
    """A verdict: what somebody else has created with the name of a child is not touched, and the operator says so."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        foreign, *_ = outcome.history.steps if outcome.history is not None else (None,)
        if outcome.refused or foreign is None or Identity.of(foreign.manifest) != identity:
            return  # nobody else can have it
        for change in outcome.changes:
            if change.identity == identity and change.by is not None and not change.is_own_work:
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

    return Verdict(judge, lambda other, _: _stays_as_it_is(other, identity))


def _beside_another(context: Context) -> Iterator[Case]:
    """Another object of the kind comes and goes, with the same spec."""
    another = create_another(context)
    steps = (context.create, another, Step(Verb.DELETE, another.manifest))
    yield Case(codes.THEFT, History(steps), _apart(context, f"after another {context.own.kind} came and went"))


def _apart(context: Context, what: str) -> Verdict:
    """A verdict: another object has children of its own, and takes nothing along when it goes."""
    nothing_taken = _nothing_taken(context, what)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        wrong = _takeover(context, outcome) or _collision(context, outcome) or _mixed_up(context, outcome)
        yield from nothing_taken(outcome) if wrong is None else (wrong,)

    return Verdict(judge, lambda other, _: _apart(other, what))


def _takeover(context: Context, outcome: Outcome) -> Violation | None:
    """Whether a second object gets a child of the first one, whatever the operator says of that."""
    if outcome.history is None or len(outcome.states) < 2:
        return None
    owners = [context.own.name, other_than(context.own).name]
    one, two = outcome.states[:2]
    for change in outcome.changes:
        identity, before, after = change.identity, change.before, change.after
        if change.by is None or not (before and after and identity in one and identity in two):
            continue
        if [found and found.name for found in (controller_of(read(each)) for each in (before, after))] == owners:
            message = f"{identity} of {context.own} is taken by {other_than(context.own)}"
            found = context.compare({identity: one[identity]}, {identity: two[identity]})
            return Violation(message, change.by.place, found, cause_of(found), steps=2)
    return None


def _collision(context: Context, outcome: Outcome) -> Violation | None:
    """Whether the operator refuses a second object only because of its name. It may refuse a second one of a spec."""
    if outcome.history is None or len(outcome.states) < 2 or outcome.refused:
        return None
    second = context.own._replace(name=outcome.history.steps[1].manifest["metadata"]["name"])
    free = context.own._replace(name=f"other-{context.own.name}")
    if not (context.children() and _has_trouble(context, outcome, second)):
        return None
    create = {**context.sample, "metadata": {**context.sample["metadata"], "name": free.name}}
    beside = context.undisturbed(context.create, Step(Verb.CREATE, create))
    if beside.refused or len(beside.states) < 2 or _has_trouble(context, beside, free):
        return None
    message = f"{second} is refused beside {context.own}, and {free} is not: the names of their children are the same"
    place = place_of(context.base.maker_of(context.children()[0]))
    return Violation(message, place, (), ("names", place), steps=2)


def _has_trouble(context: Context, outcome: Outcome, second: Identity) -> bool:
    """Whether the operator fails for an object that came second, or says that it refuses it."""
    return last_failure(outcome, 2) is not None or is_refused(outcome, second, 2, context.base)


def _mixed_up(context: Context, outcome: Outcome) -> Violation | None:
    """Whether a child selects the pods of a second object as well."""
    if len(outcome.states) < 2 or outcome.refused:
        return None
    alone, both = outcome.states[:2]
    found = next(mixed_up(context.children(), alone, both, context.sample), None)
    if found is None:
        return None
    (child, selector), place = found, place_of(context.base.maker_of(found[0]))
    message = f"{child} of {context.own} selects the pods of {other_than(context.own)}, too: `{selector}`"
    remedy = f"give the pods of each {context.own.kind} a label with its name, and select them by it"
    return Violation(message, place, (), ("selects", place), steps=2, remedy=remedy)


def _as_alone(context: Context, what: str) -> Verdict:
    """A verdict: the same end as of the sample alone, after other objects of its kind have gone."""
    same = same_end(context, context.base, what, is_alone=False)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        steps = outcome.history.steps if outcome.history is not None else ()
        # A simpler history may lack the deletion.
        if deleted := [Identity.of(step.manifest) for step in steps if step.verb is Verb.DELETE]:
            yield from list(never_let_go(context, outcome, deleted[-1], f" {what}")) or same(outcome)

    return Verdict(judge, lambda other, _: _as_alone(other, what))


def _beside_namesake(context: Context) -> Iterator[Case]:
    """Another object with the same name comes and goes in a second namespace, after the first one or before it."""
    sample = context.sample
    if not sample["metadata"].get("namespace") or context.subject.namespaces:
        return  # there is but one of a name, or the operator does not look there
    change = context.smaller()
    spec = change.manifest if change is not None else sample
    namesake, other = (placed(each, SECOND_NAMESPACE) for each in (spec, renamed(spec)))
    come, go = Step(Verb.CREATE, namesake), Step(Verb.DELETE, namesake)
    what = f"after another {sample['kind']} came and went in another namespace"

    def all_made(outcome: Outcome) -> Iterator[Violation]:
        expected = context.undisturbed(Step(Verb.CREATE, other), context.create, Step(Verb.DELETE, other))
        same = same_end(context, _without_left_over(context, expected), what, is_alone=False)
        if not _is_said(context, outcome, step=2):  # the name of a child may be taken
            yield from list(never_let_go(context, outcome, Identity.of(namesake), f" {what}")) or same(outcome)

    yield Case(codes.THEFT, History((context.create, come, go)), _nothing_taken(context, what))
    yield Case(codes.THEFT, History((come, context.create, go)), all_made)


def _nothing_taken(context: Context, what: str) -> Verdict:
    """A verdict: nothing of the first object goes with the one that goes last, and the end is as without that one."""
    same = _as_alone(context, what)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.history is not None and outcome.states and (taken := taken_along(outcome, since=1)):
            gone = Identity.of(outcome.history.steps[-1].manifest)
            message = f"{taken.identity} is deleted with {gone}, which is another one"
            cause = ("deleted", taken.identity.kind, place_of(taken.by))
            yield Violation(message, place_of(taken.by), (), cause, by=taken.by)
        else:
            yield from same(outcome)

    return Verdict(judge, lambda other, _: _nothing_taken(other, what))


def _without_left_over(context: Context, expected: Outcome) -> Outcome:
    """A run in which nothing is left of what was made in the first step: under another name, it would be missing."""
    if not expected.states:
        return expected
    left_over = {*expected.states[0]} - {*context.base.states[-1]}
    last = {identity: state for identity, state in expected.states[-1].items() if identity not in left_over}
    return replace(expected, states=[*expected.states[:-1], last])


def _at_once(context: Context) -> Iterator[Case]:
    """Another object of the kind changes at the same time."""
    first = context.smaller()
    if first is None:
        return
    create, second = create_another(context), replace(first, manifest=renamed(first.manifest))
    steps = (context.create, create, replace(first, together=True), second)
    expected = context.run(History(_in_order(steps)))
    if expected.refused or not unfitness(expected):  # or the two do not bear each other, and the operator may say so
        what = f"when another {first.manifest['kind']} changes at the same time"
        yield Case(codes.THEFT, History(steps), _as_in_order(context, expected, steps, what))


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps at almost the same time: an operator may act by the clock."""
    return tuple(replace(step, together=False, soon=step.soon or step.together) for step in steps)


def _as_in_order(context: Context, expected: Outcome, steps: Sequence[Step], what: str) -> Verdict:
    """A verdict: the same end as if what is done at one moment were done one after the other.

    If two objects want the same child, either of them may get it. The other one must say so.
    """
    same = same_end(context, expected, what, is_alone=False)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        violations = list(same(outcome))
        if violations and _is_said_of_one(context, outcome):
            exchanged = context.run(History(_in_order(_exchanged(steps))))
            violations = list(same_end(context, exchanged, what, is_alone=False)(outcome))
        yield from violations

    def again(other: Context, fewer: Sequence[Step]) -> Verdict:
        return _as_in_order(other, other.run(History(_in_order(fewer))), fewer, what)

    return Verdict(judge, again)


def _exchanged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps, with each one that is taken together with the next one after it."""
    every = list(steps)
    for index, step in enumerate(steps[:-1]):
        if step.together:
            every[index : index + 2] = replace(steps[index + 1], together=True), replace(step, together=False)
    return tuple(every)


def _noted(context: Context) -> Iterator[Case]:
    """Somebody annotates a child."""
    replaced = context.replaced()
    for identity in context.children()[:_MOST_NOTED]:
        note = {**identity.manifest, "metadata": {**identity.manifest["metadata"], "annotations": _NOTE}}
        steps = (context.create, Step(Verb.PATCH, note, note="metadata.annotations"), *replaced)
        yield Case(codes.THEFT, History(steps), _keeps_note(identity))


def _keeps_note(identity: Identity) -> Verdict:
    """A verdict: an annotation on a child stays."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        is_new = any(change.identity == identity and change.after is None for change in outcome.changes)
        child = outcome.states[-1].get(identity) if outcome.states else None
        if outcome.refused or is_new or child is None or not was_done(outcome, Verb.PATCH, identity):
            return
        if not _NOTE.items() <= (child["metadata"].get("annotations") or {}).items():
            message = f"an annotation of somebody else on {identity} is removed"
            yield Violation(message, place_of(outcome.maker_of(identity)), (), ("note", identity.kind))

    return by_itself(judge)


def _held(context: Context) -> Iterator[Case]:
    """Somebody else has a finalizer on the object, and it is deleted."""
    own, metadata = context.own, context.sample["metadata"]
    held = {**context.sample, "metadata": {**metadata, "finalizers": [*(metadata.get("finalizers") or ()), _HOLD]}}

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for change in outcome.changes:
            if change.identity != own:
                continue
            left = read(change.after)["metadata"].get("finalizers") or () if change.after else ()
            if _HOLD in left or change.by is None or change.by.is_of_kopf:
                continue  # nobody but the operator removes it
            place = change.by.place
            message = f"the finalizer of somebody else on {own} is removed"
            yield Violation(message, place, (), ("finalizer", place), by=change.by)
            return

    steps = (Step(Verb.CREATE, held, note="metadata.finalizers"), context.delete)
    yield Case(codes.THEFT, History(steps), by_itself(judge), hinders=True)


def _somebody_elses(context: Context, identity: Identity) -> Step:
    """Creates an object with the name of a child. If the API server refuses another content, with the same one."""
    made = context.created(identity)
    step = Step(Verb.CREATE, _foreign(made), soon=True)
    if context.undisturbed(replace(step, soon=False)).refused:
        return replace(step, manifest=_foreign(made, is_other=False))
    return step


def _foreign(made: Manifest, *, is_other: bool = True) -> Manifest:
    """An object of the same name that somebody else has made, with another content."""
    metadata = {name: made["metadata"][name] for name in ("name", "namespace") if name in made["metadata"]}
    content = {name: copy.deepcopy(value) for name, value in made.items() if name not in ("metadata", "status")}
    every = [leaf for leaf in leaves({name: content[name] for name in CONTENT if name in content}) if leaf[0]]
    # A number can be changed everywhere. Texts refer to each other, mostly to those before them.
    for path, value in ([leaf for leaf in every if type(leaf[1]) is int][:1] or every[-1:]) if is_other else ():
        put(content, path, another(content["kind"], path, value))
    return {**content, "metadata": {**metadata, "labels": {"owner": "somebody-else"}}}


def _is_wanted(context: Context, identity: Identity, foreign: Step) -> bool:
    """Whether the operator makes a child of that name at that time, if it is free."""
    named = foreign.manifest["metadata"]
    beside = {**foreign.manifest, "metadata": {**named, "name": f"{named['name']}-other"}}
    free = context.undisturbed(replace(foreign, manifest=beside), context.create)
    return bool(free.refused) or identity in free.states[0]


def _is_said(context: Context, outcome: Outcome, step: int = 1) -> bool:
    """Whether an event warns, or the status is not that of success after a step."""
    if _warns(outcome):
        return True
    own = context.own
    after = outcome.states[step - 1] if len(outcome.states) >= step else {}
    normal, found = ({own: {"status": state.get(own, {}).get("status")}} for state in (context.base.states[0], after))
    return bool(differences(normal, found, context.ignore))


def _is_said_of_one(context: Context, outcome: Outcome) -> bool:
    """Whether an event warns, or two objects with the same spec have another status in the end. Names do not matter."""
    every = [(each, outcome.states[-1].get(each, {})) for each in (context.own, other_than(context.own))]
    one, two = (repr(obj.get("status")).replace(each.name, "") for each, obj in every)
    return _warns(outcome) or one != two


def _warns(outcome: Outcome) -> bool:
    """Whether the operator makes an event that warns."""
    events = (each for each in outcome.changes if each.by is not None and each.identity.kind == "Event" and each.after)
    return any(read(each.after or b"{}").get("type") != "Normal" for each in events)
