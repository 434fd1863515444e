"""Which findings have one root cause: they are told as one.

The line that has to be mended is not known. What is known of a finding: what is wrong with which part of
an object, which line of the user's code wrote the object, and whether the operator was awake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from pykb.diagnostics import Span
from pykb.explore._context import Context, Violation, place_among
from pykb.explore._history import FaultKind, History, Identity, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._state import Difference, read

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
        fields: The objects of which fields are wrong, each with the line that wrote it.
        asleep: The kind of the object of which the last change did not wake the operator.
        absent: The lines whose object was deleted and does not come back though the operator is awake.
    """

    marks: frozenset[Mark] = frozenset()
    line: Line = ""
    fields: frozenset[tuple[Identity, Line]] = frozenset()
    asleep: str = ""
    absent: frozenset[Line] = frozenset()

    def explains(self, other: Evidence, changed: Collection[Identity]) -> bool:
        """Whether another finding has the same root cause.

        Args:
            other: What is known about the other one.
            changed: The objects that the operator has changed in some history.
        """
        if self.asleep or other.asleep:
            return self.asleep == other.asleep
        if any(mark.how in _UNSEEN and mark.line in self.absent and not mark.gone for mark in other.marks):
            return True  # the operator does not look at the object, so it does not change it either
        if self._frozen(changed) & other._frozen(changed):
            return True  # the operator never writes the object a second time, whatever happens
        return bool(self.marks) and self.line == other.line and self.marks <= other.marks

    def _frozen(self, changed: Collection[Identity]) -> set[Line]:
        return {line for identity, line in self.fields if identity not in changed}


def evidence_of(context: Context, history: History, violation: Violation, outcome: Outcome) -> Evidence:
    """What is known about the root cause of a violation.

    Args:
        context: The sample.
        history: The history, up to the violation.
        violation: What did not hold.
        outcome: What came of the history.
    """
    place = violation.place or ""
    if not violation.found:
        how, *what = violation.cause
        return Evidence(frozenset({Mark(str(how), tuple(what), gone=False, line=place)}), place)
    gone = _is_about_own(history, context) and history.steps[-1].verb is Verb.DELETE
    lines = [(each, _line(each, context, outcome)) for each in violation.found]
    asleep = _asleep(history, context, outcome)
    return Evidence(
        frozenset(_mark(each, line, gone=gone) for each, line in lines),
        place,
        frozenset((each.identity, line) for each, line in lines if each.path and each.identity != context.own),
        asleep,
        frozenset() if asleep else frozenset(_absent(history, lines)),
    )


def joined(
    every: Iterable[tuple[T, Evidence]], changed: Collection[Identity], order: Callable[[T], Any]
) -> Iterator[list[T]]:
    """Yield findings with one root cause together, the most direct one first.

    Args:
        every: The findings.
        changed: The objects that the operator has changed in some history.
        order: A finding's place in the order of directness.
    """
    groups: list[tuple[Evidence, list[T]]] = []
    # What explains much comes first, and then what is wrong with little: it explains what is wrong with more.
    for each, evidence in sorted(every, key=lambda one: (not one[1].absent, len(one[1].marks), order(one[0]))):
        for root, members in groups:
            if root.explains(evidence, changed):
                members.append(each)
                break
        else:
            groups.append((evidence, [each]))
    yield from (sorted(members, key=order) for _, members in groups)


def changes_of(outcome: Outcome, changed: Collection[Identity]) -> Iterator[Identity]:
    """The objects of which the operator has changed the content, beside those that are known."""
    for change in outcome.changes:
        if change.by is not None and change.before and change.after and change.identity not in changed:
            before, after = read(change.before), read(change.after)
            if any(before.get(name) != after.get(name) for name in {*before, *after} - {"metadata", "status"}):
                yield change.identity


def _mark(difference: Difference, line: Line, *, gone: bool) -> Mark:
    path, kind = difference.path, difference.identity.kind
    if not path:
        return Mark(_MISSING if difference.found is None else _LEFT_OVER, (), gone, line)
    around = path.rpartition(".")[0]
    if difference.found is None:
        return Mark(_NO_VALUE, (kind, around), gone, line)
    if difference.expected is None:
        return Mark(_OLD_VALUE, (kind, around), gone, line)
    return Mark(_OTHER_VALUE, (kind, path.partition("[")[0]), gone, line)


def _line(difference: Difference, context: Context, outcome: Outcome) -> Line:
    if difference.identity == context.own and not difference.path:
        return difference.identity.kind  # the operator did not make it
    return place_among([difference], outcome, context.base) or difference.identity.kind


def _is_about_own(history: History, context: Context) -> bool:
    """Whether the last step was about an object that the operator works on."""
    api_version, kind, *_ = Identity.of(history.steps[-1].manifest)
    return (api_version.partition("/")[0], kind) == (context.own.api_version.partition("/")[0], context.own.kind)


def _asleep(history: History, context: Context, outcome: Outcome) -> str:
    """The kind of the child whose last change woke nobody."""
    is_late = history.fault is not None and history.fault.kind is FaultKind.LATE
    if _is_about_own(history, context) and not is_late:
        return ""
    last = [each for each in outcome.changes if each.by is None and not each.identity.is_record][-1:]
    return next((each.identity.kind for each in last if max(outcome.reconciles, default=0.0) < each.at), "")


def _absent(history: History, lines: Iterable[tuple[Difference, Line]]) -> Iterator[Line]:
    last = history.steps[-1]
    for difference, line in lines:
        is_it = difference.identity == Identity.of(last.manifest) and not difference.path
        if is_it and last.verb is Verb.DELETE and difference.found is None:
            yield line
