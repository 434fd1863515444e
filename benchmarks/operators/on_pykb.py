"""The work of the benchmark on pykb: ``python -m benchmarks.operators.on_pykb KUBECONFIG MODE COUNT WORKERS``.

The modes:

* ``sync``: see every object once;
* ``status``: write each object's status once;
* ``scale``: give each object of three kinds a ConfigMap of its own, and its status;
* ``idle``: watch, with leader election, probes and metrics, as deployed;
* ``latency``: print each object's name, its resource version and the time (Unix, ns) when its reconcile starts.

Prints "done" when the last of COUNT objects is handled (or, idle, when the caches are filled), runs until SIGTERM.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.runtime import (
    ControllerBuilder,
    Manager,
    ManagerOptions,
    MergePatch,
    Reconciler,
    Request,
    Result,
    set_controller_reference,
)
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


class Gadget(CustomResource, group_version=GROUP_VERSION):
    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)


class Gizmo(CustomResource, group_version=GROUP_VERSION):
    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)


class Progress:
    """Which objects are handled, by name as in the peer: none is used for two kinds. Shared by the reconcilers."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._seen: set[str] = set()

    def handled(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            if len(self._seen) == self._count:
                print("done", flush=True)


class Bench(Reconciler):
    """Sees an object, and writes its status when told to."""

    def __init__(self, manager: Manager, mode: str, progress: Progress) -> None:
        super().__init__(manager.client)
        self._mode = mode
        self._progress = progress

    async def reconcile(self, request: Request) -> Result:
        started = time.time_ns()
        widget = await self.client.find(Widget, request)
        if widget is None:
            return Result()
        if self._mode == "latency":
            print(widget.metadata.name, widget.metadata.resource_version, started, flush=True)
        if self._mode == "status" and widget.status.observed_generation != widget.metadata.generation:
            status = {"observedGeneration": widget.metadata.generation, "phase": "Ready"}
            await self.client.status.patch(widget, MergePatch({"status": status}))
        self._progress.handled(request.name)
        return Result()


class Parent(Reconciler):
    """Keeps one ConfigMap for each object of a kind."""

    def __init__(self, manager: Manager, kind: type[Widget | Gadget | Gizmo], progress: Progress) -> None:
        super().__init__(manager.client)
        self._kind = kind
        self._progress = progress

    async def reconcile(self, request: Request) -> Result:
        from pykb.api.core.v1 import ConfigMap

        parent = await self.client.find(self._kind, request)
        if parent is None:
            return Result()
        name = f"{parent.kind.lower()}-{parent.metadata.name}"
        child = await self.client.find(ConfigMap, name, namespace=request.namespace)
        if child is None:
            child = ConfigMap(data={"image": parent.spec.image})
            child.metadata.name, child.metadata.namespace = name, request.namespace
            set_controller_reference(parent, child)
            await self.client.create(child)
        elif parent.status.phase != "Ready":
            await self.client.status.patch(parent, MergePatch({"status": {"phase": "Ready"}}))
        else:
            self._progress.handled(request.name)
        return Result()


def build(manager: Manager, mode: str, count: int, workers: int) -> None:
    progress = Progress(count)
    if mode != "scale":
        builder = ControllerBuilder(manager).for_(Widget)
        builder.with_options(max_concurrent_reconciles=workers).complete(Bench(manager, mode, progress))
        return
    from pykb.api.core.v1 import ConfigMap

    for kind in (Widget, Gadget, Gizmo):
        builder = ControllerBuilder(manager).for_(kind).owns(ConfigMap)
        builder.with_options(max_concurrent_reconciles=workers).complete(Parent(manager, kind, progress))


def main() -> None:
    kubeconfig, mode, count, workers = sys.argv[1:]
    options = ManagerOptions(health_probe_bind_address="127.0.0.1:0", log_level="warning")
    if mode == "idle":
        options = ManagerOptions(
            health_probe_bind_address="127.0.0.1:0",
            metrics_bind_address="127.0.0.1:0",
            metrics_secure=True,
            leader_elect=True,
            leader_election_id="pykb.bench.example.com",
            leader_election_namespace="default",
            log_level="warning",
        )
    manager = Manager(options, credentials=KubeconfigSource([Path(kubeconfig)]))
    build(manager, mode, int(count), int(workers))
    if mode == "idle":

        async def report() -> None:
            await manager.cache.wait_for_sync()
            print("done", flush=True)

        manager.add(report, name="report")
    manager.run()


if __name__ == "__main__":
    main()
