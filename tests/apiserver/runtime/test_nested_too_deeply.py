"""Objects that no JSON parser of Python reads, on a real API server: they hide no other object."""

import asyncio
import logging

import kopf
import pytest

from pykb.api.unreadable import UnreadableObject
from pykb.client.connection import Call
from pykb.client.json_text import CUT
from pykb.client.listwatch import LISTED, ClientListWatch, WatchTarget
from pykb.meta.gvk import GroupVersionResource, NamespacedName
from pykb.runtime import ControllerBuilder, InformerCache, MergePatch, Reconciler
from pykb.testing import eventually, running

from .conftest import Widget, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

RESOURCE = GroupVersionResource("runtime.example.com", "v1", "widgets")
DEPTHS = (300, 1100, 3000, 9000)
"""Beyond the writer, the parsers, and near the limit of the API server."""
CHANGED_DEPTHS = DEPTHS[:2]
"""Of objects that are written, watched and deleted: what counts is whether a parser reads them."""


def nested(depth):
    """JSON of this many levels."""
    return '{"a":' * depth + "1" + "}" * depth


async def send(client, namespace, name, value, *, size=1, **metadata):
    """Create or replace a widget with any JSON as `spec.x`."""
    members = "".join(f', "{key}": {given}' for key, given in metadata.items())
    body = (
        f'{{"apiVersion": "runtime.example.com/v1", "kind": "Widget", "spec": {{"size": {size}, "x": {value}}},'
        f' "metadata": {{"name": "{name}", "namespace": "{namespace}"{members}}}}}'
    ).encode()
    path = f"/apis/runtime.example.com/v1/namespaces/{namespace}/widgets"
    method, where = ("PUT", f"{path}/{name}") if "resourceVersion" in metadata else ("POST", path)
    return await client.connection.request(Call(method, where, body=body))


async def version_of(client, namespace, name):
    """The version of a widget that cannot be read."""
    with pytest.raises(UnreadableObject) as caught:
        await client.live.get(Widget.gvk, f"{namespace}/{name}")
    return f'"{caught.value.resource_version}"'


async def make(client, namespace, depths):
    """Create widgets that are nested deeply, and one that is not."""
    for depth in depths:
        await send(client, namespace, f"deep-{depth}", nested(depth))
    await send(client, namespace, "good", "1", size=5)


@pytest.fixture(scope="module")
def every_depth(widgets):
    """A namespace with objects of every depth, to read. The deepest takes the API server half a second."""
    name = "every-depth"
    assert widgets.rest().call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).ok

    async def fill():
        async with client_for(widgets) as client:
            await make(client, name, DEPTHS)

    asyncio.run(fill())
    return name


@pytest.fixture
async def reader(widgets):
    """A client that leaves everything as it is."""
    async with client_for(widgets) as client:
        yield client


@pytest.fixture
async def client(widgets, namespace):
    """A client; there are widgets that are nested deeply, and one that is not."""
    async with client_for(widgets) as client:
        await make(client, namespace, CHANGED_DEPTHS)
        yield client


async def test_reading_one_says_that_it_is_nested_too_deeply(reader, every_depth):
    """An object that the parser reads is read. The others name themselves."""
    assert (await reader.get(Widget, f"{every_depth}/deep-300")).spec.size == 1
    for depth in DEPTHS[1:]:
        for kind in (Widget, Widget.gvk):
            with pytest.raises(UnreadableObject) as caught:
                await reader.get(kind, f"{every_depth}/deep-{depth}")
            named = f"`Widget` {every_depth}/deep-{depth}"
            assert str(caught.value) == f"{named} cannot be read: `spec.x.a` is nested deeper than 250 levels"
            assert caught.value.resource_version


