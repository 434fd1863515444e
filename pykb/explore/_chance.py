"""Values from chance, such as generated passwords: each run has its own, and none of them is wrong."""

from __future__ import annotations

from pykb.explore._outcome import Outcome
from pykb.explore._state import Difference, differences, read, state_of
from pykb.explore._variants import leaves, spell

Fields = frozenset[tuple[str, str]]
"""Kinds and the paths of their fields."""


def fields_from_chance(one: Outcome, other: Outcome) -> Fields:
    """The fields in which two runs of the same steps differ, if only their random values are not the same."""
    pairs = zip(one.states[:1], other.states[:1], strict=False)
    return frozenset((each.identity.kind, each.path) for pair in pairs for each in differences(*pair) if each.path)


def is_from_chance(difference: Difference, fields: Fields, outcome: Outcome) -> bool:
    """Whether a field is from chance, and still has the value with which the operator created the object.

    Nothing else is excused: neither another value, nor an object that the operator has deleted and made again.
    """
    if (difference.identity.kind, difference.path) not in fields:
        return False
    changes = [change for change in outcome.changes if change.identity == difference.identity and change.by]
    if any(change.after is None for change in changes):
        return False
    created = next((change.after for change in reversed(changes) if change.before is None), None)
    if created is None:
        return False
    [first] = state_of([read(created)]).values()
    return any(spell(path) == difference.path and value == difference.found for path, value in leaves(first))
