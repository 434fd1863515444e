"""Every verb of the client against a real API server, for typed objects, `Unstructured` and dicts."""

import copy
from datetime import timedelta

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap, Namespace, Node, Pod, ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Unstructured
from pykb.client import JsonPatch, MergePatch, StrategicMergePatch, merge_from
from pykb.client.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound, UnsupportedMediaType
from pykb.client.options import program_name
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.requests.reconcile import Request

pytestmark = pytest.mark.apiserver

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def _config_map(namespace, name="a", **data):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data or None)


async def test_a_created_object_is_what_the_server_stored(client, namespace):
    """Create fills in uid, resource version and times, in the object given, and returns that object."""
    obj = _config_map(namespace, k="v")
    assert await client.create(obj) is obj
    assert obj.metadata.uid
    assert obj.metadata.resource_version
    assert obj.metadata.managed_fields[0].manager == program_name()


@pytest.mark.parametrize("form", ["unstructured", "dict"])
async def test_untyped_objects_go_the_same_way(client, namespace, form):
    """Unstructured and dict are created, updated, patched and deleted in place, as typed objects are."""
    wire = _config_map(namespace, k="v").to_wire()
    obj = Unstructured(wire) if form == "unstructured" else wire
    await client.create(obj)
    content = obj.data if form == "unstructured" else obj
    assert content["metadata"]["uid"]
    content["data"]["k"] = "w"
    await client.update(obj)
    await client.patch(obj, MergePatch({"data": {"l": "x"}}))
    found = await client.get(CONFIG_MAP, obj)
    assert found.data["data"] == {"k": "w", "l": "x"}
    await client.delete(obj)
    assert await client.find(CONFIG_MAP, found) is None


async def test_generate_name_is_filled_in(client, namespace):
    """The name that the server chose is in the object."""
    obj = ConfigMap(metadata=ObjectMeta(generate_name="gen-", namespace=namespace))
    await client.create(obj)
    assert obj.metadata.name.startswith("gen-")


async def test_creating_twice_is_already_exists(client, namespace):
    """The second one is refused with the name in the details."""
    await client.create(_config_map(namespace))
    with pytest.raises(AlreadyExists) as caught:
        await client.create(_config_map(namespace))
    assert (caught.value.status, caught.value.details.name) == (409, "a")


@pytest.mark.parametrize("form", ["request", "text", "object", "namespace"])
async def test_an_object_is_read_by_any_key(client, namespace, form):
    """Request, "namespace/name", the object itself, or name and namespace."""
    obj = await client.create(_config_map(namespace, k="v"))
    key = {"request": Request(namespace, "a"), "text": f"{namespace}/a", "object": obj, "namespace": "a"}[form]
    found = await client.get(ConfigMap, key, namespace=namespace)
    assert found.data == {"k": "v"}
    assert found.kind == "ConfigMap"


async def test_what_does_not_exist_is_not_found_or_none(client, namespace):
    """`get` raises, `find` gives None."""
    with pytest.raises(NotFound):
        await client.get(ConfigMap, f"{namespace}/none")
    assert await client.find(ConfigMap, f"{namespace}/none") is None


async def test_a_namespaced_kind_needs_a_namespace(client):
    """A name alone is a mistake that is told before any request."""
    with pytest.raises(ValueError, match="is namespaced"):
        await client.get(ConfigMap, "a")
    with pytest.raises(ValueError, match="give the namespace with"):
        await client.delete_all_of(ConfigMap)


async def test_cluster_scoped_kinds_have_none(client, namespace):
    """A cluster-scoped object is read by its name, also through a client bound to a namespace."""
    assert (await client.get(Namespace, namespace)).metadata.name == namespace
    assert (await client.namespaced("other").get(Namespace, namespace)).metadata.name == namespace


async def test_a_namespaced_client_stays_in_its_namespace(client, namespace):
    """It fills its namespace in, and refuses another."""
    mine = client.namespaced(namespace)
    obj = await mine.create(ConfigMap(metadata=ObjectMeta(name="a")))
    assert obj.metadata.namespace == namespace
    assert (await mine.get(ConfigMap, "a")).metadata.uid == obj.metadata.uid
    assert len(await mine.list(ConfigMap)) == 1
    with pytest.raises(ValueError, match="restricted to namespace"):
        await mine.get(ConfigMap, "default/a")


