"""What came of a history: states, requests, changes and errors."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from pykb.api.safe_text import safe_text
from pykb.diagnostics import Diagnostic, Span
from pykb.explore._gate import MOST_REQUESTS, Sent, Worked, place_in
from pykb.explore._history import Fault, History, Identity, Manifest, Step
from pykb.explore._lines import Lines
from pykb.explore._memory import Variable
from pykb.explore._state import Difference, State, is_generated, read
from pykb.explore._variants import spell
from pykb.explore._webhooks import Loss
from pykb.meta.json_diff import changes
from pykb.runtime.controller.controller import BUGS

_LONGEST_MESSAGE = 120
_OFTEN = 12
_ENDS_SECONDS = 3600.0
"""Writes by the clock have ended after so long, unless they never do."""

_SELDOM_SECONDS = 300.0
"""After so long, a write that changes nothing may come again."""

_BAD_VALUES = (ValueError, ValidationError)
"""Errors for values that a schema should have refused. Their subclasses may be a user's own."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a reconcile, of a webhook or of a converter.

    Attributes:
        kind: The class of the error.
        message: The beginning of its text.
        place: The last line of the user's code in its traceback.
        at: The virtual time.
        is_bug: Whether it is an error of programming, or ends the process.
    """

    kind: str
    message: str
    place: Span | None
    at: float
    is_bug: bool


def failure_of(error: BaseException, root: Path | None, at: float) -> Failure:
    """Note an error.

    Args:
        error: The error.
        root: The folder of the user's code.
        at: The virtual time.
    """
    text = safe_text(error).partition("\n")[0]
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 3]}..."
    is_bug = isinstance(error, (*BUGS, SystemExit)) or type(error) in _BAD_VALUES
    return Failure(type(error).__name__, text, place_of_error(error, root), at, is_bug)


def place_of_error(error: BaseException, root: Path | None) -> Span | None:
    """The last line of the user's code in a traceback, or in that of the cause."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    place = place_in(root, reversed(frames))
    return place if place is not None or error.__cause__ is None else place_of_error(error.__cause__, root)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an object.

    Attributes:
        identity: The object.
        before: Its state before, ``None`` if it did not exist.
        after: Its state after, ``None`` if it was deleted.
        by: The request of the operator that made it. ``None`` if somebody else did.
        at: When, in the world's time.
        version: The ``resourceVersion`` that the API server gave the change.
    """

    identity: Identity
    before: bytes | None
    after: bytes | None
    by: Sent | None
    at: float
    version: int = 0

    @property
    def is_own_work(self) -> bool:
        """Whether the operator changed the object in a reconcile of this very object, as a controller of its kind."""
        if self.by is None or not self.by.works_on:
            return False
        uid = read(self.before or self.after or b"{}")["metadata"]["uid"]
        return not self.by.works_on.isdisjoint({self.identity.key, uid})


@dataclass(frozen=True, slots=True)
class Breach:
    """An invariant of the project that did not hold.

    Attributes:
        name: The invariant.
        text: What did not hold.
        change: The change that made it so, if that is known.
        step: The step after which it did not hold, counted from 1.
        at_rest: Whether it did not hold when everything was at rest.
    """

    name: str
    text: str
    change: Change | None
    step: int
    at_rest: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """What is in the cluster when an operator stops.

    Attributes:
        objects: The objects, as JSON.
        made: The uids of those that Kubernetes' own controllers made.
        at: The virtual time.
        changes: How many changes there were.
        write: It stops right after this write, counted from 1; 0 for the end, when everything is at rest.
        what: The write, for people.
    """

    objects: tuple[bytes, ...]
    made: frozenset[str]
    at: float
    changes: int
    write: int = 0
    what: str = ""


@dataclass(slots=True)
class Outcome:
    """What came of a history.

    Attributes:
        history: The history. Set where the outcome is judged.
        initial: The state at rest before the first step.
        later: The state after some time at rest, at most after the first write. Only of histories with such a time.
        worked: The actors of the user of which a call did not fail, by number.
        stuck: The last failures of the others, and of these. Those that are no answers of the API server are bugs.
        ignored: The fields of a status that may differ, and did while nothing else changed and nobody acted.
        unfit: Why the objects of the background cannot be there, if they cannot.
        states: The state at rest after each step that was waited for.
        rests: All states of the run, each with the number of changes until then.
        sent: The operator's requests.
        changes: All changes.
        inherited: How many of the changes an earlier version of the operator saw.
        failures: The errors of reconciles.
        reconciles: Each reconcile, when it ended.
        looks: Each read from the cache.
        reconcile_lines: A line for each reconcile, with the time of its end. Only if causes were asked for.
        began: When each step that was waited for began.
        at_rest: Whether the world came to rest.
        rested_at: When it last came to rest.
        unrest: What the operator did for ever, if that was not writing.
        unrest_at: The line where.
        refused: The steps that the API server did not accept, with its answer.
        struck: The request that met each fault.
        broken: The error that ended the manager, if one did.
        fails: Whether the last reconcile of an object failed.
        strays: What the operator did outside of the virtual world.
        lost: What conversions did not keep.
        defaulters: The lines of the mutating webhooks, by path.
        remade: How often they changed the spec in an update that did not, by path.
        handlers: The resources that kopf's handlers are for.
        webhooks: The webhook configurations of kopf's handlers.
        is_of_kopf: Whether there are handlers of kopf, and no controllers.
        breaches: The invariants that did not hold, each once.
        checks: The invariant that is checked just now.
        unchecked: Messages about invariants that fail.
        moments: What was there after each write of the operator, and at rest. Only if the history asks for it.
        forgotten: What modules kept when a process died, and no more in the next one.
        shared: What modules kept that replicas of one program had in common, as real ones have not.
        at_once: The object on which two replicas worked at the same time.
        lines: The lines of the user's code that no earlier history has run in the same process.
        warnings: What the user's code has logged as a warning or more, each with the number of the step.
    """

    history: History | None = None
    initial: State = field(default_factory=dict)
    later: State | None = None
    worked: frozenset[int] = frozenset()
    stuck: dict[int, Failure] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    unfit: str = ""
    states: list[State] = field(default_factory=list)
    rests: list[tuple[State, int]] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    inherited: int = 0
    failures: list[Failure] = field(default_factory=list)
    reconciles: list[Worked] = field(default_factory=list)
    looks: list[Worked] = field(default_factory=list)
    reconcile_lines: list[tuple[float, str]] = field(default_factory=list)
    began: list[float] = field(default_factory=list)
    at_rest: bool = True
    rested_at: float = 0.0
    unrest: str = ""
    unrest_at: Span | None = None
    refused: list[tuple[Step, str]] = field(default_factory=list)
    struck: dict[Fault, Sent] = field(default_factory=dict)
    broken: str = ""
    fails: bool = False
    strays: list[Diagnostic] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    defaulters: dict[str, Span] = field(default_factory=dict)
    remade: dict[str, int] = field(default_factory=dict)
    handlers: tuple[str, ...] = ()
    webhooks: tuple[Manifest, ...] = ()
    is_of_kopf: bool = False
    breaches: list[Breach] = field(default_factory=list)
    checks: str = ""
    unchecked: list[Diagnostic] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    forgotten: tuple[Variable, ...] = ()
    shared: tuple[Variable, ...] = ()
    at_once: str = ""
    lines: Lines = field(default_factory=dict)
    warnings: list[tuple[int, str]] = field(default_factory=list)

    def first(self, steps: int) -> Outcome | None:
        """What came of the first steps of an undisturbed history; ``None`` if that is not known."""
        if len(self.began) <= steps or self.refused or any(each.at < self.began[steps] for each in self.failures):
            return None  # nor is it noted when steps were refused, and whether the last reconcile had failed
        end = self.began[steps]
        return replace(
            self,
            states=self.states[:steps],
            sent=[sent for sent in self.sent if sent.at < end],
            changes=[change for change in self.changes if change.at < end],
            failures=[],
            reconciles=[each for each in self.reconciles if each.at < end],
            looks=[each for each in self.looks if each.at < end or each.at == float("inf")],
            began=self.began[:steps],
            at_rest=True,
            rested_at=end,
            refused=[],
            fails=False,
        )

    def time_of(self, step: int) -> tuple[float, float]:
        """When a step began that was waited for, counted from 1, and when the next one did."""
        since, until = [*self.began, *[float("inf")] * (step + 1)][step - 1 : step + 1]
        return since, until

    def refused_in(self, step: int) -> list[Sent]:
        """The writes of a step that the API server calls invalid, the last ones of each object."""
        since, until = self.time_of(step)
        last = {(sent.group, sent.resource, sent.name): sent for sent in self.writes if since <= sent.at < until}
        return [sent for sent in last.values() if sent.refusal]

    def struck_before(self, state: int) -> Sent | None:
        """The last request that met a fault before a state, counted from 1."""
        before = (sent for sent in self.struck.values() if sum(began <= sent.at for began in self.began) <= state)
        return max(before, key=lambda sent: sent.number, default=None)

    @property
    def repeated(self) -> Sent | None:
        """The first of the writes that the operator repeats without end, though everything is at rest.

        A child that goes at its time is written once, and steps by the clock have an end. What changes nothing may come
        again after some minutes: the operator looks whether all is well.
        """
        at_rest = [sent for sent in self.sent if sent.at > self.rested_at]
        every: dict[tuple[str, str, Span | None], list[Sent]] = {}
        for sent in at_rest:
            if sent.is_work and not sent.is_needless:
                every.setdefault((sent.verb, sent.resource, sent.place), []).append(sent)
        is_much = len(at_rest) >= MOST_REQUESTS
        effective = {change.by.number for change in self.changes if change.by is not None}
        for alike in every.values():
            first, last = alike[0], alike[-1]
            is_late = last.at > self.rested_at + _ENDS_SECONDS
            if last.at > first.at + 1 and (is_much or is_late or len(alike) >= _OFTEN):
                turns = Counter(sent.name for sent in alike).most_common(1)[0][1] - 1
                is_seldom = last.at - first.at >= turns * _SELDOM_SECONDS
                if not is_seldom or any(sent.number in effective for sent in alike):
                    return first
        return None

    @property
    def writes(self) -> list[Sent]:
        """The counted writes."""
        return [sent for sent in self.sent if sent.write]

    def writer_of(self, identity: Identity, path: str) -> Sent | None:
        """The request of the operator that changed a field last, or what is around or in it."""
        for change in reversed(self.changes):
            is_own = change.by is not None and change.identity == identity and change.after
            if is_own and _changes(change, path):
                return change.by
        return None

    def spoiler_of(self, difference: Difference) -> Sent | None:
        """The request of the operator that first changed a field of an object that was there before."""
        identity, path = difference.identity, difference.path
        own = (each for each in self.changes if each.by is not None and each.identity == identity)
        return next((each.by for each in own if _changes(each, path)), None)

    def creator_of(self, identity: Identity) -> Sent | None:
        """The request of the operator that created an object last."""
        created = (each.by for each in reversed(self.changes) if each.identity == identity and each.before is None)
        return next(created, None)

    def maker_of(self, identity: Identity) -> Sent | None:
        """The request of the operator that wrote an object last, or one of a generated name like it.

        A controller of the object's own kind does not make it, if another one does.
        """
        every = [each for each in reversed(self.changes) if each.by and each.identity[:3] == identity[:3]]
        own = [each for each in every if not each.is_own_work] or every
        found = next((each for each in own if each.identity == identity), None)
        if found is None and not any(each.identity == identity for each in self.changes):
            found = next((each for each in own if is_generated(each.after, identity.name)), None)
        return found.by if found is not None else None


def unfitness(outcome: Outcome) -> str:
    """Why no other object can be explored in this world; empty if one can."""
    if outcome.unfit or outcome.broken:
        return outcome.unfit or outcome.broken
    if outcome.refused:
        step, why = outcome.refused[0]
        return f"{Identity.of(step.manifest)} is refused: {why}"
    if not outcome.at_rest:
        return "the operator does not come to rest"
    if outcome.fails:
        last = outcome.failures[-1] if outcome.failures else None
        return f"a reconcile fails: {last.kind}: {last.message}" if last else "a reconcile fails"
    if outcome.repeated:
        return "the operator writes though nothing has changed"
    return ""


def _changes(change: Change, path: str) -> bool:
    """Whether a change is one of a field, or of what is around or in it."""
    before, after = read(change.before or b"{}"), read(change.after or b"{}")
    return any(_is_within(spell(each), path) for each, *_ in changes(before, after))


def _is_within(one: str, other: str) -> bool:
    """Whether one of two fields is the other or a part of it."""
    short, long = sorted((one, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))
