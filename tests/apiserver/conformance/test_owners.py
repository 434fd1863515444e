"""Whose an object is, on both API servers: nothing is written to what is somebody else's, whatever happens meanwhile."""

import copy
from contextlib import asynccontextmanager

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import MergePatch
from pykb.client.owner import controller_of, owner_references
from pykb.runtime import (
    AlreadyOwned,
    Client,
    Conflict,
    NotControlled,
    OperationResult,
    create_or_patch,
    create_or_update,
    ensure_applied,
    ensure_deleted,
    is_controlled_by,
    list_controlled,
    prune,
    set_controller_reference,
)

HELPERS = pytest.mark.parametrize("helper", [ensure_applied, create_or_update, create_or_patch])


class Meddler:
    """A connection through which somebody else comes in before a request of a method."""

    def __init__(self, connection):
        self._connection = connection
        self._plans = []
        self.requests = 0

    def before(self, method, act):
        """Have ``act`` happen before the next request of this method."""
        self._plans.append((method, act))

    async def request(self, call):
        """Pass a request on."""
        self.requests += 1
        due = [plan for plan in self._plans if plan[0] == call.method]
        if due:
            self._plans.remove(due[0])
            await due[0][1]()
        return await self._connection.request(call)

    @asynccontextmanager
    async def stream(self, call):
        """Pass a watch on."""
        async with self._connection.stream(call) as lines:
            yield lines

    async def close(self):
        """The connection is another's."""


class Frozen:
    """A cache that has stood still: it has what it was given."""

    def __init__(self, *objects):
        self._objects = [copy.deepcopy(obj.to_wire()) for obj in objects]

    def has(self, gvk, namespace=None):
        return gvk.kind == "ConfigMap"

    async def get(self, gvk, namespace, name):
        found = await self.list(gvk, namespace=namespace)
        return next((obj for obj in found if obj["metadata"]["name"] == name), None)

    async def list(self, gvk, *, namespace=None, labels=None, fields=None):
        return copy.deepcopy(self._objects)


@pytest.fixture
def meddler(client):
    """Somebody else."""
    return Meddler(client.connection)


@pytest.fixture
async def owner(client, namespace):
    """The object that is to control others."""
    return await client.create(_config_map(namespace, "owner"))


def _config_map(namespace, name="child", **data):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data or None)


async def _bring(helper, client, obj, **options):
    wanted = copy.deepcopy(obj.data)
    if helper is ensure_applied:
        return await ensure_applied(client, obj, **options)

    def want():
        obj.data = wanted

    return await helper(client, obj, want, **options)


async def _by_argument(helper, client, obj, owner):
    return await _bring(helper, client, obj, owner=owner)


async def _by_reference(helper, client, obj, owner):
    if helper is not ensure_applied:
        return await helper(client, obj, lambda: set_controller_reference(owner, obj))
    set_controller_reference(owner, obj)
    return await ensure_applied(client, obj)


@HELPERS
async def test_what_an_owner_makes_is_its_own(client, namespace, owner, helper):
    """Created with its controller, left alone, brought back."""
    results = [(await _bring(helper, client, _config_map(namespace, k="1"), owner=owner))[1] for _ in range(2)]
    await client.patch(_config_map(namespace), MergePatch({"data": {"k": "drift"}}), field_manager="other")
    obj, result = await _bring(helper, client, _config_map(namespace, k="1"), owner=owner)
    assert [*results, result] == [OperationResult.CREATED, OperationResult.UNCHANGED, OperationResult.UPDATED]
    found = await client.get(ConfigMap, obj)
    assert is_controlled_by(found, owner)
    assert found.data == {"k": "1"}


@HELPERS
@pytest.mark.parametrize("bring", [_by_argument, _by_reference])
async def test_what_nobody_controls_is_not_taken(client, namespace, owner, helper, bring):
    """It stays as it is, however the owner is given, and tried again."""
    before = await client.create(_config_map(namespace, theirs="1"))
    wanted = _config_map(namespace, ours="1")
    message = f"ConfigMap `{namespace}/child` already exists and is not controlled by ConfigMap `owner`"
    for _ in range(2):
        with pytest.raises(NotControlled, match=message):
            await bring(helper, client, copy.deepcopy(wanted), owner)
    assert await client.get(ConfigMap, before) == before


