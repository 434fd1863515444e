"""Every verb of the client against a real API server, for typed objects, `Unstructured` and dicts."""

import copy

import pytest

from pykb.api.core.v1 import ConfigMap, Namespace, Node, Pod, ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Unstructured
from pykb.client import MergePatch, merge_from
from pykb.client.errors import Conflict, Forbidden, NotFound
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


async def test_someone_without_rights_is_forbidden(client, namespace):
    """Impersonation reaches the server: reading as nobody in particular is refused, as a master allowed."""
    obj = await client.create(_config_map(namespace))
    with pytest.raises(Forbidden) as caught:
        await client.impersonate("ann").get(ConfigMap, obj)
    assert 'User "ann"' in caught.value.message
    assert await client.impersonate("ann", groups=("system:masters",)).get(ConfigMap, obj)
    assert isinstance(await client.list(Node), type(await client.list(ConfigMap, namespace=namespace)))
