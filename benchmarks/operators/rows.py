"""The rows of the comparison: what is measured, and how."""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.operators.process import Operator, running
from benchmarks.operators.results import Figures, Goal, Results
from benchmarks.operators.world import KINDS, WIDGET, World, requests, world
from pykb.runtime import Client, MergePatch

GO = "controller-runtime"
GO_MAPS = "controller-runtime on maps"
"""The same without Go types: what a program in Go costs that handles objects as freely as one in Python may."""
SETTLING = 5.0
"""Seconds after the work until memory counts as steady."""

GOALS = (
    Goal("sync", "CPU", "s", 1.5, GO),
    Goal("sync", "peak", "MiB", 1.0, GO),
    Goal("sync", "CPU", "s", 1 / 3, "kopf"),
    Goal("status", "throughput", "objects/s", 1.0, GO, at_least=True),
    Goal("status", "CPU", "s", 0.9, GO),
    Goal("status", "peak", "MiB", 0.7, GO),
    Goal("status", "throughput", "objects/s", 2.5, "kopf", at_least=True),
    Goal("scale", "growth of memory per object", "ratio", 1.15),
    Goal("scale", "growth of CPU per object", "ratio", 1.15),
    Goal("idle", "RSS", "MiB", 70.0),
    Goal("idle", "other requests", "", 0.0),
    Goal("latency", "p50", "ms", 5.0),
    Goal("latency", "p99", "ms", 25.0),
)


@dataclass(frozen=True, slots=True)
class Run:
    """How much to do, and where the results go."""

    results: Results
    peer: Path
    quick: bool
    rounds: int
    resume: bool
    skipped: frozenset[str] = frozenset()
    objects: int | None = None
    workers: int = 10

    def argv(self, program: str, kubeconfig: Path, mode: str, count: int) -> tuple[str, ...]:
        """The command of an operator."""
        modules = {"pykb": "benchmarks.operators.on_pykb", "kopf": "benchmarks.operators.on_kopf"}
        start = (sys.executable, "-m", modules[program]) if program in modules else (str(self.peer),)
        maps = ("unstructured",) if program == GO_MAPS else ()
        return (*start, str(kubeconfig), mode, str(count), str(self.workers), *maps)

    def alternate(self, row: str, programs: tuple[str, ...], measure: Callable[[str], Figures]) -> None:
        """Measure the programs in turn, A B C A B C ..., so that a drift of the machine meets all alike."""
        for number in range(self.rounds):
            for program in programs:
                if program in self.skipped or self.results.rounds(row, program) > number:
                    continue
                figures = measure(program)
                self.results.add(row, program, figures)
                shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items())
                print(f"  {row} {number + 1}/{self.rounds} {program:26} {shown}", flush=True)


def sync(run: Run) -> None:
    """Every object is seen once by a reconciler."""
    _bulk(run, "sync")


def status(run: Run) -> None:
    """Each object's status is written once."""
    _bulk(run, "status")


def _bulk(run: Run, row: str) -> None:
    count = run.objects or (500 if run.quick else 5000)
    run.results.begin(row, {"objects": count, "workers": run.workers}, resume=run.resume)

    def measure(program: str) -> Figures:
        # A world of its own for each run: a status that is there already would be no work.
        with world() as place:
            place.populate(count)
            with running(program, run.argv(program, place.operator_kubeconfig, row, count)) as operator:
                figures = _work(operator, count)
                time.sleep(SETTLING)
                steady = operator.usage()
                return figures | {"RSS": steady.rss, "PSS": steady.pss}

    run.alternate(row, (GO, "pykb", GO_MAPS, "kopf"), measure)


def _work(operator: Operator, count: int) -> Figures:
    wall = operator.wait_until_done(timeout=120 + count / 5)
    usage = operator.usage()
    return {"wall": wall, "CPU": usage.cpu, "peak": usage.peak, "throughput": count / wall}