@HELPERS
@pytest.mark.parametrize("adopt", [False, True])
async def test_what_another_controls_is_never_taken(client, namespace, owner, helper, adopt):
    """Also when it may be adopted: it has a controller."""
    other = await client.create(_config_map(namespace, "other"))
    child = _config_map(namespace, theirs="1")
    set_controller_reference(other, child)
    before = await client.create(child)
    with pytest.raises(AlreadyOwned, match=f"`{namespace}/child` is already controlled by ConfigMap `other`") as caught:
        await _bring(helper, client, _config_map(namespace, ours="1"), owner=owner, adopt=adopt)
    assert (caught.value.controller.uid, caught.value.owner.uid) == (other.metadata.uid, owner.metadata.uid)
    assert await client.get(ConfigMap, before) == before


@HELPERS
async def test_what_a_former_owner_of_the_name_made_is_another_s(client, namespace, owner, helper):
    """The garbage collector is about to delete it; it may be adopted."""
    await _bring(helper, client, _config_map(namespace, k="1"), owner=owner)
    await client.delete(owner)
    owner = await client.create(_config_map(namespace, "owner"))
    with pytest.raises(AlreadyOwned, match="is already controlled by a former ConfigMap `owner`"):
        await _bring(helper, client, _config_map(namespace, k="1"), owner=owner)
    await _bring(helper, client, _config_map(namespace, k="1"), owner=owner, adopt=True)
    found = await client.get(ConfigMap, f"{namespace}/child")
    assert [reference.uid for reference in owner_references(found)] == [owner.metadata.uid]


@HELPERS
async def test_what_nobody_controls_may_be_adopted(client, namespace, owner, helper):
    """Its other fields stay."""
    await client.create(_config_map(namespace, theirs="1"))
    obj, result = await _bring(helper, client, _config_map(namespace, ours="1"), owner=owner, adopt=True)
    assert result is OperationResult.UPDATED
    found = await client.get(ConfigMap, obj)
    assert is_controlled_by(found, owner)
    assert found.data["ours"] == "1"


@HELPERS
async def test_an_owner_that_is_gone_adopts_nothing(client, namespace, owner, helper):
    """The object would be collected with it."""
    before = await client.create(_config_map(namespace, theirs="1"))
    await client.delete(owner)
    with pytest.raises(NotControlled):
        await _bring(helper, client, _config_map(namespace, ours="1"), owner=owner, adopt=True)
    assert await client.get(ConfigMap, before) == before


async def test_one_that_comes_up_while_looking_is_not_taken(client, namespace, owner, meddler):
    """Somebody creates it between the look and the write."""
    made = []

    async def create():
        made.append(await client.create(_config_map(namespace, theirs="1")))

    meddler.before("POST", create)
    with pytest.raises(NotControlled):
        await ensure_applied(Client(meddler), _config_map(namespace, ours="1"), owner=owner)
    assert [await client.get(ConfigMap, made[0])] == made


@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_one_that_is_replaced_while_looking_is_not_taken(client, namespace, owner, meddler, method):
    """Ours is deleted and another made between the look and the write."""
    await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)
    made = []

    async def replace():
        await client.delete(ConfigMap, f"{namespace}/child")
        made.append(await client.create(_config_map(namespace, theirs="1")))

    meddler.before(method, replace)
    with pytest.raises(NotControlled):
        await ensure_applied(Client(meddler), _config_map(namespace, k="2"), owner=owner)
    assert [await client.get(ConfigMap, made[0])] == made


async def test_one_that_is_given_away_while_looking_is_not_taken_back(client, namespace, owner, meddler):
    """The uid is the same; its controller is another."""
    other = await client.create(_config_map(namespace, "other"))
    ours, _ = await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)
    reference = owner_references(ours)[0].to_wire() | {"name": "other", "uid": other.metadata.uid}

    async def give_away():
        change = {"metadata": {"ownerReferences": [reference]}}
        await client.patch(_config_map(namespace), MergePatch(change), field_manager="other")

    meddler.before("PATCH", give_away)
    with pytest.raises(AlreadyOwned):
        await ensure_applied(Client(meddler), _config_map(namespace, k="2"), owner=owner)
    found = await client.get(ConfigMap, ours)
    assert (controller_of(found).name, found.data) == ("other", {"k": "1"})


async def test_one_that_others_write_meanwhile_is_looked_at_again(client, namespace, owner, meddler):
    """A status, a label: no reason to fail."""
    await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)

    async def label():
        await client.patch(_config_map(namespace), MergePatch({"metadata": {"labels": {"theirs": "1"}}}))

    for _ in range(3):
        meddler.before("PATCH", label)
    obj, result = await ensure_applied(Client(meddler), _config_map(namespace, k="2"), owner=owner)
    assert (result, obj.data) == (OperationResult.UPDATED, {"k": "2"})


