"""A sharded operator on pykb: ``python -m benchmarks.operators.on_shards KUBECONFIG MODE SHARDS BY START``.

The modes:

* ``scale``: give each object of three kinds a ConfigMap of its own, and its status;
* ``status``: write each widget's status once;
* ``compute``: the same, with 10 ms of computing in each reconcile and an API server whose answers come 20 ms late.
  One reconcile runs at once, which is the default, and ten in the other modes;
* ``saturate``: like ``compute`` with ten reconciles at once, so that a replica computes all the time.

Reconciles wait until the file START exists. Prints ``NAME TIME`` when an object is done for the first time (seconds of
the monotonic clock, which all processes share), and each second ``events N``: objects received in lists and watches.
With 0 shards it works alone.
"""

from __future__ import annotations

import asyncio
import copy
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from benchmarks.operators.children import Parent
from benchmarks.operators.kinds import Gadget, Gizmo, Widget
from benchmarks.operators.progress import Progress
from pykb.api.core.v1 import ConfigMap
from pykb.client.connection import Call
from pykb.client.listwatch import ClientListWatch, WatchTarget
from pykb.client.login import KubeconfigSource
from pykb.client.ranges import ShardBy
from pykb.client.transport import Transport
from pykb.runtime import (
    ControllerBuilder,
    ControllerOptions,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
    Result,
    patch_status,
)

COMPUTING = 0.010
LATE = 0.020
TEN = ControllerOptions(max_concurrent_reconciles=10)


class Timed(Progress):
    """Prints when an object is done. Each replica runs it."""

    needs_leader_election = False
    name = "report"

    def __init__(self, start: Path) -> None:
        super().__init__(0)
        self._start = start
        self.events = 0

    def handled(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            print(name, time.monotonic())

    async def started(self) -> None:
        while not self._start.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.02)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(1)
            print("events", self.events, flush=True)


class Waiting(Parent):
    """A parent that waits for the start."""

    def __init__(self, manager: Manager, kind: type[Widget | Gadget | Gizmo], progress: Timed) -> None:
        super().__init__(manager, kind, progress)
        self._started = progress.started

    async def reconcile(self, request: Request) -> Result:
        await self._started()
        return await super().reconcile(request)


class Writer(Reconciler):
    """Computes, and writes the status once."""

    def __init__(self, manager: Manager, seconds: float, progress: Timed) -> None:
        super().__init__(manager.client)
        self._seconds = seconds
        self._progress = progress

    async def reconcile(self, request: Request) -> Result:
        await self._progress.started()
        widget = await self.client.find(Widget, request)
        if widget is None:
            return Result()
        until = time.thread_time() + self._seconds
        while time.thread_time() < until:
            pass
        before = copy.deepcopy(widget.status)
        widget.status.observed_generation = widget.metadata.generation
        await patch_status(self.client, widget, before)
        self._progress.handled(request.name)
        return Result()


def count_events(progress: Timed) -> None:
    """Count what lists and watches bring."""
    stream = ClientListWatch.stream

    async def counted(self: ClientListWatch, target: WatchTarget) -> AsyncGenerator[Any, None]:
        async for item in stream(self, target):
            progress.events += isinstance(item, dict) and item["type"] != "BOOKMARK"
            yield item

    ClientListWatch.stream = counted  # type: ignore[method-assign]


def delay_answers() -> None:
    """Let each answer come late, but for those that watches bring."""
    request = Transport.request

    async def late(self: Transport, call: Call) -> bytes:
        answer = await request(self, call)
        await asyncio.sleep(LATE)
        return answer

    Transport.request = late  # type: ignore[method-assign]


def main() -> None:
    kubeconfig, mode, shards, by, start = sys.argv[1:]
    progress = Timed(Path(start))
    options = ManagerOptions(
        health_probe_bind_address="127.0.0.1:0",
        log_level="warning",
        shards=int(shards),
        shard_by=ShardBy(by),
        leader_election_namespace="default",
    )
    count_events(progress)
    computes = mode in ("compute", "saturate")
    if computes:
        delay_answers()
    manager = Manager(options, credentials=KubeconfigSource([Path(kubeconfig)]))
    if mode == "scale":
        for kind in (Widget, Gadget, Gizmo):
            builder = ControllerBuilder(manager).for_(kind).owns(ConfigMap).with_options(TEN)
            builder.complete(Waiting(manager, kind, progress))
    else:
        builder = ControllerBuilder(manager).for_(Widget)
        if mode != "compute":
            builder.with_options(TEN)
        builder.complete(Writer(manager, COMPUTING if computes else 0.0, progress))
    manager.add(progress)
    manager.run()


if __name__ == "__main__":
    main()
