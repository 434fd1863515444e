"""Creating, reading, replacing, patching and deleting: the same on the in-memory and on the real API server."""

import asyncio
import copy

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap, Namespace, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import JsonPatch, MergePatch, StrategicMergePatch, merge_from
from pykb.client.codec import gvk_of
from pykb.client.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    InternalServerError,
    Invalid,
    NoKindMatch,
    NotFound,
    UnsupportedMediaType,
)
from pykb.client.options import program_name
from pykb.meta.gvk import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def _config_map(namespace, name="a", *, labels=None, finalizers=None, **data):
    metadata = ObjectMeta(name=name, namespace=namespace, labels=labels, finalizers=finalizers)
    return ConfigMap(metadata=metadata, data=data or None)


def _deployment(namespace):
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "img:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


async def test_an_object_without_a_namespace_is_not_sent(client, namespace):
    """The server would say that the path is not there, or takes no POST; a client of one namespace fills it in."""
    homeless = ConfigMap(metadata=ObjectMeta(name="a"))
    with pytest.raises(ValueError, match=r"`ConfigMap` is namespaced: set `metadata.namespace`"):
        await client.create(homeless)
    assert (await client.namespaced(namespace).create(homeless)).metadata.namespace == namespace


async def test_create_fills_in_the_metadata(client, namespace):
    """A uid, a version, a time, and the writer among the managers."""
    obj = await client.create(_config_map(namespace, k="v"))
    assert obj.metadata.uid
    assert int(obj.metadata.resource_version) > 0
    assert obj.metadata.creation_timestamp is not None
    assert [(entry.manager, entry.operation) for entry in obj.metadata.managed_fields] == [(program_name(), "Update")]


async def test_create_ignores_what_only_the_server_sets(client, namespace):
    """uid, creation time, deletion time and generation of the client do not count."""
    wire = _config_map(namespace).to_wire()
    wire["metadata"] |= {"uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 7}
    wire["metadata"]["deletionTimestamp"] = "2000-01-01T00:00:00Z"
    await client.create(wire)
    assert wire["metadata"]["uid"] != "mine"
    assert not wire["metadata"]["creationTimestamp"].startswith("2000")
    assert "deletionTimestamp" not in wire["metadata"]


async def test_create_with_a_version_is_refused(client, namespace):
    """A resource version means that the object exists; the server calls it its own failure."""
    obj = _config_map(namespace)
    obj.metadata.resource_version = "5"
    with pytest.raises(InternalServerError, match="resourceVersion should not be set"):
        await client.create(obj)


async def test_create_twice_is_refused(client, namespace):
    """AlreadyExists with the name and the resource."""
    await client.create(_config_map(namespace))
    with pytest.raises(AlreadyExists) as caught:
        await client.create(_config_map(namespace))
    assert (caught.value.details.name, caught.value.details.kind) == ("a", "configmaps")
    assert caught.value.message == 'configmaps "a" already exists'


async def test_create_without_a_name_is_refused(client, namespace):
    """Neither name nor generateName."""
    with pytest.raises(Invalid, match="name or generateName is required"):
        await client.create(ConfigMap(metadata=ObjectMeta(namespace=namespace)))


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "a.", "x" * 254])
async def test_create_with_a_bad_name_is_refused(client, namespace, name):
    """Names are DNS subdomains."""
    with pytest.raises(Invalid) as caught:
        await client.create(_config_map(namespace, name))
    assert caught.value.causes[0].field == "metadata.name"


async def test_create_with_a_bad_label_is_refused(client, namespace):
    """Label values are short and plain."""
    with pytest.raises(Invalid) as caught:
        await client.create(_config_map(namespace, labels={"a": "not/allowed"}))
    assert caught.value.causes[0].field == "metadata.labels"


async def test_generate_name_makes_names(client, namespace):
    """Two objects of one prefix get different names."""
    made = [
        await client.create(ConfigMap(metadata=ObjectMeta(generate_name="g-", namespace=namespace))) for _ in range(2)
    ]
    names = {obj.metadata.name for obj in made}
    assert len(names) == 2
    assert all(name.startswith("g-") and len(name) == 7 for name in names)


