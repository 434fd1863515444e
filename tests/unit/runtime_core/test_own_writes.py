"""A request waits until the cache has what its last reconcile wrote."""

import asyncio
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.clock import VirtualClock
from pykb.client.errors import Conflict, StatusDetails
from pykb.client.patches import merge_from
from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache._options import InformerOptions, NamespaceSelection
from pykb.runtime.cache.informer import Informer
from pykb.runtime.controller.controller import Controller
from pykb.runtime.fake import fake_client
from pykb.runtime.records.context import LIMIT, ReconcileContext, current_reconcile
from pykb.runtime.requests.reconcile import Reconciler, Request

from .conftest import WIDGET, turn, widget  # noqa: TID252 - shared by this folder only

A = NamespacedName("default", "a")


def informer(**options):
    """A mirror that the test fills."""
    return Informer(WIDGET, dict, InformerOptions(**options), clock=VirtualClock())


async def test_the_event_of_the_write_is_awaited():
    """An event of an older version is not enough, one of a newer version is."""
    mirror = informer()
    mirror.upsert(A, widget("a", "7"), listed=True)
    ninth, eleventh = mirror.when_seen(A, "9"), mirror.when_seen(A, "11")
    mirror.upsert(A, widget("a", "8"), listed=False)
    assert (ninth.done(), eleventh.done()) == (False, False)
    mirror.upsert(A, widget("a", "10"), listed=False)
    assert (ninth.done(), eleventh.done()) == (True, False)
    mirror.upsert(A, widget("a", "11"), listed=False)
    assert eleventh.done()
    assert mirror.when_seen(A, "11") is None
    assert mirror.when_seen(A, "10") is None


@pytest.mark.parametrize("last", [widget("a", "12"), None], ids=["by an event", "by a list"])
async def test_a_deletion_is_enough(last):
    """What is gone will not be seen at an older version."""
    mirror = informer()
    mirror.upsert(A, widget("a", "7"), listed=True)
    future = mirror.when_seen(A, "9")
    mirror.remove(A, last)
    assert future.done()


async def test_the_deletion_of_a_predecessor_is_not_enough():
    """A new object of the same name is still to come."""
    mirror = informer()
    mirror.upsert(A, widget("a", "7"), listed=True)
    future = mirror.when_seen(A, "9")
    mirror.remove(A, widget("a", "8"))
    assert not future.done()
    mirror.upsert(A, widget("a", "9"), listed=False)
    assert future.done()


async def test_a_removal_is_awaited_as_such():
    """The API server answers to the removal of the last finalizer with the version before. An event of it is late."""
    mirror = informer()
    mirror.upsert(A, widget("a", "7"), listed=True)
    future = mirror.when_seen(A, "9", is_gone=True)
    mirror.upsert(A, widget("a", "9"), listed=False)
    assert not future.done()
    mirror.remove(A, widget("a", "9"))
    assert future.done()
    assert mirror.when_seen(A, "9", is_gone=True) is None


async def test_a_successor_ends_the_wait_for_a_removal():
    """A new object of the same name has come."""
    mirror = informer()
    mirror.upsert(A, widget("a", "7"), listed=True)
    future = mirror.when_seen(A, "7", is_gone=True)
    assert future is not None
    mirror.upsert(A, widget("a", "10"), listed=False)
    assert future.done()
    assert mirror.when_seen(A, "7", is_gone=True) is None


async def test_a_cancelled_wait_is_forgotten():
    """A watch that never has the version does not keep the wait for ever."""
    mirror = informer()
    mirror.when_seen(A, "9").cancel()
    await turn()
    assert not mirror._awaited


SELECTIONS = [{"labels": "a=b"}, {"fields": "a=b"}, {"namespaces": {"default": NamespaceSelection(labels="a=b")}}]


@pytest.mark.parametrize("options", SELECTIONS, ids=str)
async def test_a_mirror_of_a_selection_is_not_awaited(options):
    """It may never have the object."""
    assert informer(**options).when_seen(A, "9") is None


@pytest.mark.parametrize("options", SELECTIONS, ids=str)
async def test_a_removal_from_a_selection_is_awaited(options):
    """The event comes for every object that the mirror has. Without it, a clean-up runs again on the old copy."""
    mirror = informer(**options)
    assert mirror.when_seen(A, "7", is_gone=True) is None
    mirror.upsert(A, widget("a", "7"), listed=True)
    future = mirror.when_seen(A, "7", is_gone=True)
    assert future is not None
    mirror.remove(A, None)
    assert future.done()


async def test_versions_without_an_order_are_not_awaited():
    """An aggregated API server may use any text."""
    assert informer().when_seen(A, "x") is None


