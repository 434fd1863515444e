"""Which findings have one root cause: they are told as one.

The line that has to be mended is not known. What is known of a finding: what is wrong with which part of an object,
which line of the user's code wrote the object, and whether the operator was awake.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from pykb.diagnostics import Code, Span
from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._gate import Sent, Worked
from pykb.explore._history import FaultKind, History, Identity, Manifest, Verb
from pykb.explore._outcome import Change, Outcome
from pykb.explore._runner import Stopped
from pykb.explore._state import Difference, owner_keys, read
from pykb.explore._variants import spell
from pykb.explore._verdicts import Violation, last_failure, place_among, place_of
from pykb.meta.json_diff import changes

Part = tuple[Identity, str]
"""A field of an object at the top, or in its spec. Empty for any."""

Line = Span | str
"""A line of the user's code. The kind of an object if the line that wrote it is not known."""

T = TypeVar("T")

_MISSING = "the object is missing"
_LEFT_OVER = "the object is left over"
_NO_VALUE = "a field has no value"
_OLD_VALUE = "a value of a field is left over"
_OTHER_VALUE = "a field has another value"
_UNSAID = "said"
_UNSEEN = {_MISSING, _NO_VALUE, _OLD_VALUE, _OTHER_VALUE, _UNSAID}
"""What is wrong with an object at which nobody looks."""

_MAP = re.compile(
    r"(?:.+?\.)?(?:(?P<whole>annotations|labels|matchLabels|nodeSelector)|binaryData|data|stringData)(?=\.|$)"
)
"""A map whose keys may have dots. It goes with its last one. Some are copied as a whole, others made of many fields."""

_VALUES = {_NO_VALUE, _OLD_VALUE, _OTHER_VALUE}
_ALIKE = {FaultKind.LOSE_ANSWER: FaultKind.CRASH_AFTER}
"""After both, a write has had its effect, and the operator does not know it."""


