"""A manager with a reconciler on a real API server: what an author of an operator relies on."""

import asyncio
import contextlib
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from pykb.api.coordination.v1 import Lease
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.connection import OWNER_INDEX
from pykb.client.finalizers import add_finalizer, has_finalizer, remove_finalizer
from pykb.client.login import KubeconfigSource
from pykb.client.login.credentials import StaticCredentials
from pykb.client.owner import set_controller_reference
from pykb.runtime import (
    AlreadyExists,
    CacheOptions,
    ControllerBuilder,
    Finalizers,
    InformerOptions,
    Manager,
    ManagerOptions,
    MergePatch,
    Reconciler,
    Request,
    Result,
)
from pykb.testing import eventually, running

from .conftest import Widget, WidgetSpec, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

FINALIZER = "runtime.example.com/cleanup"


@pytest.fixture
async def client(widgets):
    """A client without a cache."""
    async with client_for(widgets) as client:
        yield client


def widget(namespace, name="a", size=1, **metadata):
    """An object to create."""
    return Widget(metadata=ObjectMeta(name=name, namespace=namespace, **metadata), spec=WidgetSpec(size=size))


class Mirror(Reconciler):
    """Writes the wanted size into the status, and remembers what it was called for."""

    def __init__(self, client, namespace):
        super().__init__(client)
        self.namespace = namespace
        self.seen = []

    async def reconcile(self, request):
        """Mirror one object."""
        if request.namespace != self.namespace:
            return Result()
        found = await self.client.find(Widget, request)
        self.seen.append((request.name, found.spec.size if found else None))
        if found is not None and found.status.size != found.spec.size:
            found.status.phase, found.status.size = "Ready", found.spec.size
            await self.client.status.update(found)
        return Result()


def mirror(manager, namespace, **options):
    """Run a mirror with a manager."""
    reconciler = Mirror(manager.client, namespace)
    ControllerBuilder(manager).for_(Widget).with_options(**options).complete(reconciler)
    return reconciler


async def size_is(client, namespace, name, size):
    """Whether the status has a size."""
    assert (await client.get(Widget, f"{namespace}/{name}")).status.size == size


async def test_existing_created_updated_and_deleted_objects_are_reconciled(widgets, client, namespace):
    """The first list, a creation, a change and a deletion each end in a call; the status goes through its subresource."""
    await client.create(widget(namespace, "early"))
    manager = manager_for(widgets)
    reconciler = mirror(manager, namespace)
    async with running(manager):
        await eventually(lambda: size_is(client, namespace, "early", 1))
        late = await client.create(widget(namespace, "late", 2))
        await eventually(lambda: size_is(client, namespace, "late", 2))
        late = await client.get(Widget, f"{namespace}/late")
        generation = late.metadata.generation
        late.spec.size = 3
        await client.update(late)
        await eventually(lambda: size_is(client, namespace, "late", 3))
        await client.delete(late)
        await eventually(lambda: ("late", None) in reconciler.seen)
    assert generation == 1, "a status write does not raise the generation"


async def test_reads_of_watched_kinds_come_from_the_cache_and_are_copies(widgets, client, namespace):
    """`manager.client` asks nobody for a watched kind; what it gives may be changed freely."""
    manager = manager_for(widgets)
    mirror(manager, namespace)
    await client.create(widget(namespace))
    async with running(manager):
        await eventually(lambda: size_is(client, namespace, "a", 1))
        requests = []
        manager.client.connection.observer = requests.append
        first = await manager.client.get(Widget, f"{namespace}/a")
        first.spec.size = 99
        listed = await manager.client.list(Widget, namespace=namespace)
        assert [item.spec.size for item in listed] == [1]
        assert requests == []
        await manager.api_reader.get(Widget, f"{namespace}/a")
        assert len(requests) == 1


