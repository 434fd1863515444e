"""Work that is done: Jobs and pods that have run. No later spec undoes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pykb.explore._history import Identity
from pykb.explore._outcome import Outcome
from pykb.explore._state import Difference, State

WORK = ("Job", "Pod")
"""Kinds that have an effect when they are created."""


def is_done(identity: Identity, obj: Mapping[str, Any]) -> bool:
    """Whether an object is work that is done."""
    status = obj.get("status") or {}
    conditions = status.get("conditions") or ()
    is_complete = any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)
    return identity.kind in WORK and (is_complete or status.get("phase") == "Succeeded")


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
