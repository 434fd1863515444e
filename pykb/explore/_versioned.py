"""Histories for webhooks and converters: updates that change nothing, in every version of the kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Case, Context, Violation
from pykb.explore._history import History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._variants import shorten
from pykb.explore._verdicts import bug_of, first_bug
from pykb.explore._webhooks import defaulting


def defaulted(context: Context) -> Iterator[Case]:
    """Somebody updates the sample without a change. A mutating webhook must not change it again."""
    crd = context.definition
    paths = list(defaulting(context.subject.webhooks, crd["spec"]["group"], crd["spec"]["names"]["plural"]))
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        first, second = ({own: state[own]} if own in state else {} for state in outcome.states[:2])
        if unlike := context.compare(first, second):
            place = next((outcome.defaulters[path] for path in paths if path in outcome.defaulters), None)
            message = f"{unlike[0]} after an update without a change: the webhook is not idempotent"
            yield Violation(message, place, unlike, ("defaulter", place))

    if paths:
        update = Step(Verb.REWRITE, Identity.of(context.sample).manifest)
        yield Case(codes.LOOP, History((context.create, update)), judge)


def converted(context: Context) -> Iterator[Case]:
    """Somebody reads an object in another version, and writes it back."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for loss in outcome.lost:
            message = f"{loss.identity}: `{loss.path}` is lost by the conversion to {loss.version} and back"
            yield Violation(message, loss.place, (), ("lost", loss.place, loss.path))
            return
        if not outcome.refused and outcome.at_rest and (unlike := context.compare(*outcome.states[:2])):
            message = f"{unlike[0]} after it was written back in another version"
            yield Violation(message, None, unlike, ("rewritten", unlike[0].path))

    for steps in _rewritten(context, context.changed(edges=False)):
        yield Case(codes.HISTORY, History(steps), judge)


def converted_edges(context: Context) -> Iterator[Case]:
    """Somebody reads an object at an edge of the schema in another version. Every version must have it."""
    for steps in _rewritten(context, context.changed(edges=True)):
        yield Case(codes.BUG, History(steps), _without_bugs(steps))


def _without_bugs(steps: tuple[Step, ...]) -> Callable[[Outcome], Iterator[Violation]]:
    def judge(outcome: Outcome) -> Iterator[Violation]:
        if failure := first_bug(outcome):
            yield bug_of(failure, f"`{steps[0].note}`" if steps[0].note else "the sample")

    return judge


def _rewritten(context: Context, others: Iterable[tuple[str, Manifest]]) -> Iterator[tuple[Step, ...]]:
    versions = list(_other_versions(context.definition, context.sample))
    if not versions:
        return
    for path, other in chain([("", context.sample)], others):
        for version in versions:
            manifest = {**Identity.of(other).manifest, "apiVersion": version}
            note = f"apiVersion = {shorten(version)}"
            yield (Step(Verb.CREATE, other, note=path), Step(Verb.REWRITE, manifest, note=note))


def _other_versions(crd: Mapping[str, Any], sample: Manifest) -> Iterator[str]:
    spec = crd["spec"]
    if (spec.get("conversion") or {}).get("strategy") != "Webhook":
        return
    for version in spec["versions"]:
        name = f"{spec['group']}/{version['name']}"
        if version.get("served") and name != sample["apiVersion"]:
            yield name