class Mark(NamedTuple):
    """What is wrong with an object. Names and numbers do not matter.

    Attributes:
        how: In which way.
        what: The kind and the field, or the field around one that is missing or left over. Empty for a
            whole object: a line writes objects of several kinds in the same way.
        gone: Whether the object that the operator works on was deleted before.
        line: The line that wrote the object.
    """

    how: str
    what: tuple[object, ...]
    gone: bool
    line: Line


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the root cause of a finding.

    Attributes:
        marks: What is wrong.
        line: The line that met the fault, or else that wrote the first of the objects.
        fields: The parts of objects in which fields are wrong, each with the line that wrote the object.
        asleep: The kind of the object of which the last change did not wake the operator.
        late: The kinds of the objects that others have changed since the last reconcile, or, if only what the object
            says is wrong, since the last one in the undisturbed run.
        absent: The lines whose object was deleted and does not come back though the operator is awake.
        stuck: What is wrong in the status of the object if the operator is awake, and has written nothing since the
            last step.
        stays: What the status has then that it has in no undisturbed run, right or wrong.
        refused: The line of a write that the API server refuses each time, and why.
        faults: The faults that requests have met, at the line or before.
        lost: The kinds of the objects that are missing since then, each with the line that writes it.
        bug: The error of programming with which the operator fails in the end, and its line.
        former: The fields that depend on former specs, whatever else happens.
        blind: Whether the reconciles since the last step looked at none of the objects that are wrong.
        swallowed: Whether a request failed, and no reconcile did.
        unowned: The kinds of the children without an owner reference, each with the line that writes them, if such a
            reference would prevent what is wrong.
    """

    marks: frozenset[Mark] = frozenset()
    line: Line = ""
    fields: frozenset[tuple[Part, Line]] = frozenset()
    asleep: str = ""
    late: frozenset[str] = frozenset()
    absent: frozenset[Line] = frozenset()
    stuck: frozenset[tuple[str, str]] = frozenset()
    stays: frozenset[tuple[str, str]] = frozenset()
    refused: tuple[Line, str] | None = None
    faults: frozenset[FaultKind] = frozenset()
    lost: frozenset[tuple[str, Line]] = frozenset()
    bug: tuple[object, ...] = ()
    former: frozenset[tuple[object, ...]] = frozenset()
    blind: bool = False
    unowned: frozenset[tuple[str, Line]] = frozenset()
    swallowed: bool = False

    def explains(self, other: Evidence, changed: Collection[Part]) -> bool:
        """Whether another finding has the same root cause.

        Args:
            other: What is known about the other one.
            changed: The parts of objects that the operator has changed in some history.
        """
        if not self.unowned.isdisjoint(other.unowned):
            return True
        if self.asleep or other.asleep:
            return self.asleep == other.asleep or (not other.asleep and self.asleep in other.late)
        if any(mark.how in _UNSEEN and mark.line in self.absent and not mark.gone for mark in other.marks):
            return True  # the operator does not look at the object, so it does not change it either
        if self._frozen(changed) & other._frozen(changed):
            return True  # the operator never writes the object, or parts of it, a second time, whatever happens
        if self.ends_as(other):
            return True
        return bool(self.marks) and self.line == other.line and self.marks <= other.marks

    def ends_as(self, other: Evidence) -> bool:
        """Whether two findings with one root have it in common, whatever else is wrong in either of them."""
        if self.asleep or other.asleep:
            return False
        if self.blind and other.blind:
            return True  # it believes its status or its memory, whatever became of the others
        if self.swallowed and other.swallowed:
            return True  # it catches each error, and forgets it
        pairs = ((self, other), (other, self))
        if (self.refused and self.refused == other.refused) or (self.bug and self.bug == other.bug):
            return True
        if any(
            one.former and all(mark.how in _VALUES and mark.what in one.former for mark in two.marks)
            for one, two in pairs
        ):
            return True  # what a fault does to them cannot be known
        if any(one.stuck and (one.stuck == two.stuck or one.stuck <= two.stays) for one, two in pairs):
            return True  # it has come into this state, and looks no further
        if self.faults.isdisjoint(other.faults) or self.line != other.line:
            return False
        return self._loses_as(other) or not self._wrong().isdisjoint(other._wrong())

    def _loses_as(self, other: Evidence) -> bool:
        pairs = ((one, two) for one in self.lost for two in other.lost if one[0] == two[0])
        return any(one == two or isinstance(one[1], str) or isinstance(two[1], str) for one, two in pairs)

    def _wrong(self) -> set[tuple[str, str]]:
        """The kinds and parts of the objects in which fields are wrong."""
        return {(identity.kind, part) for (identity, part), _ in self.fields}

    def _frozen(self, changed: Collection[Part]) -> set[tuple[Line, str]]:
        whole = {(line, "") for (identity, _), line in self.fields if (identity, "") not in changed}
        # Parts of an object that a line never compares have one remedy: that the line compares all of them.
        return whole | {(line, each[0].kind) for each, line in self.fields if not _is_changed(each, changed)}


def _is_changed(part: Part, changed: Collection[Part]) -> bool:
    """Whether the operator has changed a part of an object, or what is around it."""
    identity, path = part
    steps = path.split(".")
    return any((identity, ".".join(steps[:depth])) in changed for depth in range(1, len(steps) + 1))


def evidence_of(code: Code, context: Context, history: History, violation: Violation, outcome: Outcome) -> Evidence:
    """What is known about the root cause of a violation.

    Args:
        code: Its code.
        context: The sample.
        history: The history, up to the violation.
        violation: What did not hold.
        outcome: What came of the history.
    """
    scene = _Scene(code, context, history, violation, outcome)
    return scene.evidence() if violation.found else scene.evidence_of_act()


@dataclass(frozen=True)
class _Scene:
    """A violation, and the run in which it came up: see :func:`evidence_of`."""

    code: Code
    context: Context
    history: History
    violation: Violation
    outcome: Outcome

    def evidence_of_act(self) -> Evidence:
        """What is known if the operator did something, and no state is wrong."""
        place, (how, *what) = self.violation.place or "", self.violation.cause
        marks = frozenset({Mark(str(how), tuple(what), gone=False, line=place)})
        bug = self.violation.cause if self.code is codes.BUG else ()
        is_taken = self.code is codes.THEFT and how == "changed"
        unowned = ((each.kind, line) for each, line in _unowned(self.context) if is_taken and line == place)
        return Evidence(marks, place, bug=bug, unowned=frozenset(unowned))

    def evidence(self) -> Evidence:
        """What is known if a state is wrong."""
        place, own = self.violation.place or "", self.context.own
        marks = frozenset(_mark(each, line, gone=self.gone) for each, line in self.lines)
        fields = (((each.identity, _part_of(each.path)), line) for each, line in self.lines if each.path)
        refused = refused_write(self.history, self.violation, self.outcome)
        lost = ((each.identity.kind, line) for each, line in self.lines if _is_missing(each) and not self.gone)
        last = last_failure(self.outcome, len(self.history.steps))
        values = (mark.what for mark in marks if mark.how in _VALUES)
        known = Evidence(
            marks=marks,
            line=place,
            fields=frozenset(each for each in fields if each[0][0] != own),
            asleep=self.asleep,
            refused=(refused.place or "", refused.refusal) if refused is not None else None,
            faults=frozenset(_ALIKE.get(each.kind, each.kind) for each in self.outcome.struck if place),
            lost=frozenset(lost),
            bug=(last.kind, last.place) if last is not None and last.is_bug else (),
            former=frozenset(values) if self.code is codes.HISTORY else frozenset(),
            unowned=frozenset(self._would_be_owned()),
            swallowed=self.code is codes.ERROR and self._is_swallowed(),
        )
        if self.asleep:
            return known
        return replace(
            known,
            late=frozenset(self._late()),
            absent=frozenset(self._absent()),
            stuck=frozenset(self._stuck()),
            stays=frozenset(self._stays()),
            blind=not self.gone and self._is_blind(),
        )

    @property
    def time(self) -> tuple[float, float]:
        """When the last step began, and when the next one did."""
        return self.outcome.time_of(len(self.history.steps))

    @cached_property
    def gone(self) -> bool:
        """Whether an object that the operator works on was deleted in the last step."""
        return self._is_about_own and self.history.steps[-1].verb is Verb.DELETE

    @property
    def _is_about_own(self) -> bool:
        """Whether the last step was about an object that the operator works on."""
        (api_version, kind, *_), own = Identity.of(self.history.steps[-1].manifest), self.context.own
        return (api_version.partition("/")[0], kind) == (own.api_version.partition("/")[0], own.kind)

    @cached_property
    def lines(self) -> Sequence[tuple[Difference, Line]]:
        """What is wrong, each with the line that made it so."""
        return [(each, self._line(each)) for each in self.violation.found]

    def _line(self, difference: Difference) -> Line:
        identity, outcome = difference.identity, self.outcome
        if not difference.path and identity[:2] == self.context.own[:2] and outcome.creator_of(identity) is None:
            return identity.kind  # the operator did not make it
        return place_among([difference], outcome, self.context.base) or identity.kind

    @cached_property
    def responsible(self) -> frozenset[str]:
        """The objects whose controllers answer for what is wrong: the owners of what differs, or the sample.

        What differs with its owner follows from that. An object answers for its status, if that alone is wrong.
        """
        states = (*self.outcome.states[::-1], *self.context.base.states)
        wrong = {each.identity for each in self.violation.found if not each.path.startswith("status")}
        objects = {each: next((state[each] for state in states if each in state), {}) for each in wrong}
        owners = [owner_keys(identity, obj) for identity, obj in objects.items()]
        first = [keys for keys in owners if keys.isdisjoint(each.key for each in wrong)]
        keys = frozenset(chain.from_iterable(first)) or frozenset({self.context.own.key})
        return keys if wrong else frozenset(each.identity.key for each in self.violation.found)

    @cached_property
    def asleep(self) -> str:
        """The kind of the object whose last change woke nobody: a child, or the sample if only its metadata changed."""
        last, fault = self.history.steps[-1], self.history.fault
        is_late = fault is not None and fault.kind is FaultKind.LATE
        if self._is_about_own and not is_late and last.verb is not Verb.PATCH:
            return ""
        since, until = self.time
        others = [change for change in _by_others(self.outcome) if change.at < until]
        if is_late and others:
            since = others[-1].at
        is_woken = any(since <= each.at < until and _is_for(each, self.responsible) for each in self.outcome.reconciles)
        if is_woken or not others:
            return ""
        changed = Identity.of(last.manifest)
        return changed.kind if changed in self.context.children() else others[-1].identity.kind

    def _late(self) -> Iterator[str]:
        """The kinds of the objects that others have changed since the state that the operator last saw."""
        ends = [(self.outcome, self.time[1]), *((usual, float("inf")) for usual in self._usual())]
        lags = [fault.seconds for fault in self.history.faults if fault.kind is FaultKind.LAG]
        for run, end in ends:
            own = (each.at for each in run.reconciles if each.at < end and _is_for(each, self.responsible))
            looked = max(own, default=0.0) - max(lags, default=0.0)
            yield from (each.identity.kind for each in _by_others(run, self.responsible) if looked < each.at < end)

    def _usual(self) -> Iterator[Outcome]:
        """The run that a wrong status is compared with: what the object says there is not the last word either."""
        history, context = self.history, self.context
        if all(each.identity == context.own and each.path.startswith("status.") for each in self.violation.found):
            with contextlib.suppress(Stopped):  # what was found counts, even if the time is up
                yield context.run(replace(history, fault=None, further=())) if history.faults else context.base

    def _absent(self) -> Iterator[Line]:
        """The lines that made what somebody has deleted, and what is missing."""
        last = self.history.steps[-1]
        for difference, line in self.lines:
            is_it = difference.identity == Identity.of(last.manifest) and _is_missing(difference)
            if is_it and last.verb is Verb.DELETE:
                yield line

    def _stuck(self) -> Iterator[tuple[str, str]]:
        """Wrong fields of the object's own status, each with its value, if the operator leaves everything as it is."""
        for each in self.violation.found if self._is_idle else ():
            if each.identity == self.context.own and each.path.startswith("status.") and each.found is not None:
                yield each.path, repr(each.found)

    def _stays(self) -> Iterator[tuple[str, str]]:
        """Fields of its own status that are as at no rest of the sample, if the operator leaves everything as it is."""
        steps, states = len(self.history.steps), self.outcome.states
        if self._is_idle and len(states) >= steps:
            status, usual = (
                (state.get(self.context.own) or {}).get("status") or {}
                for state in (states[steps - 1], self.context.base.states[-1])
            )
            yield from ((f"status.{name}", repr(value)) for name, value in status.items() if value != usual.get(name))

    def _is_swallowed(self) -> bool:
        """Whether a request met a fault, and no reconcile has failed since."""
        struck = min((sent.at for sent in self.outcome.struck.values()), default=float("inf"))
        return bool(self.outcome.struck) and not any(failure.at >= struck for failure in self.outcome.failures)

    @property
    def _is_idle(self) -> bool:
        """Whether the operator has written nothing since the last step."""
        since, until = self.time
        return not any(sent.write and not sent.is_beat and since <= sent.at < until for sent in self.outcome.sent)

    def _is_blind(self) -> bool:
        """Whether the operator was awake after a change, and looked at none of the objects that are missing or wrong.

        That is the last step, if something else is wrong. Of a wrong status, the last word in the usual run counts.
        """
        found = (each for each in self.violation.found if not _is_left_over(each))
        others = [each.identity for each in found if each.identity != self.context.own]
        if others:  # at what it does not look after a fault depends on the moment of the fault
            return not self.history.faults and self._looks_away(self.outcome, *self.time, others)
        ends = ((usual, max((each.at for each in _by_others(usual)), default=0.0)) for usual in self._usual())
        children = self.context.children()
        return any(self._looks_away(usual, since, float("inf"), children) for usual, since in ends)

    def _looks_away(self, run: Outcome, since: float, until: float, objects: Sequence[Identity]) -> bool:
        """Whether the operator was awake for a time, and neither read nor wrote any of some objects."""
        keys = [each.key for each in objects]
        names = {(*self.context.resource_of(each.manifest), each.name) for each in objects}

        def sees(each: Worked | Sent) -> bool:
            if isinstance(each, Worked):
                return any(key.startswith(each.looks_at) for key in keys)
            resource = each.resource.partition("/")[0]
            return any(name[:2] == (each.group, resource) and each.name in ("", name[2]) for name in names)

        def works(every: Iterable[Worked | Sent]) -> Iterator[Worked | Sent]:
            yield from (each for each in every if since <= each.at < until and _is_for(each, self.responsible))

        is_unknown = any(each.at == float("inf") for each in run.looks)
        sent = (each for each in run.sent if each.works_on)
        return (
            bool(objects)
            and any(works(run.reconciles))
            and not (is_unknown or any(map(sees, works((*run.looks, *sent)))))
        )

    def _would_be_owned(self) -> Iterator[tuple[str, Line]]:
        """The kinds of those that the cluster would delete with the object, or that would wake the operator."""
        left = {(each.identity.kind, line) for each, line in self.lines if self.gone and _is_left_over(each)}
        for identity, line in _unowned(self.context):
            wakes = identity.kind == self.asleep and self.context.is_listed(identity.manifest)
            if wakes or (identity.kind, line) in left:
                yield identity.kind, line


