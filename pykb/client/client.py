"""`Client`: reads and writes objects of an API server, typed or untyped; and `client.sync`, the same for threads."""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, overload

from pykb.client._endpoint import Exchange
from pykb.client._pods import PodVerbs
from pykb.client._reader import Reader
from pykb.client.bridge import await_in_thread
from pykb.client.codec import AnyObject, Key, Kind, ReadKind, ReadT, UnreadableObjects
from pykb.client.connection import Connection
from pykb.client.ending import end_tasks
from pykb.client.login import Credentials, CredentialSource, Impersonation, KubeconfigSource, discover_credentials
from pykb.client.login.credentials import StaticCredentials
from pykb.client.mapper import ResourceMapper
from pykb.client.options import ClientOptions, OptionChanges, TransportOptions
from pykb.client.transport import Transport
from pykb.client.writer import DeleteByKeyOptions, DeleteOptions, ScaleClient, StatusWriter, SubresourceClient, Writer

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader


CLOSING_LIMIT = timedelta(seconds=2)
"""How long closing a client waits for its background tasks."""

_tasks: weakref.WeakKeyDictionary[Connection, set[asyncio.Task[Any]]] = weakref.WeakKeyDictionary()


class Client(Reader, Writer, PodVerbs):
    """Reads and writes objects of an API server. See :class:`Reader` and :class:`Writer` for the verbs.

    ::

        async with Client.from_environment() as client:
            machine = await client.get(VirtulMachine, "default/vm-1")
            machine.spec.cpu = 4
            await client.update(machine)

    One client serves any number of tasks of one event loop. Variants (:meth:`namespaced`, :meth:`with_options`,
    :attr:`live`) share its connections and are closed with it.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        options: ClientOptions | None = None,
        mapper: ResourceMapper | None = None,
        cache: CacheReader | None = None,
        unreadable: UnreadableObjects | None = None,
    ) -> None:
        """Make a client from its parts. :meth:`from_environment` and its like are the usual ways.

        Args:
            connection: The way to the server.
            options: The options of every request.
            mapper: Finds the server's resources.
            cache: Answers reads of the kinds that it watches.
            unreadable: Where objects that do not fit their class are reported.
        """
        mapper = mapper or ResourceMapper(connection)
        exchange = Exchange(connection, mapper, options or ClientOptions(), unreadable or UnreadableObjects(), cache)
        Reader.__init__(self, exchange)
        Writer.__init__(self, exchange)
        self.status = StatusWriter(exchange)
        """Writes the status subresource."""
        self.scale = ScaleClient(exchange)
        """Reads and writes the scale subresource."""

    @classmethod
    def from_environment(
        cls,
        *,
        kubeconfig: Path | None = None,
        context: str | None = None,
        master: str | None = None,
        options: ClientOptions | None = None,
        transport: TransportOptions | None = None,
    ) -> Self:
        """Make a client for kubectl's current cluster, or, in a pod, for the pod's cluster.

        Raises:
            EnvironmentProblem: No cluster is configured.
        """
        source = discover_credentials(kubeconfig=kubeconfig, context=context, master=master)
        return cls(Transport(source, transport), options=options)

    @classmethod
    def from_kubeconfig(
        cls,
        path: Path | str,
        *,
        context: str | None = None,
        options: ClientOptions | None = None,
        transport: TransportOptions | None = None,
    ) -> Self:
        """Make a client for the cluster of a kubeconfig file."""
        return cls(Transport(KubeconfigSource([Path(path)], context=context), transport), options=options)

    @classmethod
    def from_credentials(
        cls,
        credentials: Credentials | CredentialSource,
        *,
        options: ClientOptions | None = None,
        transport: TransportOptions | None = None,
    ) -> Self:
        """Make a client for a cluster from given credentials."""
        source = StaticCredentials(credentials) if isinstance(credentials, Credentials) else credentials
        return cls(Transport(source, transport), options=options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections. Recorded events get a short time to be sent."""
        connection = self._exchange.connection
        try:
            await _settle(connection)
        finally:
            await connection.close()

    @property
    def connection(self) -> Connection:
        """The way to the server."""
        return self._exchange.connection

    @property
    def mapper(self) -> ResourceMapper:
        """Finds the server's resources."""
        return self._exchange.mapper

    @property
    def options(self) -> ClientOptions:
        """The options of every request."""
        return self._exchange.options

    @property
    def unreadable(self) -> UnreadableObjects:
        """Where objects that do not fit their class are reported."""
        return self._exchange.unreadable

    @property
    def sync(self) -> SyncClient:
        """The verbs without ``await``, for plain functions in threads: ``self.client.sync.get(App, request)``."""
        return SyncClient(self)

    @property
    def live(self) -> Self:
        """The same client without the cache: every read is a request."""
        return self._variant(self.options, None)

    def with_cache(self, cache: CacheReader) -> Self:
        """The same client, which reads the kinds that ``cache`` watches from ``cache``."""
        return self._variant(self.options, cache)

    def with_options(self, **changes: Unpack[OptionChanges]) -> Self:
        """The same client with other :class:`ClientOptions`: ``client.with_options(dry_run=True)``."""
        options = replace(self.options, **changes)
        # Another user may not see what the cache of this process holds.
        cache = None if options.impersonate != self.options.impersonate else self._exchange.cache
        return self._variant(options, cache)

    def namespaced(self, namespace: str) -> Self:
        """The same client, restricted to one namespace. Calls need not name it."""
        return self.with_options(namespace=namespace)

    def impersonate(self, user: str, *, groups: tuple[str, ...] = (), uid: str = "") -> Self:
        """The same client, acting as another user. It never reads from the cache.

        ::

            ann = client.impersonate("ann", groups=("developers",))
            await ann.list(Secret, namespace="shop")  # Forbidden, unless RBAC allows it to Ann
        """
        return self.with_options(impersonate=Impersonation(user, uid=uid, groups=groups))

    def subresource(self, name: str) -> SubresourceClient:
        """Return the client of a subresource that has its own kind: ``scale``, ``eviction``, ``token``."""
        return SubresourceClient(self._exchange, name)

    def _variant(self, options: ClientOptions, cache: CacheReader | None) -> Self:
        return type(self)(
            self.connection, options=options, mapper=self.mapper, cache=cache, unreadable=self._exchange.unreadable
        )


