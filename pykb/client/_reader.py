"""The reading half of a client: get, find, list, iterate, watch."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from pykb.api.object_list import ObjectList
from pykb.client._endpoint import Exchange
from pykb.client._watch import Watch
from pykb.client.codec import Key, Kind, ReadKind, ReadT, alone, complete, gvk_of, key_of, kind_of, readable
from pykb.client.connection import NotMirrored
from pykb.client.errors import NotFound, StatusDetails
from pykb.client.selectors import Fields, FieldSelector, Labels, field_query, label_query, query_pairs
from pykb.meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader

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
