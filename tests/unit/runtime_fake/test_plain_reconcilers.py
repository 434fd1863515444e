"""Plain functions in threads: what they can do with the client, and what ends their waits."""

import asyncio
import inspect
import threading
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap, Service
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import StatusWriter, SubresourceClient
from pykb.client import client as facade
from pykb.client.bridge import Bridge
from pykb.client.errors import NotFound
from pykb.client.login import Credentials
from pykb.client.task import check_fence, fenced
from pykb.client.writer import ScaleClient
from pykb.runtime import (
    Client,
    ControllerBuilder,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
    TransportOptions,
    await_in_thread,
    call_in_thread,
    ensure_applied,
)
from pykb.runtime.fake import fake_client
from pykb.testing import eventually, running
from pykb.webhook.steps import call

KEY = "default/a"


def config_map(name="a"):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"n": "1"})


def reconciling(function):
    """A reconciler whose plain method is this."""

    class Plain(Reconciler):
        def reconcile(self, request):
            return function(self, request)

    return Plain


async def reconciled(client, function, **options):
    """What a plain reconciler of ConfigMaps gives or raises, in a manager."""
    came = []

    def noting(self, request):
        try:
            came.append(function(self, request))
        except BaseException as error:
            came.append(error)
            raise

    manager = Manager(client=client)
    builder = ControllerBuilder(manager).for_(ConfigMap).with_options(**options)
    builder.complete(reconciling(noting)(manager.client))
    async with running(manager):
        await eventually(lambda: bool(came))
    return came[0]


