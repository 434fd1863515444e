"""Shared makings: a scripted list-and-watch, and a way to let tasks run."""

import asyncio

import pytest

from pykb.client.listwatch import LISTED, WatchFailed, WatchTarget
from pykb.meta.gvk import GroupVersionKind, GroupVersionResource

WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def widget(name, version="1", *, namespace="default", **rest):
    """A raw object."""
    metadata = {"name": name, "namespace": namespace, "resourceVersion": version, "uid": f"uid-{name}"}
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **rest}


def target(namespace=None):
    """What to list and watch."""
    return WatchTarget(
        WIDGET, GroupVersionResource("example.com", "v1", "widgets"), namespaced=True, namespace=namespace
    )


class Script:
    """A ``ListWatch`` that plays streams: each a list of events, `LISTED`, or an exception to raise.

    A stream ends after its last item; ``HANG`` keeps it open. After the last stream it hangs for ever.
    """

    HANG = "hang"

    def __init__(self, *streams):
        self.streams = list(streams)
        self.started = 0

    async def stream(self, watched):
        self.started += 1
        items = self.streams.pop(0) if self.streams else [self.HANG]
        for item in items:
            if item == self.HANG:
                await asyncio.get_running_loop().create_future()
            elif isinstance(item, Exception):
                raise item
            else:
                yield item


def listed(*objects):
    """A complete list."""
    return [*({"type": None, "object": obj} for obj in objects), LISTED]


def happened(kind, obj):
    """A watch event."""
    return {"type": kind, "object": obj}


def refused(status=403):
    """An error of the server."""
    return WatchFailed("widgets is forbidden", status=status)


async def turn(times=20):
    """Let other tasks run."""
    for _ in range(times):
        await asyncio.sleep(0)


@pytest.fixture
async def running():
    """Start coroutines as tasks that end with the test."""
    tasks = []

    def start(coroutine):
        task = asyncio.ensure_future(coroutine)
        tasks.append(task)
        return task

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
