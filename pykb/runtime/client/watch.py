"""A watch: the changes of a kind as an async iterator, resumed where it broke.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import orjson

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Object
from pykb.api.unreadable import UnreadableObject
from pykb.api.unstructured import Unstructured
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.client.codec import Kind, complete, gvk_of
from pykb.runtime.client.connection import Call
from pykb.runtime.client.endpoint import Exchange, Query
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.errors import ApiError, ServerUnreachable, error_from_status

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT")

# The server ends a watch by itself after this long; spread out, so that a fleet does not come back at once.
_SHORTEST = timedelta(minutes=5)
_LONGEST = timedelta(minutes=10)
_FIRST_BACKOFF = timedelta(milliseconds=200)
_MAX_BACKOFF = timedelta(seconds=15)
_TOLD_FROM = 3


class EventType(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[ItemT]):
    """One change, with the object after it (DELETED: the last that was seen of it)."""

    type: EventType
    object: ItemT


class Watch(Generic[ItemT]):
    """An async iterator of events, and a context manager that closes its connection.

    A connection that breaks or ends is replaced by one from the last resource version seen (bookmarks included, though
    they are given out only when asked for): no event is lost or seen twice. What does not fit the kind's class
    is reported and left out. :class:`~pykb.runtime.errors.Gone` is raised when the server cannot go on from there.
    """

    def __init__(
        self,
        exchange: Exchange,
        kind: Kind,
        namespace: str,
        query: Query,
        resource_version: str | None,
        *,
        bookmarks: bool,
        accept: str = "application/json",
        clock: Clock | None = None,
    ) -> None:
        self._accept = accept
        self._exchange = exchange
        self._kind = kind
        self._namespace = namespace
        self._query = query
        self._bookmarks = bookmarks
        self._clock = clock or SystemClock()
        self.resource_version = resource_version or ""
        """Where the watch stands: to go on from, later or elsewhere."""
        self._parse = exchange.unreadable.parser(kind)
        self._events = self._run()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[ItemT]:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the watch and its connection."""
        await self._events.aclose()

    async def _run(self) -> AsyncGenerator[WatchEvent[ItemT]]:
        if not self.resource_version:
            async for present in self._present():
                yield present
        failures = 0
        while True:
            failures += 1  # a connection that brings nothing counts, also when the server ends it politely
            try:
                async with aclosing(self._connection()) as events:
                    async for event in events:
                        failures = 0
                        if event is not None:
                            yield event
            except (ServerUnreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500 and error.status != 429:
                    raise
                # One is nothing: servers restart. A watch that never comes back must not be silent about it.
                level = logging.DEBUG if failures < _TOLD_FROM else logging.WARNING
                shown = {"kind": str(gvk_of(self._kind)), "error": str(error), "failures": failures}
                logger.log(level, "watch interrupted, will go on", extra=shown)
            if failures:
                await self._clock.sleep(min(_FIRST_BACKOFF * 2 ** min(failures, 10), _MAX_BACKOFF))

    async def _present(self) -> AsyncGenerator[WatchEvent[ItemT]]:
        # A list and not a watch from nowhere: that one starts with the objects in no order, and when it breaks among
        # them there is no version from which those that are still to come would come.
        endpoint = await self._exchange.endpoint(self._kind, namespace=self._namespace)
        answer = await self._exchange.send("GET", endpoint, query=self._query, repeatable=True)
        self.resource_version = str(answer["metadata"]["resourceVersion"])
        for item in answer.get("items") or ():
            event = self._event(EventType.ADDED, complete(item, endpoint.gvk))
            if event is not None:
                yield event

    async def _connection(self) -> AsyncGenerator[WatchEvent[ItemT] | None]:
        endpoint = await self._exchange.endpoint(self._kind, namespace=self._namespace)
        seconds = random.uniform(_SHORTEST.total_seconds(), _LONGEST.total_seconds())  # noqa: S311 - spreading
        query = (
            *self._query,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self.resource_version),
            ("timeoutSeconds", str(int(seconds))),
        )
        impersonate = self._exchange.options.impersonate
        call = Call("GET", endpoint.path, query=query, accept=self._accept, impersonate=impersonate)
        async with self._exchange.connection.stream(call) as lines:
            async for line in lines:
                raw = orjson.loads(line)
                if raw["type"] == "ERROR":
                    raise error_from_status(int(raw["object"].get("code") or 500), raw["object"])
                self.resource_version = raw["object"]["metadata"]["resourceVersion"]
                yield self._event(EventType(raw["type"]), raw["object"])

    def _event(self, kind: EventType, wire: dict[str, Any]) -> WatchEvent[ItemT] | None:
        if kind is EventType.BOOKMARK:
            return WatchEvent(kind, cast("ItemT", _bookmark(self._kind, wire))) if self._bookmarks else None
        try:
            return WatchEvent(kind, self._parse(wire))
        except UnreadableObject:
            return None


def _bookmark(kind: Kind, wire: dict[str, Any]) -> Object | Unstructured:
    """An object of nothing but a resource version: what else its class demands is not there."""
    if isinstance(kind, GroupVersionKind):
        return Unstructured(wire)
    return kind.model_construct(metadata=ObjectMeta(resource_version=wire["metadata"]["resourceVersion"]))
