"""Clusters that join and leave while a manager runs, and a source of what happens in each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic

from pykb.client.client import Client
from pykb.client.codec import Kind
from pykb.client.ending import end_tasks, until_cancelled
from pykb.client.options import check_function, check_kind, checked_predicates
from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache.event import Event, EventFilters
from pykb.runtime.cache.informer_cache import InformerCache
from pykb.runtime.controller._handler import EnqueueRequestsFromMap, EventHandler, Queue, priority_of
from pykb.runtime.controller._source import KindSource
from pykb.runtime.requests.reconcile import RequestT


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    """An object in one of the clusters of a manager.

    ::

        class CollectReconciler(Reconciler[ClusterRequest]):
            def __init__(self, manager: Manager) -> None:
                super().__init__(manager.client)
                self.clusters = manager.clusters

            async def reconcile(self, request: ClusterRequest) -> None:
                member = self.clusters[request.cluster].client
                found = await member.find(ConfigMap, request.key)

    Attributes:
        cluster: The name of the cluster.
        namespace: The namespace; empty for kinds without one.
        name: The name of the object.
    """

    cluster: str
    namespace: str
    name: str

    @property
    def key(self) -> NamespacedName:
        """Namespace and name, for the client."""
        return NamespacedName(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.cluster}:{self.key}"


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """A cluster of a manager besides its home; see :meth:`pykb.runtime.Manager.add_cluster`.

    ::

        for cluster in manager.clusters.present.values():
            print(cluster.name, len((await cluster.client.list(VirtulMachine)).items))

    Attributes:
        name: Its name.
        client: Reads watched kinds from the cache.
        cache: Its informers.
    """

    name: str
    client: Client
    cache: InformerCache


class Clusters:
    """The clusters of a manager besides its home, by name, as they are now.

    ::

        member = manager.clusters["north"].client
    """

    def __init__(self) -> None:
        self._present: dict[str, Cluster] = {}
        self._followers: list[_Engaged] = []

    @property
    def present(self) -> Mapping[str, Cluster]:
        """All of them."""
        return MappingProxyType(self._present)

    def __getitem__(self, name: str) -> Cluster:
        """The cluster of this name. It is there until the last reconcile for it has ended.

        Raises:
            KeyError: There is none.
        """
        return self._present[name]

    def add(self, cluster: Cluster) -> None:
        """Let a cluster join. The manager calls this.

        Raises:
            ValueError: There is one of this name.
        """
        if cluster.name in self._present:
            raise ValueError(f"there is already a cluster `{cluster.name}`")
        self._present[cluster.name] = cluster
        for follower in self._followers:
            follower.joined(cluster)

    async def remove(self, cluster: Cluster) -> None:
        """Let a cluster leave. The manager calls this. Returns when nothing works for it any more."""
        await asyncio.gather(*(follower.left(cluster) for follower in tuple(self._followers)))
        self._present.pop(cluster.name, None)

    def follow(self, follower: _Engaged) -> Callable[[], None]:
        """Tell somebody of all clusters, from now on. Returns the function that ends this."""
        self._followers.append(follower)
        for cluster in self._present.values():
            follower.joined(cluster)
        return lambda: self._followers.remove(follower)


class ClusterSource(Generic[RequestT]):
    """The events of a kind in each cluster of a manager, also in those that join later.

    ::

        source = ClusterSource[ClusterRequest](manager.clusters, ConfigMap)
        builder = ControllerBuilder[ClusterRequest](manager).named("collect").watches_raw(source)

    A controller does not wait for the first list of a cluster, so one that cannot be reached does
    not delay the others.
    """

    def __init__(
        self,
        clusters: Clusters,
        kind: Kind,
        wakes: Callable[[str, Any], Iterable[RequestT]] | None = None,
        predicates: EventFilters[Any] = (),
        *,
        metadata_only: bool = False,
    ) -> None:
        """Make a source.

        Args:
            clusters: ``manager.clusters``.
            kind: The kind.
            wakes: Returns the requests that an object of a cluster wakes. Each has an attribute
                ``cluster``, the name. Defaults to the :class:`ClusterRequest` of the object.
            predicates: Filters for the events.
            metadata_only: Mirror metadata only.
        """
        check_kind("ClusterSource", kind)
        if wakes is not None:
            check_function("`wakes`", wakes, "the name of the cluster", "the object")
        self._clusters = clusters
        self._kind = kind
        self._wakes = wakes
        self._predicates = checked_predicates(predicates)
        self._metadata_only = metadata_only

    async def run(self, queue: Queue[RequestT]) -> None:
        """Feed the queue until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            stop = self._clusters.follow(_Engaged(self._source, queue, tasks))
            try:
                await until_cancelled()
            finally:
                stop()

    async def wait_for_sync(self) -> None:
        """Nothing to wait for."""

    def _source(self, cluster: Cluster) -> KindSource[Any]:
        wakes, name = self._wakes, cluster.name
        handler: EventHandler[Any, Any] = _EnqueueClusterRequest(name)
        if wakes is not None:
            handler = EnqueueRequestsFromMap(lambda obj: wakes(name, obj))
        kind: Any = self._kind
        return KindSource(cluster.cache, kind, handler, self._predicates, metadata_only=self._metadata_only)


@dataclass(slots=True, eq=False)
class _Engaged:
    """What one controller does with the clusters."""

    source_of: Callable[[Cluster], KindSource[Any]]
    queue: Queue[Any]
    tasks: asyncio.TaskGroup
    _running: dict[Cluster, asyncio.Task[None]] = field(default_factory=dict)

    def joined(self, cluster: Cluster) -> None:
        """A cluster has joined."""
        self._running[cluster] = self.tasks.create_task(self._feed(cluster), name=f"cluster {cluster.name}")

    async def left(self, cluster: Cluster) -> None:
        """A cluster has left. Returns when nothing works for it any more."""
        await end_tasks(self._running.pop(cluster))
        await self.queue.expel(lambda request: getattr(request, "cluster", None) == cluster.name)

    async def _feed(self, cluster: Cluster) -> None:
        source = self.source_of(cluster)
        try:
            await source.run(self.queue)
        finally:
            await source.release()


class _EnqueueClusterRequest:
    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    def handle(self, event: Event[Any], queue: Queue[ClusterRequest]) -> None:
        queue.add(ClusterRequest(self._cluster, event.namespace, event.name), priority=priority_of(event))
