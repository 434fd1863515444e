"""Managers that share objects, on the API server in memory: with and without its filter, by uid and by namespace."""

import asyncio
import random
from datetime import timedelta

import pytest

from pykb.api import CustomResource, Struct
from pykb.api.core.v1 import ConfigMap, Namespace, Secret
from pykb.api.meta.v1 import ObjectMeta, OwnerReference
from pykb.client import Client
from pykb.client.clock import VirtualClock
from pykb.client.errors import Forbidden
from pykb.client.ranges import Ranges, ShardBy
from pykb.client.task import check_fence
from pykb.diagnostics import EnvironmentProblem
from pykb.meta.gvk import GroupVersion
from pykb.runtime._builder import ControllerBuilder
from pykb.runtime._election import LeadershipLost
from pykb.runtime.cache._options import InformerOptions
from pykb.runtime.cache.informer import CacheSyncTimeout
from pykb.runtime.cache.informer_cache import CacheOptions
from pykb.runtime.fake import FakeApiServer
from pykb.runtime.manager.manager import Manager
from pykb.runtime.options import ManagerOptions
from pykb.runtime.requests.reconcile import Reconciler, Request, Result

from .conftest import settle  # noqa: TID252 - shared by this folder only

GROUP_VERSION = GroupVersion("shards.example.com", "v1")


class AppSpec(Struct):
    """A number that is copied."""

    size: int = 0


class App(CustomResource, group_version=GROUP_VERSION):
    """A root."""

    spec: AppSpec


class AppReconciler(Reconciler):
    """Copies the size into a ConfigMap that it owns."""

    def __init__(self, client, replica):
        super().__init__(client)
        self.replica = replica

    async def reconcile(self, request):
        replica = self.replica
        assert request not in replica.cluster.working, "two replicas work on one object"
        replica.cluster.working[request] = replica.name
        try:
            replica.seen.append(request.name)
            await replica.before_write(request)
            app = await self.client.find(App, request)
            if app is None or app.metadata.deletion_timestamp:
                replica.gone.append(request.name)
                return Result()
            copies = await self.client.list(ConfigMap, namespace=request.namespace)
            mine = [copy for copy in copies.items if copy.metadata.owner_references[0].uid == app.metadata.uid]
            data = {"size": str(app.spec.size)}
            if not mine:
                owner = OwnerReference(
                    api_version=str(GROUP_VERSION),
                    kind="App",
                    name=app.metadata.name,
                    uid=app.metadata.uid,
                    controller=True,
                )
                metadata = ObjectMeta(
                    generate_name=f"{app.metadata.name}-", namespace=request.namespace, owner_references=[owner]
                )
                await self.client.create(ConfigMap(metadata=metadata, data=data))
            elif mine[0].data != data:
                mine[0].data = data
                await self.client.update(mine[0])
            return Result(requeue_after=replica.again)
        finally:
            del replica.cluster.working[request]


class Replica:
    """A manager with its reconciler."""

    def __init__(self, cluster, name, **options):
        self.cluster, self.name = cluster, name
        self.clock = options.pop("clock", cluster.clock)
        self.seen, self.gone = [], []
        self.again = None
        self.paused = None
        sharded = options.pop("sharded", True)
        client = Client(cluster.server)
        changes = {"shards": 8, "shard_by": cluster.by, **options}
        self.manager = Manager(ManagerOptions(**changes), client=client, clock=self.clock)
        build = ControllerBuilder(self.manager).for_(App).owns(ConfigMap).watches(Secret, self.all_apps)
        build = build.with_options(sharded=sharded)
        self.controller = build.complete(AppReconciler(self.manager.client, self))
        self.task = asyncio.create_task(self.manager.start())

    async def before_write(self, request):
        if self.paused is not None:
            await self.paused.wait()

    def all_apps(self, secret):
        """Wake each app, whoever has it."""
        return [Request("default", f"app-{number}") for number in range(40)]

    @property
    def apps(self):
        """The names of the mirrored roots."""
        return {key.name for key in self.manager.cache.informer(App).store.all_keys()}

    async def stop(self):
        """Stop in order."""
        self.manager.stop()
        await asyncio.gather(self.task, return_exceptions=True)


