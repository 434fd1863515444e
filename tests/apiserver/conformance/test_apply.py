"""Server-side apply and the owners of fields, on both API servers."""

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import MergePatch
from pykb.client.errors import Conflict, Invalid


def _config_map(namespace, **data):
    return ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data=data or None)


def _widget(namespace, **spec):
    return {
        "apiVersion": "client.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace},
        "spec": spec,
    }


def _owners(obj):
    return {(entry.manager, entry.operation): entry.fields_v1 for entry in obj.metadata.managed_fields}


async def test_apply_creates(client, namespace):
    """An object that is not there is made, and its fields are owned."""
    obj = await client.apply(_config_map(namespace, a="1"), field_manager="one")
    assert obj.metadata.uid
    assert _owners(obj) == {("one", "Apply"): {"f:data": {"f:a": {}}}}


async def test_every_character_is_stored_as_it_was_applied(client, namespace):
    """The API server reads the JSON of an apply as YAML, which takes fewer characters."""
    text = "".join(map(chr, (*range(1, 0x100), 0x2028, 0xFEFF, 0xFFFE, 0xFFFF, 0x1F6A2, 0x1FFFF)))
    obj = await client.apply(_config_map(namespace, a=text), field_manager="one")
    assert obj.data == {"a": text}


async def test_apply_of_the_same_keeps_the_version(client, namespace):
    """Nothing changed, nothing is written."""
    obj = await client.apply(_config_map(namespace, a="1"), field_manager="one")
    again = await client.apply(_config_map(namespace, a="1"), field_manager="one")
    assert again.metadata.resource_version == obj.metadata.resource_version


async def test_a_field_that_is_no_longer_applied_goes(client, namespace):
    """Unless someone else applied it too."""
    await client.apply(_config_map(namespace, a="1", b="1", c="1"), field_manager="one")
    await client.apply(_config_map(namespace, b="1"), field_manager="two")
    obj = await client.apply(_config_map(namespace, c="1"), field_manager="one")
    assert obj.data == {"b": "1", "c": "1"}


async def test_another_owner_is_a_conflict(client, namespace):
    """With a cause for each field, in the server's words; nothing is changed."""
    await client.apply(_config_map(namespace, a="1", b="1"), field_manager="one")
    with pytest.raises(Conflict) as caught:
        await client.apply(_config_map(namespace, a="2", b="2"), field_manager="two")
    causes = [(cause.reason, cause.field, cause.message) for cause in caught.value.causes]
    assert causes == [
        ("FieldManagerConflict", ".data.a", 'conflict with "one"'),
        ("FieldManagerConflict", ".data.b", 'conflict with "one"'),
    ]
    assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"a": "1", "b": "1"}


async def test_the_same_value_is_shared(client, namespace):
    """Two managers may want the same; then both own it, and both must give it up before it goes."""
    await client.apply(_config_map(namespace, a="1"), field_manager="one")
    obj = await client.apply(_config_map(namespace, a="1"), field_manager="two")
    assert set(_owners(obj)) == {("one", "Apply"), ("two", "Apply")}
    obj = await client.apply(_config_map(namespace, b="1"), field_manager="one")
    assert obj.data == {"a": "1", "b": "1"}


async def test_force_takes_a_field_over(client, namespace):
    """The former owner owns it no more."""
    await client.apply(_config_map(namespace, a="1", b="1"), field_manager="one")
    obj = await client.apply(_config_map(namespace, a="2"), field_manager="two", force=True)
    assert obj.data == {"a": "2", "b": "1"}
    assert _owners(obj) == {
        ("one", "Apply"): {"f:data": {"f:b": {}}},
        ("two", "Apply"): {"f:data": {"f:a": {}}},
    }


