"""One run of an operator: an API server in memory, the cluster's controllers, somebody's acts, one fault."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pykb.api.safe_text import error_text, safe_text
from pykb.client.codec import gvk_of
from pykb.client.guard import is_end
from pykb.client.mapper import ResourceMapper
from pykb.diagnostics import EnvironmentProblem, Span
from pykb.diagnostics.codes.explore import NOT_EXPLORED, UNKNOWN_CONDITION
from pykb.explore._actors import Actor, Actors
from pykb.explore._failure import failure_of, place_of_error
from pykb.explore._gate import Behind, Gate, Tape, author, span_of, waker
from pykb.explore._history import Fault, FaultKind, History, Identity, Manifest, Step, Verb
from pykb.explore._kopf import ExploredManager
from pykb.explore._outcome import Change, Outcome
from pykb.explore._rules import Conditions, Rules
from pykb.explore._state import State, read, state_of
from pykb.explore._strays import strays_of
from pykb.explore._time import LoopClock
from pykb.explore._webhooks import use_webhooks
from pykb.fake import FakeApiServer
from pykb.runtime import (
    ApiError,
    Client,
    ClientOptions,
    Manager,
    ManagerOptions,
    MergePatch,
    NoKindMatch,
    NotFound,
    ReconcileListener,
    ReconcileRecord,
)
from pykb.runtime.records.lines import because, line_of

QUIET = 90.0
"""Virtual seconds without a change after which the world is at rest."""

_LONGEST_RETRY = 1100.0
_MOST_TIME = 6 * 3600.0
_RESTART = 2.0
_SOON = 5.0
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explored.

    Attributes:
        register: Registers controllers and webhooks with a manager: a project's own ``register``.
        crds: The CustomResourceDefinitions.
        samples: The objects that the operator works on, each with its namespace.
        rules: The rules of the operator's roles. ``None`` allows everything.
        root: The folder of the user's code, to name its lines.
        actors: What other controllers and people do, beside Kubernetes' own.
        webhooks: The webhook configurations.
        places: Where the samples are written.
    """

    register: Callable[[Manager], None]
    crds: Sequence[Manifest]
    samples: Sequence[Manifest]
    rules: Sequence[Mapping[str, Any]] | None = None
    root: Path | None = None
    actors: Sequence[Actor] = ()
    webhooks: Sequence[Manifest] = ()
    places: Mapping[Identity, Span] = field(default_factory=dict)


async def cluster_of(subject: Subject) -> FakeApiServer:
    """The API server with which all histories begin."""
    server = FakeApiServer(crds=copy.deepcopy(list(subject.crds)))
    server.use_rules(Rules(subject.crds).broken)
    return await server.copy()


async def play(subject: Subject, cluster: FakeApiServer, history: History, *, causes: bool = False) -> Outcome:
    """Run a history, and note what woke the reconciles if asked to. Needs an event loop with virtual time.

    Raises:
        EnvironmentProblem: The project's ``register`` failed.
    """
    world = _World(subject, await cluster.copy(), history)
    world.needs_details = causes
    await world.play()
    return world.outcome


