"""The Leases of a group of replicas: one for each member, which it renews, and one for each range, with its holder.

A range belongs to its holder as long as the holder's own Lease exists. A member whose Lease was not
renewed is dead when somebody has deleted that Lease by compare-and-swap: a renewal that is still
under way then fails. No member that has worked makes its Lease again, so a dead one stays dead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pykb.api.coordination.v1 import Lease, LeaseSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.ranges import Ranges, hash_of
from pykb.runtime.sharding._plan import FREE

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
