"""The cache: one informer per kind, made on first use, shared by controllers, listers and the client's reads."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pykb.api.object import Object
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import Kind, ReadKind, ReadT, UnreadableObjects, gvk_of, kind_of, resource_of
from pykb.client.connection import NotMirrored
from pykb.client.ending import end_tasks, until_cancelled
from pykb.client.errors import NoKindMatch
from pykb.client.listwatch import ListWatch, WatchTarget
from pykb.client.mapper import ResourceMapper, ResourceMapping
from pykb.client.options import check_durations, check_function
from pykb.client.selectors import LabelSelector
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind, NamespacedName, ResourceInfo
from pykb.runtime.cache._options import ALL_NAMESPACES, InformerOptions, NamespaceSelection, guarded_indexer
from pykb.runtime.cache.informer import SYNC_TIMEOUT, Informer, Lister
from pykb.runtime.cache.reflector import LONGEST_PAUSE

if TYPE_CHECKING:
    from pykb.client.client import Client

logger = logging.getLogger(__name__)

ObjectT = TypeVar("ObjectT", bound=Object)


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Options of a cache.

    ::

        pods = InformerOptions(labels="app=web", namespaces=("shop",))
        manager = Manager(ManagerOptions(cache=CacheOptions(by_kind={Pod.gvk: pods})))

    Attributes:
        default: Options for every kind that has none of its own. Its ``namespaces`` also apply to
            kinds whose options name no namespaces.
        by_kind: Options for single kinds.
        sync_timeout: How long a read or the start of a controller waits for the first list.
    """

    default: InformerOptions = field(default_factory=InformerOptions)
    by_kind: Mapping[GroupVersionKind, InformerOptions] = field(default_factory=dict)
    sync_timeout: timedelta = SYNC_TIMEOUT

    def __post_init__(self) -> None:
        check_durations(sync_timeout=self.sync_timeout)
        for kind in self.by_kind:
            known: object = kind
            if not isinstance(known, GroupVersionKind):
                called = getattr(known, "__name__", known)
                raise TypeError(f"`by_kind` has a `GroupVersionKind` for each kind, got `{called}`: `{called}.gvk`")