class Mirrors:
    """The cache of a client: one informer."""

    def __init__(self, gvk=WIDGET):
        self.gvk, self.informer = gvk, informer()

    def when_seen(self, gvk, key, version, *, is_gone=False):
        """As the real one."""
        assert gvk == self.gvk
        return self.informer.when_seen(key, version, is_gone=is_gone)

    def when_deleted(self, gvk, key, uid, version):
        """As the real one."""
        assert gvk == self.gvk
        return self.informer.when_deleted(key, uid, version)


class Writing(Reconciler):
    """Writes versions, in turn."""

    def __init__(self, cache, *versions):
        super().__init__(client=None)
        self.cache = cache
        self.versions = list(versions)
        self.calls = 0

    async def reconcile(self, request):
        """Write one, as the client does."""
        self.calls += 1
        if self.versions:
            current_reconcile.get().stored(self.cache, WIDGET, widget("a", self.versions.pop(0)))


class Rig:
    """A controller whose reconciler has just written version 9."""

    def __init__(self, running, *versions):
        self.clock, self.cache = VirtualClock(), Mirrors()
        self.reconciler = Writing(self.cache, *versions)
        self.controller = Controller("widget", self.reconciler, clock=self.clock)
        self.queue = self.controller.queue
        self.task = running(self.controller.run())

    async def wake(self, name="a"):
        """Add a request, and let the controller work."""
        self.queue.add(Request("default", name))
        await turn()


async def test_a_request_waits_for_its_own_write_and_is_woken_once(running):
    """The events in between wake it once, when the cache has the write. Others do not wait."""
    rig = Rig(running, "9")
    await rig.wake()
    for _ in range(3):
        await rig.wake()
    assert rig.reconciler.calls == 1
    await rig.wake("b")
    assert rig.reconciler.calls == 2
    rig.cache.informer.upsert(A, widget("a", "9"), listed=False)
    await turn()
    assert rig.reconciler.calls == 3
    await rig.wake()
    assert rig.reconciler.calls == 4


async def test_without_another_event_nothing_follows(running):
    """To wait for a write is not a reason to reconcile."""
    rig = Rig(running, "9")
    await rig.wake()
    rig.cache.informer.upsert(A, widget("a", "9"), listed=False)
    rig.clock.advance(timedelta(minutes=5))
    await turn()
    assert rig.reconciler.calls == 1
    assert not rig.clock.pending


async def test_the_wait_is_limited(running):
    """A watch that broke off does not stop the work."""
    rig = Rig(running, "9")
    await rig.wake()
    await rig.wake()
    rig.clock.advance(LIMIT - timedelta(seconds=0.1))
    await turn()
    assert rig.reconciler.calls == 1
    rig.clock.advance(timedelta(seconds=0.2))
    await turn()
    assert rig.reconciler.calls == 2


async def test_a_controller_that_ends_does_not_wait(running):
    """A held request is dropped like all that wait."""
    rig = Rig(running, "9")
    await rig.wake()
    rig.task.cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(rig.task, return_exceptions=True)


async def test_the_last_write_to_a_deleted_object_is_awaited_while_it_is_in_the_cache():
    """Its event may have come before the answer, and then none will follow."""
    cache = Mirrors()
    context = ReconcileContext("widget", "", Request("default", "a"))
    deleted = widget("a", "9", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    context.stored(cache, WIDGET, deleted)
    assert not context.unseen
    cache.informer.upsert(A, widget("a", "9"), listed=True)
    context.stored(cache, WIDGET, deleted)
    assert len(context.unseen) == 1
    cache.informer.remove(A, widget("a", "10"))
    assert context.unseen.pop().done()
    deleted["metadata"]["finalizers"] = ["example.com/other"]
    context.stored(cache, WIDGET, deleted)
    assert len(context.unseen) == 1


async def test_writes_outside_of_a_reconcile_are_not_noted():
    """A program without controllers has nobody who would wait."""
    cache = Mirrors()
    await fake_client().with_cache(cache).create(config())
    assert not cache.informer._awaited


class Outdated(Reconciler):
    """Its writes conflict, until the cache has version 9."""

    def __init__(self, cache):
        super().__init__(client=None)
        self.cache = cache
        self.calls = 0

    async def reconcile(self, request):
        """Write what was read, as the client does."""
        self.calls += 1
        if self.cache.informer.store.peek(A).resource_version == "8":
            current_reconcile.get().conflicted(self.cache, WIDGET, A, "8")
            raise Conflict(409, "Conflict", "the object has been modified", StatusDetails())


async def test_the_retry_of_a_conflict_waits_for_the_other_write(running):
    """It would read the same state, and conflict again."""
    clock, cache = VirtualClock(), Mirrors()
    cache.informer.upsert(A, widget("a", "8"), listed=True)
    reconciler = Outdated(cache)
    controller = Controller("widget", reconciler, clock=clock)
    running(controller.run())
    controller.queue.add(Request("default", "a"))
    for _ in range(4):
        await turn()
        clock.advance(timedelta(seconds=1))
    assert reconciler.calls == 1
    cache.informer.upsert(A, widget("a", "9"), listed=False)
    await turn()
    assert reconciler.calls == 2
    assert not clock.pending


def config(**fields):
    """An object that the server knows without a CRD."""
    return ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), **fields)


