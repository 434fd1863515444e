"""Informers and listers without a manager: what a program reads of a cluster that it follows."""

from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap, Namespace, Secret
from pykb.api.meta.v1 import ObjectMeta, OwnerReference
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import (
    ALL_NAMESPACES,
    CacheOptions,
    CacheSyncTimeout,
    InformerCache,
    InformerOptions,
    MergePatch,
    NamespaceSelection,
)
from pykb.testing import eventually

pytestmark = pytest.mark.apiserver


def config_map(namespace, name, labels=None, **data):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), data=data or None)


def names(objects):
    """Who is there."""
    return [found.metadata.name for found in objects]


def only(namespace, **options):
    """Options for informers of one namespace, so that tests do not see each other."""
    return CacheOptions(default=InformerOptions(namespaces=(namespace,), **options))


async def test_a_lister_reads_by_name_namespace_and_labels(client, namespace):
    """Typed copies from memory, in order; what is not there is None."""
    await client.create(config_map(namespace, "b", {"tier": "web"}))
    await client.create(config_map(namespace, "a", {"tier": "db"}))
    async with InformerCache.of(client, only(namespace)) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert names(lister.list(namespace=namespace, labels="tier")) == ["a", "b"]
        assert names(lister.list(labels={"tier": "web"})) == ["b"]
        assert names(lister.list(namespace=namespace, labels="tier in (db, cache)")) == ["a"]
        assert lister.get("a", namespace=namespace).metadata.labels == {"tier": "db"}
        assert lister.get("a", namespace="default") is None
        lister.get("a", namespace=namespace).metadata.labels = {}
        assert lister.get("a", namespace=namespace).metadata.labels == {"tier": "db"}


async def test_handlers_see_the_object_before_and_after(client, namespace):
    """Creations (marked when they are of the first list), changes with both states, deletions with the last one."""
    await client.create(config_map(namespace, "x", step="1"))
    heard = []

    def hear(event):
        if event.name == "x":
            heard.append((str(event.type), event.initial, event.old.data, event.object.data))

    async with InformerCache.of(client, only(namespace)) as informers:
        informers.informer(ConfigMap).add_handler(hear)
        await informers.wait_for_sync()
        await client.patch(config_map(namespace, "x"), MergePatch({"data": {"step": "2"}}))
        await client.delete(ConfigMap, f"{namespace}/x")
        await eventually(lambda: len(heard) == 3)
    assert heard == [
        ("create", True, {"step": "1"}, {"step": "1"}),
        ("update", False, {"step": "1"}, {"step": "2"}),
        ("delete", False, {"step": "2"}, {"step": "2"}),
    ]


async def test_one_mirror_serves_everybody_who_asks_for_a_kind(client, namespace):
    """Informers are shared, and one that is asked for late starts at once."""
    await client.create(config_map(namespace, "x"))
    async with InformerCache.of(client, only(namespace)) as informers:
        first, second = informers.informer(ConfigMap), informers.informer(ConfigMap)
        assert first is second
        await first.wait_for_sync()
        assert first.lister.get("x", namespace=namespace) is not None
        late = informers.informer(Secret)
        assert late is not first
        await late.wait_for_sync()


async def test_an_index_has_typed_objects(client, namespace):
    """`index_field` gives the function an object of the class; one value, several, or none."""
    await client.create(config_map(namespace, "x", colour="red"))
    await client.create(config_map(namespace, "y"))
    async with InformerCache.of(client, only(namespace)) as informers:
        informers.index_field(ConfigMap, "colour", lambda found: (found.data or {}).get("colour"))
        informers.index_field(ConfigMap, "letters", lambda found: list(found.metadata.name or ""))
        cached = client.with_cache(informers)
        await informers.wait_for_sync()
        assert names(await cached.list(ConfigMap, fields={"colour": "red"})) == ["x"]
        assert names(await cached.list(ConfigMap, fields={"letters": "y"})) == ["y"]


