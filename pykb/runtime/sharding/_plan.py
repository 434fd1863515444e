"""Decides which ranges a replica takes and gives up. Pure: the same view gives the same plan everywhere.

Each member wants its fair share: the number of ranges divided by that of the members, and one more
for some. It gives up what it holds above its share, and takes free ranges up to its share. So a
member that joins or leaves moves only the ranges that it gets or had.

Members look at different moments, so their plans can contradict each other. That costs a moment and
is no danger: a range is taken by a compare-and-swap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pykb.client.ranges import hash_of

FREE = ""
"""The holder of a range that nobody holds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one member should do.

    Attributes:
        take: The free ranges to take.
        give: The held ranges to give up.
    """

    take: tuple[int, ...] = ()
    give: tuple[int, ...] = ()


def shares(members: Collection[str], holders: Sequence[str]) -> dict[str, int]:
    """How many ranges each member should hold.

    If the shares cannot be equal, those that hold most get one more, so that they keep it.
    """
    if not members:
        return {}
    held = Counter(holders)
    ranked = sorted(members, key=lambda member: (-held[member], hash_of(member), member))
    least, more = divmod(len(holders), len(ranked))
    return {member: least + (place < more) for place, member in enumerate(ranked)}


def plan(me: str, members: Collection[str], holders: Sequence[str]) -> Plan:
    """Plan for one member.

    Args:
        me: The member.
        members: The living members, with ``me``.
        holders: The holder of each range. A range whose holder is not a living member is free.
    """
    wanted = shares(members, holders)
    mine = [number for number, holder in enumerate(holders) if holder == me]
    if len(mine) > wanted[me]:
        return Plan(give=tuple(mine[wanted[me] :]))
    return Plan(take=tuple(_free_of(me, wanted, holders)))


def _free_of(me: str, wanted: dict[str, int], holders: Sequence[str]) -> list[int]:
    """The part of the free ranges that one member takes.

    All members deal them out in the same way, so that those with the same view never want the same.
    """
    held = Counter(holders)
    lacking = [member for member in sorted(wanted) for _ in range(wanted[member] - held[member])]
    free = [number for number, holder in enumerate(holders) if holder not in wanted]
    return [number for number, member in zip(free, lacking, strict=False) if member == me]
