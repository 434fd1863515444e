"""Lets replicas that divide the objects in different ways never work at the same time.

The mode of a replica says how it divides the objects: into so many ranges, by uid or by namespace,
or not at all, as the leader. Replicas of one mode share the work. Two of different modes would work
on the same object. So those of one mode work, and those of another stand by until none of them
works any more. They are ready meanwhile, so a rolling update proceeds.

A replica that works has a flag. For a member it is its own Lease, for a replica without shards the
leader's Lease. To begin, a replica

1. stands by until there is no flag of another mode,
2. raises its own,
3. looks at all flags again. If there is one of another mode, it does not work, and takes its own
   down, or waits until the other one is gone.

Of two replicas, the one that raised its flag last has looked after both were up. So it has seen the
other's, and they never work at the same time. After step 3, a replica need not look again: whoever
comes later sees its flag. It takes it down when its work has ended.

A flag that was not renewed for as long as it lasts is taken down by compare-and-swap: a member's
Lease is deleted, and the leader's Lease gets another holder. Its replica has written nothing for
some seconds (:mod:`pykb.client.task`), and its next renewal fails.

In step 3, two replicas can see each other's flags, and neither may work. If one of them is without
shards, the member takes its flag down. Of two members, the younger one does. Whoever finds that
others hold ranges already does so, too.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from pykb.api.coordination.v1 import Lease
from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.errors import ApiError, Conflict, NotFound, ServerUnreachable
from pykb.client.ranges import Ranges, hash_of
from pykb.runtime._election import LeaderElector
from pykb.runtime.sharding._board import (
    CONTROLLERS,
    FREE,
    GROUP,
    LAYOUT,
    Board,
    controllers_label,
    group_label,
    holder_of,
    layout_label,
    set_holder,
)

logger = logging.getLogger(__name__)

_JITTER = 0.2
_LONGEST_TURN = 4
"""After how many periods any replica may delete the Lease of a dead one, if those before it have not."""


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """The place of a replica in its group.

    Attributes:
        group: The name that the replicas share, from which the names of the Leases are made. It is
            also the name of the leader's Lease.
        namespace: The namespace of the Leases.
        identity: The identity of this process.
        ranges: The ranges of the group. ``None`` for a replica without shards.
        lease_duration: How long a replica may be silent before it counts as dead, if its Lease does
            not say it.
        period: The pause between two looks at the Leases.
        controllers: The names of the controllers that are sharded.
        on_leader: The names of the controllers that reconcile a kind, and run on the leader.
    """

    group: str
    namespace: str
    identity: str
    ranges: Ranges | None = None
    lease_duration: timedelta = timedelta(seconds=15)
    period: timedelta = timedelta(seconds=2)
    controllers: tuple[str, ...] = ()
    on_leader: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """How this replica divides the objects. Empty without shards."""
        return "" if self.ranges is None else layout_label(self.ranges, self.on_leader)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the member's own Lease."""
        return {
            GROUP: group_label(self.group),
            LAYOUT: self.mode,
            CONTROLLERS: controllers_label(self.controllers),
        }


class _Watch:
    """When the Lease of another replica was last seen to change."""

    def __init__(self, lease: Lease, now: float) -> None:
        self._version = lease.metadata.resource_version
        self.seen_at = now

    def see(self, lease: Lease, now: float) -> None:
        if lease.metadata.resource_version != self._version:
            self._version, self.seen_at = lease.metadata.resource_version, now