async def test_create_in_a_namespace_that_is_not_there_is_not_found(client):
    """The namespace is what is missing."""
    with pytest.raises(NotFound) as caught:
        await client.create(_config_map("no-such-namespace"))
    assert caught.value.details.kind == "namespaces"


async def test_create_in_a_terminating_namespace_is_forbidden(client, namespace):
    """Nothing new is made in a namespace that goes away; it stays as long as nobody finalizes it."""
    await client.delete(Namespace, namespace)
    found = await client.get(Namespace, namespace)
    assert found.status.phase == "Terminating"
    with pytest.raises(ApiError) as caught:
        await client.create(_config_map(namespace))
    assert caught.value.status == 403
    assert caught.value.causes[0].reason == "NamespaceTerminating"


async def test_get_of_nothing_is_not_found(client, namespace):
    """With name and resource in the details."""
    with pytest.raises(NotFound) as caught:
        await client.get(ConfigMap, f"{namespace}/none")
    assert (caught.value.details.name, caught.value.details.kind) == ("none", "configmaps")
    assert caught.value.message == 'configmaps "none" not found'
    assert await client.find(ConfigMap, f"{namespace}/none") is None


async def test_an_unknown_kind_is_no_match(client, namespace):
    """Discovery does not know it."""
    with pytest.raises(NoKindMatch):
        await client.get(GroupVersionKind("none.example.com", "v1", "Thing"), f"{namespace}/x")


async def test_update_replaces_the_object(client, namespace):
    """What is left out is gone; the version goes up."""
    obj = await client.create(_config_map(namespace, labels={"l": "1"}, a="1", b="1"))
    before = int(obj.metadata.resource_version)
    obj.data = {"a": "2"}
    obj.metadata.labels = None
    await client.update(obj)
    found = await client.get(ConfigMap, obj)
    assert (found.data, found.metadata.labels) == ({"a": "2"}, None)
    assert int(found.metadata.resource_version) > before


async def test_update_of_an_old_version_is_a_conflict(client, namespace):
    """Optimistic concurrency."""
    obj = await client.create(_config_map(namespace, a="1"))
    stale = copy.deepcopy(obj)
    obj.data = {"a": "2"}
    await client.update(obj)
    stale.data = {"a": "3"}
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.update(stale)


async def test_update_without_a_version_overwrites_a_built_in_kind(client, namespace):
    """Most built-in kinds allow it."""
    await client.create(_config_map(namespace, a="1"))
    await client.update(_config_map(namespace, a="2"))
    assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"a": "2"}


async def test_update_of_a_custom_resource_needs_the_version(client, namespace, widgets):
    """Custom resources do not allow unconditional updates."""
    await client.create(widgets.make(namespace))
    with pytest.raises(Invalid) as caught:
        await client.update(widgets.make(namespace, size=2))
    assert caught.value.causes[0].field == "metadata.resourceVersion"


async def test_update_of_another_uid_is_a_conflict(client, namespace):
    """An object that was made anew is another object."""
    obj = await client.create(_config_map(namespace, a="1"))
    obj.metadata.uid = "00000000-0000-0000-0000-000000000000"
    obj.metadata.resource_version = None
    with pytest.raises(Conflict, match="UID"):
        await client.update(obj)


async def test_update_of_nothing_is_not_found(client, namespace):
    """An update creates nothing."""
    with pytest.raises(NotFound):
        await client.update(_config_map(namespace))


async def test_an_update_that_changes_nothing_keeps_the_version(client, namespace):
    """No write, no event, no new version."""
    obj = await client.create(_config_map(namespace, a="1"))
    version = obj.metadata.resource_version
    await client.update(obj)
    assert obj.metadata.resource_version == version


async def test_concurrent_updates_have_one_winner(client, namespace):
    """Of ten writers of one version one succeeds, nine conflict."""
    obj = await client.create(_config_map(namespace, a="0"))
    copies = [copy.deepcopy(obj) for _ in range(10)]
    for number, each in enumerate(copies):
        each.data = {"a": f"n{number}"}
    outcomes = await asyncio.gather(*(client.update(each) for each in copies), return_exceptions=True)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 9