async def test_names_cannot_be_paths(client, namespace):
    """A name that would lead elsewhere is refused before any request."""
    for name in ("..", "a%2Fb"):
        with pytest.raises(ValueError, match="is not a valid name"):
            await client.get(ConfigMap, Request(namespace, name))


async def test_an_update_of_an_old_version_conflicts(client, namespace):
    """Optimistic concurrency: the second writer learns that it was not the first."""
    first = await client.create(_config_map(namespace, k="1"))
    second = copy.deepcopy(first)
    first.data["k"] = "2"
    await client.update(first)
    second.data["k"] = "3"
    with pytest.raises(Conflict):
        await client.update(second)
    first.data["k"] = "4"
    await client.update(first)
    assert (await client.get(ConfigMap, first)).data == {"k": "4"}


async def test_an_update_keeps_unknown_fields(client, namespace, widgets):
    """A field that the class does not know survives reading and writing."""
    wire = {**widgets.make(namespace).to_wire(), "status": {"novel": {"x": 1}}}
    await client.create(wire)
    await client.status.update({**wire, "status": {"novel": {"x": 1}}})
    typed = await client.get(widgets.Kind, f"{namespace}/w")
    typed.status.phase = "Ready"
    await client.status.update(typed)
    assert (await client.get(widgets.gvk, f"{namespace}/w")).data["status"] == {"novel": {"x": 1}, "phase": "Ready"}


async def test_merge_from_sends_only_the_difference(client, namespace):
    """Another writer's change in between is kept; with an optimistic lock it is a conflict."""
    mine = await client.create(_config_map(namespace, a="1", b="1"))
    patch, locked = merge_from(mine), merge_from(mine, optimistic_lock=True)
    await client.patch(copy.deepcopy(mine), MergePatch({"data": {"b": "2"}}))
    mine.data["a"] = "2"
    with pytest.raises(Conflict):
        await client.patch(copy.deepcopy(mine), locked)
    await client.patch(mine, patch)
    assert mine.data == {"a": "2", "b": "2"}


async def test_a_patch_without_a_difference_sends_nothing(client, namespace):
    """The object need not even exist."""
    obj = _config_map(namespace)
    assert await client.patch(obj, merge_from(obj)) is obj
    assert obj.metadata.uid is None


async def test_each_kind_of_patch_is_understood(client, namespace):
    """Merge replaces a list, strategic merge merges it by key, JSON patch tests and replaces."""
    container = {"name": "a", "image": "img:1"}
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    wire = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    deployment = await client.create(Deployment.from_wire(wire))
    change = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "img:2"}]}}}}
    await client.patch(deployment, StrategicMergePatch(change))
    assert [c.name for c in deployment.spec.template.spec.containers] == ["b", "a"]
    await client.patch(deployment, MergePatch(change))
    assert [c.name for c in deployment.spec.template.spec.containers] == ["b"]
    path = "/spec/replicas"
    await client.patch(
        deployment, JsonPatch([{"op": "test", "path": path, "value": 1}, {"op": "replace", "path": path, "value": 3}])
    )
    assert deployment.spec.replicas == 3
    with pytest.raises(Invalid):
        await client.patch(deployment, JsonPatch([{"op": "test", "path": path, "value": 1}]))


async def test_custom_resources_take_no_strategic_merge(client, namespace, widgets):
    """The server says so with its own error."""
    obj = await client.create(widgets.make(namespace))
    with pytest.raises(UnsupportedMediaType):
        await client.patch(obj, StrategicMergePatch({"spec": {"size": 2}}))


async def test_the_status_is_written_through_its_subresource(client, namespace, widgets):
    """Create and update ignore the status, `client.status` writes nothing else."""
    obj = widgets.make(namespace)
    obj.status.phase = "Ignored"
    await client.create(obj)
    assert obj.status.phase is None
    obj.status.phase = "Running"
    obj.spec.size = 99
    await client.status.update(obj)
    assert (obj.status.phase, obj.spec.size) == ("Running", 1)
    patch = merge_from(obj)
    obj.status.phase = "Done"
    await client.status.patch(obj, patch)
    found = await client.get(widgets.Kind, obj)
    assert (found.status.phase, found.metadata.generation) == ("Done", 1)


