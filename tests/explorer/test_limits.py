"""Operators that work without end: each limit holds, and what was not tried is said."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.api.batch.v1 import Job, JobSpec
from pykb.explore import Explorer, Report
from pykb.explore._gate import MOST_RECONCILES, Tape
from pykb.explore._watch import Interrupted, Watch
from pykb.runtime import Manager, Reconciler, Result, ensure_applied
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus, subject_of
from tests.explorer.zoo.specs import template


class Polls(Keeper):
    """Looks again at once while its Job fails."""

    owned = (Job,)
    pause = timedelta(milliseconds=10)
    failed = False

    async def keep(self, animal: Animal) -> None:
        """Run the Job."""
        spec = JobSpec(template=template(animal, "Never"))
        spec.template.spec.containers[0].image = "example.com/eat"  # type: ignore[union-attr] # set above
        job = Job(metadata=self.metadata(animal), spec=spec)
        found, _ = await ensure_applied(self.client, job, owner=animal)
        conditions = (found.status.conditions if found.status else None) or []
        self.failed = any(each.type == "Failed" and each.status == "True" for each in conditions)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Look again."""
        await super().report(animal, before)
        return Result(requeue_after=self.pause) if self.failed else None


class PollsSlowly(Polls):
    """Looks again every second, for the two minutes in which a Job may take its time."""

    pause = timedelta(seconds=1)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Look again until it has ended."""
        await super().report(animal, before)
        found = await self.client.find(Job, f"{animal.metadata.namespace}/{self.name(animal)}")
        is_over = found is not None and found.status is not None and found.status.conditions
        return None if is_over else Result(requeue_after=self.pause)


class Waits(Keeper):
    """Waits in the reconcile for what never comes."""

    async def keep(self, animal: Animal) -> None:
        """Sleep again and again."""
        while True:
            await self.look()

    async def look(self) -> None:
        """In the time of the event loop."""
        await asyncio.sleep(0.01)


class Blocks(Waits):
    """Waits in a way that lets nothing else run."""

    async def look(self) -> None:
        """In a call that blocks."""
        time.sleep(0.01)  # noqa: ASYNC251 - the fault


class Spins(Waits):
    """Never waits."""

    async def look(self) -> None:
        """Do nothing."""


class Oversleeps(Keeper):
    """Blocks for more than a day, and goes on as if nothing had been."""

    async def keep(self, animal: Animal) -> None:
        """Sleep."""
        time.sleep(100_000)  # noqa: ASYNC251 - the fault
        await super().keep(animal)


def explorer_of(operator: type[Reconciler], **options: object) -> Explorer:
    """An explorer of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(replace(subject_of(register), root=Path(__file__).parent), **options)  # type: ignore[arg-type]


def explored(operator: type[Reconciler], *only: str) -> Report:
    """What the explorer says of an operator."""
    return explorer_of(operator, only=only).run()


def test_an_operator_that_looks_without_a_pause_is_found(monkeypatch):
    """The history ends as soon as that is certain."""
    reconciles: Counter[Tape] = Counter()
    reconciled = Tape.reconciled

    def count(tape: Tape) -> None:
        reconciles[tape] += 1
        reconciled(tape)

    monkeypatch.setattr(Tape, "reconciled", count)
    [finding] = explored(Polls, "explore-loop").findings
    assert MOST_RECONCILES < max(reconciles.values()) < 2 * MOST_RECONCILES  # the Job's failure comes in between
    assert "reconciles again and again" in finding.message
    assert "Each workload fails 120 seconds after its creation" in finding.story[0]


def test_an_operator_may_look_every_second_while_it_waits():
    """As long as it ends."""
    explored(PollsSlowly, "explore-loop").check()


