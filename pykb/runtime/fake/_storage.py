"""The objects and their history: one counter of versions for everything, and what a watch is told."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

StorageKey = tuple[str, str]
"""Group and plural."""
ObjectKey = tuple[str, str]
"""Namespace and name."""

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """One write. ``before`` and ``after`` are JSON; one of them is None at the ends of an object's life."""

    version: int
    storage: StorageKey
    before: bytes | None
    after: bytes | None


class Storage:
    """Holds JSON, so that nothing inside can be changed from outside.

    Invariant: ``version`` grows with each write, and each object carries the version it was last written with.
    """

    def __init__(self) -> None:
        self.version = 1
        self._objects: dict[StorageKey, dict[ObjectKey, bytes]] = {}
        self._history: deque[Change] = deque(maxlen=_REMEMBERED)
        self._forgotten = 0
        self._news = asyncio.Condition()

    def get(self, storage: StorageKey, key: ObjectKey) -> dict[str, Any] | None:
        """A copy of an object."""
        found = self._objects.get(storage, {}).get(key)
        return None if found is None else orjson.loads(found)

    def all(self, storage: StorageKey, namespace: str) -> Iterator[dict[str, Any]]:
        """Copies of the objects of a namespace (of all when empty), by namespace and name."""
        for (inside, _), found in sorted(self._objects.get(storage, {}).items()):
            if not namespace or inside == namespace:
                yield orjson.loads(found)

    def all_at(self, storage: StorageKey, namespace: str, version: int) -> Iterator[dict[str, Any]]:
        """As :meth:`all`, at an earlier version that is not forgotten."""
        objects = dict(self._objects.get(storage, {}))
        for change in reversed(self._history):
            if change.version <= version:
                break
            if change.storage != storage:
                continue
            metadata = orjson.loads(change.after or change.before or b"")["metadata"]
            key = (metadata.get("namespace", ""), metadata["name"])
            if change.before is None:
                objects.pop(key, None)
            else:
                objects[key] = change.before
        for (inside, _), found in sorted(objects.items()):
            if not namespace or inside == namespace:
                yield orjson.loads(found)

    async def put(self, storage: StorageKey, obj: dict[str, Any]) -> dict[str, Any]:
        """Store an object under the next version; gives it as stored."""
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        objects = self._objects.setdefault(storage, {})
        before, after = objects.get(key), orjson.dumps(obj)
        objects[key] = after
        await self._tell(Change(self.version, storage, before, after))
        return obj

    async def remove(self, storage: StorageKey, obj: dict[str, Any]) -> dict[str, Any]:
        """Remove an object; gives it as it was last, with the version of its removal."""
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        self.version += 1
        del self._objects[storage][key]
        obj["metadata"]["resourceVersion"] = str(self.version)
        await self._tell(Change(self.version, storage, orjson.dumps(obj), None))
        return obj

    def compact(self) -> None:
        """Forget the history: watches and continue tokens from before now are gone, as after etcd's compaction."""
        self._history.clear()
        self._forgotten = self.version

    def is_forgotten(self, version: int) -> bool:
        """Whether changes since a version can no longer be told."""
        oldest = self._history[0].version - 1 if len(self._history) == _REMEMBERED else self._forgotten
        return version < oldest

    async def follow(self, storage: StorageKey, since: int) -> AsyncGenerator[Change]:
        """The changes after a version, for ever; ends when some that it has not told yet were forgotten."""
        while not self.is_forgotten(since):
            newest = self.version
            for change in [change for change in self._history if since < change.version]:
                if change.storage == storage:
                    yield change
            since = max(since, newest)
            async with self._news:
                while self.version <= since:
                    await self._news.wait()

    async def _tell(self, change: Change) -> None:
        self._history.append(change)
        async with self._news:
            self._news.notify_all()