async def test_a_plain_reconciler_reads_and_writes():
    """Every verb waits in place; helpers that are coroutines go by `await_in_thread`."""
    client = fake_client(config_map())

    def reconcile(self, request: Request):
        sync = self.client.sync
        found = sync.get(ConfigMap, request)
        if request.name != "a":
            return None
        found.data = {"n": "2"}
        sync.update(found)
        sync.create(config_map("b"))
        sync.delete(ConfigMap, "default/b")
        wanted = Service.from_wire(
            {"metadata": {"name": "s", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
        )
        await_in_thread(ensure_applied(self.client, wanted))
        self.recorder.event(found, "Normal", "Seen", "by a thread")
        assert sync.find(ConfigMap, "default/none") is None
        with pytest.raises(NotFound):
            self.client.live.sync.get(ConfigMap, "default/none")
        names = [one.metadata.name for one in self.client.live.sync.iterate(ConfigMap, page_size=1)]
        return names, len(sync.list(ConfigMap, namespace="other").items)

    assert await reconciled(client, reconcile) == (["a"], 0)
    assert (await client.get(ConfigMap, KEY)).data == {"n": "2"}
    assert await client.find(Service, "default/s")


async def test_a_webhook_and_a_thread_of_a_runnable_know_the_client_too():
    """Plain webhooks, and `asyncio.to_thread` in whatever a manager runs."""
    client = fake_client(config_map())
    assert (await call(lambda: client.sync.get(ConfigMap, KEY))).data == {"n": "1"}
    manager, came = Manager(client=client), []

    async def run():
        came.append(await asyncio.to_thread(manager.client.sync.get, ConfigMap, KEY))

    manager.add(run)
    async with running(manager):
        await eventually(lambda: bool(came))
    assert came[0].data == {"n": "1"}


async def test_a_test_calls_a_plain_reconciler_without_a_manager():
    """And gets its errors."""

    def reconcile(self, request):
        return self.client.sync.get(ConfigMap, request).data

    reconciler = reconciling(reconcile)(fake_client(config_map()))
    assert await call_in_thread(lambda: reconciler.reconcile(Request("default", "a"))) == {"n": "1"}
    with pytest.raises(NotFound):
        await call_in_thread(lambda: reconciler.reconcile(Request("default", "b")))


async def test_the_event_loop_is_not_blocked_by_a_sync_call():
    """In `async def`, and in a thread that nobody knows, the call says at once what is wrong."""
    client = fake_client(config_map())
    with pytest.raises(RuntimeError, match=r"`Reader\.get` would block the event loop.*write `await`"):
        client.sync.get(ConfigMap, KEY)
    came = []

    def alone():
        try:
            client.sync.get(ConfigMap, KEY)
        except RuntimeError as error:
            came.append(str(error))

    thread = threading.Thread(target=alone)
    thread.start()
    thread.join()
    assert "this thread knows of no manager's event loop" in came[0]


async def test_the_fence_of_the_leader_holds_for_threads():
    """What a thread asks for runs in the thread's own context."""

    def refuse():
        raise PermissionError("leads no more")

    async def write():
        check_fence()  # as the client does before it sends

    context = fenced(refuse)
    with pytest.raises(PermissionError, match="leads no more"):
        await asyncio.create_task(call(lambda: await_in_thread(write())), context=context)


async def test_a_call_beyond_its_timeout_ends_where_it_waits_for_the_client():
    """As in a coroutine: `CancelledError`, there and at every later call."""

    def reconcile(_self, _request):
        try:
            await_in_thread(asyncio.sleep(3600))
        except asyncio.CancelledError:
            await_in_thread(asyncio.sleep(3600))

    error = await reconciled(fake_client(config_map()), reconcile, timeout=timedelta(milliseconds=50))
    assert isinstance(error, asyncio.CancelledError)


async def test_stopping_ends_what_a_thread_waits_for():
    """At the end of the graceful time."""
    came, began = [], threading.Event()

    def reconcile(_self, _request):
        began.set()
        try:
            await_in_thread(asyncio.sleep(3600))
        except asyncio.CancelledError as error:
            came.append(error)

    options = ManagerOptions(graceful_shutdown_timeout=timedelta(milliseconds=50))
    manager = Manager(options, client=fake_client(config_map()))
    ControllerBuilder(manager).for_(ConfigMap).complete(reconciling(reconcile)(manager.client))
    async with running(manager):
        await eventually(began.is_set)
    await eventually(lambda: bool(came))


def test_a_loop_that_was_closed_answers_with_an_error():
    """Whether it was closed before the call or during it."""
    loop = asyncio.new_event_loop()

    async def bridge():
        return Bridge()

    made = loop.run_until_complete(bridge())
    waiting = threading.Timer(0.05, loop.close)
    waiting.start()
    with pytest.raises(asyncio.CancelledError, match="stopped"):
        made.wait(asyncio.sleep(3600))
    with pytest.raises(asyncio.CancelledError, match="stopped"):
        made.wait(asyncio.sleep(3600))


async def test_another_event_loop_in_a_thread_is_an_error():
    """`asyncio.run` in a plain reconciler waited for ever for what only the manager's loop moves."""
    address = Credentials(server="http://127.0.0.1:9")
    client = Client.from_credentials(address, transport=TransportOptions(attempts=1))
    async with client:
        with pytest.raises(Exception, match=r"127\.0\.0\.1"):
            await client.get(ConfigMap, KEY)
        with pytest.raises(RuntimeError, match=r"in a thread, write `client\.sync\.get"):
            await asyncio.to_thread(lambda: asyncio.run(client.get(ConfigMap, KEY)))


@pytest.mark.parametrize(
    ("asynchronous", "plain", "left_out"),
    [
        (Client, facade.SyncClient, {"close", "watch", "log_lines"}),
        (StatusWriter, facade.SyncStatusWriter, set()),
        (ScaleClient, facade.SyncScaleClient, set()),
        (SubresourceClient, facade.SyncSubresourceClient, set()),
    ],
)
def test_every_verb_has_its_plain_form(asynchronous, plain, left_out):
    """A verb that is added to the client is missed here."""

    def is_verb(member):
        return inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)

    verbs = {name for name, _ in inspect.getmembers(asynchronous, is_verb) if not name.startswith("_")}
    assert verbs - left_out == {
        name for name, _ in inspect.getmembers(plain, inspect.isfunction) if not name.startswith("_")
    } - {"subresource"}