async def test_a_client_reads_followed_kinds_from_memory(client, namespace):
    """`with_cache`: get and list of such kinds are no requests; `live`, and other kinds, are."""
    await client.create(config_map(namespace, "x", colour="red"))
    async with InformerCache.of(client, only(namespace)) as informers:
        informers.add_index(ConfigMap, "colour", lambda raw: [raw.get("data", {}).get("colour", "none")])
        cached = client.with_cache(informers)
        await informers.wait_for_sync()
        assert names(await cached.list(ConfigMap, fields={"colour": "red"})) == ["x"]
        assert names(await cached.list(ConfigMap, namespace=namespace, fields={"metadata.name": "x"})) == ["x"]
        with pytest.raises(KeyError, match="no index `size`"):
            await cached.list(ConfigMap, fields={"size": "1"})
        await client.patch(config_map(namespace, "x"), MergePatch({"data": {"colour": "blue"}}))
        assert (await cached.live.get(ConfigMap, f"{namespace}/x")).data == {"colour": "blue"}

        async def followed():
            assert names(await cached.list(ConfigMap, fields={"colour": "blue"})) == ["x"]
            assert names(await cached.list(ConfigMap, fields={"colour": "red"})) == []

        await eventually(followed)


async def test_owners_are_found(client, namespace):
    """Every mirror knows who owns what."""
    owner = await client.create(config_map(namespace, "owner"))
    reference = OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
    child = config_map(namespace, "child")
    child.metadata.owner_references = [reference]
    await client.create(child)
    async with InformerCache.of(client, only(namespace)) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert names(lister.owned_by(owner.metadata.uid)) == ["child"]


async def test_a_mirror_may_hold_a_selection(client, namespace):
    """Label and field selectors are the server's work: what is not selected is not sent."""
    for name, tier in (("a", "web"), ("b", "web"), ("c", "db")):
        await client.create(config_map(namespace, name, {"tier": tier}))
    options = CacheOptions(
        default=only(namespace).default,
        by_kind={ConfigMap.gvk: InformerOptions(namespaces=(namespace,), labels="tier=web", fields="metadata.name!=b")},
    )
    async with InformerCache.of(client, options) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert names(lister.list()) == ["a"]
        await client.patch(config_map(namespace, "c"), MergePatch({"metadata": {"labels": {"tier": "web"}}}))
        await eventually(lambda: names(lister.list()) == ["a", "c"])
        await client.patch(config_map(namespace, "a"), MergePatch({"metadata": {"labels": {"tier": "db"}}}))
        await eventually(lambda: names(lister.list()) == ["c"])


async def two_namespaces(client, namespace):
    """A second namespace, with the same objects as the first: `a` of tier web, `b` of tier db."""
    other = f"{namespace}-other"
    await client.create(Namespace(metadata=ObjectMeta(name=other)))
    for where in (namespace, other):
        for name, tier in (("a", "web"), ("b", "db")):
            await client.create(config_map(where, name, {"tier": tier, "test": namespace}))
    return other


async def test_each_namespace_of_a_kind_may_have_its_own_selection(client, namespace):
    """One is selected by labels, another by fields on top of the kind's labels; changes follow each."""
    other = await two_namespaces(client, namespace)
    selections = {
        namespace: NamespaceSelection(labels="tier=web"),
        other: NamespaceSelection(fields="metadata.name!=a"),
    }
    options = InformerOptions(namespaces=selections, labels=f"test={namespace}")
    async with InformerCache.of(client, CacheOptions(by_kind={ConfigMap.gvk: options})) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert names(lister.list(namespace=namespace)) == ["a"]
        assert names(lister.list(namespace=other)) == ["b"]
        await client.delete(ConfigMap, f"{other}/b")
        await client.patch(config_map(namespace, "b"), MergePatch({"metadata": {"labels": {"tier": "web"}}}))
        await eventually(lambda: names(lister.list()) == ["a", "b"])


async def test_all_other_namespaces_may_be_selected_too(client, namespace):
    """What the selection of a named namespace is about, that of the others neither brings nor takes away."""
    other = await two_namespaces(client, namespace)
    selections = {
        namespace: NamespaceSelection(),
        ALL_NAMESPACES: NamespaceSelection(labels=f"test={namespace},tier=db"),
    }
    options = InformerOptions(namespaces=selections, labels=f"test={namespace}")
    async with InformerCache.of(client, CacheOptions(by_kind={ConfigMap.gvk: options})) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        found = [(item.metadata.namespace, item.metadata.name) for item in lister.list()]
        assert found == [(namespace, "a"), (namespace, "b"), (other, "b")]