async def test_a_finalizer_holds_a_deleted_object_until_its_clean_up_ran(widgets, client, namespace):
    """The object is there, marked as deleted, while the clean-up runs; then it goes."""
    cleaned = []

    class Cleaner(Reconciler):
        async def reconcile(self, request: Request) -> Result:
            found = await self.client.find(Widget, request)
            if found is None or request.namespace != namespace:
                return Result()
            if found.metadata.deletion_timestamp is None:
                if add_finalizer(found, FINALIZER):
                    await self.client.update(found)
            elif has_finalizer(found, FINALIZER):
                cleaned.append(request.name)
                remove_finalizer(found, FINALIZER)
                await self.client.update(found)
            return Result()

    manager = manager_for(widgets)
    ControllerBuilder(manager).for_(Widget).complete(Cleaner(manager.client))
    async with running(manager):
        await client.create(widget(namespace))

        async def finalizer_is_there():
            assert (await client.get(Widget, f"{namespace}/a")).metadata.finalizers == [FINALIZER]

        await eventually(finalizer_is_there)
        await client.delete(Widget, f"{namespace}/a")

        async def gone():
            assert await client.find(Widget, f"{namespace}/a") is None

        await eventually(gone)
    assert cleaned == ["a"]


@pytest.mark.parametrize("options", [{}, {"labels": "part=this"}], ids=["of all", "of a selection"])
async def test_no_clean_up_runs_again_on_the_old_copy(widgets, client, namespace, options):
    """Each deletes a child, whose event wakes the reconciler when the object is gone, and the cache may still have it."""
    cleaned = Counter()
    labels = {"part": "this"}

    class Cleaner(Reconciler):
        async def clean_up(self, found):
            cleaned[found.metadata.name] += 1
            await self.client.delete(ConfigMap, f"{namespace}/{found.metadata.name}", missing_ok=True)

        async def reconcile(self, request):
            found = await self.client.find(Widget, request)
            if found is None or request.namespace != namespace:
                return Result()
            if finished := await Finalizers(self.client, {FINALIZER: self.clean_up}).finalize(found):
                return finished
            child = ConfigMap(metadata=ObjectMeta(name=request.name, namespace=namespace))
            set_controller_reference(found, child)
            with contextlib.suppress(AlreadyExists):
                await self.client.create(child)
            return Result()

    cache = CacheOptions(by_kind={Widget.gvk: InformerOptions(**options)})
    manager = manager_for(widgets, cache=cache)
    builder = ControllerBuilder(manager).for_(Widget).owns(ConfigMap)
    builder.with_options(max_concurrent_reconciles=8).complete(Cleaner(manager.client))
    names = [f"w{number}" for number in range(88)]
    async with running(manager):
        await asyncio.gather(*(client.create(widget(namespace, name, labels=labels)) for name in names))

        async def all_have_children():
            assert len((await client.list(ConfigMap, namespace=namespace)).items) >= len(names)
            assert all(found.metadata.finalizers for found in await client.list(Widget, namespace=namespace))

        await eventually(all_have_children)
        await asyncio.gather(*(client.delete(Widget, f"{namespace}/{name}") for name in names))

        async def all_gone():
            assert (await client.list(Widget, namespace=namespace)).items == []

        await eventually(all_gone)
    assert cleaned == dict.fromkeys(names, 1)


async def test_a_deleted_child_wakes_its_owner(widgets, client, namespace):
    """`owns` maps the events of children to the object that controls them."""

    class Parent(Reconciler):
        async def reconcile(self, request):
            owner = await self.client.find(Widget, request)
            if owner is None or request.namespace != namespace:
                return Result()
            if await self.client.find(ConfigMap, request) is None:
                child = ConfigMap(metadata=ObjectMeta(name=request.name, namespace=request.namespace), data={"a": "b"})
                set_controller_reference(owner, child)
                await self.client.create(child)
            return Result()

    manager = manager_for(widgets)
    ControllerBuilder(manager).for_(Widget).owns(ConfigMap).complete(Parent(manager.client))
    async with running(manager):
        await client.create(widget(namespace))

        async def child_uid():
            return (await client.get(ConfigMap, f"{namespace}/a")).metadata.uid

        first = await eventually(child_uid)
        await client.delete(ConfigMap, f"{namespace}/a")

        async def is_new():
            assert await child_uid() != first

        await eventually(is_new)