class Cluster:
    """An API server with apps, and the replicas."""

    def __init__(self, by, *, filters):
        random.seed(1)
        self.by = by
        self.ranges = Ranges(8, by)
        self.clock = VirtualClock()
        self.server = FakeApiServer(kinds=[App], filters_by_shard=filters)
        self.server.react = self._arrive
        self.client = Client(self.server)
        self.working = {}
        self.replicas = []

    def _arrive(self, call):
        """Check the fence of a write, as the transport to a real server does."""
        if call.method != "GET":
            check_fence()

    def namespace(self, number):
        """Where an app is. Names that differ in their last letter only would share a range."""
        return f"{number}-team" if self.by is ShardBy.NAMESPACE else "default"

    async def make(self, count):
        """Make apps."""
        for number in range(count):
            metadata = ObjectMeta(name=f"app-{number}", namespace=self.namespace(number))
            self.server.seed(App(metadata=metadata, spec=AppSpec(size=number)))
        await self.client.list(App)

    def join(self, name="", **options):
        """Start a replica."""
        self.replicas.append(Replica(self, name or f"replica-{len(self.replicas)}", **options))
        return self.replicas[-1]

    async def pass_time(self, seconds):
        """Advance the clock."""
        for _ in range(round(seconds * 2)):
            self.clock.advance(timedelta(seconds=0.5))
            await settle(400)

    async def copies(self):
        """The sizes of the ConfigMaps by their owners. Each app has one."""
        found = await self.client.list(ConfigMap)
        names = [copy.metadata.owner_references[0].name for copy in found.items]
        assert len(names) == len(set(names)), sorted(names)
        return {copy.metadata.owner_references[0].name: copy.data["size"] for copy in found.items}

    def writes(self):
        """The number of writes so far, but for events."""
        return len([call for call in self.server.calls if call.method != "GET" and "/events" not in call.path])

    def end_watches(self):
        """As when the server is restarted."""
        self.server.storage.compact(at_once=True)

    async def resize(self, number, size):
        """Change an app."""
        app = await self.client.get(App, f"{self.namespace(number)}/app-{number}")
        app.spec.size = size
        await self.client.update(app)


WAYS = [(by, filters) for by in ShardBy for filters in (True, False)]


@pytest.fixture(params=WAYS, ids=[f"{by}-{'filtered' if filters else 'whole'}" for by, filters in WAYS])
async def cluster(request):
    """A cluster, by each field and with each kind of server."""
    made = Cluster(request.param[0], filters=request.param[1])
    yield made
    await asyncio.gather(*(replica.stop() for replica in made.replicas))


async def test_each_object_has_one_replica_and_all_work(cluster):
    """The mirrors hold what the replica works on, and nothing else. A change reaches the right replica only."""
    await cluster.make(40)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    assert await cluster.copies() == {f"app-{number}": str(number) for number in range(40)}
    assert one.apps
    assert two.apps
    assert not one.apps & two.apps
    assert len(one.apps | two.apps) == 40
    one.seen.clear()
    two.seen.clear()
    await cluster.resize(3, 99)
    await cluster.pass_time(1)
    assert (await cluster.copies())["app-3"] == "99"
    assert ("app-3" in one.seen) != ("app-3" in two.seen)
    assert set(one.seen + two.seen) == {"app-3"}


async def test_children_are_mirrored_with_their_roots(cluster):
    """A child that somebody deletes comes back, by the replica of its root."""
    await cluster.make(20)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    mirrors = [replica.manager.cache.informer(ConfigMap).store for replica in (one, two)]
    assert sum(map(len, mirrors)) == 20
    for copy in (await cluster.client.list(ConfigMap)).items:
        await cluster.client.delete(copy)
    await cluster.pass_time(1)
    assert len(await cluster.copies()) == 20


