"""The operator in a history: its processes, how its reconciles end, and what it does outside of the virtual world."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

from pykb.api.safe_text import error_text
from pykb.client.guard import is_end
from pykb.client.mapper import ResourceMapper
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.explore import NOT_EXPLORED, REAL_WORLD, UNKNOWN_CONDITION
from pykb.explore._gate import Behind, Gate, Tape, place_in, waker, works_on
from pykb.explore._handlers import Handlers
from pykb.explore._history import FaultKind, History, Identity, Manifest
from pykb.explore._libraries import Reach, reach
from pykb.explore._outcome import Outcome, failure_of, place_of_error
from pykb.explore._project import Subject
from pykb.explore._state import look_at
from pykb.explore._time import LoopClock, Stack, VirtualLoop, real_day, reconciling, stack_of
from pykb.explore._webhooks import Conditions, use_webhooks
from pykb.fake import FakeApiServer
from pykb.runtime import Client, Manager, ManagerOptions, ReconcileListener, ReconcileRecord, Request, Result
from pykb.runtime.records.causes import CauseKind
from pykb.runtime.records.lines import because, line_of

if TYPE_CHECKING:
    from pykb.runtime._kopf import OperatorRegistry

RESTART_SECONDS = 2.0
"""Virtual seconds until an operator that died starts again."""

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
    """Runs one process of the operator after the other, and notes what they do in the outcome.

    Attributes:
        subject: What is explored.
        server: The API server.
        mapper: Shared by all processes: discovery is not what a history is about.
        tape: Notes the requests.
        history: The history. Its fault may let caches lag.
        outcome: Where to note.
        needs_details: Whether to note what woke the reconciles.
        gate: The connection of the present process.

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
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        """Begin the first process."""
        self._loop = asyncio.get_running_loop()
        self._conditions = Conditions()
        self._failing: set[tuple[str, Any]] = set()
        self._written: dict[tuple[str, str, str], str] = {}
        self._noting = contextlib.ExitStack()
        self._stacks: list[Stack] = []
        fault = self.history.fault
        is_lagging = fault is not None and fault.kind is FaultKind.LAG
        self._begin(Behind(fault.seconds, fault.resource) if fault is not None and is_lagging else Behind())

    def _begin(self, behind: Behind) -> None:
        """Begin a process: a connection to the API server, and a manager with what the project registers."""
        self._behind = behind
        self.gate = Gate(self.server, self.tape, behind)
        options = ManagerOptions(health_probe_bind_address="0", metrics_bind_address="0", webhooks=False)
        client = Client(self.gate, mapper=self.mapper)
        manager = self._manager = _ExploredManager(options, client=client, clock=LoopClock(self._loop))
        _register(self.subject, manager)
        self._handlers = manager.handlers(self.gate, self.subject, self.outcome, self._use_webhooks)
        for informer in manager.cache.informers:  # kinds of other projects, whose definitions are not in this one
            if self.server.resources.of_kind(informer.gvk) is None:
                self.server.resources.add_unknown(informer.gvk)
        # Webhooks answer even after the end of their process, as other replicas do.
        manager.webhook_server.observer = self._note_failure
        self._use_webhooks(())
        self._failing.clear()
        manager.listen(self)

    def _use_webhooks(self, further: Sequence[Manifest]) -> None:
        """Let the API server call the webhooks of the project, and further ones of kopf's handlers."""
        webhooks = self._manager.webhook_server
        self.outcome.webhooks = tuple(further)
        configurations = [*self.subject.webhooks, *further]
        self.outcome.defaulters = use_webhooks(
            self.server, webhooks, configurations, self.subject.root, self.outcome.lost, self._conditions
        )

    async def keep_running(self) -> None:
        """Run the operator, and start it again when it died, as a kubelet does. Ends only by an error."""
        while True:
            reach.set(Reach(self.gate, self.subject.root))
            running = asyncio.create_task(self._manager.start())
            died = asyncio.create_task(self.gate.died.wait())
            try:
                await asyncio.wait({running, died}, return_when=asyncio.FIRST_COMPLETED)
                if not died.done() and not running.cancelled() and (error := running.exception()):
                    if is_end(error):
                        raise error
                    self.outcome.broken = error_text(error)
                self.gate.die()
                if self.tape.overrun:
                    await self._loop.create_future()
            finally:
                self._noting.close()
                for task in (running, died):
                    task.cancel()
                await asyncio.gather(running, died, return_exceptions=True)
            await asyncio.sleep(RESTART_SECONDS)
            self._begin(self._behind)

    def hand_over(self, behind: Behind) -> None:
        """Let another process take over, whose caches are behind."""
        self._behind = behind
        self.gate.die()

    @property
    def is_working(self) -> bool:
        """Whether a reconcile or a handler runs, or an event is still to come."""
        if self.gate.is_late:
            return True
        if self._handlers is not None and self._handlers.is_working:
            return True
        return any(controller.running_now() for controller in self._manager.controllers)

    def note_wait(self, since: float) -> None:
        """Note where a reconcile or a handler waits that does not end, or has blocked the loop for long since then."""
        last = max(self.outcome.reconciles[-1:], default=0.0)
        ended, seconds, blocked = self._loop.blocked if isinstance(self._loop, VirtualLoop) else (0.0, 0.0, ())
        has_blocked = seconds > _LONG_SECONDS and ended > since
        waits = self.is_working and self._loop.time() - last > _LONG_SECONDS
        if not self.outcome.unrest and (waits or has_blocked):
            self.outcome.unrest = "waits without end in one reconcile"
            threads = self._loop.threads.where() if isinstance(self._loop, VirtualLoop) else ()
            where = blocked if has_blocked else threads + reconciling(self._loop)
            self.outcome.unrest_at = place_in(self.subject.root, where)

    @property
    def is_retrying(self) -> bool:
        """Whether what failed is tried again."""
        if self._handlers is not None and self._handlers.is_retrying:
            return True
        queues = {controller.name: controller.queue for controller in self._manager.controllers}
        return any(queues[name].failures(request) for name, request in self._failing)

    @property
    def fails(self) -> bool:
        """Whether the last reconcile or handler of an object failed."""
        return bool(self._failing) or self._handlers_fail()

    def _handlers_fail(self) -> bool:
        if self._handlers is None:
            return False
        return self._handlers.fail({each["metadata"]["uid"] for each in map(look_at, self.server.storage.everything())})

    def without_notes(self, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """An object without what kopf notes in it."""
        return obj if self._handlers is None else self._handlers.without_notes(obj)

    def started(self, record: ReconcileRecord) -> None:
        """Note what woke a reconcile."""
        waker.set(f"{because(record)}{self._line_of_cause(record)}")
        request = record.id.request
        if isinstance(request, Request):
            [controller] = [each for each in self._manager.controllers if each.name == record.id.controller]
            names = [
                Identity(f"{kind.group}/", kind.kind, request.namespace, request.name) for kind in controller.kinds
            ]
            works_on.set(frozenset(name.key for name in names))

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
        key = (record.id.controller, record.id.request)
        for sent in record.sent:
            if sent.method != "GET" and sent.place:
                self._written[record.id.id, sent.object.kind, sent.object.name] = sent.place
        if self.needs_details:
            self.outcome.reconcile_lines.append((self._loop.time(), line_of(record)))
        if record.error is None:
            self._failing.discard(key)
        else:
            self._failing.add(key)
            self._note_failure(record.error)
        if record.error is not None or record.result is not None:
            self.outcome.reconciles.append(self._loop.time())
            self._count()

    def _count(self) -> None:
        """End a process that reconciles again and again."""
        self.tape.reconciled()
        if self.tape.is_hot and not self.outcome.unrest:
            self.outcome.unrest = "reconciles again and again"
            self.outcome.unrest_at = place_in(self.subject.root, [line for stack in self._stacks for line in stack])
            self._noting.close()
            self.gate.die()
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


class _ExploredManager(Manager):
    """A manager that runs kopf's handlers in the virtual world."""

    def add_kopf_handlers(self, registry: OperatorRegistry | None = None) -> None:
        """Note the registry."""
        self._kopf_registries.append(registry)

    def handlers(
        self, gate: Gate, subject: Subject, outcome: Outcome, configured: Callable[[Sequence[Manifest]], None]
    ) -> Handlers | None:
        """Add the handlers of the program, if it has some. It tells of their webhook configurations."""
        if "kopf" not in sys.modules:
            return None
        from pykb.runtime._kopf.offline import registries_of, resources_of

        registries = registries_of(self._kopf_registries)
        if not registries:
            return None
        outcome.handlers, outcome.is_of_kopf = resources_of(registries), not self.controllers
        handlers = Handlers(
            gate=gate,
            client=self.api_reader,
            registries=registries,
            webhooks=self.webhook_server,
            configured=configured,
            is_plain=subject.is_plain_kopf,
            namespaces=subject.namespaces,
            root=subject.root,
            outcome=outcome,
        )
        self.add(handlers.run, name="kopf handlers")
        return handlers


def _register(subject: Subject, manager: Manager) -> None:
    try:
        subject.register(manager)
    except EnvironmentProblem:
        raise
    except BaseException as error:
        if is_end(error):
            raise
        place = place_of_error(error, subject.root)
        message = f"`register` fails: {error_text(error)}"
        raise NOT_EXPLORED.problem(message, span=place) from error
