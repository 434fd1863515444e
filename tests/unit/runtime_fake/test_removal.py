"""Controllers, informers and other runnables that come and go while a manager runs."""

import asyncio
from contextlib import suppress

import pytest

from pykb.api import CustomResource, GroupVersion
from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import ControllerBuilder, InformerCache, Manager, ManagerOptions, Reconciler
from pykb.runtime.fake import fake_client
from pykb.testing import eventually, running


class First(CustomResource, group_version=GroupVersion("example.com", "v1"), kind="Widget"):
    """A kind in its first version."""


class Second(CustomResource, group_version=GroupVersion("example.com", "v2"), kind="Widget"):
    """The same kind in its second version."""


def made(kind, name):
    """An object."""
    return kind(metadata=ObjectMeta(name=name, namespace="default"))


class Noting(Reconciler):
    """Notes its requests. It ends a call when `may_end` is set."""

    def __init__(self, client):
        super().__init__(client)
        self.noted, self.ended = [], []
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def reconcile(self, request):
        """Note one."""
        self.noted.append(request.name)
        await self.may_end.wait()
        self.ended.append(request.name)


def series(manager, controller):
    """The lines of the metrics that name a controller."""
    return [line for line in manager.metrics.render()[0].decode().splitlines() if f'controller="{controller}"' in line]


async def test_a_removed_controller_ends_its_work_and_takes_its_metrics_and_informers_along():
    """What runs ends, what waits is dropped, and its name and kind may be used again."""
    client = fake_client(made(ConfigMap, "a"))
    manager = Manager(client=client)
    reconciler = Noting(client)
    reconciler.may_end.clear()
    controller = ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    async with running(manager):
        await eventually(lambda: reconciler.noted == ["a"])
        await client.create(made(ConfigMap, "waits"))
        await eventually(lambda: len(controller.queue) == 1)
        assert series(manager, "configmap")
        removal = asyncio.create_task(manager.remove(controller))
        again = asyncio.create_task(manager.remove(controller))
        await asyncio.sleep(0.05)
        assert not removal.done()
        with pytest.raises(EnvironmentProblem, match="already a controller"):
            ControllerBuilder(manager).for_(ConfigMap).complete(Noting(client))
        reconciler.may_end.set()
        await asyncio.gather(removal, again)
        assert (reconciler.noted, reconciler.ended) == (["a"], ["a"])
        assert (series(manager, "configmap"), manager.cache.informers, manager.controllers) == ([], [], ())
        assert not await manager.client.is_cached(ConfigMap)
        assert len((await manager.client.list(ConfigMap)).items) == 2  # a request

        fresh = Noting(client)
        ControllerBuilder(manager).for_(ConfigMap).complete(fresh)
        await eventually(lambda: sorted(fresh.noted) == ["a", "waits"])
        assert series(manager, "configmap")
        assert await manager.client.is_cached(ConfigMap)
    assert reconciler.noted == ["a"]


async def test_an_informer_stays_as_long_as_somebody_uses_it():
    """Another controller, or the program that asked for it."""
    manager = Manager(client=fake_client(made(ConfigMap, "a"), made(Secret, "s")))
    one, other = (
        ControllerBuilder(manager).named(name).for_(ConfigMap).owns(Secret).complete(Noting(manager.client))
        for name in ("one", "other")
    )
    kept = manager.cache.informer(Secret)
    async with running(manager):
        shared = manager.cache.informers
        await manager.remove(one)
        assert manager.cache.informers == shared
        with pytest.raises(ValueError, match="a controller watches"):
            await manager.cache.remove_informer(ConfigMap)
        await manager.remove(other)
        assert manager.cache.informers == [kept]


async def test_a_removed_informer_watches_no_more_and_is_made_anew():
    """Reads become requests, and an old lister says so instead of finding nothing."""
    client = fake_client(made(ConfigMap, "a"))
    seen = []
    async with InformerCache.of(client) as cache:
        informer = cache.informer(ConfigMap)
        cache.add_index(ConfigMap, "name", lambda obj: obj["metadata"]["name"])
        informer.add_handler(lambda event: seen.append(event.name))
        lister = informer.lister
        await informer.wait_for_sync()
        assert lister.get("a", namespace="default") is not None
        tasks = len(asyncio.all_tasks())
        await cache.remove_informer(ConfigMap)
        assert len(asyncio.all_tasks()) < tasks
        for read in (lambda: lister.get("a", namespace="default"), lister.list, lambda: lister.owned_by("u")):
            with pytest.raises(RuntimeError, match="was removed from its cache"):
                read()
        await client.create(made(ConfigMap, "b"))
        assert [found.metadata.name for found in (await client.with_cache(cache).list(ConfigMap)).items] == ["a", "b"]
        await cache.remove_informer(ConfigMap)  # it is not there: nothing happens
        cache.add_index(ConfigMap, "name", lambda obj: obj["metadata"]["name"])
        await cache.wait_for_sync()
        assert [found.metadata.name for found in cache.lister(ConfigMap).list(fields={"name": "b"})] == ["b"]
        assert seen == ["a"]


