"""What reconcilers are made of, on both API servers: a test with the in-memory one tells the truth."""

import asyncio
import copy

import pytest

from pykb.api.conditions import set_condition
from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.events.v1 import Event
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.ensure import OperationResult, create_or_patch, create_or_update, ensure_applied, patch_status
from pykb.client.errors import Conflict
from pykb.client.events import EventRecorder
from pykb.client.finalizers import ensure_finalizer, finalizers, release_finalizer
from pykb.client.owner import is_controlled_by, set_controller_reference
from pykb.runtime._election import LeaderElectionOptions, LeaderElector
from pykb.runtime.controller.clean_ups import Finalizers


def _config_map(namespace, name="a", **data):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data or None)


@pytest.mark.parametrize("helper", [create_or_update, create_or_patch])
async def test_an_object_is_brought_to_what_is_wanted(client, namespace, helper):
    """Created, left alone, updated."""
    obj = _config_map(namespace)
    wanted = {"k": "1"}

    def want():
        obj.data = dict(wanted)

    results = [(await helper(client, obj, want))[1] for _ in range(2)]
    wanted["k"] = "2"
    results.append((await helper(client, obj, want))[1])
    assert results == [OperationResult.CREATED, OperationResult.UNCHANGED, OperationResult.UPDATED]
    assert (await client.get(ConfigMap, obj)).data == {"k": "2"}


async def test_what_is_applied_stays_applied(client, namespace, widgets):
    """Created, left alone, repaired after drift."""

    def wanted():
        return {
            "apiVersion": "client.example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w", "namespace": namespace},
            "spec": {"size": 2, "parts": [{"name": "a"}]},
        }

    results = [(await ensure_applied(client, wanted(), field_manager="me"))[1] for _ in range(2)]
    found = await client.get(widgets.Kind, f"{namespace}/w")
    found.spec.size = 5
    await client.update(found, field_manager="drift")
    results.append((await ensure_applied(client, wanted(), field_manager="me"))[1])
    assert results == [OperationResult.CREATED, OperationResult.UNCHANGED, OperationResult.UPDATED]
    assert (await client.get(widgets.Kind, f"{namespace}/w")).spec.size == 2


@pytest.mark.parametrize("is_typed", [True, False])
async def test_texts_of_a_secret_are_applied_as_the_data_that_they_become(client, namespace, is_typed):
    """The manager owns the keys: one that it no longer sets goes away. `string_data` is stronger than `data`."""

    def wanted(**texts):
        metadata = ObjectMeta(name="s", namespace=namespace)
        secret = Secret(metadata=metadata, data={"a": b"0", "c": b"3"}, string_data=texts)
        return secret if is_typed else secret.to_wire()

    every = [await ensure_applied(client, wanted(**texts)) for texts in ({"a": "1", "b": "2"}, {"a": "1"}, {"a": "1"})]
    results = [result for _, result in every]
    assert results == [OperationResult.CREATED, OperationResult.UPDATED, OperationResult.UNCHANGED]
    found = await client.get(Secret, f"{namespace}/s")
    assert found.data == {"a": b"1", "c": b"3"}
    assert "f:stringData" not in found.metadata.managed_fields[0].fields_v1


async def test_a_child_has_its_controller(client, namespace):
    """The reference survives the server."""
    parent = await client.create(_config_map(namespace, "parent"))
    child = _config_map(namespace, "child")
    set_controller_reference(parent, child)
    await client.create(child)
    found = await client.get(ConfigMap, child)
    assert is_controlled_by(found, parent)
    assert found.metadata.owner_references[0].block_owner_deletion is True


async def test_a_finalizer_guards_a_clean_up(client, namespace):
    """Ensured, held, released, gone; a stale copy is a conflict."""
    obj = await client.create(_config_map(namespace))
    stale = copy.deepcopy(obj)
    assert await ensure_finalizer(client, obj, "example.com/x")
    with pytest.raises(Conflict):
        await ensure_finalizer(client, stale, "example.com/y")
    await client.delete(obj)
    held = await client.get(ConfigMap, obj)
    assert await release_finalizer(client, held, "example.com/x")
    assert await client.find(ConfigMap, obj) is None


async def test_conditions_are_written_once(client, namespace, widgets):
    """Set in the status, patched when they change."""
    obj = await client.create(widgets.make(namespace))
    before = copy.deepcopy(obj)
    obj.status.conditions = set_condition(obj.status.conditions, "Ready", True, reason="Done")
    assert await patch_status(client, obj, before) is OperationResult.UPDATED
    found = await client.get(widgets.Kind, obj)
    assert [condition.type for condition in found.status.conditions] == ["Ready"]
    assert await patch_status(client, found, copy.deepcopy(found)) is OperationResult.UNCHANGED