def joined(
    every: Iterable[tuple[T, Evidence]], changed: Collection[Part], order: Callable[[T], Any]
) -> Iterator[list[T]]:
    """Yield findings with one root cause together, the most direct one first.

    Args:
        every: The findings.
        changed: The parts of objects that the operator has changed in some history.
        order: A finding's place in the order of directness.
    """
    groups: list[list[tuple[T, Evidence]]] = []
    # What explains much comes first, and then what is wrong with little: it explains what is wrong with more.
    for each, evidence in sorted(
        every, key=lambda one: (not one[1].asleep, not one[1].absent, len(one[1].marks), order(one[0]))
    ):
        for group in groups:
            # Only the root explains: of two things that are wrong at a member, another finding may have the other one.
            if group[0][1].explains(evidence, changed) or any(member.ends_as(evidence) for _, member in group):
                group.append((each, evidence))
                break
        else:
            groups.append([(each, evidence)])
    for group in groups:
        root = group[0][1]
        # A history in which something wakes the operator late is about the object that does not wake it, too.
        # Without an owner, the shortest story is about what is left over.
        told = sorted(group, key=lambda one: (not root.unowned and one[1].asleep != root.asleep, order(one[0])))
        yield [each for each, _ in told]


def changes_of(outcome: Outcome, changed: Collection[Part]) -> Iterator[Part]:
    """The parts of objects that the operator has changed, beside those that are known."""
    for change in outcome.changes:
        if change.by is not None and change.before and change.after:
            for part in _differing(read(change.before), read(change.after)):
                yield from (each for each in ((change.identity, ""), (change.identity, part)) if each not in changed)