async def test_nobody_waits_for_an_informer_that_was_removed():
    """Neither for its first list, nor, in a read, for its objects."""
    client = fake_client(made(ConfigMap, "a"))
    cache = InformerCache.of(client)
    task = asyncio.create_task(cache.run())
    informer = cache.informer(First)  # nobody serves it
    await asyncio.sleep(0)
    waiting = asyncio.create_task(informer.wait_for_sync())
    reading = asyncio.create_task(cache.get(First.gvk, "default", "a"))
    await eventually(lambda: bool(cache.unserved))
    await cache.remove_informer(First)
    with pytest.raises(RuntimeError, match="was removed"):
        await waiting
    with pytest.raises(LookupError):
        await reading
    assert not cache.unserved
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("elects", [False, True])
async def test_controllers_of_several_versions_join_a_running_manager(elects):
    """Those that need the lease start when it is held, also when they come later."""
    client = fake_client(made(First, "a"), kinds=[First, Second])
    options = ManagerOptions(leader_elect=elects, leader_election_id="removal.example.com")
    manager = Manager(options, client=client)
    early = ControllerBuilder(manager).named("early").for_(First).complete(Noting(manager.client))
    never = ControllerBuilder(manager).named("never").for_(Secret).complete(Noting(manager.client))
    await manager.remove(never)  # before it has started
    async with running(manager):
        second = Noting(manager.client)
        await eventually(manager.elected.is_set)
        late = ControllerBuilder(manager).named("late").for_(Second).complete(second)
        everywhere = Noting(manager.client)
        others = ControllerBuilder(manager).named("others").for_(First)
        another = others.with_options(needs_leader_election=False).complete(everywhere)
        await client.create(made(Second, "b"))
        await eventually(lambda: "b" in second.noted)
        await eventually(lambda: "a" in everywhere.noted)
        await manager.remove(late)
        assert [informer.gvk.version for informer in manager.cache.informers] == ["v1"]
        await manager.remove(another)
        assert manager.controllers == (early,)


async def test_a_cancelled_removal_continues():
    """Else a second controller of this name could work on what the first one still does."""
    client = fake_client(made(ConfigMap, "a"))
    manager = Manager(client=client)
    reconciler = Noting(client)
    reconciler.may_end.clear()
    controller = ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    async with running(manager):
        await eventually(lambda: reconciler.noted == ["a"])
        with suppress(TimeoutError):
            await asyncio.wait_for(manager.remove(controller), 0.01)
        assert manager.controllers == (controller,)
        reconciler.may_end.set()
        await eventually(lambda: manager.controllers == ())
        assert reconciler.ended == ["a"]


async def test_what_cannot_be_removed_is_refused():
    """A stranger, a controller by its own reconcile, and a shared one."""
    client = fake_client(made(ConfigMap, "a"))
    manager = Manager(client=client)
    refused = []

    class SelfRemoving(Reconciler):
        async def reconcile(self, request):
            try:
                await manager.remove(controller)
            except RuntimeError as error:
                refused.append(str(error))

    controller = ControllerBuilder(manager).for_(ConfigMap).complete(SelfRemoving(client))
    async with running(manager):
        await eventually(lambda: bool(refused))
        assert "cannot remove its own controller" in refused[0]
        await manager.remove(controller)
        with pytest.raises(ValueError, match="does not run `configmap`"):
            await manager.remove(controller)
    shared = Manager(ManagerOptions(shards=2, leader_election_id="shared.example.com"), client=fake_client())
    controller = ControllerBuilder(shared).for_(ConfigMap).complete(Noting(client))
    with pytest.raises(RuntimeError, match="is sharded"):
        await shared.remove(controller)


async def test_other_runnables_can_be_removed():
    """A cache of another cluster, or a function; one that ends badly meanwhile still ends the manager."""
    manager = Manager(client=fake_client())
    informers = InformerCache.of(fake_client(made(ConfigMap, "a")))
    manager.add(informers)
    ended = asyncio.Event()

    async def sweep():
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    manager.add(sweep)
    async with running(manager):
        await eventually(lambda: informers.informer(ConfigMap).has_synced)
        await manager.remove(informers)
        await manager.remove(sweep)
        assert ended.is_set()
        assert not informers.has(ConfigMap.gvk)


async def test_a_refused_controller_leaves_nothing_behind():
    """The metrics of the one that has the name stay, and no informer is made for the other."""
    manager = Manager(client=fake_client())
    ControllerBuilder(manager).named("taken").for_(ConfigMap).complete(Noting(manager.client))
    before = series(manager, "taken")
    with pytest.raises(EnvironmentProblem, match="already a controller `taken`"):
        ControllerBuilder(manager).named("taken").for_(Secret).complete(Noting(manager.client))
    assert len(manager.cache.informers) == 1
    assert series(manager, "taken") == before
    with pytest.raises(EnvironmentProblem, match="needs an owner kind"):
        ControllerBuilder(manager).named("new").owns(ConfigMap).complete(Noting(manager.client))
    assert series(manager, "new") == []