async def test_a_kind_with_options_of_its_own_stays_in_the_namespaces_of_all(client, namespace):
    """Who may list in one namespace only must not list a kind everywhere because its objects are trimmed."""
    other = await two_namespaces(client, namespace)
    trimmed = InformerOptions(labels=f"test={namespace}")
    options = CacheOptions(default=only(namespace).default, by_kind={ConfigMap.gvk: trimmed})
    async with InformerCache.of(client, options) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert names(lister.list(namespace=namespace)) == ["a", "b"]
        assert names(lister.list(namespace=other)) == []


async def test_a_namespace_that_is_not_mirrored_is_read_by_request(client, namespace):
    """A mirror of one namespace says nothing of another: nobody must take an object for absent that is there."""
    other = await two_namespaces(client, namespace)
    async with InformerCache.of(client, only(namespace)) as informers:
        informers.informer(ConfigMap)
        cached = client.with_cache(informers)
        await informers.wait_for_sync()
        assert (await cached.get(ConfigMap, f"{other}/a")).metadata.namespace == other
        assert names(await cached.list(ConfigMap, namespace=other, labels="tier")) == ["a", "b"]
        assert await cached.find(ConfigMap, f"{namespace}/none") is None


async def test_a_transform_trims_what_is_kept(client, namespace):
    """It sees each object before anybody else; by default field ownership is dropped."""

    def trim(raw):
        raw.pop("data", None)
        return raw

    await client.create(config_map(namespace, "x", heavy="1"))
    async with InformerCache.of(client, only(namespace)) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert lister.get("x", namespace=namespace).metadata.managed_fields is None
    async with InformerCache.of(client, only(namespace, transform=trim)) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        found = lister.get("x", namespace=namespace)
        assert found.data is None
        assert found.metadata.managed_fields


async def test_a_mirror_may_hold_metadata_only(client, namespace):
    """The server sends no more; the objects are still of their kind, so that they can be patched and deleted."""
    await client.create(config_map(namespace, "x", {"tier": "web"}, heavy="1"))
    async with InformerCache.of(client, only(namespace)) as informers:
        informer = informers.informer(ConfigMap, metadata_only=True)
        assert informer is not informers.informer(ConfigMap)
        heard = []
        informer.add_handler(lambda event: heard.append((str(event.type), event.object.gvk, "data" in event.raw)))
        await informer.wait_for_sync()
        found = informer.lister.get("x", namespace=namespace)
        assert found.metadata["labels"] == {"tier": "web"}
        assert "data" not in found.data
        await client.patch(found, MergePatch({"metadata": {"labels": {"tier": "db"}}}))
        await client.delete(found)
        await eventually(lambda: ("delete", ConfigMap.gvk, False) in heard)
        assert ("update", ConfigMap.gvk, False) in heard
        assert {(kind, whole) for _, kind, whole in heard} == {(ConfigMap.gvk, False)}


async def test_untyped_kinds_are_followed_too(client, namespace, widgets):
    """By group, version and kind, without a class."""
    await client.create(widgets.make(namespace, "w", size=3))
    async with InformerCache.of(client, only(namespace)) as informers:
        lister = informers.lister(widgets.gvk)
        await informers.wait_for_sync()
        assert lister.get("w", namespace=namespace).data["spec"]["size"] == 3


async def test_a_kind_that_is_not_served_is_told_when_one_waits(client, namespace):
    """The mirror goes on trying: its definition may come."""
    async with InformerCache.of(client, only(namespace)) as informers:
        informer = informers.informer(GroupVersionKind("nowhere.example.com", "v1", "Ghost"))
        with pytest.raises(CacheSyncTimeout, match=r"nowhere\.example\.com"):
            await informer.wait_for_sync(timedelta(seconds=1))
