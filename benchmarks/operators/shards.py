"""The row of operators that share the objects, on an API server that filters by shard. It has no peers."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.operators.process import Operator, Usage, cpu_of, running
from benchmarks.operators.results import Figures
from benchmarks.operators.run import Run
from benchmarks.operators.world import KINDS, World, world
from pykb.client.ranges import ShardBy
from pykb.envtest.cache import APISERVER, ETCD

MEMBERS, RANGES = 4, 16
NAMESPACES = ("default", *(f"{number:03}-team" for number in range(1, 200)))
GATES = {"ShardedListAndWatch": True}
SINGLE, REPLICAS = "single", "replicas"
FEW = 30
"""Objects with which a replica takes as much memory as with none, but does everything."""
GAIN = 1.8
"""The throughput of two replicas to reach, as a multiple of one's."""


@dataclass
class Member:
    """A replica and what it has printed so far."""

    operator: Operator
    done: dict[str, float]
    events: int = 0
    ended: bool = False

    def read(self) -> None:
        """Take the lines that have come."""
        while not self.operator.lines.empty():
            line = self.operator.lines.get()
            self.ended = line is None
            name, _, value = (line or "").partition(" ")
            if name == "events":
                self.events = int(value)
            elif value:
                self.done[name] = float(value)


class Group:
    """Replicas of one mode."""

    def __init__(self, place: World, mode: str, by: str, stack: contextlib.ExitStack) -> None:
        self._place = place
        self._mode = mode
        self._by = by
        self._stack = stack
        self._start = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "start"
        self.members: list[Member] = []

    def join(self) -> Member:
        """Start a replica."""
        shards = "0" if self._by == SINGLE else str(RANGES)
        by = str(ShardBy.UID if self._by == SINGLE else self._by)
        argv = (
            *(sys.executable, "-m", "benchmarks.operators.on_shards"),
            *(str(self._place.operator_kubeconfig), self._mode, shards, by, str(self._start)),
        )
        self.members.append(Member(self._stack.enter_context(running("pykb", argv)), {}))
        return self.members[-1]

    def cpu(self) -> dict[str, float]:
        """The CPU seconds used so far, of all replicas and of what they share."""
        used = {REPLICAS: sum(usage.cpu for usage in self.usages())}
        return used | {name: cpu_of(pid) for name, pid in self._place.plane.pids.items()}

    def usages(self) -> list[Usage]:
        """What each replica has used."""
        return [member.operator.usage() for member in self.members]

    def go(self) -> float:
        """Let reconciles begin. Return the time."""
        self._start.touch()
        return time.monotonic()

    def wait(self, is_done: Callable[[], bool], *, timeout: float) -> None:
        """Read what the replicas print until something holds.

        Raises:
            RuntimeError: It did not hold in time, or no replica is left.
        """
        deadline = time.monotonic() + timeout
        while not is_done():
            if time.monotonic() > deadline or all(member.ended for member in self.members):
                raise RuntimeError(f"not done: {[len(member.done) for member in self.members]}")
            time.sleep(0.1)
            for member in self.members:
                member.read()

    def work(self, count: int) -> float:
        """Wait until each object is done. Return when the last one was."""
        self.wait(lambda: len(self.names) >= count, timeout=300 + count / 5)
        return max(max(member.done.values(), default=0.0) for member in self.members)

    @property
    def names(self) -> set[str]:
        """The objects that are done."""
        return set().union(*(member.done for member in self.members))

    def inherited(self, heirs: Sequence[Member], names: set[str], since: float) -> tuple[float, float]:
        """Seconds until heirs have done the first and the last of some objects."""
        self.wait(lambda: names <= set().union(*(heir.done for heir in heirs)), timeout=120)
        moments = [heir.done[name] for name in names for heir in heirs if heir.done.get(name, 0.0) > since]
        return min(moments) - since, max(moments) - since


