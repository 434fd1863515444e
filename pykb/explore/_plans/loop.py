"""Nobody does anything, or nothing that changes something: the operator comes to rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import IDLE_SECONDS, Context
from pykb.explore._gate import MOST_RECONCILES
from pykb.explore._history import Fault, FaultKind, History, Identity, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._past import is_done
from pykb.explore._plans.steps import WORKLOADS_LATE_SECONDS, workloads
from pykb.explore._verdicts import Case, Violation, by_itself, restless
from pykb.explore._webhooks import defaulting

_OFTEN_REMADE = 3
"""Updates without a change that a webhook changes. One may be the first since there is a new default."""


def loop(context: Context) -> Iterator[Case]:
    """Nothing happens for hours. The children are ready, or have failed."""

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            webhooks = (path for path, number in outcome.remade.items() if number >= _OFTEN_REMADE)
            if place := next((outcome.defaulters[path] for path in webhooks if path in outcome.defaulters), None):
                message = "the webhook changes an object again with each update: it is not idempotent"
                yield Violation(message, place, (), ("defaulter", place), remedy=_FILL_IN)
            else:
                yield restless(outcome, "though nobody else does anything")
            return
        if sent := outcome.repeated:
            message = f"the operator writes for ever, though nothing has changed: it {sent}"
            yield Violation(message, sent.place, (), ("restless", sent.place), by=sent)
            return
        late = [each.at for each in outcome.reconciles if each.at > outcome.rested_at]
        if len(late) > MOST_RECONCILES:
            took = late[-1] - outcome.rested_at
            message = f"{len(late)} reconciles in {took:.0f} seconds, though nothing has changed"
            yield Violation(message, outcome.unrest_at, (), ("reconciles",))

    yield Case(codes.LOOP, History((context.create,), idle=IDLE_SECONDS), by_itself(judge))
    if workloads(context):
        yield Case(
            codes.LOOP,
            History((context.create,), Fault(FaultKind.FAIL, seconds=WORKLOADS_LATE_SECONDS), IDLE_SECONDS),
            by_itself(judge),
            hinders=True,
        )
    for identity in context.children():
        if identity.kind == "Job" and context.created(identity)["spec"].get("ttlSecondsAfterFinished") is not None:
            history = History((context.create, Step(Verb.DELETE, identity.manifest)))
            yield Case(codes.LOOP, history, by_itself(partial(_runs_again, identity)))
    yield from defaulted(context)


_FILL_IN = "a default is for a field that has no value: leave one that is there, as the webhook may have set it before"


def _runs_again(identity: Identity, outcome: Outcome) -> Iterator[Violation]:
    """Whether the operator makes a Job again that has run. The cluster deletes it each time, as its spec wants."""
    if len(outcome.states) < 2 or not is_done(identity, outcome.states[0].get(identity, {})):
        return
    later = [change for change in outcome.changes if change.at >= outcome.began[1] and change.identity == identity]
    made = next((each.by for each in later if each.before is None and each.by is not None), None)
    if made is not None:
        message = f"{identity} runs again each time the cluster deletes it by its `ttlSecondsAfterFinished`"
        yield Violation(message, made.place, (), ("runs again", made.place), by=made)


def defaulted(context: Context) -> Iterator[Case]:
    """Somebody updates the sample without a change. A mutating webhook must not change it again."""
    crd = context.definition
    if crd is None:
        return
    configurations = [*context.subject.webhooks, *context.base.webhooks]
    paths = list(defaulting(configurations, crd["spec"]["group"], crd["spec"]["names"]["plural"]))
    own = context.own

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if len(outcome.states) < 2:
            return
        first, second = ({own: state[own]} if own in state else {} for state in outcome.states[:2])
        if unlike := context.compare(first, second):
            place = next((outcome.defaulters[path] for path in paths if path in outcome.defaulters), None)
            message = f"{unlike[0]} after an update without a change: the webhook is not idempotent"
            yield Violation(message, place, unlike, ("defaulter", place), remedy=_FILL_IN)

    if paths:
        update = Step(Verb.REWRITE, Identity.of(context.sample).manifest)
        yield Case(codes.LOOP, History((context.create, update)), by_itself(judge))
