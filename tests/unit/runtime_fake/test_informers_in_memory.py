"""Informers over the API server in memory: what takes a server that can be told to misbehave."""

import asyncio
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import error_from_status
from pykb.runtime import (
    CacheOptions,
    Client,
    ControllerBuilder,
    InformerCache,
    InformerOptions,
    Manager,
    VirtualClock,
)
from pykb.runtime.fake import FakeApiServer
from pykb.testing import eventually


def config_map(name):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


@pytest.fixture
def server():
    """An empty server."""
    return FakeApiServer()


def lists(server):
    """The queries of lists so far."""
    calls = [call for call in server.calls if call.method == "GET" and call.path.endswith("/configmaps")]
    return [dict(call.query) for call in calls if not watches(call)]


def watches(call):
    """Whether a request is a watch."""
    return ("watch", "true") in call.query


async def test_a_mirror_is_made_of_pages(server):
    """A large kind comes 500 objects at a time, each once."""
    server.seed(*(config_map(f"c{number:04}") for number in range(1201)))
    async with InformerCache.of(Client(server)) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert len(lister.list()) == 1201
    assert InformerOptions().page_size == 500
    assert [query["limit"] for query in lists(server)] == ["100", "500", "500", "500"]
    assert [query.get("continue") is not None for query in lists(server)] == [False, True, True, True]


async def test_pages_of_large_objects_have_fewer(server):
    """A page is parsed as a whole, and takes ten times its size meanwhile."""
    large = {"text": "x" * 30_000}
    server.seed(*(ConfigMap(metadata=config_map(f"c{n:03}").metadata, data=large) for n in range(180)))
    async with InformerCache.of(Client(server)) as informers:
        lister = informers.lister(ConfigMap)
        await informers.wait_for_sync()
        assert len(lister.list()) == 180
    first, *others = [int(query["limit"]) for query in lists(server)]
    assert first == 100
    assert [30 <= size <= 35 for size in others] == [True] * 3


async def test_the_size_of_pages_is_an_option_of_the_kind(server):
    """As one answer too, which only the API server's patience bounds."""
    server.seed(*(config_map(f"c{number:04}") for number in range(30)))
    for size, limits in ((20, ["20", "20"]), (0, [None])):
        server.calls.clear()
        options = CacheOptions(by_kind={ConfigMap.gvk: InformerOptions(page_size=size)})
        async with InformerCache.of(Client(server), options) as informers:
            lister = informers.lister(ConfigMap)
            await informers.wait_for_sync()
            assert len(lister.list()) == 30
        assert [query.get("limit") for query in lists(server)] == limits


def test_a_page_has_no_negative_size():
    """The API server would take it for no limit."""
    with pytest.raises(ValueError, match="0 for all at once; found -1"):
        InformerOptions(page_size=-1)


class Fragile:
    """A connection whose streams can be cut."""

    def __init__(self, server):
        self.server = server
        self.cut = asyncio.Event()
        self.streams = 0

    async def request(self, call):
        """Pass on."""
        return await self.server.request(call)

    @asynccontextmanager
    async def stream(self, call):
        """Pass on, until it is cut."""
        self.streams += 1
        async with self.server.stream(call) as lines, aclosing(self._until_cut(lines)) as passed_on:
            yield passed_on

    async def _until_cut(self, lines):
        while True:
            tasks = asyncio.ensure_future(anext(lines, None)), asyncio.ensure_future(self.cut.wait())
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                line = tasks[0].result() if tasks[0].done() else None
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            if line is None:
                return
            yield line

    async def close(self):
        """Nothing is held open."""


async def test_history_that_is_gone_means_a_new_list(server):
    """After 410 the mirror is replaced: what vanished meanwhile is reported, with its last state."""
    client = Client(server)
    for name in ("stays", "goes"):
        await client.create(config_map(name))
    connection, heard = Fragile(server), []
    async with InformerCache.of(Client(connection)) as informers:
        informer = informers.informer(ConfigMap)
        informer.add_handler(lambda event: heard.append((str(event.type), event.name)))
        await eventually(lambda: connection.streams == 1)
        connection.cut.set()
        await client.delete(ConfigMap, "default/goes")
        server.storage.compact()
        assert ("delete", "goes") not in heard
        connection.cut.clear()
        await eventually(lambda: ("delete", "goes") in heard)
        await client.create(config_map("new"))
        await eventually(lambda: ("create", "new") in heard)
    assert ("delete", "stays") not in heard
    assert len(lists(server)) == 2


