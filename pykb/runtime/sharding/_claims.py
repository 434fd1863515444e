"""Claims ranges for one member, and gives up what it holds above its share.

Every 2 s a member reads the Leases of its group with one request. See :mod:`pykb.runtime.sharding._board`
for what they mean, and :mod:`pykb.runtime.sharding._plan` for who takes what.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from pykb.api.coordination.v1 import Lease
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import SHARDS_DIFFER
from pykb.runtime.client.client import Client
from pykb.runtime.clock import Clock
from pykb.runtime.election.elector import LeadershipLost
from pykb.runtime.errors import ApiError, NotFound, ServerUnreachable
from pykb.runtime.sharding._board import (
    CONTROLLERS,
    GROUP,
    LAYOUT,
    Board,
    controllers_label,
    group_label,
    held_by,
    holder_of,
    layout_label,
    range_lease,
)
from pykb.runtime.sharding._plan import FREE, plan
from pykb.runtime.sharding.ranges import Ranges, hash_of

logger = logging.getLogger(__name__)

_AT_ONCE = 8
"""How many ranges are claimed at once. The first member claims all of them."""
_JITTER = 0.2
_UNDERTAKERS = 4


class Moves(Protocol):
    """What works on the ranges of a member."""

    def gained(self, numbers: frozenset[int], /) -> None:
        """Start working on ranges. It must not wait: the Leases are not looked at meanwhile."""
        ...

    async def leaving(self, number: int, /) -> None:
        """Stop working on a range. Return when nothing works on it any more."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimOptions:
    """Options of a member.

    Attributes:
        group: The name that the replicas share, from which the names of the Leases are made.
        namespace: The namespace of the Leases.
        identity: The identity of this process.
        ranges: The ranges of the group.
        lease_duration: How long a member may be silent before it counts as dead.
        period: The pause between two looks at the Leases.
        leader: The name of the leader's Lease. While a replica without shards holds it, which works
            on all objects, no ranges are taken. Empty if there is no leader.
        controllers: The names of the controllers that are sharded.
    """

    group: str
    namespace: str
    identity: str
    ranges: Ranges
    lease_duration: timedelta = timedelta(seconds=15)
    period: timedelta = timedelta(seconds=2)
    leader: str = ""
    controllers: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the member's own Lease."""
        return {
            GROUP: group_label(self.group),
            LAYOUT: layout_label(self.ranges),
            CONTROLLERS: controllers_label(self.controllers),
        }


class _Watch:
    """When the Lease of another member was last seen to change."""

    def __init__(self, lease: Lease, now: float) -> None:
        self.first = self.version = lease.metadata.resource_version
        self.seen_at = now

    def see(self, lease: Lease, now: float) -> None:
        if lease.metadata.resource_version != self.version:
            self.version, self.seen_at = lease.metadata.resource_version, now

    @property
    def alive(self) -> bool:
        """Whether it was renewed since it was first seen."""
        return self.version != self.first


