"""Managers that share objects, on real API servers with and without the feature gate ``ShardedListAndWatch``."""

import asyncio
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.ranges import ShardBy
from pykb.envtest import ControlPlane
from pykb.runtime import ControllerBuilder, Reconciler, set_controller_reference
from pykb.testing import eventually

from .conftest import Widget, WidgetSpec, client_for, install, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

LONG = timedelta(seconds=60)
SHORT = {
    "lease_duration": timedelta(seconds=5),
    "renew_deadline": timedelta(seconds=3),
    "retry_period": timedelta(milliseconds=300),
}


@pytest.fixture(scope="module", params=[True, False], ids=["gate-on", "gate-off"])
def plane(request, server_minor, tmp_path_factory):
    """A control plane with the gate, and that of the run without it. Before Kubernetes 1.36, none has it."""
    if not request.param or server_minor < 36:
        shared = request.getfixturevalue("widgets")
        shared.filters = False
        yield shared
        return
    with ControlPlane(feature_gates={"ShardedListAndWatch": True}) as made:
        made.filters = True
        install(made, tmp_path_factory.mktemp("crds"))
        yield made


class Copier(Reconciler):
    """Copies the size of each Widget into a ConfigMap that it owns, and notes who did it."""

    def __init__(self, client, replica):
        super().__init__(client)
        self.replica = replica

    async def reconcile(self, request):
        """Reconcile one."""
        key = (request.namespace, request.name)
        assert key not in self.replica.working, "two replicas work on one object"
        self.replica.working[key] = self.replica
        try:
            widget = await self.client.find(Widget, request)
            if widget is None:
                return
            self.replica.seen[key] = widget.spec.size
            copied = await self.client.find(ConfigMap, request)
            if copied is None:
                made = ConfigMap(metadata=ObjectMeta(name=request.name, namespace=request.namespace))
                set_controller_reference(widget, made)
                made.data = {"size": str(widget.spec.size)}
                await self.client.create(made)
            elif (copied.data or {}).get("size") != str(widget.spec.size):
                copied.data = {"size": str(widget.spec.size)}
                await self.client.update(copied)
        finally:
            del self.replica.working[key]


class Replica:
    """A manager."""

    def __init__(self, plane, working, **options):
        self.working, self.seen = working, {}
        self.manager = manager_for(plane, shards=8, **SHORT, **options)
        ControllerBuilder(self.manager).for_(Widget).owns(ConfigMap).complete(Copier(self.manager.client, self))
        self.task = asyncio.create_task(self.manager.start())

    def stored(self, kind):
        """What is in the mirror."""
        return {(key.namespace, key.name) for key in self.manager.cache.informer(kind).store.all_keys()}

    def metric(self, name):
        """A sample of a metric."""
        lines = self.manager.metrics.render()[0].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


@pytest.mark.parametrize("by", list(ShardBy))
async def test_replicas_share_objects_and_take_over(plane, by):
    """Two share, a third joins, one stops, one dies. Each change of an object is seen by one of them."""
    working, names = {}, [f"{number}-{by}" for number in range(24)]
    options = {"shard_by": by, "leader_election_id": f"share-{by}"}
    async with client_for(plane) as client:

        def place(name):
            return name if by is ShardBy.NAMESPACE else "default"

        async def resize(size):
            for name in names:
                widget = await client.get(Widget, f"{place(name)}/{name}")
                widget.spec.size = size
                await client.update(widget)

        async def all_copied(size):
            copies = {(each.metadata.namespace, each.metadata.name): each.data for each in await client.list(ConfigMap)}
            assert all(copies.get(key) == {"size": str(size)} for key in wanted)

        def are_shared(*replicas):
            parts = [replica.stored(Widget) & wanted for replica in replicas]
            assert all(parts)
            assert sum(map(len, parts)) == len(set().union(*parts)) == len(names)

        for name in names:
            if by is ShardBy.NAMESPACE:
                await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            await client.create(Widget(metadata=ObjectMeta(name=name, namespace=place(name)), spec=WidgetSpec(size=1)))
        wanted = {(place(name), name) for name in names}
        replicas = [Replica(plane, working, **options) for _ in range(2)]
        one, two = replicas
        try:
            await eventually(lambda: are_shared(one, two), timeout=LONG)
            await eventually(lambda: all_copied(1), timeout=LONG)
            three = Replica(plane, working, **options)
            replicas.append(three)
            await eventually(lambda: are_shared(one, two, three), timeout=LONG)
            before = three.metric("pykb_shard_foreign_objects_dropped_total")
            await resize(2)
            await eventually(lambda: all_copied(2), timeout=LONG)
            assert {key for key, size in three.seen.items() if size == 2} == three.stored(Widget) & wanted
            # By uid, only the client knows whose a child is.
            dropped = three.metric("pykb_shard_foreign_objects_dropped_total") - before
            assert (dropped == 0) is (plane.filters and by is ShardBy.NAMESPACE)
            one.manager.stop()
            await one.task
            await eventually(lambda: are_shared(two, three), timeout=LONG)
            # One dies: nothing is released.
            two.task.cancel()
            two.manager.sharding._elector._leads = False
            await asyncio.gather(two.task, return_exceptions=True)
            await resize(3)
            await eventually(lambda: all_copied(3), timeout=LONG)
            await eventually(lambda: are_shared(three), timeout=LONG)
        finally:
            for replica in replicas:
                replica.manager.stop()
            await asyncio.gather(*(replica.task for replica in replicas), return_exceptions=True)