async def test_a_list_has_the_others_and_says_what_it_left_out(reader, every_depth):
    """By request, page by page, and from the cache."""
    for kind in (Widget, Widget.gvk):
        found = await reader.list(kind, namespace=every_depth)
        assert "good" in {item.metadata.name if kind is Widget else item.key.name for item in found}
        assert {error.key.name for error in found.unreadable} >= {"deep-1100", "deep-3000", "deep-9000"}
        assert found.resource_version
    names = [item.metadata.name async for item in reader.iterate(Widget, namespace=every_depth, page_size=1)]
    assert names[-1] == "good"
    async with InformerCache.of(reader) as informers:
        lister = informers.lister(Widget)
        await informers.wait_for_sync()
        cached = await reader.with_cache(informers).list(Widget, namespace=every_depth)
        assert [item.metadata.name for item in cached] == ["good"]
        assert sorted(error.key.name for error in cached.unreadable) == sorted(f"deep-{depth}" for depth in DEPTHS)
        with pytest.raises(UnreadableObject):
            lister.get("deep-300", namespace=every_depth)


async def test_a_page_of_many_has_all_but_the_one(client, namespace):
    """A list of several pages. The continue token comes after the objects."""
    await asyncio.gather(*(send(client, namespace, f"w{number:03}", "1") for number in range(150)))
    target = WatchTarget(Widget.gvk, RESOURCE, namespaced=True, namespace=namespace, page_size=100)
    found, marked = [], []
    stream = ClientListWatch(client).stream(target)
    async for item in stream:
        if item is LISTED:
            break
        (marked if CUT in item["object"] else found).append(item["object"]["metadata"]["name"])
    await stream.aclose()
    assert len(found) + len(marked) == 153
    assert {"good", "w000", "w149"} <= set(found)


async def test_a_watch_goes_on_after_one(client, namespace):
    """Its version is seen, its changes are left out, and it comes back when it can be read."""
    start = (await client.list(Widget, namespace=namespace)).resource_version
    async with asyncio.timeout(60), client.watch(Widget, namespace=namespace, resource_version=start) as events:
        await send(client, namespace, "worse", nested(2000))
        await send(client, namespace, "next", "1")
        event = await anext(events)
        assert (event.type, event.object.metadata.name) == ("ADDED", "next")
        before = events.resource_version
        version = await version_of(client, namespace, "worse")
        assert int(before) > int(version.strip('"'))
        await send(client, namespace, "worse", "1", size=7, resourceVersion=version)
        event = await anext(events)
        assert (event.type, event.object.metadata.name, event.object.spec.size) == ("MODIFIED", "worse", 7)


async def test_a_write_is_done_and_says_that_the_answer_cannot_be_read(client, namespace):
    """A merge patch of its labels arrives. One that removes the deep value gets an answer that can be read."""
    where = {"name": "deep-1100", "namespace": namespace}
    untyped = {"apiVersion": Widget.gvk.api_version, "kind": "Widget", "metadata": where}
    for target in (untyped, Widget(metadata=where)):
        with pytest.raises(UnreadableObject):
            await client.patch(target, MergePatch({"metadata": {"labels": {"a": "b"}}}))
    assert untyped["metadata"] == where
    typed = Widget(metadata=where)
    await client.patch(typed, MergePatch({"spec": {"x": None}}))
    assert typed.metadata.labels == {"a": "b"}


async def test_the_mirror_sees_one_come_heal_and_go(client, namespace):
    """No deletion is missed or made up, also when the list was made before and after."""
    async with InformerCache.of(client) as informers:
        informer = informers.informer(Widget)
        heard = []
        informer.add_handler(lambda event: heard.append((str(event.type), event.name)))
        await informers.wait_for_sync()
        heard.clear()
        await send(client, namespace, "one", "1")
        await eventually(lambda: ("create", "one") in heard)
        version = f'"{(await client.get(Widget, f"{namespace}/one")).metadata.resource_version}"'
        await send(client, namespace, "one", nested(4000), resourceVersion=version)
        await eventually(lambda: ("update", "one") in heard)
        with pytest.raises(UnreadableObject):
            informer.lister.get("one", namespace=namespace)
        version = await version_of(client, namespace, "one")
        await send(client, namespace, "one", "1", size=9, resourceVersion=version)
        await eventually(lambda: heard.count(("update", "one")) == 2)
        assert informer.lister.get("one", namespace=namespace).spec.size == 9
        await client.delete(Widget, f"{namespace}/deep-1100")
        await eventually(lambda: ("delete", "deep-1100") in heard)
        assert [event for event in heard if event[0] == "delete"] == [("delete", "deep-1100")]


