"""Decides for a controller which requests are this replica's, and fences their reconciles.

The requests of deleted roots are among them: a root that is gone may have left children to clean up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pykb.client.errors import ApiError, ServerUnreachable
from pykb.client.fence import fence
from pykb.meta.gvk import NamespacedName
from pykb.runtime.requests.queue import WorkQueue

if TYPE_CHECKING:
    from pykb.runtime.sharding._parts import ShardPart

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Gate:
    """The gate of one controller.

    A request of another replica is dropped without harm: its replica sees the same events. It does
    not see the children of a former root of this name, whose range is ours. Such a request comes
    again until they are gone: the new root may be, before its replica has reconciled it.

    Attributes:
        queue: The queue of the controller.
        roots: The part of the kind that it reconciles.
        is_open: Whether reconciles of a range may start.
        check: Raises if reconciles of a range may not write any more.
        exists: Asks the server whether a root exists.
        has_children: Whether children of a uid are mirrored.
        dropped: Called for each request of another replica.
    """

    queue: WorkQueue[Any]
    roots: ShardPart
    is_open: Callable[[int], bool]
    check: Callable[[int], None]
    exists: Callable[[NamespacedName], Awaitable[bool]]
    has_children: Callable[[str], bool]
    dropped: Callable[[], None]
    _running: Counter[int] = field(default_factory=Counter)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.roots.former.awaited.append(self.queue.__contains__)

    @contextlib.asynccontextmanager
    async def admit(self, request: NamespacedName) -> AsyncIterator[bool]:
        """Enter a reconcile. Yield whether this replica has to do it."""
        number = self.roots.index.get(request)
        if number is None:
            number = next(iter(self._deleted(request).values()), None)
        if number is None or not self.is_open(number):
            self._drop(request)
            yield False
            return
        self._running[number] += 1
        self.roots.running[request] += 1
        try:
            if request not in self.roots.index and await self._was_made_again(request):
                yield False
                return
            with fence(lambda: self.check(number)):
                yield True
        finally:
            self.roots.running[request] -= 1
            if not self.roots.running[request]:
                del self.roots.running[request]
            self._running[number] -= 1
            self._ended.set()

    async def drained(self, number: int) -> None:
        """Wait until no reconcile of a range runs."""
        while self._running[number]:
            self._ended.clear()
            await self._ended.wait()
        del self._running[number]

    async def _was_made_again(self, request: NamespacedName) -> bool:
        """Whether a deleted root is there again, with another uid. It can be in a range of another replica."""
        if self.roots.use.whole:
            return False
        try:
            if not await self.exists(request):
                return False
        except (ApiError, ServerUnreachable) as error:
            logger.warning("cannot ask for a deleted object, will retry", extra={"error": str(error)})
            self.queue.add_rate_limited(request)
            return True
        self._drop(request)
        return True

    def _deleted(self, request: NamespacedName) -> dict[str, int]:
        """The deleted roots of a name for which this replica has to clean up."""
        return {uid: number for uid, number in self.roots.former.of(request).items() if self.is_open(number)}

    def _drop(self, request: NamespacedName) -> None:
        self.dropped()
        if any(map(self.has_children, self._deleted(request))):
            self.queue.add_rate_limited(request)
        else:
            self.queue.forget(request)