async def test_a_reconcile_sees_the_writes_of_the_one_before(widgets, client, namespace):
    """The events of its writes wake it only when the cache has all of them, or it would create a second child."""

    class Parent(Reconciler):
        async def reconcile(self, request):
            owner = await self.client.find(Widget, request)
            if owner is None or request.namespace != namespace:
                return
            if owner.status.phase != "Ready":
                await self.client.status.patch(owner, MergePatch({"status": {"phase": "Ready"}}))
            if not await self.client.list(ConfigMap, namespace=namespace, fields={OWNER_INDEX: owner.metadata.uid}):
                metadata = ObjectMeta(generate_name="child-", namespace=namespace)
                child = ConfigMap(metadata=metadata, data={"large": "x" * 100_000})
                set_controller_reference(owner, child)
                await self.client.create(child)

    manager = manager_for(widgets)
    builder = ControllerBuilder(manager).for_(Widget).owns(ConfigMap).with_options(max_concurrent_reconciles=10)
    builder.complete(Parent(manager.client))

    async def parents():
        children = await client.list(ConfigMap, namespace=namespace)
        return [child.metadata.owner_references[0].name for child in children if child.metadata.owner_references]

    names = [f"w{number}" for number in range(100)]

    async def all_have_one():
        assert set(await parents()) == set(names)

    async with running(manager):
        await asyncio.gather(*(client.create(widget(namespace, name)) for name in names))
        await eventually(all_have_one)
    assert sorted(await parents()) == sorted(names)


async def test_a_reconcile_sees_the_deletions_of_the_one_before(widgets, client, namespace):
    """Whether the object is gone, or stays with its finalizers. It would delete another child, or the same again."""
    deleted, seen, stale = set(), set(), set()

    class Deleting(Reconciler):
        async def reconcile(self, request):
            if request.namespace != namespace:
                return
            child = await self.client.find(ConfigMap, request)
            if request.name in deleted:
                seen.add(request.name)
                if child is not None and child.metadata.deletion_timestamp is None:
                    stale.add(request.name)
            elif child is not None and child.metadata.labels:
                await self.client.delete(child)
                deleted.add(request.name)
                controller.queue.add(request)  # at once, before the event of the deletion comes

    manager = manager_for(widgets)
    builder = ControllerBuilder(manager).for_(ConfigMap).with_options(max_concurrent_reconciles=10)
    controller = builder.complete(Deleting(manager.client))

    def all_are_seen():
        assert len(seen) == 200

    async with running(manager):
        for number in range(200):
            metadata = ObjectMeta(name=f"c{number}", namespace=namespace, labels={"test": "deletions"})
            metadata.finalizers = ["example.com/clean-up"] if number % 2 else []
            await client.create(ConfigMap(metadata=metadata))
        await eventually(all_are_seen)
        assert stale == set()
        for number in range(1, 200, 2):
            release = MergePatch({"metadata": {"finalizers": None}})
            await client.patch(ConfigMap(metadata=ObjectMeta(name=f"c{number}", namespace=namespace)), release)


