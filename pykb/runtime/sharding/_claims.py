"""Claims ranges for one member, and gives up what it holds above its share.

Every 2 s a member reads the Leases of its group with one request. See :mod:`pykb.runtime.sharding._board`
for what they mean, :mod:`pykb.runtime.sharding._board` for who takes what, and
:mod:`pykb.runtime.sharding._modes` for when a member may begin.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from pykb.api.coordination.v1 import Lease
from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.ending import end_tasks
from pykb.client.errors import ApiError, ServerUnreachable
from pykb.runtime._election import LeadershipLost
from pykb.runtime.sharding._board import CONTROLLERS, FREE, Board, holder_of, new_range_lease, plan, set_holder
from pykb.runtime.sharding._modes import Group, GroupOptions

logger = logging.getLogger(__name__)

_AT_ONCE = 8
"""How many ranges are claimed at once. The first member claims all of them."""
_JITTER = 0.2


class Moves(Protocol):
    """What works on the ranges of a member."""

    def gained(self, numbers: frozenset[int], /) -> None:
        """Start working on ranges. It must not wait: the Leases are not looked at meanwhile."""

    async def leaving(self, number: int, /) -> None:
        """Stop working on a range. Return when nothing works on it any more."""


class Claims:
    """The ranges of one member. Run it under the member's fence, while the member's own Lease is renewed."""

    def __init__(
        self,
        client: Client,
        options: GroupOptions,
        moves: Moves,
        *,
        clock: Clock,
        observer: Callable[[int, int], None] | None = None,
    ) -> None:
        """Prepare a member. It sends nothing before :meth:`run`.

        Args:
            client: Reads and writes the Leases, never through a cache.
            options: The place of the member in its group, with ranges.
            moves: Works on the ranges.
            clock: Measures the age of other members' Leases.
            observer: Called after each look with the numbers of members and of held ranges.

        Raises:
            ValueError: The options have no ranges.
        """
        if options.ranges is None:
            raise ValueError("a member needs ranges")
        self._ranges = options.ranges
        self._client = client.live
        self._options = options
        self._moves = moves
        self._clock = clock
        self._observer = observer or (lambda _members, _held: None)
        self.group = Group(client, options, clock=clock)
        """The group. The member works in it while no replica of another mode does."""
        self._strangers: set[str] = set()
        self._leaving: dict[int, asyncio.Task[None]] = {}
        self.held: set[int] = set()
        """The ranges that belong to this member, with those that it is giving up."""
        self.looked = asyncio.Event()
        """Set when this member has seen its group and taken its first ranges, if there were any."""
        self.is_retiring = False
        """Whether this member takes no more ranges, because it will stop soon."""
        self.taken = 0

    async def run(self) -> None:
        """Claim and give up ranges until cancelled.

        Raises:
            LeadershipLost: Somebody else has a range of this member.
        """
        # Members that start together see each other, and need not give up what they have just taken.
        # Those that stood by notice within a period, and its jitter, that they may begin.
        pause = 1.25 if self.group.has_stood_by else 0.5 + random.random() / 2  # noqa: S311 - jitter
        await self._clock.sleep(self._options.period * pause)
        try:
            while True:
                try:
                    await self._round()
                except (ApiError, ServerUnreachable) as error:
                    logger.warning("cannot read the leases of the shards", extra={"error": str(error)})
                await self._clock.sleep(self._options.period * (1 + _JITTER * (random.random() - 0.5)))  # noqa: S311
        finally:
            await end_tasks(*self._leaving.values())

    @property
    def leaving(self) -> frozenset[int]:
        """The ranges that this member gives up at present."""
        return frozenset(self._leaving)

    # -- one look

    async def _round(self) -> None:
        leaving = self.leaving  # what is given up while the Leases are read still looks held
        board = await self.group.look()
        self._warn_of_strangers(board)
        self._check(board, leaving)
        me, count = self._options.identity, self._ranges.count
        if me not in board.members:
            return  # the renewal notices it, too, and ends the work
        holders = [FREE if number in leaving else holder for number, holder in enumerate(board.holders(count))]
        known = frozenset(number for number, holder in enumerate(holders) if holder == me) - self.held
        if known:  # taken by a request whose answer was lost
            self._gain(known)
        if self.is_retiring:
            return
        due = plan(me, board.members, holders)
        for number in due.give:
            task = self._leaving[number] = asyncio.create_task(self._give(number, board.ranges[number]))
            task.add_done_callback(_report)
        await self._take([number for number in due.take if number not in leaving], board)
        await self._tidy(board)
        self._observer(len(board.members), len(self.held))
        self.looked.set()

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

    async def _tidy(self, board: Board) -> None:
        """Delete Leases of ranges that are no more, since there were more before. One member does it."""
        if self._options.identity == min(board.members):
            count = self._ranges.count
            for number in sorted(number for number in board.ranges if number >= count)[:_AT_ONCE]:
                await self.group.delete(board.ranges[number])

    # -- moving

    async def _take(self, numbers: Iterable[int], board: Board) -> None:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def take(number: int) -> int | None:
            async with limit:
                lease = board.ranges.get(number)
                if lease is None:
                    lease = new_range_lease(self._options.group, self._options.namespace, number)
                return number if await self._write(set_holder(lease, self._options.identity)) else None

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
            while not await self._write(set_holder(lease, FREE)):
                found = await self._reread(lease)
                if found is None or holder_of(found) != self._options.identity:
                    break
                lease = found
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
