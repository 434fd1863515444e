"""One process of the operator in a history: its connection and its manager, and what fails in it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pykb.api.safe_text import error_text
from pykb.client.codec import ReadKind, ReadT
from pykb.client.connection import Call, ExecResult
from pykb.client.guard import is_end
from pykb.client.mapper import ResourceMapper
from pykb.client.ranges import ShardBy
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore._gate import Behind, Gate, Tape, Worked, works_on
from pykb.explore._handlers import Handlers
from pykb.explore._history import FaultKind, Identity, Manifest
from pykb.explore._outcome import Outcome, place_of_error
from pykb.explore._project import Subject
from pykb.explore._state import look_at
from pykb.explore._time import LoopClock
from pykb.explore._webhooks import Conditions, use_webhooks
from pykb.fake import FakeApiServer
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Client, Manager, ManagerOptions, ReconcileListener, ReconcileRecord, Request
from pykb.runtime.cache.informer import Lister
from pykb.runtime.cache.informer_cache import InformerCache

if TYPE_CHECKING:
    from pykb.runtime._kopf import OperatorRegistry


_LEASE = timedelta(seconds=30)
"""How long the Leases of replicas last. Most of the time of a history with shards is spent on looking at them. Others
have the objects of a replica that died before everything is at rest."""

Work = tuple[str, Any]
"""A controller, and a request that it works on."""


def work_of(record: ReconcileRecord) -> Work:
    """What a reconcile is about."""
    return record.id.controller, record.id.request


@dataclass(eq=False)
class Process(ReconcileListener):
    """One process of the operator: a connection to the API server, and a manager with what the project registers.

    Attributes:
        subject: What is explored.
        server: The API server.
        mapper: Shared by all processes.
        tape: Notes the requests.
        outcome: Where to note.
        conditions: Those of webhooks, of all processes.
        behind: How far its caches are behind.
        listener: Hears of its reconciles, too.
        failed: Called with the errors of webhooks.
        join: Lets another replica come.
        living: The replicas that live.
        shards: Into how many ranges the objects are divided among the replicas; 0 for no others.
        name: The name of the replica.

    Raises:
        EnvironmentProblem: The project's ``register`` failed.
    """

    needs_details = False
    subject: Subject
    server: FakeApiServer
    mapper: ResourceMapper
    tape: Tape
    outcome: Outcome
    conditions: Conditions
    behind: Behind
    listener: ReconcileListener
    failed: Callable[[BaseException], None]
    join: Callable[[], None]
    living: Callable[[], Sequence[Process]]
    shards: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        """Begin it."""
        self._failing: set[Work] = set()
        self._works: set[Work] = set()
        self.gate = Gate(self.server, self.tape, self.behind)
        options = ManagerOptions(
            health_probe_bind_address="0",
            metrics_bind_address="0",
            webhooks=False,
            lease_duration=_LEASE,
            renew_deadline=_LEASE * 0.7,
            retry_period=_LEASE * 0.5,
            shards=self.shards,
            shard_by=self.subject.ranges.by if self.subject.ranges is not None else ShardBy.UID,
        )
        client = Client(self.gate, mapper=self.mapper)
        clock = LoopClock(asyncio.get_running_loop())
        manager = self.manager = _ExploredManager(options, client=client, clock=clock)
        manager.cache.looks = self.outcome.looks
        self.gate.meanwhile |= {FaultKind.JOIN: self.join, FaultKind.LEAVE: manager.stop}
        manager.leases = Client(_Aside(self.gate), mapper=self.mapper)
        if manager.sharding is not None:  # the names of hosts differ, and who gets which range depends on them
            manager.sharding.identity = f"{self.name}_{uuid.uuid4()}"
        _register(self.subject, manager)
        self._handlers = manager.handlers(self.gate, self.subject, self.outcome, self._use_webhooks)
        for informer in manager.cache.informers:  # kinds of other projects, whose definitions are not in this one
            if self.server.resources.of_kind(informer.gvk) is None:
                self.server.resources.add_unknown(informer.gvk)
        # Webhooks answer even after the end of their process, as other replicas do.
        manager.webhook_server.observer = self.failed
        self._use_webhooks(())
        manager.listen(self)
        manager.listen(self.listener)

    def _use_webhooks(self, further: Sequence[Manifest]) -> None:
        """Let the API server call the webhooks of the project, and further ones of kopf's handlers."""
        self.outcome.webhooks = tuple(further)
        self.answer()

    def answer(self) -> None:
        """Answer the calls of webhooks in turn with the other replicas that live."""
        others = [each for each in self.living() if each is not self]
        servers = [each.manager.webhook_server for each in (*others, self)]
        configurations = [*self.subject.webhooks, *self.outcome.webhooks]
        self.outcome.defaulters = use_webhooks(
            self.server, servers, configurations, self.subject.root, self.outcome.lost, self.conditions
        )

    @property
    def is_working(self) -> bool:
        """Whether a reconcile or a handler runs, or an event is still to come."""
        if self.gate.is_late:
            return True
        if self._handlers is not None and self._handlers.is_working:
            return True
        return any(controller.running_now() for controller in self.manager.controllers)

    @property
    def is_retrying(self) -> bool:
        """Whether what failed is tried again."""
        if self._handlers is not None and self._handlers.is_retrying:
            return True
        queues = {controller.name: controller.queue for controller in self.manager.controllers}
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
        """Note for what a reconcile is."""
        request = record.id.request
        if isinstance(request, Request):
            [controller] = [each for each in self.manager.controllers if each.name == record.id.controller]
            names = [
                Identity(f"{kind.group}/", kind.kind, request.namespace, request.name) for kind in controller.kinds
            ]
            works_on.set(frozenset(name.key for name in names))
        self._works.add(work_of(record))

    def ended(self, record: ReconcileRecord) -> None:
        """Note whether a reconcile failed."""
        work = work_of(record)
        self._works.discard(work)
        if record.error is not None:
            self._failing.add(work)

    def works(self, work: Work) -> bool:
        """Whether this process does it just now."""
        return work in self._works and not self.gate.is_dead

    def has_succeeded(self, work: Work) -> None:
        """Note that some process did it, after this one may have failed."""
        self._failing.discard(work)