def finish_before_closing(connection: Connection, task: asyncio.Task[Any]) -> None:
    """Let a task finish before the connection is closed."""
    tasks = _tasks.setdefault(connection, set())
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def _settle(connection: Connection) -> None:
    """Wait for the tasks of a connection, at most for :data:`CLOSING_LIMIT`, then cancel the rest."""
    tasks = {task for task in _tasks.get(connection, ()) if task.get_loop() is asyncio.get_running_loop()}
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=CLOSING_LIMIT.total_seconds())
    await end_tasks(*late)


P = ParamSpec("P")
T = TypeVar("T")


def _waiting(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """Turn a coroutine function into a blocking function for threads."""

    @functools.wraps(verb)
    def call(self: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await_in_thread(verb(self._of, *arguments, **options))

    return call


def _yielding(
    verb: Callable[Concatenate[Any, P], AsyncIterator[T]],
) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """Turn an async generator function into a generator function for threads."""

    @functools.wraps(verb)
    def call(self: Any, /, *arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        items = verb(self._of, *arguments, **options)
        while (item := await_in_thread(_next(items))) is not None:
            yield item

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

    find = _waiting(Reader.find)
    list = _waiting(Reader.list)
    iterate = _yielding(Reader.iterate)
    create = _waiting(Writer.create)
    update = _waiting(Writer.update)
    patch = _waiting(Writer.patch)
    apply = _waiting(Writer.apply)
    delete_all_of = _waiting(Writer.delete_all_of)
    is_cached = _waiting(Reader.is_cached)
    logs = _waiting(PodVerbs.logs)
    exec = _waiting(PodVerbs.exec)

    def get(self, kind: ReadKind[ReadT], key: Key, *, namespace: str | None = None) -> ReadT:
        """Like :meth:`Reader.get`."""
        found: ReadT = await_in_thread(self._of.get(kind, key, namespace=namespace))
        return found

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