@pytest.mark.parametrize("operator", [Waits, Blocks, Spins])
def test_a_reconcile_without_end_is_one_message(monkeypatch, operator):
    """With its line. Nothing can be compared with a run that does not end."""
    monkeypatch.setattr("pykb.explore._runner.MOST_CPU_SECONDS", 0.5)
    monkeypatch.setattr("pykb.explore._runner._FIRST_CPU_SECONDS", 0.3)
    report = explored(operator, "explore-loop", "explore-crash")
    [finding] = report.findings
    assert finding.code.slug == "explore-loop"
    assert "works without end" in finding.message
    assert finding.span is not None
    assert finding.span.path == "test_limits.py"
    assert report.histories.total() == 1


def test_a_call_that_blocks_for_a_day_has_its_line():
    """Not that of the next request."""
    [finding] = explored(Oversleeps, "explore-loop").findings
    assert "waits without end" in finding.message
    assert finding.span is not None
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[finding.span.line - 1]
    assert "time.sleep(100_000)" in line


@pytest.mark.slow  # its limit is of the wall: beside a whole check, it may end before anything began
def test_a_limit_before_the_first_history_names_the_line(monkeypatch):
    """Where the operator is then: perhaps it never ends."""
    for name in ("MOST_CPU_SECONDS", "_LEAST_CPU_SECONDS", "_FIRST_CPU_SECONDS"):
        monkeypatch.setattr(f"pykb.explore._runner.{name}", 1000.0)
    [problem] = explorer_of(Spins, seconds=1.5).run().problems
    assert "ended before the first history did, while the operator was at this line" in problem.message
    assert problem.span is not None
    assert problem.span.path == "test_limits.py"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("operator", [Waits, Spins])
def test_the_limit_of_time_holds_in_the_middle_of_a_history(operator, workers):
    """What was not tried is said: this is not an operator without findings."""
    explorer = explorer_of(operator, seconds=1.5, workers=workers)
    began = time.monotonic()
    report = explorer.run()
    assert time.monotonic() - began < 15  # the processes share the machine with others; without a limit, it never ends
    assert report.unfinished or report.findings
    with pytest.raises(AssertionError, match=r"ended before the first history did|works without end"):
        report.check()


def test_workers_have_the_time_of_the_exploration(monkeypatch):
    """A history may take a part of what is left, in other processes as in this one."""
    limits = {"MOST_CPU_SECONDS": 1000.0, "_LEAST_CPU_SECONDS": 0.1, "_FIRST_CPU_SECONDS": 0.1, "_PARTS": 100}
    for name, value in limits.items():
        monkeypatch.setattr(f"pykb.explore._runner.{name}", value)
    [finding] = explorer_of(Spins, seconds=30, workers=2, only=("explore-loop",)).run().findings
    assert "works without end" in finding.message


def test_an_interrupt_ends_a_history():
    """Within a moment."""
    explorer = explorer_of(Spins)
    before = signal.signal(signal.SIGALRM, lambda *_: explorer.stop())
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        report = explorer.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 3
    assert "explore-crash" in report.unfinished


def test_what_measures_coverage_still_works_after_a_watch():
    """On Python 3.11, an error that is taken back from a thread makes each traced call of it endless."""
    program = """if True:
        import sys
        from pykb.explore._watch import Watch

        with Watch() as watch, watch.over(lambda: None, 1):
            pass
        sys.settrace(lambda *_: None)
        (lambda: None)()
        """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


def test_an_interruption_is_not_lost_in_a_callback_of_the_garbage_collector(monkeypatch):
    """Python would print it. pytest, which may turn that into a failure, has such a callback by Hypothesis."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)

    def slow(phase, info):
        until = time.monotonic() + 0.06
        while time.monotonic() < until:
            pass

    def work():
        with Watch() as watch, watch.over(lambda: None, 0.0):
            while True:
                gc.collect(0)
                sum(range(3_000_000))

    gc.callbacks.append(slow)
    try:
        with pytest.raises(Interrupted):
            work()
    finally:
        gc.callbacks.remove(slow)
    assert said == []