@pytest.fixture
def reconcile():
    """The context of a running reconcile."""
    context = ReconcileContext("config", "", Request("default", "a"))
    token = current_reconcile.set(context)
    yield context
    current_reconcile.reset(token)


async def patched(client, old):
    """Patch with the version that was read."""
    patch = merge_from(old, optimistic_lock=True)
    old.data = {"a": "3"}
    await client.patch(old, patch)


WRITES = {
    "update": lambda client, old: client.update(old),
    "patch": patched,
    "delete": lambda client, old: client.delete(old, resource_version=old.metadata.resource_version),
    "apply": lambda client, old: client.apply(
        config(), field_manager="x", resource_version=old.metadata.resource_version
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_the_client_notes_which_version_is_outdated(reconcile, write):
    """Every write that names the version which it starts from."""
    client = fake_client()
    old = await client.create(config(data={"a": "1"}))
    cache = Mirrors(ConfigMap.gvk)
    cache.informer.upsert(A, old.to_wire(), listed=True)
    new = await client.update(ConfigMap.from_wire(old.to_wire() | {"data": {"a": "2"}}))
    client._exchange.cache = cache
    with pytest.raises(Conflict):
        await write(client, old)
    (unseen,) = reconcile.unseen
    assert not unseen.done()
    cache.informer.upsert(A, new.to_wire(), listed=False)
    assert unseen.done()


async def test_a_deletion_is_awaited_until_the_mirror_has_lost_the_object(reconcile):
    """The API server answers with a status, which has no version. Events from before the deletion are not enough."""
    cache = Mirrors()
    cache.informer.upsert(A, widget("a", "7", metadata={"uid": "u"}), listed=True)
    reconcile.deleted(cache, WIDGET, A, {"kind": "Status", "status": "Success", "details": {"name": "a", "uid": "u"}})
    (unseen,) = reconcile.unseen
    cache.informer.upsert(A, widget("a", "8", metadata={"uid": "u"}), listed=False)
    assert not unseen.done()
    cache.informer.remove(A, widget("a", "9", metadata={"uid": "u"}))
    assert unseen.done()


async def test_a_deletion_that_answers_with_the_object_is_awaited(reconcile):
    """As that of a pod. Its version is that of the removal."""
    client = fake_client()
    old = await client.create(config())
    cache = Mirrors(ConfigMap.gvk)
    cache.informer.upsert(A, old.to_wire(), listed=True)
    client._exchange.cache = cache
    await client.delete(old)
    (unseen,) = reconcile.unseen
    assert not unseen.done()
    cache.informer.remove(A, old.to_wire() | {"metadata": old.to_wire()["metadata"] | {"resourceVersion": "99"}})
    assert unseen.done()


async def test_the_deletion_of_an_object_that_stays_is_awaited_by_its_version(reconcile):
    """Its finalizers run later, perhaps much later."""
    client = fake_client()
    old = await client.create(config())
    old.metadata.finalizers = ["example.com/clean-up"]
    await client.update(old)
    cache = Mirrors(ConfigMap.gvk)
    cache.informer.upsert(A, old.to_wire(), listed=True)
    client._exchange.cache = cache
    await client.delete(old)
    (unseen,) = reconcile.unseen
    assert not unseen.done()
    deleted = await client.live.get(ConfigMap, A)
    cache.informer.upsert(A, deleted.to_wire(), listed=False)
    assert unseen.done()


@pytest.mark.parametrize("uid", ["", "of-a-successor"])
async def test_a_deletion_that_the_mirror_has_is_not_awaited(reconcile, uid):
    """Its event may come before the answer, also with a new object of that name after it."""
    client = fake_client()
    old = await client.create(config())
    client._exchange.cache = cache = Mirrors(ConfigMap.gvk)
    if uid:
        new = old.to_wire()
        new["metadata"] |= {"uid": uid, "resourceVersion": "99"}
        cache.informer.upsert(A, new, listed=True)
    await client.delete(old)
    assert not reconcile.unseen


async def test_a_conflict_about_the_owner_of_a_field_is_not_awaited(reconcile):
    """No later version would solve it."""
    client = fake_client()
    await client.apply(config(data={"a": "1"}), field_manager="one")
    client._exchange.cache = cache = Mirrors(ConfigMap.gvk)
    with pytest.raises(Conflict):
        await client.apply(config(data={"a": "2"}), field_manager="two")
    assert not reconcile.unseen
    assert not cache.informer._awaited
