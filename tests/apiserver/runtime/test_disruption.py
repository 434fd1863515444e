"""What breaks between a manager and its API server, and that nothing is lost by it."""

import asyncio
import copy
from datetime import timedelta

import pytest

from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import ApiError, NoKindMatch
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import ControllerBuilder, Reconciler
from pykb.testing import eventually, running

from .conftest import WIDGETS, Etcd, Widget, WidgetSpec, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

LONG = timedelta(seconds=90)
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


class Known(Reconciler):
    """Knows which objects there are, from its requests only."""

    def __init__(self, client):
        super().__init__(client)
        self.sizes = {}

    async def reconcile(self, request):
        """Note one object."""
        found = await self.client.find(Widget, request)
        if found is None:
            self.sizes.pop(request.name, None)
        else:
            self.sizes[request.name] = found.spec.size


async def undefine(client):
    """Delete the kind, and with it its objects."""
    name = f"widgets.{WIDGETS['spec']['group']}"
    await client.delete(DEFINITION, name)

    async def is_gone():
        assert await client.find(DEFINITION, name) is None

    await eventually(is_gone, timeout=LONG)


async def create(client, name):
    """Create an object as soon as the kind is served."""
    try:
        await client.create(Widget(metadata=ObjectMeta(name=name, namespace="default")))
    except (ApiError, NoKindMatch) as error:
        raise AssertionError from error


async def test_objects_deleted_while_disconnected_are_noticed_after_compaction(own_plane):
    """A deletion that no watch can tell any more (410) is found by comparing the new list with what was known."""
    async with client_for(own_plane) as client:
        manager = manager_for(own_plane)
        known = Known(manager.client)
        ControllerBuilder(manager).for_(Widget).complete(known)
        for name in ("g1", "g2", "g3"):
            await client.create(Widget(metadata=ObjectMeta(name=name, namespace="default"), spec=WidgetSpec(size=1)))
        async with running(manager):
            await eventually(lambda: set(known.sizes) == {"g1", "g2", "g3"})
            own_plane.kill()
            etcd = Etcd(own_plane)
            await etcd.delete("default", "g2")
            await etcd.compact()
            own_plane.restart()
            changed = await client.get(Widget, "default/g3")
            changed.spec.size = 7
            await client.update(changed)
            await eventually(lambda: known.sizes == {"g1": 1, "g3": 7}, timeout=LONG)
            assert await manager.client.find(Widget, "default/g2") is None


async def test_an_apiserver_that_restarts_costs_no_event(own_plane):
    """A change made right after it is reconciled; the watch goes on by itself."""
    async with client_for(own_plane) as client:
        manager = manager_for(own_plane)
        known = Known(manager.client)
        ControllerBuilder(manager).for_(Widget).complete(known)
        async with running(manager):
            await asyncio.to_thread(own_plane.kill)
            await asyncio.to_thread(own_plane.restart)
            await client.create(Widget(metadata=ObjectMeta(name="w", namespace="default")))
            await eventually(lambda: "w" in known.sizes, timeout=LONG)


async def test_a_version_that_is_no_longer_served_is_told_and_picked_up_again(own_plane):
    """What is known stays readable; the problem says what to look at; nothing that happened meanwhile is lost."""
    second = copy.deepcopy(WIDGETS)
    second["spec"]["versions"].append({**second["spec"]["versions"][0], "name": "v2", "storage": False})
    manager = manager_for(own_plane)
    known = Known(manager.client)
    ControllerBuilder(manager).for_(Widget).complete(known)
    async with client_for(own_plane) as client:
        await client.apply(copy.deepcopy(second), force=True)
        await eventually(lambda: create(client, "before"), timeout=LONG)
        async with running(manager):
            await eventually(lambda: "before" in known.sizes, timeout=LONG)
            unserved = copy.deepcopy(second)
            unserved["spec"]["versions"][0]["served"] = False
            await client.apply(unserved, force=True)
            informer = manager.cache.informer(Widget)
            await eventually(lambda: "no longer serves `widgets" in (informer.problem or ""), timeout=LONG)
            meanwhile = {"apiVersion": "runtime.example.com/v2", "kind": "Widget", "spec": {"size": 3}}
            where = {"metadata": {"name": "meanwhile", "namespace": "default"}}
            await eventually(lambda: _made(client, {**meanwhile, **where}), timeout=LONG)
            assert (await manager.client.get(Widget, "default/before")).metadata.name == "before"
            await client.apply(copy.deepcopy(second), force=True)
            await eventually(lambda: "meanwhile" in known.sizes, timeout=LONG)


async def _made(client, obj):
    try:
        await client.create(obj)
    except (ApiError, NoKindMatch) as error:
        raise AssertionError(f"not served yet: {error}") from error


async def test_a_kind_whose_definition_comes_later_is_picked_up(own_plane):
    """A manager may start before its CRD is installed, and survives its deletion and return."""
    async with client_for(own_plane) as client:
        await undefine(client)
        manager = manager_for(own_plane)
        known = Known(manager.client)
        ControllerBuilder(manager).for_(Widget).complete(known)
        task = asyncio.create_task(manager.start())
        await asyncio.sleep(0.5)
        assert not task.done()
        for name in ("first", "second"):
            await client.create(copy.deepcopy(WIDGETS))
            await eventually(lambda name=name: create(client, name), timeout=LONG)
            await eventually(lambda name=name: set(known.sizes) == {name}, timeout=LONG)
            await undefine(client)
        manager.stop()
        await task