async def test_a_replica_that_joins_takes_objects_without_gap_or_overlap(cluster):
    """Each object is reconciled by its new replica, and no ConfigMap is made twice."""
    await cluster.make(30)
    one = cluster.join()
    await cluster.pass_time(6)
    assert len(one.apps) == 30
    two = cluster.join()
    await cluster.pass_time(10)
    assert two.apps
    assert set(two.seen) == two.apps
    assert not one.apps & two.apps
    assert len(one.apps | two.apps) == 30
    assert len(await cluster.copies()) == 30
    before = len(one.seen)
    for number in range(30):
        await cluster.resize(number, 500)
    await cluster.pass_time(1)
    assert set((await cluster.copies()).values()) == {"500"}
    assert set(one.seen[before:]) == one.apps


async def test_a_replica_that_stops_leaves_its_objects_to_the_others(cluster):
    """At once, since it deletes its Lease."""
    await cluster.make(20)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    await one.stop()
    await cluster.resize(7, 70)
    await cluster.resize(8, 80)
    await cluster.pass_time(6)
    assert len(two.apps) == 20
    copies = await cluster.copies()
    assert (copies["app-7"], copies["app-8"]) == ("70", "80")


async def test_a_range_waits_for_its_running_reconciles(cluster):
    """The replica that joins gets nothing of what the other one still works on."""
    await cluster.make(20)
    one = cluster.join()
    await cluster.pass_time(6)
    one.paused = asyncio.Event()
    for number in range(20):
        await cluster.resize(number, 500)
    await cluster.pass_time(0.5)
    (busy,) = cluster.working
    two = cluster.join()
    await cluster.pass_time(10)
    assert busy.name not in two.seen
    one.paused.set()
    one.paused = None
    await cluster.pass_time(10)
    assert not one.apps & two.apps
    assert len(one.apps | two.apps) == 20
    assert set((await cluster.copies()).values()) == {"500"}


async def test_a_frozen_replica_writes_nothing_when_it_thaws(cluster):
    """Another one has its objects by then."""
    await cluster.make(20)
    own = VirtualClock()
    frozen = cluster.join(clock=own)
    for _ in range(12):
        own.advance(timedelta(seconds=0.5))
        await settle(300)
    assert len(frozen.apps) == 20
    frozen.paused = asyncio.Event()
    await cluster.resize(1, 100)
    await settle(300)
    assert [request.name for request in cluster.working] == ["app-1"]
    cluster.working.clear()
    cluster.working[Request("", "app-1")] = "frozen"
    two = cluster.join()
    await cluster.resize(1, 200)
    await cluster.pass_time(26)
    assert len(two.apps) == 20
    assert (await cluster.copies())["app-1"] == "200"
    before = cluster.writes()
    own.advance(timedelta(seconds=30))
    cluster.working[Request(cluster.namespace(1), "app-1")] = "frozen"
    frozen.paused.set()
    await settle(300)
    for _ in range(8):
        own.advance(timedelta(seconds=1))
        await settle(100)
    assert cluster.writes() == before
    assert isinstance(frozen.task.exception(), LeadershipLost)


async def test_a_replica_that_stops_takes_nothing_more(cluster):
    """Its last reconcile takes long. Another replica joins meanwhile, and gets all that the first does not hold."""
    await cluster.make(20)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    held = one.apps
    one.paused = asyncio.Event()
    first = next(iter(held))
    await cluster.resize(int(first.removeprefix("app-")), 500)
    await cluster.pass_time(0.5)
    one.manager.stop()
    await two.stop()
    await cluster.pass_time(6)
    assert one.apps == held
    three = cluster.join()
    await cluster.pass_time(8)
    assert not three.apps & held
    one.paused.set()
    await cluster.pass_time(6)
    assert one.task.done()
    assert len(three.apps) == 20
    assert (await cluster.copies())[first] == "500"