def _differing(before: Manifest, after: Manifest) -> Iterator[str]:
    """The parts in which two states of an object differ."""
    for name in sorted({*before, *after} - {"status"}):
        old, new = before.get(name), after.get(name)
        if name == "metadata":
            old, new = ([each[name].get("labels"), each[name].get("annotations")] for each in (before, after))
        if name == "spec" and isinstance(old, dict) and isinstance(new, dict):
            for path, *_ in changes(old, new):
                yield _part_of(spell(("spec", *path)))
        elif old != new:
            yield name


def _part_of(path: str) -> str:
    """The part of an object to which a field belongs: in a pod template, a field of the pod or of its containers."""
    steps = re.sub(r"\[\d+\]", "", path).split(".")
    depth = 2 if steps[0] == "spec" else 1
    if steps[:2] == ["spec", "template"]:
        depth = 5 if steps[3:4] in (["containers"], ["initContainers"]) else 4
    return ".".join(steps[:depth])


def _mark(difference: Difference, line: Line, *, gone: bool) -> Mark:
    path, kind = difference.path, difference.identity.kind
    if not path:
        return Mark(_MISSING if _is_missing(difference) else _LEFT_OVER, (), gone, line)
    within = _MAP.match(path)
    around = within[0] if within else path.rpartition(".")[0]
    if difference.found is None:
        return Mark(_NO_VALUE, (kind, around), gone, line)
    if difference.expected is None:
        return Mark(_OLD_VALUE, (kind, around), gone, line)
    field = around if within and within["whole"] else path.partition("[")[0]
    return Mark(_OTHER_VALUE, (kind, field), gone, line)