class _World(ReconcileListener):
    needs_details = False

    def __init__(self, subject: Subject, server: FakeApiServer, history: History) -> None:
        self._subject = subject
        self._history = history
        self._loop = asyncio.get_running_loop()
        self.outcome = Outcome()
        self._server = server
        self._server.storage.observers.append(self._note)
        # All share one mapper: discovery is not what a history is about.
        self._mapper = ResourceMapper(self._server)
        self._user = Client(self._server, mapper=self._mapper, options=ClientOptions(field_manager="somebody-else"))
        self._due: dict[int, list[Step]] = {}
        self._acting: set[asyncio.Task[None]] = set()
        self._tape = Tape(subject.root, history.faults, self._after_write)
        self._gate: Gate | None = None
        self._behind = Behind()
        self._manager: ExploredManager | None = None
        self._failing: set[tuple[str, Any]] = set()
        self._changes = 0
        self._conditions = Conditions()
        self._actors = Actors(self._server, self._user, subject.actors, history.fault)

    async def play(self) -> None:
        actors = asyncio.create_task(self._actors.run())
        operator = asyncio.create_task(self._keep_running())
        try:
            await self._settle()
            await self._perform_all()
            if self._history.idle and self.outcome.at_rest:
                await asyncio.sleep(self._history.idle)
            if actors.done():
                actors.result()  # an actor of the user raised
            self.outcome.sent = self._tape.sent
            self.outcome.struck = self._tape.struck
            self.outcome.fails = bool(self._failing)
            root = self._subject.root
            unexplored = self._manager.unexplored(root) if self._manager is not None else ()
            self.outcome.strays = [*unexplored, *strays_of(root, self._history, self.outcome.changes)]
            self.outcome.strays += [
                UNKNOWN_CONDITION.at(None, f"the explorer cannot evaluate `{each}`")
                for each in self._conditions.unknown
            ]
            if operator.done():
                await operator  # it ends only by an error
        finally:
            for task in (operator, actors, *self._acting):
                task.cancel()
            await asyncio.gather(operator, actors, *self._acting, return_exceptions=True)

    # -- what somebody does

    async def _perform_all(self) -> None:
        for step in self._history.steps:
            if step.after_write is not None:
                self._due.setdefault(step.after_write, []).append(step)
        waited = [step for step in self._history.steps if step.after_write is None]
        for number, step in enumerate(waited):
            is_continued = step.unseen and any(following.unseen for following in waited[number + 1 : number + 2])
            await self._perform_and_settle(step, is_last=not is_continued)
            if not self.outcome.at_rest:
                return
        for number, fault in enumerate(each for each in self._history.faults if each.kind is FaultKind.BACK):
            if not self.outcome.at_rest:
                return
            await self._take_over(fault)
            if number == 0:  # the state before the first take-over does not count
                del self.outcome.states[-1:]
            self.outcome.states.append(self._state())

    async def _perform_and_settle(self, step: Step, *, is_last: bool) -> None:
        if step.unseen and self._gate is not None:
            self._gate.blind()
        self.outcome.began.append(self._loop.time())
        self._tape.begin_step()
        await self._perform(step)
        if step.unseen or step.soon:
            await asyncio.sleep(_SOON)
            if step.soon or not is_last:
                return
            self._server.storage.compact()  # or the watches would resume where they broke, and miss nothing
            if self._gate is not None:
                self._gate.see()
        await self._settle()
        self.outcome.states.append(self._state())

    def _state(self) -> State:
        return state_of(map(read, self._server.storage.everything()))

    async def _take_over(self, fault: Fault) -> None:
        """Let another process take over, whose caches are behind."""
        self._behind = Behind(version=fault.version, until=self._loop.time() + fault.seconds)
        if self._gate is not None:
            self._gate.die()
        await self._settle()

    async def _perform(self, step: Step) -> None:
        """Act. Act again when a webhook could not answer, as people do."""
        for _ in range(_TRIES):
            struck = len(self._tape.struck)
            try:
                await self._act(step)
            except (ApiError, NoKindMatch) as error:
                refused = safe_text(error)
                if getattr(error, "status", 0) < 500 and len(self._tape.struck) == struck:
                    break
                await asyncio.sleep(_RESTART)
            else:
                return
        self.outcome.refused.append((step, refused))

    async def _act(self, step: Step) -> None:
        manifest, identity = dict(step.manifest), Identity.of(step.manifest)
        match step.verb:
            case Verb.CREATE:
                await self._user.create(manifest)
            case Verb.REPLACE:
                await self._replace(manifest)
            case Verb.PATCH:
                patch = {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind")}
                patch["metadata"] = {
                    name: value for name, value in patch["metadata"].items() if name not in ("name", "namespace")
                }
                await self._user.patch(identity.manifest, MergePatch(patch))
            case Verb.DELETE:
                await self._user.delete(identity.manifest)
            case Verb.REWRITE:
                gvk = gvk_of(manifest)
                await self._user.update((await self._user.get(gvk, identity.name, namespace=identity.namespace)).data)

    async def _replace(self, manifest: Manifest) -> None:
        try:
            identity = Identity.of(manifest)
            found = (await self._user.get(gvk_of(manifest), identity.name, namespace=identity.namespace)).data
        except NotFound:
            await self._user.create(manifest)
            return
        metadata = {**found["metadata"], **manifest["metadata"]}
        status = {"status": found["status"]} if "status" in found else {}
        await self._user.update({**manifest, "metadata": metadata, **status})

    def _after_write(self, number: int) -> None:
        for step in self._due.pop(number, ()):
            self._acting.add(asyncio.create_task(self._perform(step)))

    # -- the operator

    async def _keep_running(self) -> None:
        """Run the operator, and start it again when it died, as a kubelet does."""
        fault = self._history.fault
        if fault is not None and fault.kind is FaultKind.LAG:
            self._behind = Behind(fault.seconds, fault.resource)
        while True:
            gate = self._gate = Gate(self._server, self._tape, self._behind)
            client = Client(gate, mapper=self._mapper)
            options = ManagerOptions(health_probe_bind_address="0", metrics_bind_address="0", webhooks=False)
            manager = self._manager = ExploredManager(options, client=client, clock=LoopClock(self._loop))
            self._register(manager)
            self._serve_kinds_of_others(manager)
            self._call_webhooks(manager)
            self._failing.clear()
            manager.listen(self)
            running = asyncio.create_task(manager.start())
            died = asyncio.create_task(gate.died.wait())
            try:
                await asyncio.wait({running, died}, return_when=asyncio.FIRST_COMPLETED)
                if not died.done() and not running.cancelled() and (error := running.exception()):
                    self.outcome.broken = error_text(error)
                gate.die()
                if self._tape.overrun:
                    await self._loop.create_future()
            finally:
                for task in (running, died):
                    task.cancel()
                await asyncio.gather(running, died, return_exceptions=True)
            await asyncio.sleep(_RESTART)

    def _register(self, manager: Manager) -> None:
        try:
            self._subject.register(manager)
        except EnvironmentProblem:
            raise
        except BaseException as error:
            if is_end(error):
                raise
            place = place_of_error(error, self._subject.root)
            message = f"`register` fails: {error_text(error)}"
            raise EnvironmentProblem(NOT_EXPLORED.at(span_of(place), message)) from error

    def _serve_kinds_of_others(self, manager: Manager) -> None:
        """Serve what the operator watches of other projects. Their definitions are not in this one."""
        resources = self._server.resources
        for informer in manager.cache.informers:
            if resources.of_kind(informer.gvk) is None:
                resources.add_unknown(informer.gvk)

    def _call_webhooks(self, manager: Manager) -> None:
        """Let the API server call those of this process. They answer even after its end, as other replicas do."""
        server, subject, outcome = manager.webhook_server, self._subject, self.outcome
        server.observer = self._failed
        outcome.defaulters = use_webhooks(
            self._server, server, subject.webhooks, subject.root, outcome.lost, self._conditions
        )

    # -- rest

    async def _settle(self) -> None:
        """Wait until nothing changes any more and nothing is to be tried again."""
        began = self._loop.time()
        seen, since = -1, began
        while True:
            now = self._loop.time()
            if self._changes != seen or self._is_working() or self._actors.is_waiting:
                seen, since = self._changes, now
            patience = _LONGEST_RETRY if self._is_retrying() else QUIET
            if now - since >= patience:
                break
            if self._tape.overrun or now - began > _MOST_TIME:
                self.outcome.at_rest = False
                break
            await asyncio.sleep(QUIET / 3)
        self._tape.rest()
        self.outcome.rested_at = self._loop.time()

    def _is_working(self) -> bool:
        return self._manager is not None and any(each.running_now() for each in self._manager.controllers)

    def _is_retrying(self) -> bool:
        controllers = {} if self._manager is None else {each.name: each for each in self._manager.controllers}
        return any(controllers[name].queue.failures(request) for name, request in self._failing)

    # -- notes

    def _note(self, change: Any) -> None:
        identity = Identity(change.api_version, change.kind, change.namespace, change.name)
        self._changes += not identity.is_record  # an error that comes again and again may be said each time
        self.outcome.changes.append(
            Change(identity, change.before, change.after, author.get(), self._loop.time(), change.version)
        )

    def started(self, record: ReconcileRecord) -> None:
        """Note what woke a reconcile."""
        waker.set(because(record))

    def ended(self, record: ReconcileRecord) -> None:
        """Note the end of a reconcile."""
        key, error = (record.id.controller, record.id.request), record.error
        if self.needs_details:
            self.outcome.told.append((self._loop.time(), line_of(record)))
        if error is None:
            self._failing.discard(key)
        else:
            self._failing.add(key)
            self._failed(error)
        if error is not None or record.result is not None:
            self.outcome.reconciles.append(self._loop.time())

    def _failed(self, error: BaseException) -> None:
        self.outcome.failures.append(failure_of(error, self._subject.root, self._loop.time()))