async def test_a_reconcile_of_a_lost_range_writes_nothing(cluster):
    """The fence of each reconcile knows its range."""
    await cluster.make(4)
    one = cluster.join()
    await cluster.pass_time(6)
    one.paused = asyncio.Event()
    await cluster.resize(2, 500)
    await cluster.pass_time(0.5)
    one.manager.sharding._claims.held.clear()
    one.paused.set()
    await settle(300)
    assert (await cluster.copies())["app-2"] == "2"


async def test_requests_of_map_functions_reach_the_replica_of_their_root(cluster):
    """All replicas see the Secret, and each wakes its own apps."""
    if cluster.by is ShardBy.NAMESPACE:
        cluster.namespace = lambda _: "default"
    await cluster.make(40)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    one.seen.clear()
    two.seen.clear()
    await cluster.client.create(Secret(metadata=ObjectMeta(name="s", namespace="default")))
    await cluster.pass_time(1)
    assert sorted(one.seen + two.seen) == sorted(f"app-{number}" for number in range(40))
    assert len(one.manager.cache.informer(Secret).store) == len(two.manager.cache.informer(Secret).store) == 1


async def test_a_request_that_comes_again_later_stays_with_its_replica(cluster):
    """`requeue_after` of a range that has left is dropped. Its new replica has one of its own."""
    await cluster.make(20)
    one = cluster.join()
    one.again = timedelta(seconds=30)
    await cluster.pass_time(6)
    two = cluster.join()
    two.again = timedelta(seconds=30)
    await cluster.pass_time(10)
    one.seen.clear()
    two.seen.clear()
    await cluster.pass_time(34)
    assert set(one.seen) == one.apps
    assert set(two.seen) == two.apps


async def test_a_deleted_object_is_reconciled_once_more(cluster):
    """Its range is known from its last state."""
    await cluster.make(10)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    await cluster.client.delete(App, f"{cluster.namespace(4)}/app-4")
    await cluster.pass_time(1)
    assert one.gone + two.gone == ["app-4"]


async def test_a_child_whose_root_went_unseen_is_cleaned_up(cluster):
    """The root was deleted while no replica had its range. Its child says which range that was."""
    await cluster.make(6)
    one = cluster.join()
    await cluster.pass_time(6)
    await one.stop()
    await cluster.client.delete(App, f"{cluster.namespace(4)}/app-4")
    two, three = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    assert two.gone + three.gone == ["app-4"]


@pytest.mark.parametrize("cluster", [way for way in WAYS if way[0] is ShardBy.UID], indirect=True)
@pytest.mark.parametrize("is_whole", [False, True])
async def test_a_child_is_cleaned_up_if_the_new_root_of_its_name_goes_unseen(cluster, is_whole):
    """The new root has another range, whose replica is dead, and is deleted before that range has a replica again."""
    cache = CacheOptions(by_kind={App.gvk: InformerOptions(sharded=not is_whole)})
    await cluster.make(20)
    own = VirtualClock()
    one, two = cluster.join(cache=cache), cluster.join(cache=cache, clock=own)
    for _ in range(16):
        own.advance(timedelta(seconds=0.5))
        await cluster.pass_time(0.5)
    assert not set(one.seen) & set(two.seen)
    theirs = two.manager.sharding._claims.held
    lost, other = sorted(set(one.seen))[:2]
    one.paused, two.paused = asyncio.Event(), asyncio.Event()
    await cluster.resize(int(other.removeprefix("app-")), 500)
    await cluster.pass_time(0.5)  # its only worker is busy
    await cluster.client.delete(App, f"default/{lost}")
    while True:  # until its range is one of the dead replica
        new = await cluster.client.create(App(metadata=ObjectMeta(name=lost, namespace="default"), spec=AppSpec()))
        if cluster.ranges.of(new.metadata.uid) in theirs:
            break
        await cluster.client.delete(new)
    await cluster.pass_time(0.5)
    one.paused.set()
    await cluster.pass_time(2)
    assert (one.gone, [request.name for request in cluster.working]) == ([], [lost])
    frozen = cluster.working.copy()
    cluster.working.clear()
    await cluster.client.delete(new)
    await cluster.pass_time(30)
    assert set(one.gone) == {lost}
    cluster.working |= frozen
    two.paused.set()


