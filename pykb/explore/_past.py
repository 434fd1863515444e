"""What may differ from a state that was made anew: work that is done, old revisions, which of two names is in use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pykb.explore._history import Identity
from pykb.explore._outcome import Outcome
from pykb.explore._state import Difference, State

WORK = ("Job", "Pod")
"""Kinds that have an effect when they are created."""

REVISIONS = ("ReplicaSet", "ControllerRevision")
"""Kinds of which there may be one for each former spec."""


def is_done(identity: Identity, obj: Mapping[str, Any]) -> bool:
    """Whether an object is work that is done."""
    status = obj.get("status") or {}
    conditions = status.get("conditions") or ()
    is_complete = any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)
    return identity.kind in WORK and (is_complete or status.get("phase") == "Succeeded")


def is_revision(identity: Identity, obj: Mapping[str, Any]) -> bool:
    """Whether an object only keeps what a former spec was, for a way back to it."""
    is_empty = identity.kind == "ReplicaSet" and (obj.get("spec") or {}).get("replicas") == 0
    return identity.kind == "ControllerRevision" or is_empty


def without_revisions(every: Sequence[Difference], found: State) -> tuple[Difference, ...]:
    """The differences from a state that was made anew, without old revisions, and without the numbers of revisions."""
    if not any(identity.kind in REVISIONS for identity in found):
        return tuple(every)

    def is_of_revision(difference: Difference) -> bool:
        identity, path = difference.identity, difference.path
        if not path:
            return difference.found is not None and is_revision(identity, difference.found)
        is_counted = path.startswith(("metadata.annotations.", "status.")) or identity.kind == "ControllerRevision"
        are_numbers = all(str(value).isdigit() for value in (difference.expected, difference.found))
        return is_counted and path.lower().endswith("revision") and are_numbers

    return tuple(each for each in every if not is_of_revision(each))


def exchanged(every: Sequence[Difference], found: State) -> Iterator[State]:
    """Yield states in which the names of two children are exchanged, of which one is missing, and the other left over.

    Blue and green take turns, so it depends on the past which of them works. All that names them must fit.
    """
    gone = [each.identity for each in every if not each.path and each.found is None]
    new = [each.identity for each in every if not each.path and each.found is not None]
    pairs = [(one, other) for one in gone for other in new if one[:3] == other[:3]][:_MOST_PAIRS]
    for words in dict.fromkeys(words for one, other in pairs for words in _words(one.name, other.name)):
        exchange = _exchange(*words)
        yield {each._replace(name=exchange(each.name)): exchange(obj) for each, obj in found.items()}


_MOST_PAIRS = 8


def _words(one: str, other: str) -> Iterator[tuple[str, str]]:
    """The words in which two names differ, if each has one. Names are told by them, too."""
    parts = list(zip(re.split(r"[-.]", one), re.split(r"[-.]", other), strict=False))
    unlike = [pair for pair in parts if pair[0] != pair[1]]
    if len(unlike) == 1 and re.sub(r"[^-.]", "", one) == re.sub(r"[^-.]", "", other):
        yield unlike[0]


def _exchange(one: str, other: str) -> Callable[[Any], Any]:
    """A function that exchanges two words in all texts of a value."""
    longest_first = "|".join(map(re.escape, sorted((one, other), key=len, reverse=True)))
    word = re.compile(rf"(?<![A-Za-z0-9])({longest_first})(?![A-Za-z0-9])")

    def exchange(value: Any) -> Any:
        if isinstance(value, str):
            return word.sub(lambda found: other if found[0] == one else one, value)
        if isinstance(value, list):
            return [exchange(each) for each in value]
        return {name: exchange(each) for name, each in value.items()} if isinstance(value, dict) else value

    return exchange


def without_done(
    every: Sequence[Difference], expected: State, found: State, outcome: Outcome, own: Identity
) -> tuple[Difference, ...]:
    """The differences from a state that was made anew, without those of work that was done before.

    Such work may stay as it is, or go. It need not be done again, and the status may tell of it. What the operator
    tries to change, though the API server refuses it, counts as any other object.

    Args:
        every: The differences.
        expected: The state that was made anew.
        found: The other one.
        outcome: The run of the other one.
        own: The object for which the work is done.
    """
    tried = {sent.name for sent in outcome.writes if sent.refusal}
    before = {each for state in outcome.states for each, obj in state.items() if is_done(each, obj)}
    done = [each for each, obj in found.items() if is_done(each, obj) and each.name not in tried]
    new = [(each.kind, _work_of(each, found[each])) for each in done if each not in expected]

    def is_work(difference: Difference) -> bool:
        identity = difference.identity
        if difference.path or difference.found is not None:
            return identity in done
        return identity in before or (identity.kind, _work_of(identity, difference.expected)) in new

    of_work = [each for each in every if is_work(each)]
    told = [(each.expected, each.found) for each in of_work if each.path]
    told += [(one.name, other.name) for one in expected for other in done if one.kind == other.kind]
    is_ahead = any(each in expected and not is_done(each, expected[each]) for each in done)

    def is_told(difference: Difference) -> bool:
        if difference.identity != own or not difference.path.startswith("status."):
            return False
        return is_ahead or any(_is_within((difference.expected, difference.found), pair) for pair in told)

    return tuple(each for each in every if each not in of_work and not is_told(each))


def _work_of(identity: Identity, obj: Mapping[str, Any]) -> str:
    """What an object does, whatever it is called."""
    return repr(obj.get("spec")).replace(identity.name, "")


def _is_within(values: tuple[Any, Any], pair: tuple[Any, Any]) -> bool:
    """Whether the texts of two values are parts of two others."""
    return None not in values and all(str(one) in str(other) for one, other in zip(values, pair, strict=True))