async def test_the_status_can_be_applied(client, namespace, widgets):
    """Server-side apply of the status, with its own owner."""
    await client.create(widgets.make(namespace))
    applied = await client.status.apply(
        {
            "apiVersion": "client.example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w", "namespace": namespace},
            "status": {"phase": "Applied"},
        },
        field_manager="status-writer",
    )
    owners = [(entry["manager"], entry.get("subresource")) for entry in applied["metadata"]["managedFields"]]
    assert applied["status"] == {"phase": "Applied"}
    assert ("status-writer", "status") in owners


async def test_scale_is_an_object_of_its_own(client, namespace, widgets):
    """It is read, replaced and patched; the parent follows."""
    parent = await client.create(widgets.make(namespace))
    scale = client.subresource("scale")
    current = await scale.get(widgets.Kind, parent)
    assert (current.gvk.kind, current.data["spec"]) == ("Scale", {"replicas": 1})
    current.data["spec"]["replicas"] = 3
    await scale.update(parent, current)
    patched = await scale.patch(parent, MergePatch({"spec": {"replicas": 5}}))
    assert patched.data["spec"] == {"replicas": 5}
    assert (await client.get(widgets.gvk, parent)).data["spec"]["replicas"] == 5


async def test_a_token_is_asked_for(client, namespace):
    """The answer is put into the request that was posted."""
    account = await client.create(ServiceAccount(metadata=ObjectMeta(name="robot", namespace=namespace)))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    await client.subresource("token").create(account, request)
    assert request["status"]["token"]


async def test_an_eviction_is_posted(client, namespace):
    """Evicting a pod that is not scheduled deletes it; the Status that comes back leaves the eviction as it is."""
    await client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace=namespace)))
    wire = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0},
    }
    pod = await client.create(Pod.from_wire(wire))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": namespace}}
    await client.subresource("eviction").create(pod, eviction)
    assert eviction["kind"] == "Eviction"
    assert await client.find(Pod, pod) is None


async def test_lists_select_by_labels_fields_and_namespace(client, namespace, widgets):
    """Each way of selecting reaches the server, and items carry their kind."""
    for number in range(3):
        obj = _config_map(namespace, f"c{number}")
        obj.metadata.labels = {"n": str(number)}
        await client.create(obj)
    everything = await client.list(ConfigMap, namespace=namespace)
    assert [item.metadata.name for item in everything] == ["c0", "c1", "c2"]
    assert everything.resource_version
    assert {item.kind for item in everything} == {"ConfigMap"}
    assert [i.metadata.name for i in await client.list(ConfigMap, namespace=namespace, labels="n in (0,2)")] == [
        "c0",
        "c2",
    ]
    assert len(await client.list(ConfigMap, labels={"n": "1"}, namespace=namespace)) == 1
    assert len(await client.list(CONFIG_MAP, namespace=namespace, fields={"metadata.name": "c1"})) == 1
    assert len(await client.list(ConfigMap, labels="n=1", fields=f"metadata.namespace={namespace}")) == 1
    await client.create(widgets.make(namespace, "r"))
    await client.create(widgets.make(namespace, "b", color="blue"))
    blue = await client.list(widgets.Kind, namespace=namespace, fields={"spec.color": "blue"})
    assert [item.metadata.name for item in blue] == ["b"]
    with pytest.raises(BadRequest):
        await client.list(ConfigMap, namespace=namespace, fields="data.k=v")


async def test_pages_hold_everything_once(client, namespace):
    """A limited list tells where to go on; `iterate` goes through all pages."""
    for number in range(7):
        await client.create(_config_map(namespace, f"c{number}"))
    page = await client.list(ConfigMap, namespace=namespace, limit=3)
    assert (len(page), page.remaining_item_count) == (3, 4)
    assert len(await client.list(ConfigMap, namespace=namespace, limit=9, continue_token=page.continue_token)) == 4
    names = [item.metadata.name async for item in client.iterate(ConfigMap, namespace=namespace, page_size=2)]
    assert names == [f"c{number}" for number in range(7)]