class Group:
    """The replicas of a group, as one of them sees them."""

    def __init__(self, client: Client, options: GroupOptions, *, clock: Clock) -> None:
        """Prepare. It sends nothing.

        Args:
            client: Reads and writes the Leases, never through a cache.
            options: The place of this replica.
            clock: Measures the age of the others' Leases.
        """
        self._client = client.live
        self._options = options
        self._clock = clock
        self._watched: dict[str, _Watch] = {}
        self._leader: _Watch | None = None
        self._others: frozenset[str] = frozenset()
        self.has_stood_by = False
        """Whether this replica had to wait for replicas of another mode, and perhaps still does."""

    async def work(self, elector: LeaderElector, work: Callable[[], Awaitable[None]]) -> None:
        """Work while no replica of another mode does.

        Args:
            elector: Raises the flag of this replica, renews it, and takes it down.
            work: Does the work, until it is cancelled.

        Raises:
            LeadershipLost: The flag could not be renewed.
        """
        has_worked = False

        async def enter() -> None:
            nonlocal has_worked
            if await self._enter():
                has_worked = True
                await work()

        while not has_worked:
            await self._stand_by()
            await elector.run(enter)

    async def look(self) -> Board:
        """Read the Leases of the group. Delete those of dead members.

        Raises:
            ApiError: The Leases cannot be read.
            ServerUnreachable: The API server does not answer.
        """
        found = await self._client.list(
            Lease, namespace=self._options.namespace, labels={GROUP: group_label(self._options.group)}
        )
        board = Board.of(found.items, self._options.mode)
        now = self._clock.now()
        everybody = {**board.members, **board.others}
        self._watched = {name: self._watched.get(name) or _Watch(lease, now) for name, lease in everybody.items()}
        for name, lease in everybody.items():
            self._watched[name].see(lease, now)
        await self._bury(board)
        return board

    async def delete(self, lease: Lease) -> bool:
        """Delete a Lease if it is still this version. Return whether it is gone."""
        try:
            await self._client.delete(lease, resource_version=lease.metadata.resource_version)
        except NotFound:
            return True
        except Conflict:
            return False  # it lives
        except (ApiError, ServerUnreachable) as error:
            logger.warning("cannot delete a lease yet", extra={"lease": lease.metadata.name, "error": str(error)})
            return False
        return True

    # -- the steps

    async def _stand_by(self) -> None:
        while not await self._tried(self._may_begin):
            await self._pause()

    async def _enter(self) -> bool:
        """Look after the flag was raised. Return whether this replica works now, or else takes its flag down."""
        while (answer := await self._tried(self._look_again)) is None:
            await self._pause()
        self.has_stood_by = self.has_stood_by or not answer
        return answer

    async def _may_begin(self) -> bool:
        board = await self.look()
        leader = await self._leader_of_another_mode(board)
        others = frozenset(f"{name} ({(lease.metadata.labels or {})[LAYOUT]})" for name, lease in board.others.items())
        if leader is not None and not self._is_silent(leader, self._leader):
            others |= {f"{holder_of(leader)} (without shards)"}
        if others - self._others:
            logger.info(
                "standing by: replicas that divide the objects differently work, and must stop first",
                extra={"replicas": ", ".join(sorted(others)), "mode": self._options.mode or "without shards"},
            )
        self._others = others
        self.has_stood_by = self.has_stood_by or bool(others)
        return not others

    async def _look_again(self) -> bool | None:
        """The same, or ``None`` if another look has to tell."""
        board, me = await self.look(), self._options.identity
        holders = {holder_of(lease) for lease in board.ranges.values()}
        if not holders.isdisjoint(board.others):
            return False
        if self._options.ranges is None:
            return None if board.others else True  # the members see that the leader's Lease is held, and go back
        if me not in board.members:
            return None  # the renewal notices it, too, and ends the work
        leader = await self._leader_of_another_mode(board)
        if leader is not None:
            return None if self._is_silent(leader, self._leader) and await self._replace(leader) else False
        if any(_age(lease) < _age(board.members[me]) for lease in board.others.values()):
            return False
        return None if board.others else True

    async def _leader_of_another_mode(self, board: Board) -> Lease | None:
        """The leader's Lease, if a replica without shards holds it, which works on all objects."""
        if self._options.ranges is None:
            return None
        lease = await self._client.find(Lease, self._options.group, namespace=self._options.namespace)
        if lease is None or holder_of(lease) in (FREE, self._options.identity, *board.members, *board.others):
            self._leader = None
            return None
        self._leader = self._leader or _Watch(lease, self._clock.now())
        self._leader.see(lease, self._clock.now())
        return lease

    async def _replace(self, leader: Lease) -> bool:
        """Put this member into the leader's Lease, in place of a dead one, which cannot renew it any more then."""
        try:
            await self._client.update(set_holder(leader, self._options.identity, self._options.lease_duration))
        except (ApiError, ServerUnreachable) as error:
            logger.debug("the leader's lease was not taken", extra={"error": str(error)})
            return False
        return True

    # -- inside

    async def _tried(self, look: Callable[[], Awaitable[bool | None]]) -> bool | None:
        try:
            return await look()
        except (ApiError, ServerUnreachable) as error:
            logger.warning("cannot read the leases of the group", extra={"error": str(error)})
            return None

    async def _pause(self) -> None:
        await self._clock.sleep(self._options.period * (1 + _JITTER * (random.random() - 0.5)))  # noqa: S311 - jitter

    async def _bury(self, board: Board) -> None:
        """Delete the Leases of dead members. A few replicas try, one after another, not all at once."""
        for members in (board.members, board.others):
            for name in [name for name in members if name != self._options.identity]:
                later = self._options.period * self._rank(name, board)
                if self._is_silent(members[name], self._watched[name], later) and await self.delete(members[name]):
                    del members[name]
                    logger.warning("a replica is gone: its ranges are free", extra={"replica": name})

    def _is_silent(self, lease: Lease, watch: _Watch | None, later: timedelta = timedelta()) -> bool:
        seconds = lease.spec.lease_duration_seconds if lease.spec else None
        limit = self._options.lease_duration if seconds is None else timedelta(seconds=seconds)
        return watch is not None and timedelta(seconds=self._clock.now() - watch.seen_at) >= limit + later

    def _rank(self, dead: str, board: Board) -> int:
        """How many periods this replica waits before it deletes the Lease of a dead one."""
        me = self._options.identity
        if me not in board.members:  # it stands by, and does not see the others that do
            return hash_of(dead + me) % 2
        order = sorted(board.members, key=lambda name: hash_of(dead + name))
        return min(order.index(me), _LONGEST_TURN)


def _age(lease: Lease) -> tuple[str, str]:
    """Orders Leases by their creation, and those of one second by name."""
    created = lease.metadata.creation_timestamp
    return (created.isoformat() if created else "", lease.metadata.name or "")
