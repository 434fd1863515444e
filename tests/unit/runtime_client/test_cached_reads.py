"""Reads of kinds that a cache watches: answered from it, with the same answers as the server's."""

import pytest

from pykb.api.core.v1 import ConfigMap, Namespace, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client
from pykb.client.errors import NotFound
from pykb.client.selectors import FieldSelector, LabelSelector
from pykb.runtime.fake import FakeApiServer


class Snapshot:
    """A cache of ConfigMaps that were listed once."""

    def __init__(self, objects):
        self.objects = {(obj.metadata.namespace, obj.metadata.name): obj for obj in objects}

    def has(self, gvk, namespace=None):
        return gvk == ConfigMap.gvk

    async def get(self, gvk, namespace, name):
        found = self.objects.get((namespace, name))
        return found.to_wire() if found else None

    async def list(self, gvk, *, namespace=None, labels=None, fields=None):
        selector = LabelSelector.parse(labels or "")
        wires = [obj.to_wire() for key, obj in sorted(self.objects.items()) if namespace in (None, key[0])]
        text = ",".join(f"{name}={value}" for name, value in (fields or {}).items())
        return [
            wire
            for wire in wires
            if selector.matches(wire["metadata"].get("labels")) and FieldSelector.parse(text).matches(wire)
        ]


@pytest.fixture
async def cached():
    """A client with a cache, and the server behind it."""
    server = FakeApiServer()
    client = Client(server)
    for name in "ab":
        metadata = ObjectMeta(name=name, namespace="default", labels={"n": name})
        await client.create(ConfigMap(metadata=metadata, data={"k": name}))
    snapshot = Snapshot(await client.list(ConfigMap, namespace="default"))
    server.calls.clear()
    return client.with_cache(snapshot), server


async def test_reads_of_a_watched_kind_make_no_request(cached):
    """Typed and untyped, one and many."""
    client, server = cached
    assert (await client.get(ConfigMap, "default/a")).data == {"k": "a"}
    assert (await client.get(ConfigMap.gvk, "default/a")).data["data"] == {"k": "a"}
    assert [item.metadata.name for item in await client.list(ConfigMap)] == ["a", "b"]
    assert [item.metadata.name for item in await client.list(ConfigMap, labels={"n": "b"})] == ["b"]
    assert [item.metadata.name for item in await client.list(ConfigMap, fields={"metadata.name": "b"})] == ["b"]
    assert len(await client.list(ConfigMap, limit=1)) == 1
    assert await client.find(ConfigMap, "default/none") is None
    assert all("configmaps" not in call.path for call in server.calls)


async def test_what_the_cache_lacks_is_not_found_in_the_servers_words(cached):
    """So that the caller need not know where the answer came from."""
    client, _ = cached
    with pytest.raises(NotFound) as caught:
        await client.get(ConfigMap, "default/none")
    with pytest.raises(NotFound) as live:
        await client.live.get(ConfigMap, "default/none")
    assert caught.value.message == live.value.message
    assert caught.value.details == live.value.details


async def test_other_kinds_the_live_client_and_other_users_ask_the_server(cached):
    """Only watched kinds are cached, `live` never, and nobody reads with the rights of someone else."""
    client, server = cached
    await client.get(Namespace, "default")
    await client.list(Secret, namespace="default")
    await client.live.get(ConfigMap, "default/a")
    await client.impersonate("ann").get(ConfigMap, "default/a")
    await client.list(ConfigMap, namespace="default", resource_version="0")
    assert len(server.calls) == 5


async def test_variants_keep_the_cache(cached):
    """A namespaced client, or one with another field manager, reads from it too."""
    client, server = cached
    assert (await client.namespaced("default").get(ConfigMap, "a")).data == {"k": "a"}
    assert len(await client.with_options(field_manager="me").list(ConfigMap)) == 2
    with pytest.raises(ValueError, match="restricted to namespace"):
        await client.namespaced("other").get(ConfigMap, "default/a")
    assert server.calls == []


async def test_a_selector_that_a_cache_cannot_answer_says_who_can(cached):
    """Inequality is the server's."""
    client, _ = cached
    with pytest.raises(ValueError, match=r"client\.live"):
        await client.list(ConfigMap, fields="metadata.name!=a")
    assert len(await client.live.list(ConfigMap, namespace="default", fields="metadata.name!=a")) == 1


async def test_what_a_cache_gives_is_the_callers(cached):
    """Changing it changes nothing in the cache."""
    client, _ = cached
    found = await client.get(ConfigMap, "default/a")
    found.data["k"] = "changed"
    assert (await client.get(ConfigMap, "default/a")).data == {"k": "a"}
