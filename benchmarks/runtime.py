"""The runtime against controller-runtime and plain kopf: one API server, the same objects, the same work.

    python -m benchmarks.runtime [--objects 5000] [--workers 10] [--rounds 1] [--peer BINARY]

Two kinds of work on N objects of about 1 kB with typed models: *sync* (every object is seen once by a reconciler) and
*status* (each object's status is written once). Reported are medians and ratios; wall times depend on the API server,
which shares the machine, so CPU and memory are the reliable columns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Cost
from pykb.envtest import ControlPlane
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Client

HERE = Path(__file__).parent / "operators"
WIDGET = GroupVersionKind("bench.example.com", "v1", "Widget")

SCHEMA = {
    "type": "object",
    "properties": {
        name: {"type": "object", "x-kubernetes-preserve-unknown-fields": True} for name in ("spec", "status")
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.bench.example.com"},
    "spec": {
        "group": "bench.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


def widget(number: int) -> dict[str, object]:
    """One object."""
    return {
        "apiVersion": "bench.example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": f"w{number:05}",
            "namespace": "default",
            "labels": {"app": "bench", "number": str(number)},
        },
        "spec": {
            "replicas": number % 7,
            "image": "registry.example.com/team/widget:1.2.3",
            "env": [{"name": f"VARIABLE_{n}", "value": f"{n:020}"} for n in range(10)],
            "limits": {"cpu": "500m", "memory": "128Mi"},
        },
    }


async def _populate(kubeconfig: Path, count: int) -> None:
    async with Client.from_kubeconfig(kubeconfig) as client:
        # Afresh for every run: a status that is there already would be no work.
        await client.delete_all_of(WIDGET, namespace="default")
        slots = asyncio.Semaphore(16)

        async def create(number: int) -> None:
            async with slots:
                await client.create(widget(number))

        await asyncio.gather(*(create(number) for number in range(count)))


def build_peer(folder: Path) -> Path:
    """Build the Go program.

    Raises:
        SystemExit: There is no Go.
    """
    go = shutil.which("go")
    if go is None:
        raise SystemExit("the peer is built with Go: put `go` on PATH, or name a built one with --peer")
    binary = folder / "peer"
    subprocess.run([go, "build", "-o", binary, "."], cwd=HERE / "controller_runtime", check=True)
    return binary


def main(arguments: list[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peer", type=Path, help="a built peer, in place of building one")
    parser.add_argument("--only", choices=("sync", "status"))
    flags = parser.parse_args([] if arguments is None else arguments)
    with tempfile.TemporaryDirectory() as folder, ControlPlane() as plane:
        peer = flags.peer or build_peer(Path(folder))
        definition = Path(folder) / "crd.yaml"
        definition.write_text(json.dumps(DEFINITION), encoding="utf-8")
        plane.install_crds(definition)
        kubeconfig, count, workers = plane.kubeconfig, str(flags.objects), str(flags.workers)
        for mode in (flags.only,) if flags.only else ("sync", "status"):
            tail = (str(kubeconfig), mode, count, workers)
            fresh = None
            if mode == "status":
                fresh = lambda: asyncio.run(_populate(kubeconfig, flags.objects))  # noqa: E731
            else:
                asyncio.run(_populate(kubeconfig, flags.objects))
            programs = {
                "controller-runtime": (str(peer), *tail),
                "pykb": (sys.executable, "-m", "benchmarks.operators.on_pykb", *tail),
                "kopf": (sys.executable, "-m", "benchmarks.operators.on_kopf", *tail),
            }
            costs: dict[str, list[Cost]] = {name: [] for name in programs}
            for _ in range(flags.rounds):
                for name, argv in programs.items():
                    if fresh is not None:
                        fresh()
                    costs[name].append(_measured(argv))
            _report(mode, flags.objects, {name: _median(found) for name, found in costs.items()})


def _measured(argv: tuple[str, ...]) -> Cost:
    done = subprocess.run(
        (sys.executable, "-m", "benchmarks.operators.measured", *argv), check=True, capture_output=True, text=True
    )
    return Cost(**json.loads(done.stdout))


def _median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(cost, column) for cost in costs) for column in ("wall", "cpu", "memory")))


def _report(mode: str, count: int, costs: dict[str, Cost]) -> None:
    print(f"\n{mode}: {count} objects")
    print(f"{'':20} {'wall s':>8} {'CPU s':>8} {'MiB':>8} {'objects/s':>10}")
    for name, cost in costs.items():
        print(f"{name:20} {cost.wall:8.2f} {cost.cpu:8.2f} {cost.memory:8.0f} {count / cost.wall:10.0f}")
    ours = costs["pykb"]
    for name, cost in costs.items():
        if name != "pykb":
            print(
                f"pykb / {name}: throughput {cost.wall / ours.wall:.2f}x, CPU {ours.cpu / cost.cpu:.2f}x, "
                f"memory {ours.memory / cost.memory:.2f}x"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
