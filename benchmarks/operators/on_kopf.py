"""The work of the benchmark on plain kopf: ``python -m benchmarks.operators.on_kopf KUBECONFIG MODE COUNT WORKERS``.

``sync`` is an ``on.event`` handler that marks the object, ``status`` an ``on.create`` handler that sets the status,
``idle`` an ``on.event`` handler with nothing to do. Prints "done" when the last of COUNT objects is handled (or, idle,
when it has started), runs until SIGTERM.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import kopf
import uvloop

RESOURCE = ("bench.example.com", "v1", "widgets")


async def operate(mode: str, count: int) -> None:
    registry = kopf.OperatorRegistry()
    seen: set[str] = set()

    def mark(name: str) -> None:
        if name not in seen:
            seen.add(name)
            if len(seen) == count:
                print("done", flush=True)

    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> Any:
        return kopf.login_with_kubeconfig(**kwargs)

    @kopf.on.startup(registry=registry)
    def startup(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.scanning.disabled = True
        if mode == "idle":
            print("done", flush=True)

    if mode == "status":

        @kopf.on.create(*RESOURCE, registry=registry)
        async def created(patch: kopf.Patch, meta: kopf.Meta, **_: Any) -> None:
            patch.status["observedGeneration"] = meta["generation"]
            patch.status["phase"] = "Ready"

        @kopf.on.event(*RESOURCE, registry=registry)
        async def written(name: str, status: kopf.Status, **_: Any) -> None:
            if status.get("phase") == "Ready":
                mark(name)

    else:

        @kopf.on.event(*RESOURCE, registry=registry)
        async def seen_it(name: str, **_: Any) -> None:
            mark(name)

    await kopf.operator(registry=registry, standalone=True, clusterwide=True)


def main() -> None:
    kubeconfig, mode, count, _workers = sys.argv[1:]
    os.environ["KUBECONFIG"] = str(Path(kubeconfig))
    logging.basicConfig(level=logging.ERROR)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(operate(mode, int(count)))


if __name__ == "__main__":
    main()