async def test_a_merge_patch_merges(client, namespace):
    """Null removes, the rest is kept."""
    obj = await client.create(_config_map(namespace, a="1", b="1"))
    await client.patch(obj, MergePatch({"data": {"a": None, "c": "1"}}))
    assert obj.data == {"b": "1", "c": "1"}


async def test_a_merge_patch_with_an_old_version_is_a_conflict(client, namespace):
    """The optimistic lock of merge_from."""
    obj = await client.create(_config_map(namespace, a="1"))
    patch = merge_from(obj, optimistic_lock=True)
    await client.patch(copy.deepcopy(obj), MergePatch({"data": {"b": "1"}}))
    obj.data = {"a": "2"}
    with pytest.raises(Conflict):
        await client.patch(obj, patch)


async def test_a_patch_that_changes_nothing_keeps_the_version(client, namespace):
    """The server compares."""
    obj = await client.create(_config_map(namespace, a="1"))
    version = obj.metadata.resource_version
    await client.patch(obj, MergePatch({"data": {"a": "1"}}))
    assert obj.metadata.resource_version == version


async def test_a_patch_of_nothing_is_not_found(client, namespace):
    """A patch creates nothing, except for apply."""
    with pytest.raises(NotFound):
        await client.patch(_config_map(namespace), MergePatch({"data": {"a": "1"}}))


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ([{"op": "add", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
        ([{"op": "replace", "path": "/data/a", "value": "2"}], {"a": "2"}),
        ([{"op": "replace", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/b"}], {"b": "1"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/b"}], {"a": "1", "b": "1"}),
        (
            [
                {"op": "test", "path": "/data/a", "value": "1"},
                {"op": "remove", "path": "/data/a"},
                {"op": "add", "path": "/metadata/annotations", "value": {"x/y": "1"}},
                {"op": "replace", "path": "/metadata/annotations/x~1y", "value": "2"},
                {"op": "add", "path": "/data/b", "value": "3"},
            ],
            {"b": "3"},
        ),
    ],
)
async def test_a_json_patch_does_its_operations(client, namespace, operations, data):
    """All of RFC 6902's operations, in order."""
    obj = await client.create(_config_map(namespace, a="1"))
    await client.patch(obj, JsonPatch(operations))
    assert obj.data == data
    assert obj.metadata.annotations == ({"x/y": "2"} if len(operations) == 5 else None)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/data/none"},
        {"op": "replace", "path": "/none/none", "value": "1"},
    ],
)
async def test_a_json_patch_that_does_not_fit_is_refused_whole(client, namespace, operation):
    """A failing operation means that none is done."""
    obj = await client.create(_config_map(namespace, a="1"))
    with pytest.raises(Invalid):
        await client.patch(obj, JsonPatch([{"op": "add", "path": "/data/b", "value": "1"}, operation]))
    assert (await client.get(ConfigMap, obj)).data == {"a": "1"}


async def test_a_strategic_merge_merges_lists_by_key(client, namespace):
    """Containers are told apart by their names, and deleted by a directive."""
    obj = await client.create(_deployment(namespace))
    containers = [{"name": "b", "image": "img:2"}, {"name": "a", "image": "img:3"}]
    await client.patch(obj, StrategicMergePatch({"spec": {"template": {"spec": {"containers": containers}}}}))
    found = await client.get(Deployment, f"{namespace}/d")
    assert {c.name: c.image for c in found.spec.template.spec.containers} == {"a": "img:3", "b": "img:2"}
    gone = [{"name": "a", "$patch": "delete"}]
    await client.patch(obj, StrategicMergePatch({"spec": {"template": {"spec": {"containers": gone}}}}))
    found = await client.get(Deployment, f"{namespace}/d")
    assert [c.name for c in found.spec.template.spec.containers] == ["b"]


async def test_custom_resources_take_no_strategic_merge(client, namespace, widgets):
    """415, as for any unknown patch."""
    obj = await client.create(widgets.make(namespace))
    with pytest.raises(UnsupportedMediaType):
        await client.patch(obj, StrategicMergePatch({"spec": {"size": 2}}))


