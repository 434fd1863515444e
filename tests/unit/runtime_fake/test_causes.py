"""A manager in memory tells why each reconcile ran, what it sent and how it ended."""

import asyncio
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    Client,
    ClientOptions,
    ControllerBuilder,
    Manager,
    MergePatch,
    NotFound,
    ReconcileListener,
    Reconciler,
    Request,
    Result,
    VirtualClock,
)
from pykb.runtime.fake import fake_client
from pykb.testing import eventually, running


class Listening(ReconcileListener):
    """Keeps all records."""

    def __init__(self):
        self.begun, self.ends = [], []

    def started(self, record):
        """Note why."""
        self.begun.append([str(cause) for cause in record.causes])

    def ended(self, record):
        """Note the record."""
        self.ends.append(record)

    @property
    def why(self):
        """The causes of each reconcile."""
        return [[str(cause) for cause in record.causes] for record in self.ends]

    @property
    def sent(self):
        """The requests of each reconcile."""
        return [[str(sent) for sent in record.sent] for record in self.ends]


def config_map(name="a", **data):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


class Scripted(Reconciler):
    """Does one thing after the other."""

    def __init__(self, client, *steps):
        super().__init__(client)
        self.steps = list(steps)

    async def reconcile(self, request: Request) -> Result | None:
        """Do the next one."""
        return await self.steps.pop(0)(self.client, request) if self.steps else None


def managed(client, *steps, clock=None):
    """A manager of config maps with a listener."""
    manager, listener = Manager(client=client, clock=clock), Listening()
    ControllerBuilder(manager).for_(ConfigMap).complete(Scripted(manager.client, *steps))
    manager.listen(listener)
    return manager, listener


def other_client(client, name):
    """The same server, for another program."""
    return Client(client.connection, mapper=client.mapper, options=ClientOptions(field_manager=name))


async def test_events_are_named_with_the_fields_and_their_writer():
    """The first list, a creation, an update by somebody else and a deletion."""
    client = fake_client(config_map("early"))
    manager, listener = managed(client)
    somebody = other_client(client, "kubectl")
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 1)
        made = await somebody.create(config_map("late", x="1"))
        await eventually(lambda: len(listener.ends) == 2)
        made.data = {"x": "2"}
        await somebody.update(made)
        await eventually(lambda: len(listener.ends) == 3)
        await somebody.delete(made)
        await eventually(lambda: len(listener.ends) == 4)
    assert listener.why == [
        ["initial of ConfigMap default/early"],
        ["create of ConfigMap default/late by kubectl"],
        ['update of ConfigMap default/late by kubectl (data.x: "1" -> "2")'],
        ["delete of ConfigMap default/late"],
    ]
    assert listener.begun == listener.why
    assert all(record.result == Result() and record.error is None for record in listener.ends)
    assert len({record.id for record in listener.ends}) == 4


async def test_a_write_of_a_reconcile_names_it_in_the_next_cause():
    """And what it sent: reads that reached the server, creations, changes with both values, and what failed."""

    async def write(client, request):
        found = await client.get(ConfigMap, request)
        found.data = {"x": "2"}
        await client.update(found)
        await client.patch(found, MergePatch({"data": {"y": "1"}}), dry_run=True)
        await client.live.find(ConfigMap, request)
        await client.create(Secret(metadata=ObjectMeta(name="s", namespace="default"), string_data={"p": "hunter2"}))
        await client.patch(found, MergePatch({"data": {"x": "3"}}))
        await client.delete(Secret, "default/s")
        with pytest.raises(NotFound):
            await client.live.get(Secret, "default/none")

    client = fake_client(config_map(x="1"))
    manager, listener = managed(client, write)
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 2)
    first, second = listener.ends
    assert listener.sent[0][:-1] == [
        'PUT ConfigMap default/a: data.x: "1" -> "2"',
        'PATCH ConfigMap default/a: data.y: unset -> "1"',
        "GET ConfigMap default/a",
        "POST Secret default/s",
        'PATCH ConfigMap default/a: data.x: "2" -> "3"',
        "DELETE Secret default/s",
    ]
    assert listener.sent[0][-1].startswith("GET Secret default/none: NotFound: ")
    assert [sent.dry_run for sent in first.sent] == [False, True, False, False, False, False, False]
    assert {cause.written_by for cause in second.causes} == {first.id}
    assert "hunter2" not in str(listener.ends)


