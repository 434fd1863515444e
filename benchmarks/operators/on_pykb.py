"""The work of the benchmark on pykb: `python -m benchmarks.operators.on_pykb KUBECONFIG MODE COUNT WORKERS`."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.runtime import ControllerBuilder, Manager, ManagerOptions, MergePatch, Reconciler, Request, Result
from pykb.runtime.login import KubeconfigSource

GROUP_VERSION = GroupVersion("bench.example.com", "v1")


class EnvVar(Struct):
    name: str
    value: str | None = None


class WidgetSpec(Struct):
    replicas: int
    image: str
    env: list[EnvVar] | None = None
    limits: dict[str, str] | None = None


class WidgetStatus(Struct):
    observed_generation: int | None = None
    phase: str | None = None


class Widget(CustomResource, group_version=GROUP_VERSION):
    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)


class Bench(Reconciler):
    def __init__(self, manager: Manager, *, write: bool, count: int) -> None:
        super().__init__(manager.client)
        self._manager = manager
        self._write = write
        self._count = count
        self._seen: set[str] = set()

    async def reconcile(self, request: Request) -> Result:
        widget = await self.client.find(Widget, request)
        if widget is None:
            return Result()
        if self._write and widget.status.observed_generation != widget.metadata.generation:
            status = {"observedGeneration": widget.metadata.generation, "phase": "Ready"}
            await self.client.status.patch(widget, MergePatch({"status": status}))
        self._seen.add(request.name)
        if len(self._seen) == self._count:
            self._manager.stop()
        return Result()


def main() -> None:
    kubeconfig, mode, count, workers = sys.argv[1:]
    from pathlib import Path

    manager = Manager(ManagerOptions(), credentials=KubeconfigSource([Path(kubeconfig)]))
    reconciler = Bench(manager, write=mode == "status", count=int(count))
    builder = ControllerBuilder(manager).for_(Widget)
    builder.with_options(max_concurrent_reconciles=int(workers)).complete(reconciler)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(manager.start())


if __name__ == "__main__":
    main()