async def test_one_that_vanishes_while_looking_is_made_anew(client, namespace, owner, meddler):
    """It is not there to be applied to, so it is created."""
    await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)

    async def delete():
        await client.delete(ConfigMap, f"{namespace}/child")

    meddler.before("PATCH", delete)
    _, result = await ensure_applied(Client(meddler), _config_map(namespace, k="2"), owner=owner)
    assert result is OperationResult.CREATED
    assert (await client.get(ConfigMap, f"{namespace}/child")).data == {"k": "2"}


@pytest.mark.parametrize("k", ["1", "2"])
async def test_an_old_copy_takes_nothing(client, namespace, owner, k):
    """The cache still has ours, or still has nothing; the server has somebody else's."""
    ours, _ = await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)
    await client.delete(ours)
    theirs = await client.create(_config_map(namespace, theirs="1"))
    with pytest.raises(NotControlled):
        await ensure_applied(client.with_cache(Frozen()), _config_map(namespace, k=k), owner=owner)
    with pytest.raises(NotControlled):
        await ensure_applied(client.with_cache(Frozen(ours)), _config_map(namespace, k="3"), owner=owner)
    assert await client.get(ConfigMap, theirs) == theirs


async def test_what_was_made_a_moment_ago_is_not_written_again(client, namespace, owner):
    """The cache has not seen it yet."""
    made, _ = await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)
    obj, result = await ensure_applied(client.with_cache(Frozen()), _config_map(namespace, k="1"), owner=owner)
    assert result is OperationResult.UNCHANGED
    assert obj.metadata.resource_version == made.metadata.resource_version


async def test_a_field_that_is_no_longer_wanted_goes(client, namespace, owner):
    """Also one that came with the creation; those of others stay."""
    await ensure_applied(client, _config_map(namespace, a="1", b="1"), owner=owner)
    await client.patch(_config_map(namespace), MergePatch({"data": {"theirs": "1"}}), field_manager="other")
    await ensure_applied(client, _config_map(namespace, a="1"), owner=owner)
    assert (await client.get(ConfigMap, f"{namespace}/child")).data == {"a": "1", "theirs": "1"}
    await ensure_applied(client, _config_map(namespace, c="1"), owner=owner)
    found = await client.get(ConfigMap, f"{namespace}/child")
    assert found.data == {"c": "1", "theirs": "1"}
    assert {(entry.manager, entry.operation) for entry in found.metadata.managed_fields} == {
        (client.options.field_manager, "Apply"),
        ("other", "Update"),
    }


async def test_a_new_process_goes_on_from_what_is_there(client, namespace, owner):
    """It has no memory of what was created; the second look writes nothing any more."""
    await ensure_applied(client, _config_map(namespace, a="1", b="1"), owner=owner)
    fresh = Client(Meddler(client.connection))
    await ensure_applied(fresh, _config_map(namespace, a="1"), owner=owner)
    found = await client.get(ConfigMap, f"{namespace}/child")
    assert found.data == {"a": "1"}
    fresh = Client(Meddler(client.connection))
    _, result = await ensure_applied(fresh, _config_map(namespace, a="1"), owner=owner)
    assert result is OperationResult.UNCHANGED
    assert await client.get(ConfigMap, f"{namespace}/child") == found


async def test_a_new_process_asks_the_server_once(client, namespace, owner, meddler):
    """A cache knows of no owners of fields; what the server has told is remembered."""
    await ensure_applied(client, _config_map(namespace, a="1", b="1"), owner=owner)
    found, _ = await ensure_applied(client, _config_map(namespace, a="1"), owner=owner)
    found.metadata.managed_fields = None
    fresh = Client(meddler).with_cache(Frozen(found))
    asked = []
    for _ in range(3):
        meddler.requests = 0
        _, result = await ensure_applied(fresh, _config_map(namespace, a="1"), owner=owner)
        assert result is OperationResult.UNCHANGED
        asked.append(meddler.requests)
    assert asked == [1, 0, 0]


async def test_a_dry_run_of_a_deletion_deletes_nothing(client, namespace, owner):
    """It is told as if it were done."""
    await ensure_applied(client, _config_map(namespace), owner=owner)
    assert await ensure_deleted(client.with_options(dry_run=True), ConfigMap, f"{namespace}/child", owner=owner)
    assert await client.find(ConfigMap, f"{namespace}/child") is not None


