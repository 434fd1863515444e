"""One list and watch of a part of a kind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache.informer import Informer
from pykb.runtime.cache.reflector import ListWatch, WatchTarget

if TYPE_CHECKING:
    from pykb.runtime.sharding._parts import ShardPart


class Stream:
    """One list and watch of a part: of one of its ranges, or of all."""

    def __init__(self, part: ShardPart, informer: Informer[Any], number: int | None) -> None:
        self._part = part
        self._informer = informer
        self._number = number
        self.task: asyncio.Task[None] | None = None
        self.is_listed = False
        self.progress = asyncio.Event()
        """Set when the list is complete, or the stream has ended."""

    def concerns(self, numbers: frozenset[int]) -> bool:
        return self._number is None or self._number in numbers

    async def run(self, target: WatchTarget, source: ListWatch) -> None:
        reflector = self._informer.reflect(target, source, self)
        try:
            await reflector.run()
        finally:
            self._informer.stop_reflecting(target, reflector)
            self.progress.set()

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
            self.progress.set()  # also if it had not begun

    # -- as a sink

    def upsert(self, key: NamespacedName, obj: dict[str, Any], *, listed: bool) -> None:
        self._part.upsert(key, obj, self._number, listed=listed)

    def remove(self, key: NamespacedName, obj: dict[str, Any] | None) -> None:
        if self._part.holds(key, self._number):
            self._part.remove(key, obj)

    def known(self, namespace: str | None) -> list[NamespacedName]:
        return self._part.known(namespace, self._number)

    def synced(self, target: WatchTarget) -> None:
        self._informer.synced(target)
        self.is_listed = True
        self.progress.set()

    def failed(self, target: WatchTarget, problem: str) -> None:
        self._informer.failed(target, problem)