class Claims:
    """The ranges of one member. Run it under the member's fence, while the member's own Lease is renewed."""

    def __init__(
        self,
        client: Client,
        options: ClaimOptions,
        moves: Moves,
        *,
        clock: Clock,
        observer: Callable[[int, int], None] | None = None,
    ) -> None:
        """Prepare a member. It sends nothing before :meth:`run`.

        Args:
            client: Reads and writes the Leases, never through a cache.
            options: Options of a member.
            moves: Works on the ranges.
            clock: Measures the age of other members' Leases.
            observer: Called after each look with the numbers of members and of held ranges.
        """
        self._client = client.live
        self._options = options
        self._moves = moves
        self._clock = clock
        self._observer = observer or (lambda _members, _held: None)
        self._watched: dict[str, _Watch] = {}
        self._strangers: set[str] = set()
        self._leaving: dict[int, asyncio.Task[None]] = {}
        self.held: set[int] = set()
        """The ranges that belong to this member, with those that it is giving up."""
        self.looked = asyncio.Event()
        """Set when this member has seen its group and taken its first ranges, if there were any."""
        self.is_retiring = False
        """Whether this member takes no more ranges, because it will stop soon."""
        self.taken = 0
        self.given = 0

    async def run(self) -> None:
        """Claim and give up ranges until cancelled.

        Raises:
            LeadershipLost: Somebody else has a range of this member.
            EnvironmentProblem: Other members have another number of ranges.
        """
        # Members that start together see each other, and need not give up what they have just taken.
        await self._clock.sleep(self._options.period * (0.5 + random.random() / 2))  # noqa: S311 - jitter
        try:
            while True:
                try:
                    await self._round()
                except (ApiError, ServerUnreachable) as error:
                    logger.warning("cannot read the leases of the shards", extra={"error": str(error)})
                await self._clock.sleep(self._options.period * (1 + _JITTER * (random.random() - 0.5)))  # noqa: S311
        finally:
            for task in self._leaving.values():
                task.cancel()
            await asyncio.gather(*self._leaving.values(), return_exceptions=True)

    # -- one look

    async def _round(self) -> None:
        leaving = frozenset(self._leaving)  # what is given up while the Leases are read still looks held
        board = await self._look()
        await self._bury(board)
        self._check(board, leaving)
        me, count = self._options.identity, self._options.ranges.count
        if me not in board.members:
            return  # the renewal notices it, too, and ends the work
        holders = [FREE if number in leaving else holder for number, holder in enumerate(board.holders(count))]
        known = frozenset(number for number, holder in enumerate(holders) if holder == me) - self.held
        if known:  # taken by a request whose answer was lost
            self._gain(known)
        if self.is_retiring or self._refuses(board) or not (self.held or await self._is_led(board)):
            return
        due = plan(me, board.members, holders)
        for number in due.give:
            task = self._leaving[number] = asyncio.create_task(self._give(number, board.ranges[number]))
            task.add_done_callback(_report)
        await self._take([number for number in due.take if number not in leaving], board)
        await self._tidy(board)
        self._observer(len(board.members), len(self.held))
        self.looked.set()

    async def _look(self) -> Board:
        found = await self._client.list(
            Lease, namespace=self._options.namespace, labels={GROUP: group_label(self._options.group)}
        )
        board = Board.of(found.items, layout_label(self._options.ranges))
        now = self._clock.now()
        everybody = {**board.members, **board.others}
        self._watched = {name: self._watched.get(name) or _Watch(lease, now) for name, lease in everybody.items()}
        for name, lease in everybody.items():
            self._watched[name].see(lease, now)
        self._warn_of_strangers(board)
        return board

    def _warn_of_strangers(self, board: Board) -> None:
        own = self._options.labels[CONTROLLERS]
        for name, lease in board.members.items():
            if (lease.metadata.labels or {}).get(CONTROLLERS, own) != own and name not in self._strangers:
                self._strangers.add(name)
                logger.warning(
                    "a replica with other controllers shares the ranges: objects in its ranges are not reconciled here",
                    extra={
                        "replica": name,
                        "help": "give each operator its own `leader_election_id`; during an update, wait",
                    },
                )

    def _check(self, board: Board, leaving: frozenset[int]) -> None:
        for number in self.held - leaving:
            lease = board.ranges.get(number)
            holder = FREE if lease is None else holder_of(lease)
            if holder != self._options.identity:
                raise LeadershipLost(f"range {number} was lost to `{holder}`: was its lease deleted?")

    def _refuses(self, board: Board) -> bool:
        """Whether members with another layout keep this one from taking ranges. Raises if it has to go."""
        holders = {holder_of(lease) for lease in board.ranges.values()}
        own = board.members[self._options.identity]
        for name, lease in board.others.items():
            if self._watched[name].alive and not self.held and (name in holders or _age(lease) < _age(own)):
                raise _other_layout(self._options.ranges, lease)
        return bool(board.others)

    async def _is_led(self, board: Board) -> bool:
        """Whether the leader is one of the members. A replica from before the shards works on all objects."""
        if not self._options.leader:
            return True
        lease = await self._client.find(Lease, self._options.leader, namespace=self._options.namespace)
        holder = FREE if lease is None else holder_of(lease)
        if holder != FREE and holder not in board.members:
            logger.info("waiting for a replica without shards to stop", extra={"leader": holder})
        return holder in board.members

    async def _bury(self, board: Board) -> None:
        """Delete the Leases of dead members. A few members try, one after another, not all at once."""
        me, now, limit = self._options.identity, self._clock.now(), self._options.lease_duration
        for members in (board.members, board.others):
            for name in [name for name in members if name != me]:
                silent = timedelta(seconds=now - self._watched[name].seen_at)
                if silent < limit or silent < limit + self._options.period * self._rank(name, board):
                    continue
                if await self._delete(members[name]):
                    del members[name]
                    logger.warning("a replica is gone: its ranges are free", extra={"replica": name})

    def _rank(self, dead: str, board: Board) -> int:
        mourners = sorted(board.members, key=lambda name: hash_of(dead + name))
        return min(mourners.index(self._options.identity), _UNDERTAKERS) if self._options.identity in mourners else 0

    async def _delete(self, lease: Lease) -> bool:
        try:
            await self._client.delete(lease, resource_version=lease.metadata.resource_version)
        except NotFound:
            return True
        except (ApiError, ServerUnreachable):
            return False  # it lives, or the next round tries again
        return True

    async def _tidy(self, board: Board) -> None:
        """Delete Leases of ranges that are no more, since there were more before. One member does it."""
        if self._options.identity == min(board.members):
            count = self._options.ranges.count
            for number in sorted(number for number in board.ranges if number >= count)[:_AT_ONCE]:
                await self._delete(board.ranges[number])

    # -- moving

    async def _take(self, numbers: Iterable[int], board: Board) -> None:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def take(number: int) -> int | None:
            async with limit:
                lease = range_lease(self._options.group, self._options.namespace, number, board.ranges.get(number))
                return number if await self._write(held_by(lease, self._options.identity)) else None

        taken = await asyncio.gather(*(take(number) for number in numbers))
        gained = frozenset(number for number in taken if number is not None)
        if gained:
            self._gain(gained)

    def _gain(self, numbers: frozenset[int]) -> None:
        self.held |= numbers
        self.taken += len(numbers)
        logger.info("took ranges", extra={"ranges": sorted(numbers), "held": len(self.held)})
        self._moves.gained(numbers)

    async def _give(self, number: int, lease: Lease) -> None:
        try:
            await self._moves.leaving(number)
            logger.info("gave up a range", extra={"range": number, "held": len(self.held) - 1})
            while not await self._write(held_by(lease, FREE)):
                found = await self._reread(lease)
                if found is None or holder_of(found) != self._options.identity:
                    break
                lease = found
            self.given += 1
            self.held.discard(number)
        finally:
            del self._leaving[number]

    async def _reread(self, lease: Lease) -> Lease | None:
        while True:
            await self._clock.sleep(self._options.period / 2)
            try:
                return await self._client.find(Lease, lease)
            except (ApiError, ServerUnreachable) as error:
                logger.warning("cannot give up a range yet", extra={"error": str(error)})

    async def _write(self, lease: Lease) -> bool:
        """Write the Lease of a range. Return whether it was certainly written."""
        write: Callable[[Lease], Awaitable[object]] = (
            self._client.update if lease.metadata.resource_version else self._client.create
        )
        try:
            await write(lease)
        except (ApiError, ServerUnreachable) as error:
            logger.debug("the lease of a range was not written", extra={"error": str(error)})
            return False
        return True


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a range could not be given up, will retry", exc_info=error)


def _age(lease: Lease) -> tuple[str, str]:
    """Orders Leases by their creation, and those of one second by name."""
    created = lease.metadata.creation_timestamp
    return (created.isoformat() if created else "", lease.metadata.name or "")


def _other_layout(mine: Ranges, other: Lease) -> EnvironmentProblem:
    theirs = (other.metadata.labels or {})[LAYOUT].replace("-", " ")
    return EnvironmentProblem(
        SHARDS_DIFFER.at(
            None,
            f"this replica has `{mine}` ranges, and `{holder_of(other)}` has `{theirs}`",
            notes=("replicas that cut differently would work on the same object at the same time",),
            help=("stop all replicas first: `kubectl scale --replicas=0 deployment/...`, or `strategy: Recreate`",),
        )
    )
