"""The work of the benchmark on pykb: ``python -m benchmarks.operators.on_pykb KUBECONFIG MODE COUNT WORKERS``.

The modes:

* ``sync``: see every object once;
* ``status``: write each object's status once;
* ``apply``: keep a Deployment and a Service for each object, and write its status;
* ``churn``: read each object when it changes, and write its status at every 20th change;
* ``busy``: update each object's status when it changes, with its resource version;
* ``list``: fill the cache, and reconcile nothing;
* ``scale``: give each object of three kinds a ConfigMap of its own, and its status;
* ``idle``: watch, with leader election, probes and metrics, as deployed;
* ``latency``: print each object's name, its resource version and the time (Unix, ns) when its reconcile starts.

Prints "done" when the last of COUNT objects is handled (or, list and idle, when the caches are filled), runs until
SIGTERM, and prints "counts" with the number of reconciles and of conflicts. ``KUBECONFIG webhook PORT CERTIFICATES``
defaults and validates, with the certificate of that folder.
"""

from __future__ import annotations

import copy
import sys
import time
from pathlib import Path

from benchmarks.operators.kinds import Gadget, Gizmo, Widget
from benchmarks.operators.progress import Progress
from pykb.client.login import KubeconfigSource
from pykb.runtime import (
    CertificateOptions,
    Conflict,
    ControllerBuilder,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
    Result,
    patch_status,
)

SELDOM = 20
"""The number of changes per write, in ``churn``."""


class Bench(Reconciler):
    """Reads an object, and writes its status if the mode requires it."""

    def __init__(self, manager: Manager, mode: str, progress: Progress) -> None:
        super().__init__(manager.client)
        self._mode = mode
        self._progress = progress

    async def reconcile(self, request: Request) -> Result:
        started = time.time_ns()
        self._progress.reconciles += 1
        widget = await self.client.find(Widget, request)
        if widget is None:
            return Result()
        if self._mode == "latency":
            print(widget.metadata.name, widget.metadata.resource_version, started, flush=True)
        if self._mode == "busy":
            await self._update(widget)
        elif self._is_to_be_written(widget):
            before = copy.deepcopy(widget.status)
            widget.status.observed_generation = widget.metadata.generation
            widget.status.phase = "Ready"
            await patch_status(self.client, widget, before)
        self._progress.handled(request.name)
        return Result()

    async def _update(self, widget: Widget) -> None:
        if widget.status.observed_generation == widget.metadata.generation:
            return
        widget.status.observed_generation = widget.metadata.generation
        widget.status.phase = "Ready"
        try:
            await self.client.status.update(widget)
        except Conflict:
            self._progress.conflicts += 1
            raise

    def _is_to_be_written(self, widget: Widget) -> bool:
        if self._mode == "churn" and widget.spec.replicas % SELDOM:
            return False
        return self._mode in ("status", "churn") and widget.status.observed_generation != widget.metadata.generation


def build(manager: Manager, mode: str, progress: Progress, workers: int) -> None:
    builder = ControllerBuilder(manager).for_(Widget).with_options(max_concurrent_reconciles=workers)
    match mode:
        case "apply":
            from benchmarks.operators.children import Applier
            from pykb.api.apps.v1 import Deployment
            from pykb.api.core.v1 import Service

            builder.owns(Deployment).owns(Service).complete(Applier(manager, progress))
        case "scale":
            from benchmarks.operators.children import Parent
            from pykb.api.core.v1 import ConfigMap

            for kind in (Widget, Gadget, Gizmo):
                builder = ControllerBuilder(manager).for_(kind).owns(ConfigMap)
                builder.with_options(max_concurrent_reconciles=workers).complete(Parent(manager, kind, progress))
        case _:
            builder.complete(Bench(manager, mode, progress))


def options_of(mode: str, arguments: list[str]) -> ManagerOptions:
    options = ManagerOptions(health_probe_bind_address="127.0.0.1:0", log_level="warning")
    match mode:
        case "idle":
            return ManagerOptions(
                health_probe_bind_address="127.0.0.1:0",
                metrics_bind_address="127.0.0.1:0",
                metrics_secure=True,
                leader_elect=True,
                leader_election_id="pykb.bench.example.com",
                leader_election_namespace="default",
                log_level="warning",
            )
        case "webhook":
            return ManagerOptions(
                health_probe_bind_address="127.0.0.1:0",
                webhook_bind_host="127.0.0.1",
                webhook_port=int(arguments[0]),
                webhook_certificate=CertificateOptions(Path(arguments[1])),
                log_level="warning",
            )
        case _:
            return options


def main() -> None:
    kubeconfig, mode, *arguments = sys.argv[1:]
    progress: Progress | None = None
    manager = Manager(options_of(mode, arguments), credentials=KubeconfigSource([Path(kubeconfig)]))
    match mode:
        case "webhook":
            from benchmarks.operators.webhooks import set_up

            set_up(manager)
        case "list":
            manager.cache.informer(Widget)
        case _:
            progress = Progress(int(arguments[0]))
            build(manager, mode, progress, int(arguments[1]))
    if mode in ("list", "idle"):

        async def report() -> None:
            await manager.cache.wait_for_sync()
            print("done", flush=True)

        manager.add(report, name="report")
    manager.run()
    if progress is not None:
        print("counts", progress.reconciles, progress.conflicts, flush=True)


if __name__ == "__main__":
    main()