async def test_delete_removes(client, namespace):
    """Without finalizers the object is gone at once, and a second time it is not found."""
    obj = await client.create(_config_map(namespace))
    await client.delete(obj)
    assert await client.find(ConfigMap, obj) is None
    with pytest.raises(NotFound):
        await client.delete(obj)


async def test_an_object_made_anew_is_another(client, namespace):
    """A new uid and a higher version."""
    first = await client.create(_config_map(namespace))
    await client.delete(first)
    second = await client.create(_config_map(namespace))
    assert second.metadata.uid != first.metadata.uid
    assert int(second.metadata.resource_version) > int(first.metadata.resource_version)


@pytest.mark.parametrize("condition", ["uid", "resource_version"])
async def test_a_deletion_may_have_a_precondition(client, namespace, condition):
    """A wrong one is a conflict and deletes nothing, a right one deletes."""
    obj = await client.create(_config_map(namespace))
    wrong = {"uid": "00000000-0000-0000-0000-000000000000", "resource_version": "1"}[condition]
    with pytest.raises(Conflict):
        await client.delete(obj, **{condition: wrong})
    await client.delete(obj, **{condition: getattr(obj.metadata, condition)})
    assert await client.find(ConfigMap, obj) is None


async def test_a_finalizer_holds_a_deleted_object(client, namespace):
    """It is marked, stays readable and changeable, and goes with its last finalizer."""
    obj = await client.create(_config_map(namespace, finalizers=["example.com/a", "example.com/b"]))
    await client.delete(obj)
    held = await client.get(ConfigMap, obj)
    assert held.metadata.deletion_timestamp is not None
    assert held.metadata.deletion_grace_period_seconds == 0
    held.metadata.finalizers = ["example.com/b"]
    held.data = {"still": "writable"}
    await client.update(held)
    assert (await client.get(ConfigMap, obj)).data == {"still": "writable"}
    held.metadata.finalizers = None
    await client.update(held)
    assert held.metadata.uid == obj.metadata.uid
    assert await client.find(ConfigMap, obj) is None


async def test_a_second_deletion_of_a_held_object_changes_nothing(client, namespace):
    """The time of deletion is that of the first."""
    obj = await client.create(_config_map(namespace, finalizers=["example.com/a"]))
    await client.delete(obj)
    first = await client.get(ConfigMap, obj)
    await client.delete(obj)
    second = await client.get(ConfigMap, obj)
    assert second.metadata.resource_version == first.metadata.resource_version


async def test_a_deleted_object_takes_no_new_finalizer(client, namespace):
    """Forbidden as a cause of an invalid object."""
    obj = await client.create(_config_map(namespace, finalizers=["example.com/a"]))
    await client.delete(obj)
    held = await client.get(ConfigMap, obj)
    held.metadata.finalizers = ["example.com/a", "example.com/new"]
    with pytest.raises(Invalid) as caught:
        await client.update(held)
    assert caught.value.causes[0].field == "metadata.finalizers"


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
async def test_a_propagation_policy_is_a_finalizer(client, namespace, policy, finalizer):
    """The garbage collector takes it away, where there is one."""
    obj = await client.create(_config_map(namespace))
    await client.delete(obj, propagation=policy)
    assert (await client.get(ConfigMap, obj)).metadata.finalizers == [finalizer]