def shards(run: Run) -> None:
    """Four replicas against one, and one that holds all ranges: their cost, and how long objects wait for an heir."""
    count, writes = run.size(20_000, 600), 300 if run.quick else 3000
    computed = 100 if run.quick else 1000
    run.results.begin("shards", {"objects": count, "members": MEMBERS, "ranges": RANGES}, resume=run.resume)
    groups = (SINGLE, f"1 by {ShardBy.UID}", f"{MEMBERS} by {ShardBy.UID}")
    run.alternate("shards", groups, lambda name: _cost(run, name, count))
    for mode, objects in (("status", writes), ("compute", computed), ("saturate", computed)):
        run.alternate("shards", (f"{mode} with 1", f"{mode} with 2"), partial(_speed, count=objects))
        print(f"  {_bound(run, mode)}")
    run.alternate("shards", (f"{MEMBERS} by {ShardBy.NAMESPACE}",), lambda name: _cost(run, name, count))


@contextlib.contextmanager
def _group(mode: str, by: str, count: int, kinds: Sequence[str]) -> Iterator[Group]:
    with world(feature_gates=GATES) as place, contextlib.ExitStack() as stack:
        place.populate(count, kinds, namespaces=NAMESPACES)
        yield Group(place, mode, by, stack)


def _cost(run: Run, name: str, count: int) -> Figures:
    number, _, by = (1, "", SINGLE) if name == SINGLE else name.partition(" by ")
    members = int(number)
    with _working(run, by, members, FEW) as (group, _):
        base = max(usage.rss for usage in group.usages())
    with _working(run, by, members, count) as (group, wall):
        used = group.usages()
        figures = {
            "wall": wall,
            "CPU": max(usage.cpu for usage in used),
            "CPU on average": statistics.mean(usage.cpu for usage in used),
            "peak": max(usage.peak for usage in used),
            "RSS": max(usage.rss for usage in used),
            "RSS on average": statistics.mean(usage.rss for usage in used),
            "RSS with few objects": base,
            "RSS above that": max(usage.rss for usage in used) - base,
            "events": max(member.events for member in group.members),
            "events on average": statistics.mean(member.events for member in group.members),
        }
        return figures if members == 1 else figures | _moves(group)


@contextlib.contextmanager
def _working(run: Run, by: str, members: int, count: int) -> Iterator[tuple[Group, float]]:
    """Replicas that have done all objects, and how long it took."""
    with _group("scale", by, count, KINDS) as group:
        for _ in range(members):
            group.join()
        started = time.monotonic()
        group.go()
        wall = group.work(count) - started
        run.settle()
        for member in group.members:
            member.read()
        yield group, wall


def _moves(group: Group) -> Figures:
    """Kill one replica, let another join, and stop one."""
    figures: Figures = {}
    killed, *others = group.members
    since = time.monotonic()
    killed.operator.signal(signal.SIGKILL)
    figures["killed, first"], figures["killed, last"] = group.inherited(others, set(killed.done), since)
    since = time.monotonic()
    joined = group.join()
    group.wait(lambda: bool(joined.done), timeout=120)
    figures["joins, first"] = min(joined.done.values()) - since
    stopped = others[0]
    time.sleep(5)
    since = time.monotonic()
    stopped.operator.signal(signal.SIGTERM)
    heirs = [*others[1:], joined]
    known = {name for heir in heirs for name in heir.done}
    figures["stops, first"], figures["stops, last"] = group.inherited(heirs, set(stopped.done) - known, since)
    return figures


def _speed(name: str, count: int) -> Figures:
    mode, _, members = name.partition(" with ")
    with _group(mode, ShardBy.UID, count, ("Widget",)) as group:
        for _ in range(int(members)):
            group.join()
        time.sleep(8)  # the ranges are shared, and the lists are there
        before = group.cpu()
        since = group.go()
        wall = group.work(count) - since
        used = {name: 1000 * (seconds - before[name]) / count for name, seconds in group.cpu().items()}
        return {"wall": wall, "throughput": count / wall} | {f"CPU ms, {name}": each for name, each in used.items()}


def _bound(run: Run, mode: str) -> str:
    """How many cores it would take to reach the goal."""

    def median(replicas: int, figure: str) -> float:
        return run.results.median("shards", f"{mode} with {replicas}", figure) or 0.0

    wanted = GAIN * median(1, "throughput")
    each = sum(median(2, f"CPU ms, {name}") for name in (REPLICAS, APISERVER, ETCD))
    return (
        f"{mode}: {GAIN}x of one replica is {wanted:.0f} objects/s; with {each:.1f} ms of CPU for each, "
        f"that takes {wanted * each / 1000:.1f} cores, of {os.cpu_count()}"
    )
