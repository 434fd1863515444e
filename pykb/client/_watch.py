"""A watch: an async iterator of a kind's changes. It resumes when a connection breaks.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar, cast

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Object, Unstructured
from pykb.api.unreadable import UnreadableObject
from pykb.client._endpoint import Exchange, Query
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import Kind, complete, gvk_of
from pykb.client.connection import Call, Connection
from pykb.client.errors import ApiError, ServerUnreachable, error_from_status
from pykb.client.json_text import read_around
from pykb.meta.gvk import GroupVersionKind

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT")

# The server ends a watch after this time. It is random, so that many clients do not reconnect at
# once.
_SHORTEST = timedelta(minutes=5)
_LONGEST = timedelta(minutes=10)
_FIRST_BACKOFF = timedelta(milliseconds=200)
_MAX_BACKOFF = timedelta(seconds=15)
_TOLD_FROM = 3


class EventType(StrEnum):
    """The type of a change of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[ItemT]):
    """One change, with the object after the change (for DELETED: its last known state)."""

    type: EventType
    object: ItemT


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A connection failed. The next one will be tried.

    Attributes:
        error: The cause.
        failures: How many connections in a row brought no event.
    """

    error: ServerUnreachable | ApiError
    failures: int


class RawWatch:
    """The events of a watch as the server sends them. It resumes when a connection breaks or ends.

    No event is lost or repeated. The next connection continues after the last version seen,
    including bookmarks.
    """

    def __init__(
        self, connection: Connection, call: Call, resource_version: str, *, clock: Clock | None = None
    ) -> None:
        """Make a watch that starts at a version.

        Args:
            connection: The way to the server.
            call: The request that lists the watched objects.
            resource_version: The version of the list.
            clock: The clock for pauses between connections.
        """
        self._connection = connection
        self._call = call
        self._clock: Clock = clock or SystemClock()
        self.resource_version = resource_version
        """The last version seen."""

    async def events(self) -> AsyncGenerator[dict[str, Any] | Interrupted]:
        """Yield events (``type`` and ``object``) and interruptions, without end.

        Raises:
            Gone: The server cannot continue after the last version seen.
            ApiError: The server refuses the watch, and a retry would not help.
        """
        failures = 0
        while True:
            failures += 1  # a connection without events counts as a failure, even when the server closed it cleanly
            try:
                async with self._connection.stream(self._next_call()) as lines:
                    async for line in lines:
                        failures = 0
                        yield self._event(line)
            except (ServerUnreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500 and error.status != 429:
                    raise
                yield Interrupted(error, failures)
            if failures:
                await self._clock.sleep(min(_FIRST_BACKOFF * 2 ** min(failures, 10), _MAX_BACKOFF))

    def _next_call(self) -> Call:
        seconds = random.uniform(_SHORTEST.total_seconds(), _LONGEST.total_seconds())  # noqa: S311 - spreading
        watching = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self.resource_version),
            ("timeoutSeconds", str(int(seconds))),
        )
        return replace(self._call, query=(*self._call.query, *watching))

    def _event(self, line: bytes) -> dict[str, Any]:
        event: dict[str, Any] = read_around(line, ("object",))
        if event["type"] == "ERROR":
            raise error_from_status(int(event["object"].get("code") or 500), event["object"])
        self.resource_version = event["object"]["metadata"]["resourceVersion"]
        return event


class Watch(Generic[ItemT]):
    """An async iterator of events, and a context manager that closes its connection.

    ::

        async with client.watch(Pod, namespace="default", labels="app=web") as events:
            async for event in events:
                print(event.type, event.object.metadata.name)

    When a connection breaks or ends, the next one continues after the last resource version seen.
    No event is lost or repeated. Bookmarks are always used for this, but yielded only on request.
    An object that does not fit the kind's class is reported and left out.
    :class:`~pykb.client.errors.Gone` is raised when the server cannot continue after that version.
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
    ) -> None:
        self._exchange = exchange
        self._kind = kind
        self._namespace = namespace
        self._query = query
        self._bookmarks = bookmarks
        self.resource_version = resource_version or ""
        """The last resource version seen. A later watch can start from it."""
        self._parse = exchange.unreadable.parser(kind)
        self._events = self._run()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[ItemT]:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the watch and its connection."""
        await self._events.aclose()

    async def _run(self) -> AsyncGenerator[WatchEvent[ItemT]]:
        if not self.resource_version:
            async for present in self._present():
                yield present
        endpoint = await self._exchange.endpoint(self._kind, namespace=self._namespace)
        raw = RawWatch(
            self._exchange.connection,
            Call("GET", endpoint.path, query=self._query, impersonate=self._exchange.options.impersonate),
            self.resource_version,
        )
        async with aclosing(raw.events()) as items:
            async for item in items:
                self.resource_version = raw.resource_version
                if isinstance(item, Interrupted):
                    self._report(item)
                    continue
                event = self._event(EventType(item["type"]), item["object"])
                if event is not None:
                    yield event

    def _report(self, interrupted: Interrupted) -> None:
        # A single failure is normal: servers restart. A watch that never comes back must be
        # reported.
        level = logging.DEBUG if interrupted.failures < _TOLD_FROM else logging.WARNING
        shown = {"kind": str(gvk_of(self._kind)), "error": str(interrupted.error), "failures": interrupted.failures}
        logger.log(level, "watch interrupted, will resume", extra=shown)

    async def _present(self) -> AsyncGenerator[WatchEvent[ItemT]]:
        # List first. A watch without a version starts with the objects in no order. If it broke
        # among them, no version would bring the missing ones.
        endpoint = await self._exchange.endpoint(self._kind, namespace=self._namespace)
        answer = await self._exchange.send("GET", endpoint, query=self._query, repeatable=True)
        self.resource_version = str(answer["metadata"]["resourceVersion"])
        for item in answer.get("items") or ():
            event = self._event(EventType.ADDED, complete(item, endpoint.gvk))
            if event is not None:
                yield event

    def _event(self, kind: EventType, wire: dict[str, Any]) -> WatchEvent[ItemT] | None:
        if kind is EventType.BOOKMARK:
            return WatchEvent(kind, cast("ItemT", _bookmark(self._kind, wire))) if self._bookmarks else None
        try:
            return WatchEvent(kind, self._parse(wire))
        except UnreadableObject:
            return None


def _bookmark(kind: Kind, wire: dict[str, Any]) -> Object | Unstructured:
    """An object that has only a resource version. Other required fields of its class are not set."""
    if isinstance(kind, GroupVersionKind):
        return Unstructured(wire)
    return kind.model_construct(metadata=ObjectMeta(resource_version=wire["metadata"]["resourceVersion"]))
