"""Events as people see them, recorded without waiting and without failing."""

import asyncio

import pytest

from pykb.api.core.v1 import ConfigMap, Namespace
from pykb.api.events.v1 import Event
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.events import EventRecorder

pytestmark = pytest.mark.apiserver


async def _object(client, namespace):
    return await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))


async def test_an_event_says_who_did_what_to_which_object(client, namespace):
    """Every field that `kubectl describe` shows is there, and both API versions see it."""
    obj = await _object(client, namespace)
    recorder = EventRecorder(client, "VirtulMachineReconciler", instance="pod-1")
    recorder.event(obj, "Warning", "CreateFailed", "no room", action="Create", related=obj)
    await recorder.flush()
    (event,) = await client.list(Event, namespace=namespace)
    assert (event.type, event.reason, event.action, event.note) == ("Warning", "CreateFailed", "Create", "no room")
    assert (event.reporting_controller, event.reporting_instance) == ("VirtulMachineReconciler", "pod-1")
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("ConfigMap", "a", obj.metadata.uid)
    assert event.regarding.resource_version == obj.metadata.resource_version
    from pykb.api.core.v1 import Event as CoreEvent

    fields = {"involvedObject.uid": obj.metadata.uid}
    (core,) = await client.list(CoreEvent, namespace=namespace, fields=fields)
    assert core.message == "no room"


async def test_a_repeated_event_is_counted_in_one_object(client, namespace):
    """The second and later times add to the series, whether the first is stored yet or not."""
    obj = await _object(client, namespace)
    recorder = EventRecorder(client, "c")
    for _ in range(3):
        recorder.event(obj, "Normal", "Synced", "all well")
    await recorder.flush()
    recorder.event(obj, "Normal", "Synced", "all well")
    await recorder.flush()
    (event,) = await client.list(Event, namespace=namespace)
    assert event.series.count == 4


async def test_an_event_that_was_forgotten_is_recorded_anew(client, namespace):
    """The server deletes events after an hour; the series then starts a new object."""
    obj = await _object(client, namespace)
    recorder = EventRecorder(client, "c")
    recorder.event(obj, "Normal", "Synced", "all well")
    await recorder.flush()
    await client.delete_all_of(Event, namespace=namespace)
    recorder.event(obj, "Normal", "Synced", "all well")
    await recorder.flush()
    assert len(await client.list(Event, namespace=namespace)) == 1


async def test_similar_events_are_combined(client, namespace):
    """Twelve that differ in their words make nine events and one that stands for the rest."""
    obj = await _object(client, namespace)
    recorder = EventRecorder(client, "c")
    for number in range(12):
        recorder.event(obj, "Normal", "Retry", f"attempt {number}")
    await recorder.flush()
    notes = [event.note for event in await client.list(Event, namespace=namespace)]
    assert len(notes) == 10
    assert "(combined from similar events): attempt 11" in notes


async def test_words_that_are_too_long_are_cut(client, namespace):
    """The server takes 1024 characters of a note and 128 of a reason."""
    obj = await _object(client, namespace)
    recorder = EventRecorder(client, "my controller/x")
    recorder.event(obj, "Normal", "R" * 200, "n" * 2000, action="A" * 200)
    await recorder.flush()
    (event,) = await client.list(Event, namespace=namespace)
    assert (len(event.note), len(event.reason), len(event.action)) == (1024, 128, 128)


async def test_an_event_of_a_cluster_scoped_object_goes_to_default(client, namespace):
    """As client-go does."""
    obj = await client.get(Namespace, namespace)
    recorder = EventRecorder(client, "c")
    recorder.event(obj, "Normal", "Seen", "here")
    await recorder.flush()
    found = await client.list(Event, namespace="default")
    assert [event.note for event in found if event.regarding.uid == obj.metadata.uid] == ["here"]


async def test_recording_never_fails(client, namespace, caplog):
    """An event that the server refuses is logged, and the next one goes out."""
    recorder = EventRecorder(client, "c")
    recorder.event(
        {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "namespace": "none-such"}}, "Normal", "R", "m"
    )
    recorder.event(await _object(client, namespace), "Normal", "R", "m")
    await recorder.flush()
    assert [record.getMessage() for record in caplog.records] == ["event not recorded"]
    assert len(await client.list(Event, namespace=namespace)) == 1


async def test_events_come_from_threads_too(client, namespace):
    """A synchronous reconciler runs in a thread and records from there."""
    obj = await _object(client, namespace)
    recorder = EventRecorder(client, "c")
    await asyncio.to_thread(recorder.event, obj, "Normal", "Threaded", "hello")
    await asyncio.sleep(0)
    await recorder.flush()
    assert len(await client.list(Event, namespace=namespace)) == 1
