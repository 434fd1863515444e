"""Lists, pages, selectors and watches, on both API servers."""

import asyncio
import json

import pytest

from pykb.api.core.v1 import ConfigMap, Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import MergePatch
from pykb.client._reader import EventType
from pykb.client.connection import Call
from pykb.client.errors import ApiError, BadRequest


def _config_map(namespace, name, **labels):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or None))


def _names(items):
    return [item.metadata.name for item in items]


async def _take(events, number):
    async with asyncio.timeout(60):
        return [await anext(events) for _ in range(number)]


async def test_a_list_is_in_order_of_names(client, namespace):
    """Whatever the order in which they were made."""
    for name in "cab":
        await client.create(_config_map(namespace, name))
    found = await client.list(ConfigMap, namespace=namespace)
    assert _names(found) == ["a", "b", "c"]
    assert found.continue_token is None


async def test_a_list_is_of_one_namespace_or_of_all(client, namespace):
    """Without a namespace, objects of every namespace are there."""
    await client.create(_config_map(namespace, "a"))
    everywhere = await client.list(ConfigMap)
    assert (namespace, "a") in [(item.metadata.namespace, item.metadata.name) for item in everywhere]
    assert _names(await client.list(ConfigMap, namespace="no-such-namespace")) == []


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=web", ["a", "b"]),
        ("app==web,tier=front", ["a"]),
        ("app!=web", ["c", "d"]),
        ("app in (web,db)", ["a", "b", "c"]),
        ("app notin (web)", ["c", "d"]),
        ("tier", ["a"]),
        ("!app", ["d"]),
        ({"app": "web", "tier": "front"}, ["a"]),
    ],
)
async def test_labels_select(client, namespace, selector, names):
    """Every operator of a label selector."""
    await client.create(_config_map(namespace, "a", app="web", tier="front"))
    await client.create(_config_map(namespace, "b", app="web"))
    await client.create(_config_map(namespace, "c", app="db"))
    await client.create(_config_map(namespace, "d"))
    assert _names(await client.list(ConfigMap, namespace=namespace, labels=selector)) == names


async def test_fields_select(client, namespace, widgets):
    """Name and namespace everywhere, and what the CRD makes selectable."""
    await client.create(widgets.make(namespace, "r"))
    await client.create(widgets.make(namespace, "b", color="blue"))
    assert _names(await client.list(widgets.Kind, namespace=namespace, fields="metadata.name=r")) == ["r"]
    assert _names(await client.list(widgets.Kind, namespace=namespace, fields="metadata.name!=r")) == ["b"]
    assert _names(await client.list(widgets.Kind, namespace=namespace, fields={"spec.color": "blue"})) == ["b"]
    assert _names(await client.list(widgets.Kind, fields=f"metadata.namespace={namespace}")) == ["b", "r"]


@pytest.mark.parametrize("selectors", [{"fields": "data.k=v"}, {"labels": "a=b=c"}])
async def test_a_selector_that_is_not_understood_is_refused(client, namespace, selectors):
    """A bad request, not an empty list."""
    with pytest.raises(BadRequest):
        await client.list(ConfigMap, namespace=namespace, **selectors)


async def test_pages_follow_each_other(client, namespace):
    """Each object once, with a count of what is left."""
    for number in range(5):
        await client.create(_config_map(namespace, f"c{number}"))
    first = await client.list(ConfigMap, namespace=namespace, limit=2)
    assert (_names(first), first.remaining_item_count) == (["c0", "c1"], 3)
    second = await client.list(ConfigMap, namespace=namespace, limit=2, continue_token=first.continue_token)
    assert (_names(second), second.remaining_item_count) == (["c2", "c3"], 1)
    last = await client.list(ConfigMap, namespace=namespace, limit=2, continue_token=second.continue_token)
    assert (_names(last), last.continue_token) == (["c4"], None)


async def test_a_bad_continue_token_is_refused(client, namespace):
    """It is the server's own."""
    with pytest.raises(BadRequest):
        await client.list(ConfigMap, namespace=namespace, limit=1, continue_token="nonsense")


async def test_cluster_scoped_kinds_are_listed(client, namespace):
    """Without a namespace."""
    assert namespace in _names(await client.list(Namespace))


async def test_a_watch_shows_every_change_in_order(client, namespace):
    """Made, changed, deleted: with the state after it, and rising versions."""
    listed = await client.list(ConfigMap, namespace=namespace)
    async with client.watch(ConfigMap, namespace=namespace, resource_version=listed.resource_version) as events:
        obj = await client.create(_config_map(namespace, "a"))
        await client.patch(obj, MergePatch({"data": {"k": "v"}}))
        await client.delete(obj)
        seen = await _take(events, 3)
    assert [event.type for event in seen] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
    assert seen[1].object.data == {"k": "v"}
    versions = [int(event.object.metadata.resource_version) for event in seen]
    assert versions == sorted(set(versions))


