"""The operator in a history: its processes, how its reconciles end, and what it does outside of the virtual world."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from pykb.api.safe_text import error_text
from pykb.client.ending import end_tasks
from pykb.client.guard import is_end
from pykb.client.mapper import ResourceMapper
from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes.explore import REAL_WORLD, UNKNOWN_CONDITION
from pykb.explore._gate import Behind, Tape, Worked, place_in, waker
from pykb.explore._history import FaultKind, History
from pykb.explore._libraries import Reach, reach
from pykb.explore._outcome import Outcome, failure_of
from pykb.explore._process import Process, work_of
from pykb.explore._project import Subject
from pykb.explore._time import Stack, VirtualLoop, real_day, reconciling, stack_of
from pykb.explore._webhooks import Conditions
from pykb.fake import FakeApiServer
from pykb.runtime import ReconcileListener, ReconcileRecord, Result
from pykb.runtime.records.causes import CauseKind
from pykb.runtime.records.lines import because, line_of

RESTART_SECONDS = 2.0
"""Virtual seconds until an operator that died starts again."""

_REPLACEMENT_SECONDS = 300.0
"""Virtual seconds until a replica that died beside others has a new one in its place, as after the loss of a node. The
others do its work until everything is at rest, and longer."""

_LONG_SECONDS = 300.0
"""Virtual seconds after which a reconcile is one that waits."""

_CALL_CLOCKS = (
    "call `datetime.now(UTC)` or `time.time()` where you need the time: a default, a closure or a class keeps the "
    "function that was there before the explorer replaced it"
)


@contextlib.contextmanager
def _results() -> Iterator[list[Stack]]:
    """Note where the results of reconciles are made."""
    stacks: list[Stack] = []
    original = Result.__init__

    def noted(self: Result, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        if self.requeue_after is not None:
            stacks.append(stack_of(sys._getframe(1)))  # noqa: SLF001 - the caller

    with mock.patch.object(Result, "__init__", noted):
        yield stacks


@dataclass(eq=False)
class Operator(ReconcileListener):
    """Runs the processes of the operator, and notes what they do in the outcome.

    There is one after the other. With shards, several replicas can run, of which each is a row of processes.

    Attributes:
        subject: What is explored.
        server: The API server.
        mapper: Shared by all processes: discovery is not what a history is about.
        tape: Notes the requests.
        history: The history. Its fault may let caches lag.
        outcome: Where to note.
        needs_details: Whether to note what woke the reconciles.

    Raises:
        EnvironmentProblem: The project's ``register`` failed.
    """

    subject: Subject
    server: FakeApiServer
    mapper: ResourceMapper
    tape: Tape
    history: History
    outcome: Outcome
    needs_details: bool

    def __post_init__(self) -> None:
        """Begin the first process."""
        self._loop = asyncio.get_running_loop()
        self._conditions = Conditions()
        self._written: dict[tuple[str, str, str], str] = {}
        self._noting = contextlib.ExitStack()
        self._stacks: list[Stack] = []
        fault = self.history.fault
        is_lagging = fault is not None and fault.kind is FaultKind.LAG
        self._behind = Behind(fault.seconds, fault.resource) if fault is not None and is_lagging else Behind()
        self._processes: dict[int, Process] = {}
        self._processes[1] = self._begin(1)
        self._leaving: set[int] = set()
        self.others: dict[int, asyncio.Task[None]] = {}
        """Further replicas. They end when they leave, or by an error."""

    def _begin(self, number: int) -> Process:
        return Process(
            self.subject,
            self.server,
            self.mapper,
            self.tape,
            self.outcome,
            self._conditions,
            self._behind,
            listener=self,
            failed=self._note_failure,
            join=lambda: self._join(len(self._processes) + 1),
            living=self._living,
            shards=self.history.shards,
            name=f"replica-{number}",
        )

    def _living(self) -> list[Process]:
        return [process for process in self._processes.values() if not process.gate.is_dead]

    def _answer(self) -> None:
        """Let those that are left answer the calls of webhooks."""
        for process in self._living()[-1:]:
            process.answer()

    def _join(self, number: int) -> None:
        """Let a further replica run."""
        self._processes[number] = self._begin(number)
        self.others[number] = asyncio.create_task(self.keep_running(number))

    async def share(self, count: int) -> None:
        """Let so many replicas run. Returns when those that have to leave are gone."""
        for number in range(2, count + 1):
            if number not in self.others:
                self._join(number)
        for number in [number for number in self.others if number > count]:
            process, task = self._processes[number], self.others.pop(number)
            self._leaving.add(number)
            process.manager.stop()
            if process.gate.is_dead:  # the new one in its place is not there yet
                task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                await task
            self._leaving.discard(number)
            del self._processes[number]
            self._answer()

    async def keep_running(self, number: int = 1) -> None:
        """Run a replica, and start it again when it died, as a kubelet does. Ends by an error, or when it leaves."""
        while True:
            process = self._processes[number]
            reach.set(Reach(process.gate, self.subject.root))
            running = asyncio.create_task(process.manager.start())
            died = asyncio.create_task(process.gate.died.wait())
            try:
                await asyncio.wait({running, died}, return_when=asyncio.FIRST_COMPLETED)
                if not died.done() and not running.cancelled() and (error := running.exception()):
                    if is_end(error):
                        raise error
                    self.outcome.broken = error_text(error)
                process.gate.die()
                self._answer()
                if number in self._leaving:
                    return
                if self.tape.overrun:
                    await self._loop.create_future()
            finally:
                self._noting.close()
                await end_tasks(running, died)
            is_alone = all(each.gate.is_dead for each in self._processes.values())
            await asyncio.sleep(RESTART_SECONDS if is_alone else _REPLACEMENT_SECONDS)
            self._processes[number] = self._begin(number)

    def hand_over(self, behind: Behind) -> None:
        """Let other processes take over, whose caches are behind."""
        self._behind = behind
        self.die()

    def die(self) -> None:
        """End the present processes, as by a signal that they cannot catch."""
        for process in self._processes.values():
            process.gate.die()

    def blind(self) -> None:
        """Break all watches. New ones wait for :meth:`see`."""
        for process in self._processes.values():
            process.gate.blind()

    def see(self) -> None:
        """Let watches begin again."""
        for process in self._processes.values():
            process.gate.see()

    @property
    def is_working(self) -> bool:
        """Whether a reconcile or a handler runs, or an event is still to come."""
        return any(process.is_working for process in self._present)

    @property
    def is_retrying(self) -> bool:
        """Whether what failed is tried again."""
        return any(process.is_retrying for process in self._present)

    @property
    def fails(self) -> bool:
        """Whether the last reconcile or handler of an object failed."""
        return any(process.fails for process in self._present)

    @property
    def _present(self) -> Sequence[Process]:
        """The processes that live. If none does, those that died."""
        return self._living() or [*self._processes.values()]

    def without_notes(self, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """An object without what kopf notes in it."""
        for process in self._processes.values():
            obj = process.without_notes(obj)
        return obj

    def note_wait(self, since: float) -> None:
        """Note where a reconcile or a handler waits that does not end, or has blocked the loop for long since then."""
        last = max((each.at for each in self.outcome.reconciles[-1:]), default=0.0)
        ended, seconds, blocked = self._loop.blocked if isinstance(self._loop, VirtualLoop) else (0.0, 0.0, ())
        has_blocked = seconds > _LONG_SECONDS and ended > since
        waits = self.is_working and self._loop.time() - last > _LONG_SECONDS
        if not self.outcome.unrest and (waits or has_blocked):
            self.outcome.unrest = "waits without end in one reconcile"
            threads = self._loop.threads.where() if isinstance(self._loop, VirtualLoop) else ()
            where = blocked if has_blocked else threads + reconciling(self._loop)
            self.outcome.unrest_at = place_in(self.subject.root, where)

    def started(self, record: ReconcileRecord) -> None:
        """Note what woke a reconcile, and whether two replicas work on one object."""
        waker.set(f"{because(record)}{self._line_of_cause(record)}")
        if sum(process.works(work_of(record)) for process in self._processes.values()) > 1:
            self.outcome.at_once = str(record.id.request)

    def _line_of_cause(self, record: ReconcileRecord) -> str:
        """The line with which the operator itself caused a reconcile."""
        causes = sorted(record.causes, key=lambda cause: cause.kind is CauseKind.EVENT)
        last = causes[-1] if causes else None
        if last is None or last.written_by is None or last.object is None:
            return ""
        place = self._written.get((last.written_by.id, last.object.kind, last.object.name), "")
        return f" ({place})" if place else ""

    def ended(self, record: ReconcileRecord) -> None:
        """Note the end of a reconcile."""
        for sent in record.sent:
            if sent.method != "GET" and sent.place:
                self._written[record.id.id, sent.object.kind, sent.object.name] = sent.place
        if self.needs_details:
            self.outcome.reconcile_lines.append((self._loop.time(), line_of(record)))
        if record.error is not None:
            self._note_failure(record.error)
        else:
            for process in self._processes.values():
                process.has_succeeded(work_of(record))
        if record.error is not None or record.result is not None:
            self.outcome.reconciles.append(Worked.now())
            self._count()

    def _count(self) -> None:
        """End a process that reconciles again and again."""
        self.tape.reconciled()
        if self.tape.is_hot and not self.outcome.unrest:
            self.outcome.unrest = "reconciles again and again"
            self.outcome.unrest_at = place_in(self.subject.root, [line for stack in self._stacks for line in stack])
            self._noting.close()
            self.die()
        elif self.tape.is_almost_hot and not self._stacks:
            self._noting.close()
            self._stacks = self._noting.enter_context(_results())

    def _note_failure(self, error: BaseException) -> None:
        self.outcome.failures.append(failure_of(error, self.subject.root, self._loop.time()))

    def strays(self) -> Iterator[Diagnostic]:
        """Yield a warning for whatever the explorer cannot see or control."""
        root = self.subject.root
        if isinstance(self._loop, VirtualLoop):
            for stray in self._loop.threads.strays:
                if place := place_in(root, stray.stack):
                    yield REAL_WORLD.at(place, f"this {stray.what}", stray.remedy)
        day, given = real_day(), repr([step.manifest for step in self.history.steps])
        for change in self.outcome.changes:
            place = change.by.place if change.by is not None else None
            if place is not None and change.after and day in change.after.decode() and day not in given:
                yield REAL_WORLD.at(place, "this writes the time of the real clock", _CALL_CLOCKS)
        for condition in self._conditions.unknown:
            yield UNKNOWN_CONDITION.at(None, f"the explorer cannot evaluate `{condition}`")
