"""`client.sync`: the verbs of a client for threads. They block where the client's are awaited."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, overload

from pykb.api.object import Object, ObjectList
from pykb.api.unstructured import Unstructured
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime._bridge import await_in_thread
from pykb.runtime.client._reader import Reader
from pykb.runtime.client._subresource import ScaleClient, StatusWriter, SubresourceClient
from pykb.runtime.client.codec import AnyObject, Key, Kind
from pykb.runtime.client.options import Propagation
from pykb.runtime.client.selectors import Fields, Labels
from pykb.runtime.client.writer import Writer

if TYPE_CHECKING:
    from pykb.runtime.client.client import Client

ObjectT = TypeVar("ObjectT", bound=Object)
P = ParamSpec("P")
T = TypeVar("T")


class Selection(TypedDict, total=False):
    """Which objects to read."""

    namespace: str | None
    labels: Labels | None
    fields: Fields | None


class ListOptions(Selection, total=False):
    """Options of :meth:`Reader.list`."""

    limit: int | None
    continue_token: str | None
    resource_version: str | None


class PageOptions(Selection, total=False):
    """Options of :meth:`Reader.iterate`."""

    page_size: int


class DeleteOptions(TypedDict, total=False):
    """Options of :meth:`Writer.delete`."""

    propagation: Propagation | None
    grace_period: timedelta | None
    uid: str | None
    resource_version: str | None
    missing_ok: bool
    dry_run: bool


class DeleteByKeyOptions(DeleteOptions, total=False):
    """Options of :meth:`Writer.delete` by key. The key may have no namespace."""

    namespace: str | None


def _waiting(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """Turn a coroutine function into a blocking function for threads."""

    @functools.wraps(verb)
    def call(self: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await_in_thread(verb(self._of, *arguments, **options))

    return call


class _Sync:
    def __init__(self, of: Any) -> None:
        self._of = of


class SyncStatusWriter(_Sync):
    """:class:`StatusWriter` for threads."""

    update = _waiting(StatusWriter.update)
    patch = _waiting(StatusWriter.patch)
    apply = _waiting(StatusWriter.apply)


class SyncSubresourceClient(_Sync):
    """:class:`SubresourceClient` for threads."""

    get = _waiting(SubresourceClient.get)
    create = _waiting(SubresourceClient.create)
    update = _waiting(SubresourceClient.update)
    patch = _waiting(SubresourceClient.patch)


class SyncScaleClient(_Sync):
    """:class:`ScaleClient` for threads."""

    get = _waiting(ScaleClient.get)
    update = _waiting(ScaleClient.update)
    set_replicas = _waiting(ScaleClient.set_replicas)


class SyncClient(_Sync):
    """The verbs of :class:`Client` as plain functions. Each blocks, then returns or raises what the client's verb does.

    Use it only in threads that a manager started, directly or by ``asyncio.to_thread``. In ``async
    def`` it raises ``RuntimeError``, since it would block the event loop.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.status = SyncStatusWriter(client.status)
        self.scale = SyncScaleClient(client.scale)

    create = _waiting(Writer.create)
    update = _waiting(Writer.update)
    patch = _waiting(Writer.patch)
    apply = _waiting(Writer.apply)
    delete_all_of = _waiting(Writer.delete_all_of)
    is_cached = _waiting(Reader.is_cached)

    @overload
    def get(self, kind: type[ObjectT], key: Key, *, namespace: str | None = None) -> ObjectT: ...
    @overload
    def get(self, kind: GroupVersionKind, key: Key, *, namespace: str | None = None) -> Unstructured: ...
    def get(self, kind: Any, key: Key, *, namespace: str | None = None) -> Any:
        """Like :meth:`Reader.get`."""
        return await_in_thread(self._of.get(kind, key, namespace=namespace))

    @overload
    def find(self, kind: type[ObjectT], key: Key, *, namespace: str | None = None) -> ObjectT | None: ...
    @overload
    def find(self, kind: GroupVersionKind, key: Key, *, namespace: str | None = None) -> Unstructured | None: ...
    def find(self, kind: Any, key: Key, *, namespace: str | None = None) -> Any:
        """Like :meth:`Reader.find`."""
        return await_in_thread(self._of.find(kind, key, namespace=namespace))

    @overload
    def list(self, kind: type[ObjectT], **options: Unpack[ListOptions]) -> ObjectList[ObjectT]: ...
    @overload
    def list(self, kind: GroupVersionKind, **options: Unpack[ListOptions]) -> ObjectList[Unstructured]: ...
    def list(self, kind: Any, **options: Unpack[ListOptions]) -> ObjectList[Any]:
        """Like :meth:`Reader.list`."""
        found: ObjectList[Any] = await_in_thread(self._of.list(kind, **options))
        return found

    @overload
    def iterate(self, kind: type[ObjectT], **options: Unpack[PageOptions]) -> Iterator[ObjectT]: ...
    @overload
    def iterate(self, kind: GroupVersionKind, **options: Unpack[PageOptions]) -> Iterator[Unstructured]: ...
    def iterate(self, kind: Any, **options: Unpack[PageOptions]) -> Iterator[Any]:
        """Like :meth:`Reader.iterate`, for a plain ``for``."""
        items = self._of.iterate(kind, **options)
        while (item := await_in_thread(_next(items))) is not None:
            yield item

    @overload
    def delete(self, target: AnyObject, /, **options: Unpack[DeleteOptions]) -> None: ...
    @overload
    def delete(self, target: Kind, key: Key, /, **options: Unpack[DeleteByKeyOptions]) -> None: ...
    def delete(self, target: Any, key: Key | None = None, /, **options: Unpack[DeleteByKeyOptions]) -> None:
        """Like :meth:`Writer.delete`."""
        await_in_thread(self._of.delete(target, key, **options))

    def subresource(self, name: str) -> SyncSubresourceClient:
        """Like :meth:`Client.subresource`."""
        return SyncSubresourceClient(self._of.subresource(name))


async def _next(items: Any) -> Any:
    return await anext(items, None)