@dataclass(eq=False)
class _Aside:
    """The way to the Leases of replicas."""

    gate: Gate

    async def request(self, call: Call) -> bytes:
        """Pass a request on."""
        return await self.gate.pass_aside(call)

    def stream(self, call: Call) -> contextlib.AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Pass a watch on."""
        return self.gate.stream(call)

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Run a command."""
        return await self.gate.execute(call, stdin, limit)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class _NotedCache(InformerCache):
    """A cache that notes at what reconciles look.

    Attributes:
        looks: Where to note it. With a lister, one can look at anything at any time.
    """

    looks: list[Worked]

    async def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> dict[str, Any] | None:
        """Read one object."""
        self._note(Identity(f"{gvk.group}/", gvk.kind, namespace, name).key)
        return await super().get(gvk, namespace, name)

    async def list(self, gvk: GroupVersionKind, **selected: Any) -> list[dict[str, Any]]:
        """Read several objects."""
        self._note(f"{gvk.group}/{gvk.kind}/")
        return await super().list(gvk, **selected)

    def lister(self, kind: ReadKind[ReadT]) -> Lister[ReadT]:
        """Return the lister of a kind."""
        self.looks.append(Worked(float("inf"), frozenset()))
        return super().lister(kind)

    def _note(self, looks_at: str) -> None:
        if works_on.get():
            self.looks.append(Worked.now(looks_at))


class _ExploredManager(Manager):
    """A manager that runs kopf's handlers in the virtual world."""

    _cache_type = _NotedCache
    cache: _NotedCache
    leases: Client
    """For what replicas agree on."""

    def _lease_client(self) -> contextlib.AbstractAsyncContextManager[Client]:
        return contextlib.nullcontext(self.leases)

    def add_kopf_handlers(self, registry: OperatorRegistry | None = None) -> None:
        """Note the registry."""
        self._kopf_registries.append(registry)

    def handlers(
        self, gate: Gate, subject: Subject, outcome: Outcome, configured: Callable[[Sequence[Manifest]], None]
    ) -> Handlers | None:
        """Add the handlers of the program, if it has some. It tells of their webhook configurations."""
        if "kopf" not in sys.modules:
            return None
        from pykb.explore._kopf import registries_of, resources_of

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