async def test_a_namespaced_manager_sees_only_its_namespaces(widgets, client, namespace):
    """With namespaces given, objects elsewhere wake nobody and are not in the cache."""
    await client.create(widget(namespace, "mine"))
    await client.create(widget("default", "theirs"))
    try:
        manager = manager_for(widgets, namespaces=(namespace,))
        seen = []

        class Watcher(Reconciler):
            async def reconcile(self, request):
                seen.append(str(request))

        ControllerBuilder(manager).for_(Widget).complete(Watcher(manager.client))
        async with running(manager):
            await client.create(widget(namespace, "another"))
            await eventually(lambda: len(seen) >= 2)
            # What was there before gives way to what happens now: either may come first.
            assert sorted(seen) == [f"{namespace}/another", f"{namespace}/mine"]
            assert [w.metadata.name for w in await manager.client.list(Widget)] == ["another", "mine"]
            assert manager.cache.lister(Widget).get("theirs", namespace="default") is None
            # It is there nonetheless, for whom the API server lets read it: a mirror must not say that it is not.
            assert (await manager.client.get(Widget, "default/theirs")).metadata.namespace == "default"
    finally:
        await client.delete(Widget, "default/theirs")


async def test_stopping_waits_for_a_running_reconcile_and_starts_no_other(widgets, client, namespace):
    """A graceful stop lets the call that runs finish its writes, and leaves the rest of the queue."""
    started, go_on, finished = asyncio.Event(), asyncio.Event(), []

    class Slow(Reconciler):
        async def reconcile(self, request):
            if request.namespace != namespace:
                return
            started.set()
            await go_on.wait()
            found = await self.client.get(Widget, request)
            found.status.phase = "Done"
            await self.client.status.update(found)
            finished.append(request.name)

    for name in ("a", "b"):
        await client.create(widget(namespace, name))
    manager = manager_for(widgets, namespaces=(namespace,))
    ControllerBuilder(manager).for_(Widget).complete(Slow(manager.client))
    task = asyncio.create_task(manager.start())
    await started.wait()
    manager.stop()
    await asyncio.sleep(0.2)
    assert not task.done()
    go_on.set()
    await task
    assert len(finished) == 1
    assert (await client.get(Widget, f"{namespace}/{finished[0]}")).status.phase == "Done"


async def test_credentials_that_the_server_refuses_are_told(widgets, caplog):
    """A manager waits for better ones, and its log says why nothing is listed."""
    good = await KubeconfigSource([widgets.kubeconfig]).current()
    bad = replace(good, token="stale", client_certificate=None, client_key=None)
    manager = Manager(ManagerOptions(), credentials=StaticCredentials(bad))
    ControllerBuilder(manager).for_(ConfigMap).complete(Mirror(manager.client, "default"))
    task = asyncio.create_task(manager.start())

    def told() -> bool:
        return any("refuses the credentials" in record.getMessage() for record in caplog.records)

    try:
        await eventually(told, timedelta(seconds=60))
    finally:
        manager.stop()
        await task
    record = next(record for record in caplog.records if "refuses the credentials" in record.getMessage())
    assert str(widgets.kubeconfig) in record.error


async def test_renewals_of_the_lease_do_not_queue_behind_writes(widgets, namespace, client):
    """A thousand writes wait for the client's own limit for longer than the lease lasts; the leader stays leader."""
    short = {
        "lease_duration": timedelta(seconds=6),
        "renew_deadline": timedelta(seconds=4),
        "retry_period": timedelta(milliseconds=100),
    }
    election = {"leader_elect": True, "leader_election_id": "throttled", "leader_election_namespace": namespace}
    manager = manager_for(widgets, namespaces=(namespace,), kube_api_qps=0.01, kube_api_burst=3, **election, **short)
    held = []

    async def writes():
        held.append(True)
        await asyncio.gather(*(manager.client.create(widget(namespace, f"w{number}")) for number in range(1000)))

    manager.add(writes)
    async with running(manager):
        await eventually(lambda: bool(held))
        first = (await client.get(Lease, f"{namespace}/throttled")).spec.renew_time

        async def renewed():
            lease = await client.get(Lease, f"{namespace}/throttled")
            assert lease.spec.renew_time - first > short["lease_duration"]

        await eventually(renewed)
        assert manager.elected.is_set()
        assert len((await client.list(Widget, namespace=namespace)).items) <= 3