async def test_a_child_that_comes_after_its_root_has_gone_is_cleaned_up(cluster):
    """A write of the replica before was under way when its range was taken."""
    await cluster.make(6)
    one = cluster.join()
    await cluster.pass_time(6)
    (late,) = [copy for copy in (await cluster.client.list(ConfigMap)).items if copy.data["size"] == "4"]
    await one.stop()
    await cluster.client.delete(late)
    await cluster.client.delete(App, f"{cluster.namespace(4)}/app-4")
    two, three = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    assert two.gone + three.gone == []
    late.metadata.resource_version = late.metadata.uid = None
    await cluster.client.create(late)
    await cluster.pass_time(1)
    assert two.gone + three.gone == ["app-4"]


async def test_what_is_not_mirrored_is_read_from_the_server(cluster):
    """A root of another replica is found, and one that is nowhere is not."""
    await cluster.make(10)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    foreign = next(iter(two.apps))
    number = int(foreign.removeprefix("app-"))
    found = await one.manager.client.get(App, f"{cluster.namespace(number)}/{foreign}")
    assert found.spec.size == number
    assert await one.manager.client.find(App, "default/nothing") is None
    own = cluster.namespace(int(next(iter(one.apps)).removeprefix("app-")))
    before = len(cluster.server.calls)
    assert await one.manager.client.find(App, f"{own}/nothing") is None
    # Of an own namespace the mirror has everything. By uid, the name alone does not say whose it is.
    assert len(cluster.server.calls) - before == (0 if cluster.by is ShardBy.NAMESPACE else 1)
    assert len((await one.manager.client.list(App)).items) == len(one.apps)
    assert len((await one.manager.api_reader.list(App)).items) == 10


async def test_a_field_index_has_the_share(cluster):
    """It follows a range that moves, and the whole kind if it is whole."""
    await cluster.make(10)
    cache = CacheOptions(by_kind={Secret.gvk: InformerOptions(indexers={"type": lambda secret: [secret["type"]]})})
    cluster.server.seed(Secret(metadata=ObjectMeta(name="s", namespace="default"), type="Opaque"))

    def join():
        replica = cluster.join(cache=cache)
        replica.manager.cache.informer(App).store.add_index("size", lambda app: [str(app["spec"]["size"])])
        return replica

    def indexed(replica):
        store = replica.manager.cache.informer(App).store
        return {app["metadata"]["name"] for number in range(10) for app in store.select(fields={"size": str(number)})}

    one = join()
    await cluster.pass_time(6)
    assert len(indexed(one)) == 10
    two = join()
    await cluster.pass_time(10)
    assert (indexed(one), indexed(two)) == (one.apps, two.apps)
    for replica in (one, two):
        found = await replica.manager.client.list(Secret, fields={"type": "Opaque"})
        assert [secret.metadata.name for secret in found.items] == ["s"]


async def test_readiness_and_metrics_show_the_share(cluster):
    """Not ready before the first ranges, and ready while others move."""
    await cluster.make(10)
    one = cluster.join()
    await settle(100)
    with pytest.raises(RuntimeError, match="not claimed its ranges yet"):
        one.manager.sharding.check_ready()
    await cluster.pass_time(6)
    one.manager.sharding.check_ready()
    cluster.join()
    await cluster.pass_time(10)
    one.manager.sharding.check_ready()
    for number in range(10):
        await cluster.resize(number, 500)
    await cluster.pass_time(1)
    text = one.manager.metrics.render()[0].decode()
    assert "pykb_shard_ranges_held 4.0" in text
    assert "pykb_shard_members 2.0" in text
    assert 'pykb_shard_moves_total{direction="taken"} 8.0' in text
    assert 'pykb_shard_moves_total{direction="given"} 4.0' in text
    dropped = next(line for line in text.splitlines() if line.startswith("pykb_shard_foreign_objects_dropped_total"))
    filtered = cluster.server.filters_by_shard and cluster.by is ShardBy.NAMESPACE
    assert (float(dropped.split()[1]) == 0) is filtered