async def test_an_update_takes_fields_over(client, namespace):
    """Who writes a field by update or patch owns it; applying against it is a conflict then."""
    await client.apply(_config_map(namespace, a="1", b="1"), field_manager="one")
    obj = _config_map(namespace)
    await client.patch(obj, MergePatch({"data": {"a": "2"}}), field_manager="editor")
    owners = _owners(obj)
    assert owners["one", "Apply"] == {"f:data": {"f:b": {}}}
    assert owners["editor", "Update"] == {"f:data": {"f:a": {}}}
    with pytest.raises(Conflict) as caught:
        await client.apply(_config_map(namespace, a="1", b="1"), field_manager="one")
    assert caught.value.causes[0].field == ".data.a"
    assert caught.value.causes[0].message.startswith('conflict with "editor" using v1')


async def test_a_field_removed_by_an_update_is_nobodys(client, namespace):
    """It can be applied again without a conflict."""
    await client.apply(_config_map(namespace, a="1", b="1"), field_manager="one")
    obj = _config_map(namespace)
    await client.patch(obj, MergePatch({"data": {"a": None}}), field_manager="editor")
    assert _owners(obj)["one", "Apply"] == {"f:data": {"f:b": {}}}
    obj = await client.apply(_config_map(namespace, a="3", b="1"), field_manager="one")
    assert obj.data == {"a": "3", "b": "1"}


async def test_lists_with_keys_are_merged_by_them(client, namespace, widgets):
    """Each manager has its items, and its fields in shared items."""
    await client.apply(_widget(namespace, size=1, parts=[{"name": "a", "weight": 1}]), field_manager="one")
    obj = await client.apply(_widget(namespace, parts=[{"name": "b", "weight": 2}]), field_manager="two")
    assert obj["spec"]["parts"] == [{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]
    with pytest.raises(Conflict) as caught:
        await client.apply(_widget(namespace, parts=[{"name": "a", "weight": 5}]), field_manager="two")
    assert caught.value.causes[0].field == '.spec.parts[name="a"].weight'
    obj = await client.apply(_widget(namespace, size=1), field_manager="one")
    assert obj["spec"]["parts"] == [{"name": "b", "weight": 2}]


async def test_sets_are_united(client, namespace, widgets):
    """Each manager owns its values."""
    await client.apply(_widget(namespace, size=1, tags=["a", "b"]), field_manager="one")
    obj = await client.apply(_widget(namespace, tags=["b", "c"]), field_manager="two")
    assert obj["spec"]["tags"] == ["a", "b", "c"]
    obj = await client.apply(_widget(namespace, size=1), field_manager="one")
    assert obj["spec"]["tags"] == ["b", "c"]


async def test_defaults_are_owned_by_nobody_who_applies(client, namespace, widgets):
    """A field that the schema filled in can be applied by another without a conflict."""
    await client.apply(_widget(namespace, size=1), field_manager="one")
    obj = await client.apply(_widget(namespace, color="blue"), field_manager="two")
    assert obj["spec"]["color"] == "blue"


async def test_what_is_applied_is_judged(client, namespace, widgets):
    """The result must fit the schema."""
    with pytest.raises(Invalid):
        await client.apply(_widget(namespace, size=0), field_manager="one")


async def test_applying_the_status_leaves_the_rest(client, namespace, widgets):
    """Its owner is recorded for the subresource."""
    await client.apply(_widget(namespace, size=1), field_manager="one")
    wanted = {**_widget(namespace), "status": {"phase": "Ready"}}
    obj = await client.status.apply(wanted, field_manager="controller")
    assert (obj["spec"]["size"], obj["status"]) == (1, {"phase": "Ready"})
    entries = [(entry["manager"], entry.get("subresource")) for entry in obj["metadata"]["managedFields"]]
    assert sorted(entries, key=str) == [("controller", "status"), ("one", None)]
    obj = await client.apply(_widget(namespace, size=2), field_manager="one")
    assert obj["status"] == {"phase": "Ready"}


async def test_labels_are_shared_one_by_one(client, namespace):
    """Entries of a map have their own owners."""
    first = _config_map(namespace)
    first.metadata.labels = {"a": "1"}
    await client.apply(first, field_manager="one")
    second = _config_map(namespace)
    second.metadata.labels = {"b": "1"}
    obj = await client.apply(second, field_manager="two")
    assert obj.metadata.labels == {"a": "1", "b": "1"}