async def test_an_unreachable_server_is_tried_again(server):
    """The mirror keeps what it has, and follows again when the server is back."""
    client = Client(server)
    await client.create(config_map("early"))
    refused = []

    def refuse(call):
        if len(refused) < 2 and call.path.endswith("/configmaps") and call.method == "GET":
            refused.append(call)
            if len(refused) == 1:
                raise error_from_status(503, {"kind": "Status", "code": 503, "message": "starting"})
            raise error_from_status(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"})

    server.react = refuse
    async with InformerCache.of(client) as informers:
        informer = informers.informer(ConfigMap)
        await informer.wait_for_sync()
        assert informer.lister.get("early", namespace="default") is not None
    assert len(refused) == 2


class Journey:
    """What happens to a server and its connections in one example, and who follows it."""

    def __init__(self):
        self.clock = VirtualClock()
        self.server = FakeApiServer()
        self.client = Client(self.server)
        self.connection = Fragile(self.server)
        self.refusals = 0
        self.server.react = self._refuse
        self.told = {}
        self.manager = Manager(client=Client(self.connection), clock=self.clock)
        self.reconciled = {}
        ControllerBuilder(self.manager).for_(ConfigMap).complete(self)
        self.manager.cache.informer(ConfigMap).add_handler(self._hear)
        self.failures = 0

    def _refuse(self, call):
        if self.refusals and call.method == "GET" and "configmaps" in call.path:
            self.refusals -= 1
            raise error_from_status(503, {"kind": "Status", "code": 503, "message": "not now"})

    def _hear(self, event):
        if event.type == "delete":
            del self.told[event.name]
        else:
            self.told[event.name] = event.raw["data"]["step"]

    async def reconcile(self, request):
        """Note what is there, sometimes only at the second try."""
        if self.failures:
            self.failures -= 1
            raise RuntimeError("not now")
        found = await self.manager.client.find(ConfigMap, request)
        self.reconciled[request.name] = None if found is None else found.data["step"]

    async def pass_time(self, steps, seconds=1):
        """Let everybody go on."""
        for _ in range(steps):
            self.clock.advance(timedelta(seconds=seconds))
            for _ in range(30):
                await asyncio.sleep(0)

    async def act(self, action, name, step):
        """One thing that happens."""
        match action:
            case "write":
                await self.client.apply(
                    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
                    | {"data": {"step": str(step)}},
                    force=True,
                )
            case "delete":
                await self.client.delete(ConfigMap, f"default/{name}", missing_ok=True)
            case "cut":
                self.connection.cut.set()
                for _ in range(10):
                    await asyncio.sleep(0)
                self.connection.cut.clear()
            case "compact":
                self.server.storage.compact()
            case "refuse":
                self.refusals = 3
            case "fail":
                self.failures = 2
            case "wait":
                await self.pass_time(2)


ACTIONS = st.sampled_from(["write", "write", "write", "delete", "cut", "compact", "refuse", "fail", "wait"])


@settings(max_examples=15)
@given(st.lists(st.tuples(ACTIONS, st.sampled_from("abcd"), st.integers(0, 9)), max_size=25))
def test_whatever_happens_everybody_knows_the_server_in_the_end(history):
    """Broken watches, lost history, a server that refuses, reconciles that fail: nothing is lost, nothing is left over."""

    async def run():
        journey = Journey()
        task = asyncio.create_task(journey.manager.start())
        for action, name, step in history:
            await journey.act(action, name, step)
        await journey.pass_time(40, seconds=5)  # the longest pauses are half a minute, and three tries are refused
        journey.refusals = 0
        truth = {item.metadata.name: item.data["step"] for item in await journey.client.list(ConfigMap)}
        mirror = {item.metadata.name: item.data["step"] for item in journey.manager.cache.lister(ConfigMap).list()}
        assert not task.done()
        assert mirror == truth
        assert journey.told == truth
        assert {name: step for name, step in journey.reconciled.items() if step is not None} == truth
        journey.manager.stop()
        await task

    asyncio.run(run())