async def test_a_controller_that_opts_out_runs_on_the_leader(cluster):
    """With all objects, as without shards."""
    await cluster.make(10)
    seen = {}

    class Counter(Reconciler):
        def __init__(self, client, name):
            super().__init__(client)
            self.name = name

        async def reconcile(self, request):
            seen.setdefault(self.name, set()).add(request.name)

    def join(name):
        replica = cluster.join(name)
        ControllerBuilder(replica.manager).for_(App).named("counter").with_options(sharded=False).complete(
            Counter(replica.manager.client, name)
        )
        return replica

    one, two = join("one"), join("two")
    await cluster.pass_time(8)
    assert list(seen.values()) == [{f"app-{number}" for number in range(10)}]
    # Its kind is whole then, and still each replica works on its own share of it.
    assert len(one.apps) == len(two.apps) == 10
    assert sorted(set(one.seen) | set(two.seen)) == sorted(f"app-{number}" for number in range(10))
    assert not set(one.seen) & set(two.seen)
    before = len(two.seen)
    await one.stop()
    await cluster.pass_time(6)
    assert len(set(two.seen[before:])) == 10 - len(set(two.seen[:before]))


async def test_an_object_that_is_made_again_can_change_its_replica(cluster):
    """The new one has another uid, and so does its range."""
    await cluster.make(6)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    for turn in range(1, 5):
        for number in range(6):
            await cluster.client.delete(App, f"{cluster.namespace(number)}/app-{number}")
            metadata = ObjectMeta(name=f"app-{number}", namespace=cluster.namespace(number))
            await cluster.client.create(App(metadata=metadata, spec=AppSpec(size=turn)))
        for copy in (await cluster.client.list(ConfigMap)).items:
            await cluster.client.delete(copy)
        await cluster.pass_time(1)
        assert not one.apps & two.apps
        assert len(one.apps | two.apps) == 6
        assert set((await cluster.copies()).values()) == {str(turn)}


@pytest.mark.parametrize("cluster", [(ShardBy.UID, True)], indirect=True)
async def test_events_of_a_former_root_may_come_after_those_of_the_new_one(cluster):
    """Both ranges belong to one replica. Each has a watch of its own, and nothing orders the two."""
    await cluster.make(1)
    one = cluster.join()
    await cluster.pass_time(6)
    informer = one.manager.cache.informer(App)
    part = informer.part
    events = []
    informer.add_handler(lambda event: events.append((str(event.type), event.raw["metadata"]["uid"])))
    key = Request("default", "app-0")
    old = informer.store.get(key)
    number = cluster.ranges.of(old["metadata"]["uid"])
    new = {**old, "metadata": {**old["metadata"], "resourceVersion": "1000"}}
    while cluster.ranges.of(new["metadata"]["uid"]) == number:
        new["metadata"]["uid"] = str(random.random())
    late = {**old, "metadata": {**old["metadata"], "resourceVersion": "999"}}
    streams = {stream.number: stream for stream in part.streams.values()}
    streams[cluster.ranges.of(new["metadata"]["uid"])].upsert(key, new, listed=False)
    streams[number].upsert(key, late, listed=False)
    streams[number].remove(key, late)
    assert informer.store.get(key) == new
    first, second = old["metadata"]["uid"], new["metadata"]["uid"]
    assert events == [("create", first), ("delete", first), ("create", second)]


async def test_a_deleted_object_of_another_range_is_found_when_it_is_made_again(cluster):
    """The old replica remembers its deletion for the last reconcile only."""
    await cluster.make(6)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    for turn in range(8):
        for number in range(6):
            await cluster.client.delete(App, f"{cluster.namespace(number)}/app-{number}")
        await cluster.pass_time(1)
        for number in range(6):
            metadata = ObjectMeta(name=f"app-{number}", namespace=cluster.namespace(number))
            await cluster.client.create(App(metadata=metadata, spec=AppSpec(size=turn)))
        await cluster.pass_time(1)
        for replica in (one, two):
            for number in range(6):
                found = await replica.manager.client.find(App, f"{cluster.namespace(number)}/app-{number}")
                assert found is not None, (replica.name, number)
                assert found.spec.size == turn