async def test_a_watch_from_nowhere_begins_with_what_is_there(client, namespace):
    """ADDED for each."""
    await client.create(_config_map(namespace, "a"))
    await client.create(_config_map(namespace, "b"))
    async with client.watch(ConfigMap, namespace=namespace) as events:
        seen = await _take(events, 2)
    assert [(event.type, event.object.metadata.name) for event in seen] == [
        (EventType.ADDED, "a"),
        (EventType.ADDED, "b"),
    ]


async def test_a_watch_of_a_selection_adds_and_deletes_by_it(client, namespace):
    """An object that comes to be selected is added, one that ceases is deleted."""
    async with client.watch(ConfigMap, namespace=namespace, labels="on=yes") as events:
        pending = asyncio.create_task(_take(events, 3))
        await asyncio.sleep(0.2)
        obj = await client.create(_config_map(namespace, "a", on="no"))
        await client.patch(obj, MergePatch({"metadata": {"labels": {"on": "yes"}}}))
        await client.patch(obj, MergePatch({"data": {"k": "v"}}))
        await client.patch(obj, MergePatch({"metadata": {"labels": {"on": "no"}}}))
        seen = await pending
    assert [event.type for event in seen] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]


async def test_a_watch_is_of_its_namespace(client, namespace):
    """Changes elsewhere are not seen."""
    listed = await client.list(ConfigMap, namespace=namespace)
    async with client.watch(ConfigMap, namespace=namespace, resource_version=listed.resource_version) as events:
        other = await client.create(ConfigMap(metadata=ObjectMeta(generate_name="x-", namespace="default")))
        await client.create(_config_map(namespace, "mine"))
        assert [event.object.metadata.name for event in await _take(events, 1)] == ["mine"]
    await client.delete(other)


async def test_finalizers_are_seen_by_a_watch(client, namespace):
    """A held deletion is a change; the deletion comes with the last finalizer."""
    obj = _config_map(namespace, "a")
    obj.metadata.finalizers = ["example.com/a"]
    await client.create(obj)
    version = obj.metadata.resource_version
    async with client.watch(ConfigMap, namespace=namespace, resource_version=version) as events:
        await client.delete(obj)
        await client.patch(obj, MergePatch({"metadata": {"finalizers": None}}))
        seen = await _take(events, 2)
    assert [event.type for event in seen] == [EventType.MODIFIED, EventType.DELETED]
    assert seen[0].object.metadata.deletion_timestamp is not None


async def test_writes_that_change_nothing_are_not_seen(client, namespace):
    """No event for them."""
    obj = await client.create(_config_map(namespace, "a"))
    async with client.watch(ConfigMap, namespace=namespace, resource_version=obj.metadata.resource_version) as events:
        await client.update(obj)
        await client.patch(obj, MergePatch({"metadata": {"labels": None}}))
        await client.create(_config_map(namespace, "b"))
        assert [event.object.metadata.name for event in await _take(events, 1)] == ["b"]


async def test_discovery_knows_what_is_served(client, widgets):
    """Built-in and custom kinds, with scope and subresources."""
    found = {mapping.gvk: mapping for mapping in await client.mapper.all()}
    assert found[ConfigMap.gvk].namespaced
    assert not found[Namespace.gvk].namespaced
    mapping = await client.mapper.mapping(widgets.gvk)
    assert (mapping.plural, mapping.namespaced, set(mapping.subresources)) == ("widgets", True, {"status", "scale"})


async def test_a_list_may_be_of_an_earlier_version(client, namespace):
    """Exactly that: its objects as they were, with its version."""
    a = await client.create(_config_map(namespace, "a", tier="old"))
    b = await client.create(_config_map(namespace, "b"))
    await client.patch(a, MergePatch({"metadata": {"labels": {"tier": "new"}}}))
    await client.delete(b)
    await client.create(_config_map(namespace, "c"))
    version = b.metadata.resource_version
    query = (("resourceVersion", version), ("resourceVersionMatch", "Exact"))
    call = Call("GET", f"/api/v1/namespaces/{namespace}/configmaps", query=query)
    found = json.loads(await client.connection.request(call))
    own = {item["metadata"]["name"]: item["metadata"].get("labels") for item in found["items"]}
    own.pop("kube-root-ca.crt", None)
    assert own == {"a": {"tier": "old"}, "b": None}
    assert found["metadata"]["resourceVersion"] == version


async def test_no_list_is_exactly_of_version_zero(client, namespace):
    """Zero means any."""
    query = (("resourceVersion", "0"), ("resourceVersionMatch", "Exact"))
    with pytest.raises(ApiError, match="is forbidden for resourceVersion"):
        await client.connection.request(Call("GET", f"/api/v1/namespaces/{namespace}/configmaps", query=query))
