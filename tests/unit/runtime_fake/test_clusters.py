"""Clusters that join and leave while a manager runs."""

import asyncio

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import Forbidden
from pykb.runtime import ClusterRequest, ClusterSource, ControllerBuilder, Manager, Reconciler
from pykb.runtime.fake import fake_client
from pykb.testing import eventually, running


def config_map(name):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


class Noting(Reconciler[ClusterRequest]):
    """Notes the requests whose object is there. It ends a call when `may_end` is set."""

    def __init__(self, manager):
        super().__init__(manager.client)
        self.clusters = manager.clusters
        self.noted, self.ended = [], []
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def reconcile(self, request: ClusterRequest) -> None:
        """Note one."""
        await self.clusters[request.cluster].client.get(ConfigMap, request.key)
        self.noted.append(str(request))
        await self.may_end.wait()
        self.ended.append(str(request))


def collecting(manager, reconciler, **options):
    """A controller of the ConfigMaps of all clusters."""
    source = ClusterSource[ClusterRequest](manager.clusters, ConfigMap)
    builder = ControllerBuilder[ClusterRequest](manager).named("collect").watches_raw(source)
    return builder.with_options(**options).complete(reconciler)


async def test_clusters_join_and_leave_a_running_controller():
    """Each is engaged as it joins; one of a name that has left may come again."""
    manager = Manager(client=fake_client(config_map("home")))
    north, south = fake_client(config_map("a")), fake_client(config_map("a"))
    manager.add_cluster("north", north)
    reconciler = Noting(manager)
    collecting(manager, reconciler)
    async with running(manager):
        await eventually(lambda: reconciler.noted == ["north:default/a"])
        member = manager.add_cluster("south", south)
        with pytest.raises(ValueError, match="already a cluster `south`"):
            manager.add_cluster("south", south)
        await eventually(lambda: reconciler.noted[1:] == ["south:default/a"])
        assert await member.client.is_cached(ConfigMap)
        assert set(manager.clusters.present) == {"north", "south"}

        await manager.remove_cluster("south")
        assert (member.cache.informers, set(manager.clusters.present)) == ([], {"north"})
        await south.create(config_map("unseen"))
        await north.create(config_map("b"))
        await eventually(lambda: reconciler.noted[2:] == ["north:default/b"])
        with pytest.raises(KeyError):
            await manager.remove_cluster("south")
        manager.add_cluster("south", south)
        await eventually(lambda: sorted(reconciler.noted[3:]) == ["south:default/a", "south:default/unseen"])


async def test_a_cluster_that_leaves_drops_its_requests_and_ends_its_work():
    """Also what a running call adds at its end; the requests of others stay."""
    manager = Manager(client=fake_client())
    reconciler = Noting(manager)
    reconciler.may_end.clear()
    controller = collecting(manager, reconciler)
    north = fake_client(config_map("a"))
    async with running(manager):
        manager.add_cluster("north", north)
        await eventually(lambda: reconciler.noted == ["north:default/a"])
        await north.create(config_map("waits"))
        manager.add_cluster("south", fake_client(config_map("s")))
        await eventually(lambda: len(controller.queue) == 2)
        leaving = asyncio.create_task(manager.remove_cluster("north"))
        await asyncio.sleep(0.05)
        assert not leaving.done()
        assert manager.clusters["north"].name == "north"  # the running call may still need it
        controller.queue.add(ClusterRequest("north", "default", "again"))
        assert len(controller.queue) == 1
        reconciler.may_end.set()
        await leaving
        await eventually(lambda: reconciler.ended == ["north:default/a", "south:default/s"])
        assert len(controller.queue) == 0


async def test_a_cluster_that_cannot_be_read_does_not_disturb_the_others():
    """The controller starts without it, the manager stays ready, and it may leave."""
    manager = Manager(client=fake_client())
    broken = fake_client(config_map("a"))

    def refuse(call):
        raise Forbidden(403, "Forbidden", "no access")

    broken.connection.react = refuse
    manager.add_cluster("broken", broken)
    manager.add_cluster("north", fake_client(config_map("a")))
    reconciler = Noting(manager)
    collecting(manager, reconciler)
    async with running(manager):
        await eventually(lambda: reconciler.noted == ["north:default/a"])
        broken.connection.react = None
        await eventually(lambda: reconciler.noted[1:] == ["broken:default/a"])
        broken.connection.react = refuse
        await manager.remove_cluster("broken")


async def test_a_removed_controller_lets_the_clusters_go():
    """Their informers go with it, and the clusters stay for others."""
    manager = Manager(client=fake_client())
    member = manager.add_cluster("north", fake_client(config_map("a")))
    reconciler = Noting(manager)
    controller = collecting(manager, reconciler)
    async with running(manager):
        await eventually(lambda: bool(reconciler.noted))
        await manager.remove(controller)
        assert member.cache.informers == []
        await manager.remove_cluster("north")


async def test_a_function_maps_objects_to_requests():
    """It gets the name of the cluster. And a reconcile cannot wait for its own end."""
    manager = Manager(client=fake_client())
    refused = []

    class Leaving(Reconciler[ClusterRequest]):
        async def reconcile(self, request: ClusterRequest) -> None:
            try:
                await manager.remove_cluster(request.cluster)
            except RuntimeError as error:
                refused.append((request.name, str(error)))

    def wakes(cluster: str, found: ConfigMap) -> list[ClusterRequest]:
        return [ClusterRequest(cluster, "", f"of-{found.metadata.name}")]

    source = ClusterSource(manager.clusters, ConfigMap, wakes)
    ControllerBuilder[ClusterRequest](manager).named("map").watches_raw(source).complete(Leaving(manager.client))
    manager.add_cluster("north", fake_client(config_map("a")))
    async with running(manager):
        await eventually(lambda: bool(refused))
        assert refused[0][0] == "of-a"
        assert "would wait for its own end" in refused[0][1]
