"""Rows of an operator with little to do: its cost when idle, and its latency."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import Counter

from benchmarks.operators.process import Operator, running
from benchmarks.operators.results import Figures
from benchmarks.operators.run import GO, Run
from benchmarks.operators.world import WIDGET, World, requests, world
from pykb.runtime import Client, MergePatch


def idle(run: Run) -> None:
    """A manager as deployed, with nothing to do: its memory, and its requests by the API server's audit."""
    seconds = 5.0 if run.quick else 60.0
    run.results.begin("idle", {"seconds": seconds}, resume=run.resume)
    with world() as place:
        place.populate(10)

        def measure(program: str) -> Figures:
            with running(program, run.argv(program, place.operator_kubeconfig, "idle", 0)) as operator:
                operator.wait_until_done(timeout=60)
                run.settle()
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
    """Change objects now and then. Returns the delivery time of each version, in Unix ns."""
    delivered: dict[str, int] = {}
    pauses = random.Random(1)  # the same pauses for all programs
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
