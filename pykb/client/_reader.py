"""The reading half of a client: get, find, list, iterate, watch."""

from __future__ import annotations

import contextlib
import json
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Object, Unstructured
from pykb.api.unreadable import ObjectList, UnreadableObject
from pykb.client._endpoint import Exchange, Query
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import Key, Kind, ReadKind, ReadT, alone, complete, gvk_of, key_of, kind_of, readable
from pykb.client.connection import Call, Connection, NotMirrored
from pykb.client.errors import ApiError, NotFound, ServerUnreachable, StatusDetails, error_from_status
from pykb.client.json_text import read_around
from pykb.client.selectors import Fields, FieldSelector, Labels, field_query, label_query, query_pairs
from pykb.meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader

logger = logging.getLogger(__name__)

# A watch: an async iterator of a kind's changes. It resumes when a connection breaks.
#
# Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes


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
        failures: How many connections in a row failed or brought no event. 0 if the last one fell silent.
    """

    error: ServerUnreachable | ApiError
    failures: int


class RawWatch:
    """The events of a watch as the server sends them. It resumes when a connection breaks or ends.

    No event is lost or repeated. The next connection continues after the last version seen,
    including bookmarks. If the server answers after a silence, that counts as a bookmark.
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
        failures, was_silent = 0, False
        while True:
            failures += 1  # a connection without events counts as a failure, even when the server closed it cleanly
            is_answered = False
            try:
                async with self._connection.stream(self._next_call()) as lines:
                    is_answered = True
                    if was_silent:
                        was_silent = False
                        yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": self.resource_version}}}
                    async for line in lines:
                        event = self._event(line)
                        failures = 0
                        yield event
            except (ServerUnreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500 and error.status != 429:
                    raise
                if is_answered and isinstance(error.__cause__, TimeoutError):
                    # After its restart, the API server may send no bookmark before the first event.
                    failures, was_silent = 0, True
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
        event: dict[str, Any]
        try:
            event = read_around(line, ("object",))
        except json.JSONDecodeError as error:  # a proxy ended the answer, or has its own words
            raise error_from_status(502, f"the watch has a line that is not JSON: {error.msg}") from error
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


DEFAULT_PAGE_SIZE = 500


class Reader:
    """Reads objects. Watched kinds come from the manager's cache, all others by request."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def get(self, kind: ReadKind[ReadT], key: Key, *, namespace: str | None = None) -> ReadT:
        """Read one object.

        ::

            machine = await client.get(VirtulMachine, "default/vm")
            assert machine == await client.get(VirtulMachine, "vm", namespace="default")

        An object that is being deleted is read as far as it fits its class, so that its finalizers
        can run. Missing required fields are then empty (``0``, ``""``). Write such an object by
        patches only.

        Args:
            kind: A class, or the identity of a kind for untyped JSON.
            key: "name", "namespace/name", a request, or an object.
            namespace: The namespace, if the key has none.

        Raises:
            NotFound: It does not exist.
            UnreadableObject: It does not fit its class and is not being deleted.
            NoKindMatch: The server does not serve the kind.
            ApiError: The server refused.
        """
        found: ReadT = alone(self._parser(kind), await self._get_wire(kind, key, namespace=namespace))
        return found

    async def _get_wire(self, kind: ReadKind[Any], key: Key, *, namespace: str | None = None) -> dict[str, Any]:
        """The JSON of one object. Otherwise as :meth:`get`."""
        where = key_of(key)
        gvk = gvk_of(kind)
        namespace = where.namespace or namespace or ""
        if (mirror := await self._mirror(kind, namespace)) is not None:
            cache, namespace = mirror
            with contextlib.suppress(NotMirrored):
                found = await cache.get(gvk, namespace, where.name)
                if found is None:
                    raise _absent((await self._exchange.mapping(kind)).plural, gvk, where.name)
                return found
        endpoint = await self._exchange.endpoint(kind, namespace=namespace, name=where.name)
        return await self._exchange.send("GET", endpoint, repeatable=True)

    async def find(self, kind: ReadKind[ReadT], key: Key, *, namespace: str | None = None) -> ReadT | None:
        """Read one object, or return ``None`` when it does not exist. Otherwise like :meth:`get`.

        ::

            assert await client.find(VirtulMachine, "default/absent") is None
        """
        try:
            return await self.get(kind, key, namespace=namespace)
        except NotFound as error:
            if not error.details.name:  # the resource itself is gone, not only the object
                raise
            return None

    async def list(
        self,
        kind: ReadKind[ReadT],
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        resource_version: str | None = None,
    ) -> ObjectList[ReadT]:
        """Read objects of a kind.

        ::

            pods = await client.list(Pod, namespace="default", labels="app=web,tier!=db")
            print(len(pods), [pod.metadata.name for pod in pods])

        An object that does not fit the class is left out of the list. It is reported in the log and
        by a metric, and it is in ``unreadable`` of the result.

        Args:
            kind: A class, or the identity of a kind for untyped JSON.
            namespace: Only objects in this namespace. ``None`` means all namespaces.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector. A request takes the fields that the
                server supports; the cache takes its indexes.
            limit: The maximum number of objects. Pass the result's ``continue_token`` to read the
                next page. ``None`` means all at once.
            continue_token: The ``continue_token`` of the previous page.
            resource_version: ``"0"`` for any version in the server's cache, empty for the newest.
                Always by request.

        Raises:
            NoKindMatch: The server does not serve the kind.
            Expired: The continue token is too old.
            ApiError: The server refused.
        """
        wanted = kind_of(kind)
        gvk = gvk_of(wanted)
        mirror = (
            await self._mirror(wanted, namespace or "") if continue_token is None and resource_version is None else None
        )
        if mirror is not None:
            cache, where = mirror
            with contextlib.suppress(NotMirrored):
                found = await _select_cached(cache, gvk, where or None, label_query(labels), field_query(fields))
                items, unreadable = readable(self._parser(kind), found[:limit])
                return ObjectList(items=items, unreadable=unreadable)
        endpoint = await self._exchange.endpoint(wanted, namespace=namespace or "")
        others = {"limit": limit, "continue": continue_token, "resourceVersion": resource_version}
        query = query_pairs(labels, fields, **others)
        answer = await self._exchange.send("GET", endpoint, query=query, repeatable=True)
        metadata = answer.get("metadata") or {}
        wires = [complete(item, gvk) for item in answer.get("items") or ()]
        items, unreadable = readable(self._parser(kind), wires)
        return ObjectList(
            items=items,
            unreadable=unreadable,
            resource_version=str(metadata.get("resourceVersion") or ""),
            continue_token=metadata.get("continue") or None,
            remaining_item_count=metadata.get("remainingItemCount"),
        )

    async def iterate(
        self,
        kind: ReadKind[ReadT],
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        page_size: int = DEFAULT_PAGE_SIZE,
    ) -> AsyncIterator[ReadT]:
        """Read objects page by page: ``async for pod in client.iterate(Pod)``. Neither side holds all of them.

        Raises:
            Expired: Reading took so long (minutes) that the server dropped the version of the first
                page.
            ApiError: The server refused.
        """
        token: str | None = None
        while True:
            page = await self.list(
                kind, namespace=namespace, labels=labels, fields=fields, limit=page_size, continue_token=token
            )
            for item in page.items:
                yield item
            token = page.continue_token
            if token is None:
                return

    def watch(
        self,
        kind: ReadKind[ReadT],
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        resource_version: str | None = None,
        bookmarks: bool = False,
    ) -> Watch[ReadT]:
        """Follow the changes of a kind: ``async with client.watch(Pod, namespace="default") as events: async for ...``.

        ::

            pods = await client.list(Pod, namespace="default")
            async with client.watch(Pod, namespace="default", resource_version=pods.resource_version) as changes:
                async for change in changes:
                    print(change.type, change.object.metadata.name)

        A broken stream is resumed at the last event. It ends only with an error or when it is
        closed. Events of objects that do not fit the class are left out and reported.

        Args:
            kind: A class, or the identity of a kind for untyped JSON.
            namespace: Only objects in this namespace. ``None`` means all namespaces.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector.
            resource_version: Start with changes after this version (an ``ObjectList`` has one).
                With ``None``, existing objects come first, as ADDED.
            bookmarks: Whether to yield BOOKMARK events too. They carry only a resource version.

        Raises:
            Gone: While iterating: the server no longer has the changes since that version. List
                again.
            ApiError: While iterating: the server refused.
        """
        query = query_pairs(labels, fields)
        return Watch(self._exchange, kind_of(kind), namespace or "", query, resource_version, bookmarks=bookmarks)

    async def is_cached(self, kind: Kind, *, namespace: str | None = None) -> bool:
        """Whether the cache answers reads of a kind, in one namespace or in all (``None``).

        Raises:
            NoKindMatch: The server does not serve the kind.
        """
        return await self._mirror(kind, namespace or "") is not None

    async def _mirror(self, kind: Kind, namespace: str) -> tuple[CacheReader, str] | None:
        """The cache that holds a kind, and the namespace to read there. ``None`` when a request is needed."""
        cache, gvk = self._exchange.cache, gvk_of(kind)
        if cache is None or not cache.has(gvk):
            return None
        mapping = await self._exchange.mapping(kind)
        where = self._exchange.effective_namespace(namespace) if mapping.namespaced else ""
        return (cache, where) if cache.has(gvk, where) else None

    def _parser(self, kind: ReadKind[Any]) -> Callable[[dict[str, Any]], Any]:
        return self._exchange.unreadable.parser(kind_of(kind))


async def _select_cached(
    cache: CacheReader, gvk: GroupVersionKind, namespace: str | None, labels: str | None, fields: str | None
) -> Sequence[dict[str, Any]]:
    equalities = FieldSelector.parse(fields).equalities if fields else {}
    if equalities is None:
        raise ValueError(f"a cache selects by equality only, found `{fields}`; `client.live` asks the server")
    return await cache.list(gvk, namespace=namespace, labels=labels, fields=equalities or None)


def _absent(plural: str, gvk: GroupVersionKind, name: str) -> NotFound:
    resource = f"{plural}.{gvk.group}" if gvk.group else plural
    message = f'{resource} "{name}" not found'
    return NotFound(404, "NotFound", message, StatusDetails(name=name, group=gvk.group, kind=plural))
