"""The row that shows whether the cost per object grows with their number."""

from __future__ import annotations

from benchmarks.operators.process import running
from benchmarks.operators.results import Figures
from benchmarks.operators.run import Run
from benchmarks.operators.world import KINDS, world


def scale(run: Run) -> None:
    """Three kinds, each object with a child and a status; then a restart, which lists it all at once.

    Figures per object count from an operator of the same kinds without objects.
    """
    count = run.size(20_000, 400)
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
            run.settle()
            base = operator.usage()
        place.populate(count, KINDS)
        with running("pykb", argv) as operator:
            wall = operator.wait_until_done(timeout=120 + count / 5)
            used = operator.usage()
            run.settle()
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