async def test_a_range_opens_when_its_own_list_is_complete(cluster, monkeypatch):
    """Another range comes meanwhile, and the list begins again."""
    await cluster.make(6)
    one = cluster.join()
    await cluster.pass_time(6)
    part = one.manager.cache.informer(ConfigMap).part
    for number in (0, 1):
        await part.narrow(number)
    serves = asyncio.Event()
    request = cluster.server.request

    async def slowly(call):
        if call.path.endswith("/configmaps"):
            await serves.wait()
        return await request(call)

    monkeypatch.setattr(cluster.server, "request", slowly)
    first = asyncio.create_task(part.widen(frozenset({0})))
    await settle(20)
    second = asyncio.create_task(part.widen(frozenset({1})))
    await settle(400)
    assert (first.done(), second.done()) == (False, False)
    serves.set()
    await asyncio.gather(first, second)
    assert len(one.manager.cache.informer(ConfigMap).store) == 6


async def test_the_server_may_lose_its_filter(cluster):
    """It is restarted without its feature gate. Then one stream of a kind brings all objects."""
    await cluster.make(20)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    cluster.server.filters_by_shard = False
    cluster.end_watches()
    for number in range(20):
        await cluster.resize(number, 500)
    await cluster.pass_time(2)
    three = cluster.join()
    await cluster.pass_time(10)
    before = len(cluster.server.calls)
    for number in range(20):
        await cluster.resize(number, 600)
    await cluster.pass_time(2)
    assert set((await cluster.copies()).values()) == {"600"}
    parts = [replica.apps for replica in (one, two, three)]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 20
    assert not [
        call for call in cluster.server.calls[before:] if any(name == "shardSelector" for name, _ in call.query)
    ]
    for replica in (one, two, three):
        assert len(replica.manager.cache.informer(App).part.streams) == 1


async def test_nothing_is_lost_when_the_history_is_compacted(cluster):
    """Objects were deleted, made again, changed and created after the last event that the watches have brought."""
    await cluster.make(12)
    one, two = cluster.join(), cluster.join()
    await cluster.pass_time(8)
    storage = cluster.server.storage
    storage.watches_sleep = True
    await cluster.client.delete(App, f"{cluster.namespace(0)}/app-0")
    await cluster.client.delete(App, f"{cluster.namespace(1)}/app-1")
    for number in (1, 12):
        metadata = ObjectMeta(name=f"app-{number}", namespace=cluster.namespace(min(number, 11)))
        await cluster.client.create(App(metadata=metadata, spec=AppSpec(size=700)))
    await cluster.resize(2, 700)
    assert (one.gone, two.gone) == ([], [])
    storage.watches_sleep = False
    cluster.end_watches()
    await cluster.pass_time(2)
    assert one.gone + two.gone == ["app-0"]
    assert not one.apps & two.apps
    assert one.apps | two.apps == {f"app-{number}" for number in range(1, 13)}
    found = await cluster.client.list(ConfigMap)
    changed = [copy.metadata.owner_references[0].name for copy in found.items if copy.data["size"] == "700"]
    assert sorted(changed) == ["app-1", "app-12", "app-2"]


async def test_a_replica_without_shards_works_alone_until_it_stops(cluster):
    """In an update from one leader to shards, no object has two replicas. The new one is ready, so the update proceeds."""
    await cluster.make(10)
    old = cluster.join("old", shards=0, leader_elect=True)
    await cluster.pass_time(4)
    new = cluster.join("new")
    await cluster.pass_time(20)
    assert len(set(old.seen)) == 10
    assert new.seen == []
    assert await is_ready(new)
    await old.stop()
    for _ in range(12):
        await cluster.pass_time(0.5)
        assert await is_ready(new)
    assert len(set(new.seen)) == 10