async def test_a_field_of_another_manager_is_told_at_once(client, namespace, owner):
    """Looking again would not help."""
    await ensure_applied(client, _config_map(namespace, k="1"), owner=owner)
    await client.apply(_config_map(namespace, k="theirs"), field_manager="other", force=True)
    with pytest.raises(Conflict) as caught:
        await ensure_applied(client, _config_map(namespace, k="2"), owner=owner, force=False)
    assert [cause.field for cause in caught.value.causes] == [".data.k"]


async def test_only_what_an_owner_controls_is_deleted(client, namespace, owner):
    """Ours goes, what is somebody else's stays; both are nothing of ours any more."""
    theirs = await client.create(_config_map(namespace, "theirs"))
    await ensure_applied(client, _config_map(namespace), owner=owner)
    assert [obj.metadata.name for obj in await list_controlled(client, ConfigMap, owner=owner)] == ["child"]
    for name in ("child", "theirs", "absent"):
        assert await ensure_deleted(client, ConfigMap, f"{namespace}/{name}", owner=owner)
    assert await client.find(ConfigMap, f"{namespace}/child") is None
    assert await client.get(ConfigMap, theirs) == theirs


async def test_what_a_finalizer_holds_is_not_gone(client, namespace, owner):
    """Deleted once, told as there until it is gone."""
    child = _config_map(namespace)
    child.metadata.finalizers = ["example.com/hold"]
    await ensure_applied(client, child, owner=owner)
    assert [await ensure_deleted(client, ConfigMap, child, owner=owner) for _ in range(2)] == [False, False]
    await client.patch(child, MergePatch({"metadata": {"finalizers": None}}))
    assert await ensure_deleted(client, ConfigMap, child, owner=owner)


async def test_one_that_is_replaced_while_deleting_is_left_alone(client, namespace, owner, meddler):
    """The delete names the object that was looked at."""
    await ensure_applied(client, _config_map(namespace), owner=owner)
    made = []

    async def replace():
        await client.delete(ConfigMap, f"{namespace}/child")
        made.append(await client.create(_config_map(namespace, theirs="1")))

    meddler.before("DELETE", replace)
    assert await ensure_deleted(Client(meddler), ConfigMap, f"{namespace}/child", owner=owner)
    assert [await client.get(ConfigMap, made[0])] == made


async def test_names_that_are_no_longer_wanted_are_pruned(client, namespace, owner):
    """Whatever name an earlier spec asked for; what is somebody else's stays."""
    await client.create(_config_map(namespace, "theirs"))
    for name in ("a", "b", "c"):
        await ensure_applied(client, _config_map(namespace, name), owner=owner)
    assert await prune(client, ConfigMap, owner=owner, keep=["b"]) == ["a", "c"]
    assert await prune(client, ConfigMap, owner=owner, keep=["b"]) == []
    names = {obj.metadata.name for obj in await client.list(ConfigMap, namespace=namespace)}
    assert names - {"kube-root-ca.crt"} == {"owner", "b", "theirs"}


async def test_an_old_copy_of_the_owner_deletes_nothing(client, namespace, widgets):
    """The spec that it has may not be the one that counts."""
    owner = await client.create(widgets.make(namespace))
    await ensure_applied(client, _config_map(namespace, "of-the-new-spec"), owner=owner)
    old = copy.deepcopy(owner)
    owner.spec.size = 5
    await client.update(owner)
    with pytest.raises(Conflict, match="has changed since it was read"):
        await prune(client, ConfigMap, owner=old, keep=["of-the-old-spec"])
    assert await client.find(ConfigMap, f"{namespace}/of-the-new-spec") is not None
    assert await prune(client, ConfigMap, owner=owner) == ["of-the-new-spec"]


async def test_an_apply_may_be_for_one_version_of_one_object(client, namespace):
    """Not one that has changed, was made anew, or is gone."""
    obj = await client.create(_config_map(namespace, k="1"))
    version = obj.metadata.resource_version

    def wanted():
        return ConfigMap(metadata=ObjectMeta(name="child", namespace=namespace, uid=obj.metadata.uid), data={"k": "2"})

    await client.apply(wanted(), force=True, resource_version=version)
    with pytest.raises(Conflict):
        await client.apply(wanted(), force=True, resource_version=version)
    await client.delete(obj)
    with pytest.raises(Conflict):
        await client.apply(wanted(), force=True, resource_version=version)
    with pytest.raises(Conflict):
        await client.apply(wanted(), force=True)
    await client.create(_config_map(namespace, k="theirs"))
    with pytest.raises(Conflict):
        await client.apply(wanted(), force=True, resource_version=version)
    assert (await client.get(ConfigMap, obj)).data == {"k": "theirs"}
