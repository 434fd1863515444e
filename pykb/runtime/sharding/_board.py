"""The shares of a group of replicas, and its Leases: one for each member, and one for each range, with its holder.

A range belongs to its holder as long as the holder's own Lease exists. A member whose Lease was not
renewed is dead when somebody has deleted that Lease by compare-and-swap: a renewal that is still
under way then fails. No member that has worked makes its Lease again, so a dead one stays dead.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pykb.api.coordination.v1 import Lease, LeaseSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.ranges import Ranges, hash_of

# Decides which ranges a replica takes and gives up. Pure: the same view gives the same plan everywhere.
#
# Each member wants its fair share: the number of ranges divided by that of the members, and one more
# for some. It gives up what it holds above its share, and takes free ranges up to its share. So a
# member that joins or leaves moves only the ranges that it gets or had.
#
# Members look at different moments, so their plans can contradict each other. That costs a moment and
# is no danger: a range is taken by a compare-and-swap.


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


GROUP = "pykb-sharding-group"
LAYOUT = "pykb-shards"
CONTROLLERS = "pykb-controllers"
_RANGE = re.compile(r"-shard-([0-9]+)$")


def group_label(group: str) -> str:
    """The value of the label that all Leases of a group have."""
    return group if len(group) <= 63 else hashlib.sha256(group.encode()).hexdigest()[:63]


def layout_label(ranges: Ranges, on_leader: Iterable[str] = ()) -> str:
    """The value of the label with what all members must agree on.

    Args:
        ranges: The ranges.
        on_leader: The names of the controllers that are not sharded. If a member divided the
            objects of such a controller, two replicas would work on them.
    """
    names = sorted(on_leader)
    return f"{ranges.count}-by-{ranges.by}" + (f"-{controllers_label(names)}" if names else "")


def controllers_label(names: Iterable[str]) -> str:
    """The value of the label that tells the members of one operator from those of another."""
    return f"{hash_of(' '.join(sorted(names))):016x}"


def holder_of(lease: Lease) -> str:
    """The identity in a Lease."""
    return (lease.spec.holder_identity if lease.spec else None) or FREE


@dataclass(slots=True)
class Board:
    """The Leases of a group at one moment.

    Attributes:
        members: The Leases of members with the same layout, by identity.
        others: The Leases of members with another layout, by identity.
        ranges: The Leases of ranges, by number.
    """

    members: dict[str, Lease] = field(default_factory=dict)
    others: dict[str, Lease] = field(default_factory=dict)
    ranges: dict[int, Lease] = field(default_factory=dict)

    @classmethod
    def of(cls, leases: Iterable[Lease], layout: str) -> Board:
        """Sort the Leases of a group."""
        board = cls()
        for lease in leases:
            labels = lease.metadata.labels or {}
            if LAYOUT in labels:
                members = board.members if labels[LAYOUT] == layout else board.others
                members[holder_of(lease)] = lease
            elif match := _RANGE.search(lease.metadata.name or ""):
                board.ranges[int(match[1])] = lease
        return board

    def holders(self, count: int) -> list[str]:
        """The holder of each range."""
        return [holder_of(lease) if (lease := self.ranges.get(number)) else FREE for number in range(count)]


def member_lease(group: str, identity: str) -> str:
    """The name of the Lease of a member. An identity ends with a UUID."""
    return f"{group}-member-{identity.rpartition('_')[2]}"


def new_range_lease(group: str, namespace: str, number: int) -> Lease:
    """The Lease of a range that has none yet. It has no holder: see :func:`set_holder`."""
    metadata = ObjectMeta(name=f"{group}-shard-{number}", namespace=namespace, labels={GROUP: group_label(group)})
    return Lease(metadata=metadata)


def set_holder(lease: Lease, holder: str, duration: timedelta | None = None) -> Lease:
    """Put a holder into this Lease, and return it. That of a range has no duration: the member's Lease counts."""
    transitions = (lease.spec.lease_transitions or 0) if lease.spec else 0
    now = datetime.now(UTC)
    lease.spec = LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=None if duration is None else max(1, round(duration.total_seconds())),
        acquire_time=now,
        renew_time=now,
        lease_transitions=transitions + (holder != FREE),
    )
    return lease