async def test_a_replica_without_shards_waits_for_those_with_them(cluster):
    """In a rollback. What runs on the leader waits, too."""
    await cluster.make(10)
    members = [cluster.join(f"old-{number}") for number in range(2)]
    await cluster.pass_time(8)
    new = cluster.join("new", shards=0, leader_elect=True)
    await cluster.pass_time(20)
    await members[0].stop()
    await cluster.pass_time(20)
    assert len(set(members[1].seen)) == 10
    assert (new.seen, new.manager.elected.is_set()) == ([], False)
    assert await is_ready(new)
    await members[1].stop()
    await cluster.pass_time(6)
    assert len(set(new.seen)) == 10


async def test_another_number_of_ranges_waits_for_the_members_that_work(cluster):
    """And there, a controller that runs on the leader counts like another number: it reconciles all objects."""
    await cluster.make(10)
    old = cluster.join("old")
    await cluster.pass_time(8)
    later = [cluster.join("more", shards=16), cluster.join("whole", sharded=False)]
    await cluster.pass_time(20)
    assert len(set(old.seen)) == 10
    for new in later:
        assert (new.seen, new.manager.elected.is_set()) == ([], False)
        assert await is_ready(new)
    await old.stop()
    await cluster.pass_time(6)
    assert sorted(len(set(new.seen)) for new in later) == [0, 10]


async def is_ready(replica):
    """Whether all readiness checks pass."""
    return await replica.manager.readyz.pass_all()


async def test_a_kind_can_stay_whole(cluster):
    """For a reconciler that lists all of its roots."""
    await cluster.make(10)
    cache = CacheOptions(by_kind={App.gvk: InformerOptions(sharded=False)})
    one, two = (cluster.join(cache=cache) for _ in range(2))
    await cluster.pass_time(8)
    assert len((await one.manager.client.list(App)).items) == 10
    assert set(one.seen) | set(two.seen) == {f"app-{number}" for number in range(10)}
    assert not set(one.seen) & set(two.seen)


async def test_cluster_scoped_roots_have_no_namespace_to_shard_by(cluster):
    """One replica would get all of them."""
    manager = Manager(
        ManagerOptions(shards=4, shard_by=ShardBy.NAMESPACE), client=Client(cluster.server), clock=cluster.clock
    )

    class Nothing(Reconciler):
        async def reconcile(self, request):
            pass

    ControllerBuilder(manager).for_(Namespace).complete(Nothing(manager.client))
    task = asyncio.create_task(manager.start())
    await cluster.pass_time(8)
    with pytest.raises(EnvironmentProblem, match="cannot be sharded by namespace: Namespace has none"):
        await task


class Ghost(CustomResource, group_version=GROUP_VERSION):
    """A kind that the server does not serve."""

    spec: AppSpec


@pytest.mark.parametrize("shards", [0, 8])
@pytest.mark.parametrize("problem", ["not served", "forbidden"])
async def test_a_kind_that_cannot_be_listed_ends_the_replica(cluster, problem, shards):
    """The wait for the first list has a limit, with and without shards. The message says what failed."""

    def refuse(call):
        cluster._arrive(call)
        if problem == "forbidden" and call.path.endswith("/configmaps"):
            raise Forbidden(403, "Forbidden", "configmaps is forbidden")

    cluster.server.react = refuse
    owned = Ghost if problem == "not served" else ConfigMap
    options = ManagerOptions(
        shards=shards, shard_by=cluster.by, cache=CacheOptions(sync_timeout=timedelta(milliseconds=200))
    )
    manager = Manager(options, client=Client(cluster.server), clock=cluster.clock)

    class Nothing(Reconciler):
        async def reconcile(self, request):
            pass

    ControllerBuilder(manager).for_(App).owns(owned).complete(Nothing(manager.client))
    task = asyncio.create_task(manager.start())
    await cluster.pass_time(8)
    expected = (
        "no list of .* Ghost .*does not know the kind" if owned is Ghost else "no list of .* ConfigMap .*is forbidden"
    )
    with pytest.raises(CacheSyncTimeout, match=expected):
        await asyncio.wait_for(task, 60)
