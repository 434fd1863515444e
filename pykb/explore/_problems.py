"""Why a sample cannot be explored, or not all of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from pykb.client.structure import prune, structure_of_schema
from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes import explore as codes
from pykb.diagnostics.suggest import closest
from pykb.explore._context import Context
from pykb.explore._history import Identity
from pykb.explore._outcome import Failure
from pykb.explore._variants import schema_of
from pykb.explore._verdicts import first_bug


def problem_of(context: Context) -> Diagnostic | None:
    """Why a sample cannot be explored."""
    base, name = context.base, Identity.of(context.sample)
    if base.refused:
        bug = first_bug(base)
        span = (bug.place if bug is not None else None) or context.subject.places.get(name)
        why = f": {bug.kind}: {bug.message}" if bug is not None else ""
        helps = ("correct the sample",) if bug is None else ("correct the webhook or the converter",)
        return codes.NOT_EXPLORED.at(span, f"the sample {name} is refused: {base.refused[0][1]}{why}", *helps)
    if base.broken and not base.reconciles:
        return codes.NOT_EXPLORED.at(None, f"the manager ends with an error: {base.broken}")
    if base.fails and not any(sent.write and not sent.is_note for sent in base.sent) and base.failures:
        failure = base.failures[-1]
        span = failure.place or context.subject.places.get(name)
        message = f"each handler of the sample {name} fails: {failure.kind}: {failure.message}"
        return codes.NOT_EXPLORED.at(span, message, "mend it first: everything is compared with this run")
    if base.handlers and not base.unrest and not base.reconciles and not any(sent.works_on for sent in base.sent):
        return _unhandled(context)
    if base.failures and not base.sent:
        failure = base.failures[-1]
        span = failure.place or context.subject.places.get(name)
        return codes.NOT_EXPLORED.at(span, f"the sample {name} fails: {failure.kind}: {failure.message}")
    return None


def failure_at_rest(context: Context) -> Failure | None:
    """The error with which the operator fails for the sample in the end."""
    base = context.base
    return base.failures[-1] if base.at_rest and base.fails and base.failures else None


def failing(context: Context) -> Diagnostic | None:
    """A problem if a reconcile fails in the end: what comes after the error was never tried."""
    name, failure = Identity.of(context.sample), failure_at_rest(context)
    if failure is not None:
        message = f"the operator still fails for the sample {name} at rest: {failure.kind}: {failure.message}"
        remedy = "give it what it waits for: a double that answers, an actor, or an object in `tests/fixtures`"
        return codes.NOT_EXPLORED.at(failure.place or context.subject.places.get(name), message, remedy)
    return None


def dropped_fields(context: Context) -> Iterator[Diagnostic]:
    """Yield a note about each field of a sample that its definition lacks: nothing that it stands for is explored."""
    sample, schema = context.sample, schema_of(context.subject.crds, context.sample)
    name = Identity.of(sample)
    known = {each for inner in _schemas_in(schema) for each in inner.get("properties") or ()}
    for path in prune(copy.deepcopy(sample.get("spec")), structure_of_schema(schema), "spec.") if schema else ():
        near = closest(path.rpartition(".")[2], known)
        helps = (f"did you mean `{near}`?",) if near else ()
        message = f"the sample {name} is explored without `{path}`: its definition has no such field"
        yield codes.LEFT_OUT.at(context.subject.places.get(name), message, *helps)


def _schemas_in(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema, and all in it."""
    yield schema
    parts = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for part in parts:
        if isinstance(part, dict):
            yield from _schemas_in(part)


def _unhandled(context: Context) -> Diagnostic:
    """Why kopf calls no handler for a sample."""
    base, name = context.base, Identity.of(context.sample)
    if base.failures:
        failure = base.failures[-1]
        message = f"the operator does not start: {failure.kind}: {failure.message}"
        return codes.NOT_EXPLORED.at(failure.place, message, "mend what `@kopf.on.startup` calls")
    message = f"no handler is called for the sample {name}: there are handlers of {', '.join(base.handlers)}"
    return codes.NOT_EXPLORED.at(context.subject.places.get(name), message, "correct the sample, or name another one")
