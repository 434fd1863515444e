"""The rows of objects that change all the time."""

from __future__ import annotations

import asyncio
import time

from benchmarks.operators.process import running
from benchmarks.operators.results import Figures
from benchmarks.operators.run import GO, Run
from benchmarks.operators.world import WIDGET, World, world
from pykb.runtime import Client, MergePatch

RATE = 200
"""Changes per second: the most that a Python client can make beside an operator on two cores."""


def churn(run: Run) -> None:
    """Objects change at a fixed rate; each change is read, and one of twenty leads to a write of the status."""
    _row(run, "churn", run.size(1000, 100))


def busy(run: Run) -> None:
    """Few objects change at the same rate; each change leads to an update of the status, which may conflict."""
    _row(run, "busy", run.size(200, 50))


def _row(run: Run, row: str, count: int) -> None:
    seconds = 3.0 if run.quick else 20.0
    run.results.begin(row, {"objects": count, "seconds": seconds, "changes a second": RATE}, resume=run.resume)

    def measure(program: str) -> Figures:
        with world() as place:
            place.populate(count)
            with running(program, run.argv(program, place.operator_kubeconfig, row, count)) as operator:
                operator.wait_until_done(timeout=120)
                run.settle()
                before = operator.usage()
                changes = asyncio.run(_change(place, seconds))
                run.settle()
                after = operator.usage()
            reconciles, conflicts = operator.counts()
        return {
            "CPU per change": 1000 * (after.cpu - before.cpu) / changes,
            "reconciles": reconciles,
            "conflicts": conflicts,
            "changes": changes,
            "peak": after.peak,
        }

    run.alternate(row, (GO, "pykb"), measure)


async def _change(place: World, seconds: float) -> int:
    """Change one object after another at the rate. Returns the number of changes."""
    changes = round(seconds * RATE)
    async with Client.from_kubeconfig(place.plane.kubeconfig) as client:
        present = (await client.list(WIDGET)).items
        started = time.monotonic()
        async with asyncio.TaskGroup() as writers:
            for number in range(changes):
                await asyncio.sleep(started + number / RATE - time.monotonic())
                widget = present[number % len(present)]
                writers.create_task(client.patch(widget, MergePatch({"spec": {"replicas": number + 100}})))
    return changes
