"""The objects and their history, with one version counter for all of them, and the changes for watches."""

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
    """One write. ``before`` and ``after`` are JSON. One of them is ``None`` for a creation or a deletion."""

    version: int
    storage: StorageKey
    before: bytes | None
    after: bytes | None


class Storage:
    """Stores objects as JSON, so that callers cannot change them.

    ``version`` grows with each write. Each object has the version of its last write.
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
        """Copies of the objects in a namespace (in all if empty), sorted by namespace and name."""
        for (inside, _), found in sorted(self._objects.get(storage, {}).items()):
            if not namespace or inside == namespace:
                yield orjson.loads(found)

    def all_at(self, storage: StorageKey, namespace: str, version: int) -> Iterator[dict[str, Any]]:
        """Like :meth:`all`, at an earlier version that is still in the history."""
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
        """Store an object with the next version. Return the stored object."""
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        objects = self._objects.setdefault(storage, {})
        before, after = objects.get(key), orjson.dumps(obj)
        objects[key] = after
        await self._tell(Change(self.version, storage, before, after))
        return obj

    async def remove(self, storage: StorageKey, obj: dict[str, Any]) -> dict[str, Any]:
        """Remove an object. Return its last state, with the version of its removal."""
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        self.version += 1
        del self._objects[storage][key]
        obj["metadata"]["resourceVersion"] = str(self.version)
        await self._tell(Change(self.version, storage, orjson.dumps(obj), None))
        return obj

    def compact(self) -> None:
        """Drop the history, like etcd's compaction. Older watches and continue tokens expire."""
        self._history.clear()
        self._forgotten = self.version

    def is_forgotten(self, version: int) -> bool:
        """Whether the history no longer has the changes since a version."""
        oldest = self._history[0].version - 1 if len(self._history) == _REMEMBERED else self._forgotten
        return version < oldest

    async def follow(self, storage: StorageKey, since: int) -> AsyncGenerator[Change]:
        """Yield the changes after a version, without end. It stops if the history has lost a change not yet yielded."""
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
