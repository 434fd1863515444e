"""Watches against a real API server: what is there, what changes, resuming, and history that is gone."""

import asyncio
from dataclasses import replace

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client
from pykb.client.errors import Gone, NoKindMatch
from pykb.meta.gvk import GroupVersionKind

pytestmark = pytest.mark.apiserver


def _config_map(namespace, name, **labels):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or None))


async def _take(events, number):
    async with asyncio.timeout(60):
        return [await anext(events) for _ in range(number)]


async def test_a_watch_goes_on_from_a_list(client, namespace):
    """With the version of a list, only what happened after it is seen, untyped objects included."""
    await client.create(_config_map(namespace, "old"))
    listed = await client.list(ConfigMap, namespace=namespace)
    await client.create(_config_map(namespace, "new"))
    kind = GroupVersionKind("", "v1", "ConfigMap")
    async with client.watch(kind, namespace=namespace, resource_version=listed.resource_version) as events:
        (event,) = await _take(events, 1)
        assert (event.object.gvk, event.object.key.name) == (kind, "new")
        assert events.resource_version == event.object.metadata["resourceVersion"]


class _Relay:
    """A real way to the server that can be cut."""

    def __init__(self, url):
        self.host, port = url.removeprefix("https://").split(":")
        self.port = int(port)
        self.writers = []
        self.tasks = set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"https://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *exc):
        self.server.close()
        self.cut()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def cut(self):
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def _accept(self, reader, writer):
        remote_reader, remote_writer = await asyncio.open_connection(self.host, self.port)
        self.writers += [writer, remote_writer]
        for source, target in ((reader, remote_writer), (remote_reader, writer)):
            self.tasks.add(asyncio.create_task(self._copy(source, target)))

    async def _copy(self, source, target):
        while data := await source.read(65536):
            target.write(data)


async def test_a_watch_survives_the_end_of_its_connection(client, control_plane, namespace):
    """When every connection is cut under it, it goes on where it was: nothing lost, nothing twice."""
    relay = _Relay(control_plane.url)
    async with relay as url:
        credentials = replace(await client.connection.source.current(), server=url)
        async with Client.from_credentials(credentials) as mine, mine.watch(ConfigMap, namespace=namespace) as events:
            for number in range(3):
                await client.create(_config_map(namespace, f"a{number}"))
                await client.create(_config_map(namespace, f"b{number}"))
                names = [event.object.metadata.name for event in await _take(events, 2)]
                assert names == [f"a{number}", f"b{number}"]
                relay.cut()


async def test_a_closed_client_is_closed_for_its_watches(control_plane, namespace):
    """A watch does not bring a closed client back to life."""
    mine = Client.from_kubeconfig(control_plane.kubeconfig)
    events = mine.watch(ConfigMap, namespace=namespace)
    pending = asyncio.create_task(_take(events, 1))
    await asyncio.sleep(0.3)
    await mine.close()
    with pytest.raises(RuntimeError, match="closed"):
        await pending
    with pytest.raises(RuntimeError, match="closed"):
        await mine.list(ConfigMap, namespace=namespace)


async def test_history_that_is_gone_is_told(client, namespace, widgets):
    """From a version that the server has forgotten nothing can be gone on: Gone, so that one lists again."""
    with pytest.raises(Gone):
        async with client.watch(widgets.Kind, namespace=namespace, resource_version="1") as events:
            await _take(events, 1)


async def test_a_watch_of_an_unknown_kind_says_so(client):
    """The mapper's error reaches the one who iterates."""
    with pytest.raises(NoKindMatch, match="make install"):
        await anext(client.watch(GroupVersionKind("none.example.com", "v1", "None")))


async def test_a_closed_watch_is_over(client, namespace):
    """After `close` there are no more events, and no connection is left behind."""
    events = client.watch(ConfigMap, namespace=namespace)
    await client.create(_config_map(namespace, "a"))
    await _take(events, 1)
    await events.close()
    assert [event async for event in events] == []
