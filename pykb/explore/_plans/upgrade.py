"""An earlier version of the operator worked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pykb.diagnostics import Span
from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._earlier import name_of
from pykb.explore._history import History, Identity, Manifest, Step, Takeover, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._past import WORK, is_done
from pykb.explore._plans.steps import CONTENT
from pykb.explore._state import Difference
from pykb.explore._variants import leaves, spell
from pykb.explore._verdicts import Case, Verdict, Violation, holding, last_failure, same_states
from pykb.meta.json_diff import Path


def upgrade(context: Context) -> Iterator[Case]:
    """An earlier version of the operator worked before, and stopped at any moment."""
    earlier = context.subject.earlier
    life = earlier.life_of(context.sample) if earlier is not None else None
    if earlier is None or life is None:
        return
    what = f"after {earlier.before}"
    *working, end = (
        Takeover(earlier.name, name_of(Identity.of(life.sample)), moment.write, moment.what, earlier.is_recorded)
        for moment in life.records[0].moments
    )
    unchanged = Step(Verb.REWRITE, Identity.of(context.sample).manifest)
    if dropped := _dropped(context, earlier.crds):
        yield Case(codes.UPGRADE, History((unchanged,), after=end), lambda _: (dropped,))
        return
    steps = (unchanged, context.delete)
    judge = _continues(context, what)
    for start in (end, *working):
        yield Case(codes.UPGRADE, History(steps, after=start), judge)
    if life.sample != context.sample and life.sample["apiVersion"] == context.sample["apiVersion"]:
        applied = Step(Verb.REPLACE, context.sample, note="the sample of today")
        steps = (applied, context.delete)
        yield Case(codes.UPGRADE, History(steps, after=end), judge)


def _dropped(context: Context, crds: Sequence[Manifest]) -> Violation | None:
    """Whether today's definition lacks the version in which the objects of then are stored.

    Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    today = context.definition
    then = next((crd for crd in crds if today and crd["metadata"]["name"] == today["metadata"]["name"]), None)
    if today is None or then is None:
        return None
    stored = next(version["name"] for version in then["spec"]["versions"] if version.get("storage"))
    if any(version["name"] == stored for version in today["spec"]["versions"]):
        return None
    message = f"the API server refuses today's definition of {context.own.kind}: objects are stored in {stored}"
    place = context.subject.places.get(Identity.of(context.sample))
    return Violation(f"{message}, which it lacks", place, (), ("dropped", stored))


def _continues(context: Context, what: str) -> Verdict:
    """A verdict: today's operator ends in the same states as if it had made everything, from the sample of then."""
    earlier, own = context.subject.earlier, context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        history = outcome.history
        if earlier is None or history is None or history.after is None:
            return
        first, *rest = history.steps
        applied = first.manifest if first.verb is Verb.REPLACE else earlier.life_before(history.after).sample
        expected = context.undisturbed(Step(Verb.CREATE, applied), *rest)
        counts = _kept_right(context, expected) if earlier.is_recorded else _lasting(expected)
        same = same_states(context, expected, what, counts=counts)
        for why in [why for _, why in outcome.refused if not why.endswith("404)")][:1]:
            message = f"the API server refuses {own} as it is {what}: {why}"
            yield Violation(message, context.subject.places.get(Identity.of(context.sample)), (), ("refused",), steps=1)
            return
        if expected.refused:
            return  # nobody can create it today
        violations = list(same(outcome))
        for violation in violations:
            if violation.found and violation.found[0].identity == own and not violation.found[0].path:
                message = f"{own} is never let go {what}: a finalizer stays"
                yield replace(violation, message=message, place=holding(outcome), cause=("finalizer",))
            else:
                yield replace(violation, place=violation.place or _writer_of_kind(violation.found, context.base))
        if not violations and not expected.failures and (failure := last_failure(outcome, 1)):
            message = f"each reconcile fails {what}: {failure.kind}: {failure.message}"
            yield Violation(message, failure.place, (), ("fails", failure.kind, failure.place), steps=1)

    return Verdict(judge, lambda other, _: _continues(other, what))


def _lasting(expected: Outcome) -> Callable[[Difference], bool]:
    """Which differences must not stay. The other samples, and what belongs to them, are no part of the comparison.

    Jobs and pods have done their work, if the cluster deletes them with the object, and an old finalizer may go at the
    deletion.
    """

    def matters(difference: Difference) -> bool:
        identity, left_over = difference.identity, difference.found or {}
        is_over = identity.kind in WORK or difference.path == "metadata.finalizers"
        if not difference.path:
            is_over = is_done(identity, left_over) and "ownerReferences" in left_over["metadata"]
        return identity not in expected.initial and not is_over

    return matters


def _kept_right(context: Context, expected: Outcome) -> Callable[[Difference], bool]:
    """Which differences from a cluster's objects matter. In a cluster, others act, too, and more is made over time.

    What the operator always makes must be there, with the values that it always writes. Without an owner, what it made
    cannot be told from what is somebody else's.
    """
    written = {
        identity: [spell(path) for path, _ in _contents(context, identity) if not context.is_random(identity, path)]
        for identity in context.children()
    }

    def matters(difference: Difference) -> bool:
        identity, path = difference.identity, difference.path
        if not path:
            return identity == context.own or (difference.found is None and identity not in expected.initial)
        if identity.is_secret or identity.kind in WORK or difference.expected is None:
            return False
        is_written = any(f"{each}.".startswith((f"{path}.", f"{path}[")) for each in written.get(identity, ()))
        return is_written and not _has_all(difference.found, difference.expected)

    return matters


def _has_all(found: Any, expected: Any) -> bool:
    """Whether a value has all parts of another one. A cluster adds defaults, and webhooks add containers."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return all(name in found and _has_all(found[name], value) for name, value in expected.items())
    if isinstance(found, list) and isinstance(expected, list):
        return all(any(_has_all(one, value) for one in found) for value in expected)
    return bool(found == expected)


def _contents(context: Context, identity: Identity) -> Iterator[tuple[Path, Any]]:
    """The values of a child that the operator writes."""
    made = context.created(identity)
    return leaves({name: made[name] for name in CONTENT if name in made})


def _writer_of_kind(found: Sequence[Difference], base: Outcome) -> Span | None:
    """Where today's operator writes objects of a kind."""
    kinds = [difference.identity.kind for difference in found]
    writes = (each.by for each in reversed(base.changes) if each.by is not None and each.identity.kind in kinds)
    return next((sent.place for sent in writes if sent.place), None)
