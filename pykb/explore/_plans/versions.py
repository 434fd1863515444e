"""Somebody reads the sample in another version, and writes it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._history import History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._variants import shorten
from pykb.explore._verdicts import Case, Violation, without_bugs


def converted(context: Context) -> Iterator[Case]:
    """Somebody reads an object in another version, and writes it back."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for loss in outcome.lost:
            yield Violation(str(loss), loss.place, (), ("lost", loss.place, loss.path), remedy=_KEEP)
            return
        if (
            not outcome.refused
            and outcome.at_rest
            and (unlike := context.compare(*outcome.states[:2], outcome=outcome))
        ):
            message = f"{unlike[0]} after it was written back in another version"
            yield Violation(message, None, unlike, ("rewritten", unlike[0].path))

    for steps in _rewritten(context, context.changed(edges=False)):
        yield Case(codes.HISTORY, History(steps), judge)


_KEEP = "each version must have all that the others have: keep what it has no field for in an annotation"


def converted_edges(context: Context) -> Iterator[Case]:
    """Somebody reads an object at an edge of the schema in another version. Every version must have it."""
    for steps in _rewritten(context, context.changed(edges=True)):
        yield Case(codes.BUG, History(steps), without_bugs(steps))


def _rewritten(context: Context, others: Iterable[tuple[str, Manifest]]) -> Iterator[tuple[Step, ...]]:
    versions = list(_other_versions(context.definition, context.sample))
    if not versions:
        return
    for path, other in chain([("", context.sample)], others):
        for version in versions:
            manifest = {**Identity.of(other).manifest, "apiVersion": version}
            note = f"apiVersion = {shorten(version)}"
            yield (Step(Verb.CREATE, other, note=path), Step(Verb.REWRITE, manifest, note=note))


def _other_versions(crd: Mapping[str, Any] | None, sample: Manifest) -> Iterator[str]:
    spec = crd["spec"] if crd is not None else {}
    if (spec.get("conversion") or {}).get("strategy") != "Webhook":
        return
    for version in spec["versions"]:
        name = f"{spec['group']}/{version['name']}"
        if version.get("served") and name != sample["apiVersion"]:
            yield name