async def test_a_status_is_compared_with_the_former_one(client, namespace, widgets):
    """A copy of the status is enough, also to refuse a write to an object that has changed since."""
    obj = await client.create(widgets.make(namespace))
    stale = await client.get(widgets.Kind, obj)
    before = copy.deepcopy(obj.status)
    obj.status.conditions = set_condition(obj.status.conditions, "Ready", True, reason="Done")
    assert await patch_status(client, obj, before, optimistic_lock=True) is OperationResult.UPDATED
    found = await client.get(widgets.Kind, obj)
    assert [condition.type for condition in found.status.conditions] == ["Ready"]
    assert await patch_status(client, found, copy.deepcopy(found.status)) is OperationResult.UNCHANGED
    before = copy.deepcopy(stale.status)
    stale.status.conditions = set_condition(stale.status.conditions, "Ready", False, reason="Late")
    with pytest.raises(Conflict):
        await patch_status(client, stale, before, optimistic_lock=True)


async def test_a_status_that_there_was_not_is_written_whole(client, namespace, widgets):
    """`None` is the former status of a new object of many kinds."""
    obj = await client.create(widgets.make(namespace))
    obj.status.conditions = set_condition(obj.status.conditions, "Ready", True, reason="Done")
    assert await patch_status(client, obj, None) is OperationResult.UPDATED
    found = await client.get(widgets.Kind, obj)
    assert found.status.conditions == obj.status.conditions


async def test_events_are_recorded(client, namespace):
    """Counted when they repeat."""
    obj = await client.create(_config_map(namespace))
    recorder = EventRecorder(client, "tester")
    for _ in range(2):
        recorder.event(obj, "Normal", "Synced", "all well")
    await recorder.flush()
    (event,) = await client.list(Event, namespace=namespace)
    assert (event.note, event.series.count, event.regarding.uid) == ("all well", 2, obj.metadata.uid)


async def test_a_leader_is_elected(client, namespace):
    """One of two, and the other after it."""
    order = []
    first_leads, end = asyncio.Event(), asyncio.Event()

    async def first():
        order.append("first")
        first_leads.set()
        await end.wait()

    async def second():
        order.append("second")

    def elector(identity):
        return LeaderElector(client, LeaderElectionOptions("l", namespace, identity=identity))

    one = asyncio.create_task(elector("first").run(first))
    await first_leads.wait()
    two = asyncio.create_task(elector("second").run(second))
    await asyncio.sleep(0.1)
    assert order == ["first"]
    end.set()
    async with asyncio.timeout(60):
        await asyncio.gather(one, two)
    assert order == ["first", "second"]


async def test_clean_ups_run_in_order_when_an_object_is_deleted(client, namespace):
    """All finalizers come in one write and go in one; those of others stay."""
    obj = _config_map(namespace)
    obj.metadata.finalizers = ["example.com/others"]
    obj = await client.create(obj)
    ran = []

    async def disk(found):
        ran.append(("disk", found.metadata.name))

    clean_ups = Finalizers(client, {"example.com/disk": disk, "example.com/name": lambda found: ran.append("name")})
    assert [await clean_ups.finalize(obj) for _ in range(2)] == [None, None]
    obj = await client.get(ConfigMap, obj)
    assert finalizers(obj) == ["example.com/others", "example.com/disk", "example.com/name"]
    await client.delete(obj)
    obj = await client.get(ConfigMap, obj)
    assert await clean_ups.finalize(obj)
    assert ran == [("disk", "a"), "name"]
    obj = await client.get(ConfigMap, obj)
    assert finalizers(obj) == ["example.com/others"]
    assert await clean_ups.finalize(obj)
    assert len(ran) == 2


async def test_a_clean_up_that_fails_keeps_its_finalizer_only(client, namespace):
    """What succeeded is not done again; the failure is the reconcile's, which is retried."""
    ran = []
    trouble = [OSError("disk is busy"), OSError("disk is busy")]

    async def disk(found):
        ran.append("disk")
        found.data = {"changed": "by a clean-up, which writes nothing"}
        if trouble:
            raise trouble.pop()

    async def name(found):
        ran.append("name")
        if trouble:
            raise trouble.pop()

    clean_ups = Finalizers(client, {"example.com/disk": disk, "example.com/name": name})
    obj = await client.create(_config_map(namespace))
    await clean_ups.finalize(obj)
    await client.delete(obj)
    with pytest.raises(ExceptionGroup, match="clean-ups failed") as failed:
        await clean_ups.finalize(await client.get(ConfigMap, obj))
    assert [str(error) for error in failed.value.exceptions] == ["disk is busy"] * 2
    trouble = [OSError("once more")]
    with pytest.raises(OSError, match="once more"):
        await clean_ups.finalize(await client.get(ConfigMap, obj))
    found = await client.get(ConfigMap, obj)
    assert (finalizers(found), found.data) == (["example.com/disk"], None)
    assert await clean_ups.finalize(found)
    assert await client.find(ConfigMap, obj) is None
    assert ran == ["disk", "name"] * 2 + ["disk"]


async def test_a_finalizer_has_one_clean_up(client):
    """A second one would hide the first."""
    clean_ups = Finalizers(client, {"example.com/disk": print})
    with pytest.raises(ValueError, match="has a clean-up already"):
        clean_ups.register("example.com/disk", print)
