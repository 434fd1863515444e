"""The world in which a history is played: an API server in memory, the cluster's controllers, somebody's acts."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, zip_longest
from typing import Any

from pykb.api.safe_text import safe_text
from pykb.client.codec import gvk_of
from pykb.client.ending import end_tasks
from pykb.client.mapper import ResourceMapper
from pykb.client.ranges import Ranges
from pykb.explore._actors import Actors
from pykb.explore._earlier import begin_with, lacks_beginning
from pykb.explore._gate import Behind, Tape, author, naming, unavoidable
from pykb.explore._history import SECOND_NAMESPACE, Fault, FaultKind, History, Identity, Manifest, Step, Takeover, Verb
from pykb.explore._invariants import Watched
from pykb.explore._libraries import answered_here
from pykb.explore._operator import RESTART_SECONDS, Operator
from pykb.explore._outcome import Change, Moment, Outcome, failure_of, unfitness
from pykb.explore._project import Subject
from pykb.explore._state import State, beats, look_at, state_of
from pykb.explore._webhooks import Rules
from pykb.fake import FakeApiServer, new_uid
from pykb.reading import mapping
from pykb.runtime import ApiError, Client, ClientOptions, MergePatch, NoKindMatch, NotFound
from pykb.runtime.options import DEFAULT_LEADER_ELECTION_ID

QUIET_SECONDS = 90.0
"""Virtual seconds without a change after which the world is at rest."""

_LONGEST_RETRY_SECONDS = 1100.0
"""After this time without a change, a reconcile that fails again and again counts as at rest."""

_GIVE_UP_SECONDS = 6 * 3600.0
"""Virtual seconds after which a world is given up that does not come to rest."""

_SOON_SECONDS = 5.0
"""Between two steps of which the second one does not wait for rest."""

_MOST_TRIES = 4
"""How often somebody acts when a webhook cannot answer."""


async def cluster_of(subject: Subject) -> FakeApiServer:
    """The API server with which all histories begin."""
    server = FakeApiServer(crds=copy.deepcopy(list(subject.crds)))
    for obj in subject.background:
        if server.resources.of_kind(gvk_of(obj)) is None:  # its definition is not among those of the project
            server.resources.add_unknown(gvk_of(obj))
    second: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SECOND_NAMESPACE}}
    server.seed(second, *subject.background)
    server.use_rules(Rules(subject.crds).broken)
    return await server.copy()


async def grow(subject: Subject, cluster: FakeApiServer, background: Sequence[Manifest]) -> tuple[FakeApiServer, str]:
    """Let somebody create objects, and the operator do its work for them. Needs an event loop with virtual time.

    Args:
        subject: What is explored.
        cluster: The API server with which it begins.
        background: The objects.

    Returns:
        The API server in the end, and what went wrong.
    """
    outcome = Outcome()
    steps = tuple(Step(Verb.CREATE, manifest) for manifest in background)
    history = History(steps, Fault(FaultKind.BACK))  # what a new process does at first is done then
    world = _World(subject, await cluster.copy(), history, outcome, causes=False)
    with answered_here():
        await world.play()
    return await world.server.copy(), unfitness(outcome)


async def play(
    subject: Subject, cluster: FakeApiServer, history: History, outcome: Outcome, *, causes: bool = False
) -> None:
    """Run a history, and note what woke the reconciles if asked to. Needs an event loop with virtual time.

    Args:
        subject: What is explored.
        cluster: The API server with which it begins.
        history: The history.
        outcome: Where to note what comes of it.
        causes: Whether to note what woke the reconciles.

    Raises:
        EnvironmentProblem: The project's ``register`` failed.
    """
    world = _World(subject, await cluster.copy(), history, outcome, causes=causes)
    if history.after is not None:
        await world.take_over_from(history.after)
    with answered_here():  # after the import of the operator
        await world.play()


class _World:
    def __init__(
        self, subject: Subject, server: FakeApiServer, history: History, outcome: Outcome, *, causes: bool
    ) -> None:
        self.outcome = outcome
        self._subject = subject
        self._history = history
        self._loop = asyncio.get_running_loop()
        self.server = server
        self.server.storage.observers.append(self._note_change)
        self._changes = 0
        self._watched: Watched | None = None
        if subject.invariants:
            objects = {Identity.of(look_at(each)): each for each in server.storage.everything()}
            invariants = [each.load() for each in subject.invariants]
            self._watched = Watched(invariants, subject.root, outcome, objects)
        self._ignored = [each.what for each in subject.settings.ignore]
        self._is_idle = False
        self._applied: dict[Identity, Manifest] = {}
        self._due = [step for step in history.steps if step.after_write is not None]
        self._acting: set[asyncio.Task[None]] = set()
        self._tape = Tape(subject.root, history.faults, self._act_after_write)
        asyncio.get_running_loop().set_task_factory(naming(subject.root))
        outcome.sent, outcome.struck = self._tape.sent, self._tape.struck
        mapper = ResourceMapper(server)
        self._somebody = Client(server, mapper=mapper, options=ClientOptions(field_manager="somebody-else"))
        self._actors = Actors(server, self._somebody, subject.actors, history.fault)
        self._uids = cycle(partial(_uid, Ranges(history.shards), number) for number in reversed(range(history.shards)))
        self._operator = Operator(subject, server, mapper, self._tape, history, self.outcome, causes)

    async def take_over_from(self, start: Takeover) -> None:
        """Begin with what an earlier version of the operator made.

        Raises:
            EnvironmentProblem: It is not known.
        """
        earlier = self._subject.earlier
        if earlier is None:
            raise lacks_beginning(start)
        moment, changes = earlier.beginning(start, self._history.chance)
        await asyncio.sleep(moment.at)  # nothing is older than it is
        await begin_with(self.server, moment, earlier.crds)
        self.outcome.changes[:] = changes
        self.outcome.inherited = len(changes)
        self._actors.take_over(moment.made)
        before = earlier.life_before(start).sample
        self._applied = {Identity.of(before): before}

    async def play(self) -> None:
        """Take all steps. The outcome has what came of them."""
        actors = asyncio.create_task(self._actors.run())
        operator = asyncio.create_task(self._operator.keep_running())
        try:
            await self._settle()
            self.outcome.initial = self._state()
            await self._take_steps()
            await self._take_over()
            if self._history.idle and self.outcome.at_rest:
                await self._idle()
            self._note_actors()
            self.outcome.remade = dict(self.server.remade)
            self.outcome.fails = self._operator.fails
            self.outcome.strays = list(self._operator.strays())
            for replica in (operator, *self._operator.others.values()):
                if replica.done():
                    await replica  # it ends only by an error
        finally:
            await end_tasks(operator, actors, *self._operator.others.values(), *self._acting)

    def _note_actors(self) -> None:
        self.outcome.worked = frozenset(self._actors.worked)
        for number, error in self._actors.failed.items():
            failure = failure_of(error, self._subject.root, self._loop.time())
            self.outcome.stuck[number] = replace(failure, is_bug=not isinstance(error, ApiError))

    async def _idle(self) -> None:
        """Let time pass, until it is certain that the operator is not idle."""
        self._is_idle = True
        began = self._loop.time()
        until = began + self._history.idle
        while (now := self._loop.time()) < until and not self._tape.overrun:
            worked = any(sent.is_work and began <= sent.at < now - 1 for sent in reversed(self._tape.sent))
            if worked and self.outcome.later is None:  # one that was sent just now may still become a beat
                self.outcome.later = self._state()
            if worked and self.outcome.repeated:
                return
            await asyncio.sleep(min(QUIET_SECONDS, until - now))
        self.outcome.later = self.outcome.later or self._state()

    async def _take_steps(self) -> None:
        """Take the steps that wait for rest. The operator sees only the result of those that are unseen."""
        steps = [step for step in self._history.steps if step.after_write is None]
        for step, following in zip_longest(steps, steps[1:]):
            if step.members:
                await self._operator.share(step.members)
                await self._settle()
                if not self.outcome.at_rest:
                    return
            if step.unseen:
                self._operator.blind()
            self.outcome.began.append(self._loop.time())
            self._tape.begin_step()
            if step.together:
                self._acting.add(asyncio.create_task(self._perform(step)))
                continue
            await self._perform(step)
            if step.unseen or step.soon:
                await asyncio.sleep(_SOON_SECONDS)
            if step.soon or (step.unseen and following is not None and following.unseen):
                continue
            if step.unseen:
                self.server.storage.compact()  # or the watches would resume where they broke, and miss nothing
                self._operator.see()
            await self._settle()
            self._note_state()
            if not self.outcome.at_rest:
                return
        if self._history.is_kept:
            self._keep()

    async def _take_over(self) -> None:
        """Let other processes take over in the end, if faults say so. The state before them does not count."""
        faults = [fault for fault in self._history.faults if fault.kind is FaultKind.BACK]
        if faults and self.outcome.at_rest:
            del self.outcome.states[-1:]
        for fault in faults:
            if not self.outcome.at_rest:
                return
            self._operator.hand_over(Behind(version=fault.version, until=self._loop.time() + fault.seconds))
            await self._settle()
            self._note_state()

    def _act_after_write(self, number: int) -> None:
        if self._history.is_kept and self.outcome.began:
            self._keep(number, str(next(sent for sent in reversed(self._tape.sent) if sent.write == number)))
        for step in self._due:
            if step.after_write == number:
                self._acting.add(asyncio.create_task(self._perform(step)))

    async def _perform(self, step: Step) -> None:
        """Act. Act again when a webhook could not answer, as people do."""
        for _ in range(_MOST_TRIES):
            struck = len(self._tape.struck)
            try:
                await self._act(step)
            except (ApiError, NoKindMatch) as error:
                refused = safe_text(error)
                if getattr(error, "status", 0) < 500 and len(self._tape.struck) == struck:
                    break
                await asyncio.sleep(RESTART_SECONDS)
            else:
                return
        self.outcome.refused.append((step, refused))

    async def _act(self, step: Step) -> None:
        before = self._applied.get(Identity.of(step.manifest), {})
        with contextlib.ExitStack() as stack:
            stack.callback(unavoidable.reset, unavoidable.set(True))
            if self._history.shards and step.verb is Verb.CREATE:
                stack.callback(new_uid.reset, new_uid.set(next(self._uids)))
            await _act(self._somebody, step, before)
        if step.verb in (Verb.CREATE, Verb.REPLACE):
            self._applied[Identity.of(step.manifest)] = step.manifest

    async def _settle(self) -> None:
        """Wait until nothing changes any more and nothing is to be tried again."""
        began = last_change = self._loop.time()
        seen = -1
        while True:
            now = self._loop.time()
            if self._changes != seen or self._operator.is_working or self._actors.is_waiting:
                seen, last_change = self._changes, now
            if now - last_change >= (_LONGEST_RETRY_SECONDS if self._operator.is_retrying else QUIET_SECONDS):
                break
            if self._tape.overrun or now - began > _GIVE_UP_SECONDS:
                self.outcome.at_rest = False
                self._operator.note_wait(began)
                break
            await asyncio.sleep(QUIET_SECONDS / 3)
        self._tape.rest()
        self.outcome.rested_at = self._loop.time()

    def _state(self) -> State:
        every = map(look_at, self.server.storage.everything())
        judged = (each for each in every if each["metadata"]["uid"] not in self._actors.made)
        return state_of(map(self._operator.without_notes, judged))

    def _note_state(self) -> None:
        state = self._state()
        self.outcome.states.append(state)
        self.outcome.rests.append((state, len(self.outcome.changes)))
        if self._watched is not None and self.outcome.at_rest:
            self._watched.rest()

    def _keep(self, number: int = 0, what: str = "") -> None:
        objects, made = tuple(self.server.storage.everything()), frozenset(self._actors.made)
        changes = len(self.outcome.changes)
        self.outcome.moments.append(Moment(objects, made, self._loop.time(), changes, number, what))

    def _note_change(self, change: Any) -> None:
        identity = Identity(change.api_version, change.kind, change.namespace, change.name)
        if identity.is_record and identity.name.startswith(DEFAULT_LEADER_ELECTION_ID):
            return  # the Leases by which replicas agree who works on what, and events about them
        by = author.get()
        if by is not None and by.is_note:
            self._changes += not self._operator.fails  # kopf goes on, or tries again and again
            return
        if by is not None and (names := beats(identity, change.before, change.after, self._ignored)):
            self._tape.beat(by, change.version)
            if self._is_idle:  # or it may be the result of work, which is as expected
                self.outcome.ignored |= names
        elif not identity.is_record:  # an error that comes again and again may be said each time
            self._changes += 1
            self._tape.change()
        noted = Change(identity, change.before, change.after, by, self._loop.time(), change.version)
        self.outcome.changes.append(noted)
        if self._watched is not None:
            self._watched.note(noted, is_unavoidable=unavoidable.get())


def _uid(ranges: Ranges, number: int) -> str:
    """A uid in one of the ranges."""
    while ranges.of(uid := str(uuid.uuid4())) != number:
        pass
    return uid


async def _act(somebody: Client, step: Step, before: Manifest) -> None:
    """Take a step. ``before`` is what somebody last made of the object."""
    manifest, identity = dict(step.manifest), Identity.of(step.manifest)
    match step.verb:
        case Verb.CREATE:
            await somebody.create(manifest)
        case Verb.REPLACE:
            await _replace(somebody, manifest, before)
        case Verb.PATCH:
            metadata = {
                name: value for name, value in manifest["metadata"].items() if name not in ("name", "namespace")
            }
            content = {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind")}
            await somebody.patch(identity.manifest, MergePatch({**content, "metadata": metadata}))
        case Verb.DELETE:
            await somebody.delete(identity.manifest, propagation="Background")  # as kubectl does
        case Verb.REWRITE:
            found = await somebody.get(gvk_of(manifest), identity.name, namespace=identity.namespace)
            await somebody.update(found.data)


async def _replace(somebody: Client, manifest: Manifest, before: Manifest) -> None:
    identity = Identity.of(manifest)
    try:
        found = (await somebody.get(gvk_of(manifest), identity.name, namespace=identity.namespace)).data
    except NotFound:
        await somebody.create(manifest)
        return
    metadata = {**found["metadata"], **manifest["metadata"]}
    merged = _merged(found, {**before, "metadata": {}}, {**manifest, "metadata": metadata})
    await somebody.update(merged)


def _merged(present: Any, before: Any, wanted: Any) -> Any:
    """What `kubectl apply` makes of an object: fields that somebody has never set stay. Lists are replaced."""
    if not (isinstance(present, dict) and isinstance(wanted, dict)):
        return wanted
    before = mapping(before)
    kept = {name: value for name, value in present.items() if name in wanted or name not in before}
    changed = {name: _merged(present.get(name), before.get(name), value) for name, value in wanted.items()}
    return {**kept, **changed}