class InformerCache:
    """Informers by kind. While :meth:`run` runs, new informers start at once.

    A manager has one. A program without a manager makes one from its client::

        async with Client.from_environment() as client, InformerCache.of(client) as informers:
            machines = informers.lister(VirtulMachine)
            await informers.wait_for_sync()
            machines.list(namespace="default", labels="app=web")

    A manager can also run a cache of another cluster (``manager.add(informers)``). A controller
    watches it through ``watches_raw(KindSource(informers, Kind, handler))``.
    """

    name = "informers"
    needs_leader_election = False  # for managers: a standby keeps its mirrors warm

    def __init__(
        self,
        source: ListWatch,
        mapper: ResourceMapper,
        options: CacheOptions | None = None,
        *,
        clock: Clock | None = None,
        unreadable: UnreadableObjects | None = None,
    ) -> None:
        self.options = options or CacheOptions()
        self._source = source
        self._mapper = mapper
        self._unreadable = unreadable or UnreadableObjects()
        self._clock: Clock = clock or SystemClock()
        self._informers: dict[tuple[GroupVersionKind, bool], tuple[Informer[Any], ResourceInfo | None]] = {}
        self._unserved: dict[GroupVersionKind, NoKindMatch] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._by_informer: dict[Informer[Any], asyncio.Task[None]] = {}
        self._running: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, client: Client, options: CacheOptions | None = None, *, clock: Clock | None = None) -> Self:
        """Make a cache that lists and watches through a client. Run it with ``async with`` or :meth:`run`."""
        from pykb.client.listwatch import ClientListWatch

        source = ClientListWatch(client, clock=clock)
        return cls(source, client.mapper, options, clock=clock, unreadable=client.unreadable)

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.run(), name="informers")
        await asyncio.sleep(0)  # so that `has` is true, and informers made in the block start at once
        return self

    async def __aexit__(self, *_: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            await end_tasks(running)
            if not running.cancelled():
                running.result()

    # -- informers

    def informer(self, kind: ReadKind[ReadT], *, metadata_only: bool = False) -> Informer[ReadT]:
        """Return the informer of a kind and make it if necessary. It starts when the cache runs.

        It stays until :meth:`remove_informer`, even if no controller watches the kind.

        Args:
            kind: A type, or a group, version and kind for untyped objects. The first call for a
                kind decides whether its events carry typed or untyped objects.
            metadata_only: Mirror metadata only, in a second, independent mirror.
        """
        informer = self._informer(kind_of(kind), metadata_only=metadata_only)
        informer.is_kept = True
        return informer

    async def remove_informer(self, kind: Kind, *, metadata_only: bool = False) -> None:
        """Stop the watch of a kind, and free its objects. Nothing happens if the kind is not watched.

        ::

            pods = manager.cache.informer(Pod)
            await manager.cache.remove_informer(Pod)

        Afterwards, the client reads the kind from the server. Handlers of the informer get no more
        events, and its listers raise ``RuntimeError``. Its indexes are gone. The next
        :meth:`informer` makes a new one.

        Args:
            kind: The kind.
            metadata_only: Remove the mirror of metadata instead of the one of whole objects.

        Raises:
            ValueError: A controller watches the kind. Remove the controller first.
        """
        found = self._informers.get((gvk_of(kind), metadata_only))
        if found is None:
            return
        informer = found[0]
        if informer.users:
            watching = f"a controller watches {informer.gvk}"
            raise ValueError(f"{watching}: `await manager.remove(controller)` removes both")
        informer.is_kept = False
        await self._remove(informer)

    def acquire(self, kind: Kind, user: object, *, metadata_only: bool = False) -> Informer[Any]:
        """Return the informer of a kind like :meth:`informer`, to be given back by :meth:`release`."""
        informer = self._informer(kind, metadata_only=metadata_only)
        informer.users.add(user)
        return informer

    async def release(self, informer: Informer[Any], user: object) -> None:
        """Give an informer back. It is removed after its last user, unless the program has asked for it."""
        informer.users.discard(user)
        await self._remove(informer)

    async def _remove(self, informer: Informer[Any]) -> None:
        keys = [key for key, (known, _) in self._informers.items() if known is informer]
        if informer.users or informer.is_kept or not keys:
            return
        del self._informers[keys[0]]
        if not any(gvk == informer.gvk for gvk, _ in self._informers):
            self._unserved.pop(informer.gvk, None)
        informer.close()
        task = self._by_informer.get(informer)
        if task is not None:
            await end_tasks(task)

    def _informer(self, kind: Kind, *, metadata_only: bool) -> Informer[Any]:
        gvk = gvk_of(kind)
        found = self._informers.get((gvk, metadata_only))
        if found is not None:
            return found[0]
        typed: Kind = gvk if metadata_only else kind
        parse, options = self._unreadable.parser(typed), self._options_of(gvk)
        informer: Informer[Any] = Informer(gvk, parse, options, clock=self._clock)
        self._informers[gvk, metadata_only] = (informer, resource_of(kind))
        if self._tasks is not None:
            self._start(informer, resource_of(kind), metadata_only=metadata_only)
        return informer

    def lister(self, kind: ReadKind[ReadT]) -> Lister[ReadT]:
        """Return the lister of a kind, which reads from memory."""
        store = self.informer(kind).store
        return Lister(store, self._unreadable.parser(kind_of(kind)))

    def add_index(self, kind: Kind, name: str, indexer: Callable[[dict[str, Any]], str | Iterable[str] | None]) -> None:
        """Index the objects of a kind by a value, for ``client.list(Kind, fields={name: value})``.

        Args:
            kind: The kind.
            name: The name of the index in ``fields``.
            indexer: Returns the values of an object in wire form: strings, one string, or ``None``.
                If it fails, the object is logged and cannot be found by this index.

        Raises:
            TypeError: The indexer is async, or takes other arguments.
            ValueError: An index of this name exists already.
        """
        check_function(f"the indexer of `{name}`", indexer, "the object", plain=True)
        informer = self.informer(kind)
        counted = informer.function_failed
        informer.store.add_index(name, guarded_indexer(indexer, name, gvk_of(kind), self._clock, counted))

    def index_field(
        self, kind: type[ObjectT], name: str, extract: Callable[[ObjectT], str | Iterable[str] | None]
    ) -> None:
        """Like :meth:`add_index`, with a function of typed objects, as controller-runtime's ``IndexField``.

        ::

            manager.cache.index_field(Pod, "spec.nodeName", lambda pod: pod.spec.node_name if pod.spec else None)

        Each object is read into its class when it changes. If that costs too much, use
        :meth:`add_index`, which passes the JSON.

        Args:
            kind: The kind.
            name: The name of the index in ``fields``.
            extract: Returns the values of an object. An object that does not fit its class cannot
                be found by this index.

        Raises:
            TypeError: The function is async, or takes other arguments.
            ValueError: An index of this name exists already.
        """
        check_function(f"the indexer of `{name}`", extract, "the object", plain=True)
        parse = self._unreadable.parser(kind)

        @functools.wraps(extract)  # for the log, should it fail
        def of_wire(obj: dict[str, Any]) -> str | Iterable[str] | None:
            return extract(parse(obj))

        self.add_index(kind, name, of_wire)

    async def mapping(self, kind: Kind) -> ResourceMapping:
        """Return where a kind is served. Waits until it is."""
        return await self._find(gvk_of(kind), resource_of(kind))

    async def run(self) -> None:
        """Run the informers until cancelled, including those that are made later."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for (_, metadata_only), (informer, resource) in list(self._informers.items()):
                    self._start(informer, resource, metadata_only=metadata_only)
                await until_cancelled()
            finally:
                self._tasks = None

    async def wait_for_sync(self, timeout: timedelta | None = None) -> None:  # noqa: ASYNC109 - part of the contract
        """Wait for the first list of every informer made so far.

        Raises:
            CacheSyncTimeout: A list did not arrive in time.
        """
        limit = timeout or self.options.sync_timeout
        await asyncio.gather(*(informer.wait_for_sync(limit) for informer, _ in list(self._informers.values())))

    @property
    def informers(self) -> Sequence[Informer[Any]]:
        """All informers made so far."""
        return [informer for informer, _ in self._informers.values()]

    @property
    def unsynced(self) -> list[GroupVersionKind]:
        """The kinds whose first list is not complete."""
        return sorted(gvk for (gvk, _), (informer, _) in self._informers.items() if not informer.has_synced)

    @property
    def unserved(self) -> Mapping[GroupVersionKind, NoKindMatch]:
        """The kinds that the server does not serve yet, each with its error."""
        return self._unserved

    # -- reads, as the client asks for them

    def has(self, gvk: GroupVersionKind, namespace: str | None = None) -> bool:
        """Whether whole objects of the kind are mirrored, in this namespace if one is given."""
        found = self._informers.get((gvk, False))
        if self._tasks is None or found is None:
            return False
        mirrored = found[0].options.namespaces
        return not namespace or not mirrored or namespace in mirrored or ALL_NAMESPACES in mirrored

    async def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> dict[str, Any] | None:
        """One object, or ``None``."""
        informer = await self._synced(gvk)
        key = NamespacedName(namespace, name)
        found = informer.store.get(key)
        if found is None and informer.part is not None and not informer.part.knows(key):
            raise NotMirrored
        return found

    def when_seen(
        self, gvk: GroupVersionKind, key: NamespacedName, version: str, *, is_gone: bool = False
    ) -> asyncio.Future[None] | None:
        """Await a version of an object, as :meth:`pykb.runtime.cache.informer.Informer.when_seen`."""
        if not self.has(gvk, key.namespace):
            return None
        return self._informers[gvk, False][0].when_seen(key, version, is_gone=is_gone)

    def when_deleted(
        self, gvk: GroupVersionKind, key: NamespacedName, uid: str, version: str
    ) -> asyncio.Future[None] | None:
        """Await a deletion, as :meth:`pykb.runtime.cache.informer.Informer.when_deleted`."""
        if not self.has(gvk, key.namespace):
            return None
        return self._informers[gvk, False][0].when_deleted(key, uid, version)

    async def list(
        self,
        gvk: GroupVersionKind,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """The objects that match."""
        informer = await self._synced(gvk)
        selector = LabelSelector.parse(labels) if labels else None
        return list(informer.store.select(namespace=namespace, labels=selector, fields=fields))

    # -- inside

    def _options_of(self, gvk: GroupVersionKind) -> InformerOptions:
        default = self.options.default
        options = self.options.by_kind.get(gvk, default)
        # A manager restricted to namespaces may not list any kind elsewhere.
        return options if options.namespaces else replace(options, namespaces=default.namespaces)

    async def _synced(self, gvk: GroupVersionKind) -> Informer[Any]:
        informer = self._informers[gvk, False][0]
        if not informer.has_synced:
            try:
                await informer.wait_for_sync(self.options.sync_timeout)
            except RuntimeError:
                if not informer.removed:
                    raise
                raise NotMirrored from None
        return informer

    def _start(self, informer: Informer[Any], resource: ResourceInfo | None, *, metadata_only: bool) -> None:
        assert self._tasks is not None  # noqa: S101 - callers checked
        task = self._tasks.create_task(
            self._run(informer, resource, metadata_only=metadata_only), name=f"informer of {informer.gvk}"
        )
        self._by_informer[informer] = task
        task.add_done_callback(lambda _: self._by_informer.pop(informer, None))

    async def _run(self, informer: Informer[Any], static: ResourceInfo | None, *, metadata_only: bool) -> None:
        mapping = await self._find(informer.gvk, static, informer)
        targets = targets_of(mapping, informer.options, metadata_only=metadata_only)
        await informer.run(self._source, targets)

    async def _find(
        self, gvk: GroupVersionKind, static: ResourceInfo | None, informer: Informer[Any] | None = None
    ) -> ResourceMapping:
        """Wait until the kind is served: its CRD may be installed later. The informer holds the error meanwhile."""
        pause = timedelta(milliseconds=200)
        while True:
            try:
                mapping = await self._mapper.mapping(gvk, static=static)
            except PykbError as error:
                problem = str(error)
                if isinstance(error, NoKindMatch):
                    self._unserved[gvk] = error
            else:
                self._unserved.pop(gvk, None)
                return mapping
            if informer is not None and informer.problem != problem:
                logger.warning("cannot watch yet", extra={"kind": str(gvk), "error": problem})
                informer.problem = problem
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def targets_of(mapping: ResourceMapping, options: InformerOptions, *, metadata_only: bool = False) -> list[WatchTarget]:
    """The lists and watches that the options of a mirror require: one target for each namespace."""
    named = options.namespaces if mapping.namespaced else ()
    selections = dict(named) if isinstance(named, Mapping) else dict.fromkeys(named, NamespaceSelection())
    others = tuple(sorted(namespace for namespace in selections if namespace != ALL_NAMESPACES))
    targets = []
    for namespace, selection in (selections or {ALL_NAMESPACES: NamespaceSelection()}).items():
        fields = options.fields if selection.fields is None else selection.fields
        excluded = others if namespace == ALL_NAMESPACES else ()
        targets.append(
            WatchTarget(
                gvk=mapping.gvk,
                resource=mapping.gvr,
                namespaced=mapping.namespaced,
                namespace=None if namespace == ALL_NAMESPACES else namespace,
                labels=options.labels if selection.labels is None else selection.labels,
                fields=",".join(filter(None, (fields, *(f"metadata.namespace!={name}" for name in excluded)))),
                metadata_only=metadata_only,
                page_size=options.page_size,
                excluded=excluded,
            )
        )
    return targets