async def test_an_object_is_deleted_by_kind_and_key_or_by_itself(client, namespace):
    """Both forms; a second time it is NotFound, unless that is allowed."""
    obj = await client.create(_config_map(namespace))
    await client.delete(ConfigMap, f"{namespace}/a")
    with pytest.raises(NotFound):
        await client.delete(obj)
    await client.delete(obj, missing_ok=True)
    await client.delete(ConfigMap, "a", namespace=namespace, missing_ok=True)


async def test_preconditions_guard_a_deletion(client, namespace):
    """Another uid or version is a conflict, and the object stays."""
    obj = await client.create(_config_map(namespace))
    with pytest.raises(Conflict):
        await client.delete(obj, uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(Conflict):
        await client.delete(obj, resource_version="1")
    await client.delete(obj, uid=obj.metadata.uid, resource_version=obj.metadata.resource_version)
    assert await client.find(ConfigMap, obj) is None


async def test_a_foreground_deletion_waits_for_the_garbage_collector(client, namespace):
    """The propagation policy reaches the server: the object stays with the finalizer of the foreground."""
    obj = await client.create(_config_map(namespace))
    await client.delete(obj, propagation="Foreground", grace_period=timedelta(seconds=0))
    found = await client.get(ConfigMap, obj)
    assert found.metadata.finalizers == ["foregroundDeletion"]
    assert found.metadata.deletion_timestamp is not None


async def test_a_collection_is_deleted_by_selector(client, namespace):
    """Only what is selected goes."""
    for number in range(3):
        obj = _config_map(namespace, f"c{number}")
        obj.metadata.labels = {"n": str(number)}
        await client.create(obj)
    await client.delete_all_of(ConfigMap, namespace=namespace, labels="n!=1")
    assert [item.metadata.name for item in await client.list(ConfigMap, namespace=namespace)] == ["c1"]


@pytest.mark.parametrize("how", ["argument", "client"])
async def test_a_dry_run_changes_nothing(client, namespace, how):
    """Create, update, patch, apply and delete are validated and answered, and not stored."""
    dry = client if how == "argument" else client.with_options(dry_run=True)
    flags = {"dry_run": True} if how == "argument" else {}
    obj = await dry.create(_config_map(namespace, "ghost"), **flags)
    assert obj.metadata.uid
    assert await client.find(ConfigMap, obj) is None
    real = await client.create(_config_map(namespace, k="1"))
    changed = copy.deepcopy(real)
    changed.data["k"] = "2"
    await dry.update(changed, **flags)
    await dry.patch(copy.deepcopy(real), MergePatch({"data": {"k": "3"}}), **flags)
    await dry.apply(_config_map(namespace, k="4"), force=True, **flags)
    await dry.delete(real, **flags)
    await dry.delete_all_of(ConfigMap, namespace=namespace, **flags)
    assert (await client.get(ConfigMap, real)).data == {"k": "1"}


async def test_field_validation_can_be_strict(client, namespace, widgets):
    """An unknown field is dropped by default, and refused by a strict client."""
    wire = {**widgets.make(namespace).to_wire(), "spec": {"size": 1, "sise": 2}}
    strict = client.with_options(field_validation="Strict")
    with pytest.raises(BadRequest, match="unknown field"):
        await strict.create(copy.deepcopy(wire))
    ignoring = client.with_options(field_validation="Ignore")
    created = await ignoring.create(copy.deepcopy(wire))
    assert "sise" not in created["spec"]


async def test_an_invalid_object_says_which_field(client, namespace, widgets):
    """Invalid carries a cause for the field; the object keeps what was asked for."""
    obj = widgets.make(namespace, size=0)
    with pytest.raises(Invalid) as caught:
        await client.create(obj)
    assert [cause.field for cause in caught.value.causes] == ["spec.size"]
    assert obj.spec.size == 0


async def test_someone_without_rights_is_forbidden(client, namespace):
    """Impersonation reaches the server: reading as nobody in particular is refused, as a master allowed."""
    obj = await client.create(_config_map(namespace))
    with pytest.raises(Forbidden) as caught:
        await client.impersonate("ann").get(ConfigMap, obj)
    assert 'User "ann"' in caught.value.message
    assert await client.impersonate("ann", groups=("system:masters",)).get(ConfigMap, obj)
    assert isinstance(await client.list(Node), type(await client.list(ConfigMap, namespace=namespace)))