def scale(run: Run) -> None:
    """Three kinds, each object with a child and a status; then a restart, which lists it all at once.

    Figures per object count from an operator of the same kinds without objects.
    """
    count = run.objects or (2000 if run.quick else 20_000)
    run.results.begin("scale", {"objects": count, "children": count}, resume=run.resume)

    def measure(_: str) -> Figures:
        small, large = (_scaled(run, size) for size in (count // 4, count))
        figures = {f"{name} at {count // 4}": value for name, value in small.items()} | large
        for name in ("memory", "CPU", "wall"):
            figures[f"growth of {name} per object"] = large[f"{name} per object"] / small[f"{name} per object"]
        return figures

    run.alternate("scale", ("pykb",), measure)


def _scaled(run: Run, count: int) -> Figures:
    with world() as place:
        argv = run.argv("pykb", place.operator_kubeconfig, "scale", count)
        with running("pykb", argv) as operator:
            time.sleep(SETTLING)
            base = operator.usage()
        place.populate(count, KINDS)
        with running("pykb", argv) as operator:
            wall = operator.wait_until_done(timeout=120 + count / 5)
            used = operator.usage()
            time.sleep(SETTLING)
            steady = operator.usage().rss
        with running("pykb", argv) as operator:
            again = operator.wait_until_done(timeout=120 + count / 5)
            restarted = operator.usage()
    return {
        "wall": wall,
        "CPU": used.cpu,
        "peak": used.peak,
        "RSS": steady,
        "restart wall": again,
        "restart CPU": restarted.cpu,
        "restart peak": restarted.peak,
        "memory per object": (steady - base.rss) / count * 1024,
        "CPU per object": (used.cpu - base.cpu) / count * 1000,
        "wall per object": wall / count * 1000,
    }


def idle(run: Run) -> None:
    """A manager as deployed, with nothing to do: its memory, and its requests by the API server's audit."""
    seconds = 15.0 if run.quick else 60.0
    run.results.begin("idle", {"seconds": seconds}, resume=run.resume)
    with world() as place:
        place.populate(10)

        def measure(program: str) -> Figures:
            with running(program, run.argv(program, place.operator_kubeconfig, "idle", 0)) as operator:
                operator.wait_until_done(timeout=60)
                time.sleep(SETTLING)
                before, seen = operator.usage(), len(place.audited())
                time.sleep(seconds)
                usage, made = operator.usage(), requests(place.audited()[seen:])
            print(f"  {program}: {dict(made) or 'no request'}")
            return {
                "RSS": usage.rss,
                "PSS": usage.pss,
                "peak": usage.peak,
                "CPU per minute": (usage.cpu - before.cpu) / seconds * 60,
                "lease requests": float(_leases(made)),
                "other requests": float(_others(made)),
            }

        run.alternate("idle", (GO, "pykb", "kopf"), measure)


def _leases(made: Counter[str]) -> int:
    return sum(number for name, number in made.items() if name.endswith(" leases"))


def _others(made: Counter[str]) -> int:
    return sum(made.values()) - _leases(made) - sum(n for name, n in made.items() if name.startswith("watch "))


def latency(run: Run) -> None:
    """From a change's delivery to a bare watch of this process, to the start of its reconcile; the queue is empty."""
    changes = 100 if run.quick else 1000
    run.results.begin("latency", {"changes": changes}, resume=run.resume)
    with world() as place:
        place.populate(20)

        def measure(program: str) -> Figures:
            with running(program, run.argv(program, place.operator_kubeconfig, "latency", 20)) as operator:
                operator.wait_until_done(timeout=60)
                time.sleep(1.0)
                delivered = asyncio.run(_change(place, changes))
                time.sleep(1.0)
                started = _starts(operator)
            late = sorted(1e-6 * (started[version] - at) for version, at in delivered.items() if version in started)
            if len(late) < changes * 0.9:
                raise RuntimeError(f"{program}: only {len(late)} of {changes} changes led to a reconcile of their own")
            cuts = statistics.quantiles(late, n=100)
            return {"p50": statistics.median(late), "p90": cuts[89], "p99": cuts[98], "most": late[-1]}

        run.alternate("latency", (GO, "pykb"), measure)


async def _change(place: World, changes: int) -> dict[str, int]:
    """Change objects now and then; gives when each version was delivered, in Unix ns."""
    delivered: dict[str, int] = {}
    pauses = random.Random(1)  # the same for all
    async with Client.from_kubeconfig(place.plane.kubeconfig) as client:
        present = await client.list(WIDGET)

        async def listen() -> None:
            async with client.watch(WIDGET, resource_version=present.resource_version) as events:
                async for event in events:
                    delivered[event.object.metadata["resourceVersion"]] = time.time_ns()

        listener = asyncio.create_task(listen())
        await asyncio.sleep(0.5)
        for number in range(changes):
            widget = present.items[number % len(present.items)]
            await client.patch(widget, MergePatch({"spec": {"replicas": number + 100}}))
            await asyncio.sleep(pauses.uniform(0.01, 0.05))
        await asyncio.sleep(0.5)
        listener.cancel()
    return delivered


def _starts(operator: Operator) -> dict[str, int]:
    started: dict[str, int] = {}
    while not operator.lines.empty():
        parts = (operator.lines.get() or "").split()
        if len(parts) == 3:
            started.setdefault(parts[1], int(parts[2]))
    return started


ROWS: dict[str, Callable[[Run], None]] = {
    "sync": sync,
    "status": status,
    "scale": scale,
    "idle": idle,
    "latency": latency,
}