async def test_an_operator_reconciles_the_others_and_lets_the_deep_one_go(client, widgets, namespace, caplog):
    """The deep one is an error of its own, is counted, and its finalizer still runs."""
    await send(client, namespace, "leaving", nested(2000), size=8, finalizers='["example.com/f"]')
    manager = manager_for(widgets, namespaces=(namespace,))
    done: dict[str, int] = {}
    gone: dict[str, int] = {}

    def is_gone(manager):
        return NamespacedName(namespace, "leaving") not in manager.cache.informer(Widget).store

    class Sizer(Reconciler):
        async def reconcile(self, request):
            found = await self.client.get(Widget, request)
            if found.metadata.deletion_timestamp:
                gone[found.metadata.name] = found.spec.size
                await self.client.patch(found, MergePatch({"metadata": {"finalizers": None}}))
            else:
                done[found.metadata.name] = found.spec.size

    typed = [lambda event: event.object.spec.size >= 0]
    ControllerBuilder(manager).for_(Widget, predicates=typed).complete(Sizer(manager.client))
    counted = {"group": "runtime.example.com", "version": "v1", "kind": "Widget"}
    async with running(manager):
        await eventually(lambda: done == {"good": 5})
        await send(client, namespace, "later", "100000000000000000000", size=6)
        await send(client, namespace, "worse", nested(2000))
        await send(client, namespace, "last", "1", size=7)
        await eventually(lambda: done == {"good": 5, "later": 6, "last": 7})
        assert manager.metrics.registry.get_sample_value("pykb_unreadable_objects_total", counted) >= 1
        await client.delete(Widget, f"{namespace}/leaving")
        await eventually(lambda: gone == {"leaving": 8})
        await eventually(lambda: is_gone(manager))
    unexpected = ("watch ended unexpectedly", "event handler failed")
    assert not [record for record in caplog.records if record.getMessage() in unexpected]
    assert any("nested deeper than 250 levels" in getattr(record, "error", "") for record in caplog.records)


async def test_a_large_float_does_not_stop_the_cache(client, namespace):
    """The API server writes 1e20 as an integer that has more than 64 bits."""
    await send(client, namespace, "large", "1e20")
    async with InformerCache.of(client) as informers:
        lister = informers.lister(Widget.gvk)
        await informers.wait_for_sync()
        found = lister.get("large", namespace=namespace)
        assert found.data["spec"]["x"] == 1e20
        await client.update(found)
        assert (await client.get(Widget.gvk, f"{namespace}/large")).data["spec"]["x"] == 1e20


async def test_handlers_of_kopf_hear_of_the_others(client, widgets, namespace, caplog):
    """A deep one is skipped with a warning. One that becomes too deep is not taken for deleted, until it is."""
    await send(client, namespace, "one", "1")
    registry = kopf.OperatorRegistry()
    seen: list[tuple[str | None, str]] = []

    @kopf.on.event("runtime.example.com", "v1", "widgets", registry=registry)
    def note(event, name, **_):
        seen.append((event["type"], name))

    manager = manager_for(widgets, namespaces=(namespace,))
    manager.add_kopf_handlers(registry)
    async with running(manager):
        await eventually(lambda: {(None, "good"), (None, "one")} <= set(seen))
        version = f'"{(await client.get(Widget, f"{namespace}/one")).metadata.resource_version}"'
        await send(client, namespace, "one", nested(2000), resourceVersion=version)
        await send(client, namespace, "later", "1")
        await eventually(lambda: ("ADDED", "later") in seen)
        assert ("DELETED", "one") not in seen
        await client.delete(Widget, f"{namespace}/one")
        await eventually(lambda: ("DELETED", "one") in seen)
        await client.delete(Widget, f"{namespace}/deep-1100")
        await send(client, namespace, "end", "1")
        await eventually(lambda: ("ADDED", "end") in seen)
    assert not any(name.startswith("deep") for _, name in seen)
    told = [record for record in caplog.records if record.getMessage() == "handlers get no events of an object"]
    assert {record.object for record in told} >= {f"{namespace}/deep-{depth}" for depth in CHANGED_DEPTHS}
    assert {record.levelno for record in told} == {logging.WARNING}