def _is_missing(difference: Difference) -> bool:
    return not difference.path and difference.found is None


def _is_left_over(difference: Difference) -> bool:
    return not difference.path and difference.found is not None


def _is_for(work: Worked | Sent, objects: Collection[str]) -> bool:
    """Whether the operator works on one of some objects. It is not always known: kopf's handlers are for uids."""
    return not work.works_on or any("/" not in each or each in objects for each in work.works_on)


def _by_others(outcome: Outcome, responsible: Collection[str] = ()) -> list[Change]:
    """The changes that the operator did not make, or a former leader, without events and leases.

    With objects that are responsible, also those that the operator made while it worked on other objects.
    """
    former = [sent for fault, sent in outcome.struck.items() if fault.kind is FaultKind.OVERTAKEN]

    def is_others(change: Change) -> bool:
        is_own = change.by is not None and change.by not in former
        return not is_own or bool(responsible and change.by and not _is_for(change.by, responsible))

    return [change for change in outcome.changes if is_others(change) and not change.identity.is_record]


def _unowned(context: Context) -> Iterator[tuple[Identity, Line]]:
    """The children that have no owner and could have one, each with the line that writes it."""
    for identity in context.children():
        if not context.is_owned(identity) and context.own.namespace in ("", identity.namespace):
            yield identity, place_of(context.base.maker_of(identity)) or identity.kind


def refused_write(history: History, violation: Violation, outcome: Outcome) -> Sent | None:
    """The write that the API server refuses each time, of an object of which a field is wrong."""
    names = {each.identity.name for each in violation.found if each.path}
    return next((sent for sent in outcome.refused_in(len(history.steps)) if sent.name in names), None)