@pytest.mark.parametrize(
    ("version", "kind", "spec", "left"),
    [
        ("batch/v1", "Job", {}, ["orphan"]),
        ("v1", "ReplicationController", {"selector": {"app": "x"}}, ["orphan"]),
        ("apps/v1", "ReplicaSet", {"selector": {"matchLabels": {"app": "x"}}}, None),
    ],
)
async def test_jobs_leave_their_pods_behind_unless_a_policy_says_otherwise(
    client, namespace, version, kind, spec, left
):
    """So it was before there were policies. A finalizer that says what to do with dependents counts as one."""
    pod = {"containers": [{"name": "a", "image": "img:1"}], "restartPolicy": "Never" if kind == "Job" else "Always"}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod}
    for name, finalizers, policy, expected in (
        ("plain", [], None, left),
        ("background", [], "Background", None),
        ("held", ["foregroundDeletion"], None, ["foregroundDeletion"]),
        ("other", ["example.com/a"], None, ["example.com/a", *(left or ())]),
    ):
        metadata = {"name": name, "namespace": namespace, "finalizers": finalizers}
        obj = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {**spec, "template": template}}
        await client.create(obj)
        await client.delete(obj, propagation=policy)
        found = await client.find(gvk_of(obj), f"{namespace}/{name}")
        assert (found and found.metadata["finalizers"]) == expected, name
        if found:
            assert found.metadata["deletionTimestamp"]


async def test_a_collection_is_deleted_by_labels(client, namespace):
    """What is selected goes, what is held by finalizers is marked, the rest stays."""
    await client.create(_config_map(namespace, "a", labels={"x": "1"}))
    await client.create(_config_map(namespace, "b", labels={"x": "1"}, finalizers=["example.com/a"]))
    await client.create(_config_map(namespace, "c", labels={"x": "2"}))
    await client.delete_all_of(ConfigMap, namespace=namespace, labels={"x": "1"})
    left = await client.list(ConfigMap, namespace=namespace)
    marked = [(item.metadata.name, item.metadata.deletion_timestamp is not None) for item in left]
    assert marked == [("b", True), ("c", False)]


@pytest.mark.parametrize("verb", ["create", "update", "patch", "apply", "delete"])
async def test_a_dry_run_answers_and_stores_nothing(client, namespace, verb):
    """Each verb is judged as if it were meant."""
    obj = await client.create(_config_map(namespace, a="1"))
    tried = _config_map(namespace, "new") if verb == "create" else copy.deepcopy(obj)
    tried.data = {"a": "2"}
    match verb:
        case "patch":
            await client.patch(tried, MergePatch({"data": {"a": "2"}}), dry_run=True)
        case "apply":
            await client.apply(tried, force=True, dry_run=True)
        case _:
            await getattr(client, verb)(tried, dry_run=True)
    assert tried.data == {"a": "2"}
    left = await client.list(ConfigMap, namespace=namespace)
    assert [(item.metadata.name, item.metadata.resource_version) for item in left] == [
        ("a", obj.metadata.resource_version)
    ]
    if verb == "create":
        with pytest.raises(AlreadyExists):
            await client.create(_config_map(namespace), dry_run=True)


async def test_names_are_free_in_another_namespace(client, namespace):
    """The same name in two namespaces is two objects."""
    await client.create(_config_map(namespace, a="1"))
    await client.create(_config_map("default", name := f"a-{namespace}"[:60], a="2"))
    assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"a": "1"}
    await client.delete(ConfigMap, f"default/{name}")


async def test_a_kind_is_what_the_path_says(client, namespace):
    """An object of another kind is refused where it is sent."""
    with pytest.raises(BadRequest):
        await client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}, "data": [1]}
        )


async def test_bytes_travel_as_base64(client, namespace):
    """A secret comes back as it went."""
    obj = await client.create(Secret(metadata=ObjectMeta(name="s", namespace=namespace), data={"k": b"\x00\xff"}))
    assert (await client.get(Secret, obj)).data == {"k": b"\x00\xff"}


async def test_what_was_read_is_the_callers(client, namespace):
    """Changing an object changes nothing in the server."""
    await client.create(_config_map(namespace, a="1"))
    found = await client.get(CONFIG_MAP, f"{namespace}/a")
    found.data["data"]["a"] = "2"
    assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"a": "1"}


async def test_the_annotations_of_a_deployment_count_for_its_generation(client, namespace):
    """Its labels do not, and annotations of other kinds do not."""
    made = await client.create(_deployment(namespace))
    generations = []
    for metadata in ({"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"annotations": {"a": "b"}}):
        patched = await client.patch(made, MergePatch({"metadata": metadata}))
        generations.append(patched["metadata"]["generation"])
    assert generations == [1, 2, 2]