async def test_a_retry_a_delay_and_a_resync_are_not_events():
    """A delay that an event overtakes is not the cause."""
    clock = VirtualClock()

    async def fail(client, request):
        raise RuntimeError("once")

    async def later(client, request):
        return Result(requeue_after=timedelta(minutes=5))

    client = fake_client(config_map(x="1"))
    manager, listener = managed(client, fail, later, later, clock=clock)
    somebody = other_client(client, "kubectl")
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 1)
        clock.advance(timedelta(milliseconds=5))
        await eventually(lambda: len(listener.ends) == 2)
        clock.advance(timedelta(minutes=5))
        await eventually(lambda: len(listener.ends) == 3)
        await somebody.update(config_map(x="2"))
        await eventually(lambda: len(listener.ends) == 4)
        clock.advance(timedelta(hours=10))
        await eventually(lambda: len(listener.ends) == 5)
    assert listener.why == [
        ["initial of ConfigMap default/a"],
        ["retry"],
        ["requeue_after"],
        ['update of ConfigMap default/a by kubectl (data.x: "1" -> "2")'],
        ["resync of ConfigMap default/a"],
    ]
    assert isinstance(listener.ends[0].error, RuntimeError)
    assert listener.ends[1].result == Result(requeue_after=timedelta(minutes=5))


async def test_a_reconcile_does_not_wait_for_its_record():
    """A kind whose first list hangs has no known state. Its write is recorded without changes."""
    client = fake_client(config_map(), Secret(metadata=ObjectMeta(name="s", namespace="default")))

    async def write(client, request):
        await client.patch(
            Secret(metadata=ObjectMeta(name="s", namespace="default")), MergePatch({"data": {"k": "eA=="}})
        )

    manager, listener = managed(client, write)
    informer = manager.cache.informer(Secret)
    informer.run = lambda *_: asyncio.get_running_loop().create_future()
    async with asyncio.timeout(60):
        task = asyncio.create_task(manager.start())
        await eventually(lambda: len(listener.ends) > 0)
        manager.stop()
        await task
    assert not informer.has_synced
    assert listener.sent[0] == ["PATCH Secret default/s"]


async def test_a_listener_that_fails_harms_nobody(caplog):
    """It is logged; the reconcile and the other listeners go their way."""

    class Broken(ReconcileListener):
        def started(self, record):
            raise ValueError("broken")

    client = fake_client(config_map())
    manager, listener = managed(client)
    manager.listen(Broken())
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 1)
    assert "listener failed" in caplog.text


async def test_a_listener_without_details_costs_none():
    """It learns of each reconcile and its end, not why it ran and what it sent."""

    class Ends(Listening):
        needs_details = False

    async def write(client, _):
        await client.create(config_map("child"))
        return Result(requeue_after=timedelta(hours=1))

    manager, listener = Manager(client=fake_client(config_map())), Ends()
    ControllerBuilder(manager).for_(ConfigMap).complete(Scripted(manager.client, write))
    manager.listen(listener)
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 2)
    assert listener.begun == [[], []]
    assert listener.sent == [[], []]
    assert [(str(record.id.request), record.error) for record in listener.ends] == [
        ("default/a", None),
        ("default/child", None),
    ]
    assert listener.ends[0].result == Result(requeue_after=timedelta(hours=1))


async def test_many_causes_are_counted_not_kept():
    """An object that changes while it is reconciled may change often."""
    manager, listener = managed(fake_client())
    (controller,) = manager.controllers
    for minutes in range(100):
        controller.queue.add(Request("default", "a"), after=timedelta(minutes=minutes))
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 1)
    assert listener.why == [["program"]]
    assert listener.ends[0].more_causes == 84
    assert not controller.recorder._waiting


async def test_a_record_has_how_many_requests_wait_for_a_worker():
    """Those that are due, and not those for later."""
    manager, listener = managed(fake_client())
    (controller,) = manager.controllers
    for name in "abc":
        controller.queue.add(Request("default", name))
    controller.queue.add(Request("default", "later"), after=timedelta(hours=1))
    async with running(manager):
        await eventually(lambda: len(listener.ends) == 3)
    assert [record.queued for record in listener.ends] == [2, 1, 0]
