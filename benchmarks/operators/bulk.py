"""Rows with many objects at the start, which are read, updated, given children, or only listed."""

from __future__ import annotations

from benchmarks.operators.process import Operator, running
from benchmarks.operators.results import Figures
from benchmarks.operators.run import GO, GO_MAPS, Run
from benchmarks.operators.world import KILOBYTE, TEN_KILOBYTES, world


def sync(run: Run) -> None:
    """Every object is seen once by a reconciler."""
    _bulk(run, "sync", run.size(5000, 500), (GO, "pykb", GO_MAPS, "kopf"))


def status(run: Run) -> None:
    """Each object's status is written once."""
    _bulk(run, "status", run.size(5000, 500), (GO, "pykb", GO_MAPS, "kopf"))


def apply(run: Run) -> None:
    """Each object of 10 kB is given a Deployment and a Service, and its status."""
    _bulk(run, "apply", run.size(1000, 50), (GO, "pykb"), variables=TEN_KILOBYTES)


def _bulk(run: Run, row: str, count: int, programs: tuple[str, ...], *, variables: int = KILOBYTE) -> None:
    run.results.begin(row, {"objects": count, "workers": run.workers}, resume=run.resume)

    def measure(program: str) -> Figures:
        # A new world for each run: a status that is already set would be no work.
        with world() as place:
            place.populate(count, variables=variables)
            with running(program, run.argv(program, place.operator_kubeconfig, row, count)) as operator:
                figures = _work(operator, count)
                run.settle()
                steady = operator.usage()
                return figures | {"CPU at rest": steady.cpu, "RSS": steady.rss, "PSS": steady.pss}

    run.alternate(row, programs, measure)


def first_list(run: Run) -> None:
    """All objects are listed into the cache, and nothing is reconciled."""
    count = run.size(20_000, 1000)
    run.results.begin("list", {"objects": count}, resume=run.resume)
    with world() as place:
        place.populate(count)

        def measure(program: str) -> Figures:
            with running(program, run.argv(program, place.operator_kubeconfig, "list", count)) as operator:
                figures = _work(operator, count)
                run.settle()
                return figures | {"RSS": operator.usage().rss}

        run.alternate("list", (GO, "pykb"), measure)


def _work(operator: Operator, count: int) -> Figures:
    wall = operator.wait_until_done(timeout=120 + count / 5)
    usage = operator.usage()
    return {"wall": wall, "CPU": usage.cpu, "peak": usage.peak, "throughput": count / wall}
