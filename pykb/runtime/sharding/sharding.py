"""Binds a member to a manager: which controllers and mirrors depend on its ranges, and what happens when a range moves.

A range that comes: first the mirrors of owned kinds get its objects, then reconciles of it may
start, then its roots come, each as an event. A range that goes: no reconcile of it starts any more,
those that run end, its objects are forgotten, and then its Lease is released.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import Counter, Gauge

from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.connection import Call
from pykb.client.errors import ApiError, ServerUnreachable
from pykb.client.ranges import Ranges, ShardBy
from pykb.client.task import fence
from pykb.diagnostics.codes.runtime import NO_NAMESPACE
from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime._election import LeaderElectionOptions, LeaderElector, LeadershipLost, Work, default_identity
from pykb.runtime._memory import return_freed
from pykb.runtime._metrics import Metrics
from pykb.runtime.cache.informer import Informer
from pykb.runtime.requests.queue import WorkQueue
from pykb.runtime.sharding._board import member_lease
from pykb.runtime.sharding._claims import Claims
from pykb.runtime.sharding._modes import GroupOptions
from pykb.runtime.sharding._parts import ShardPart, Use, Way

if TYPE_CHECKING:
    from pykb.runtime.controller.controller import Controller
    from pykb.runtime.options import ManagerOptions


logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Gate:
    """Decides for a controller which requests are this replica's, and fences their reconciles.

    The requests of deleted roots are among them: a root that is gone may have left children to clean up.

    A request of another replica is dropped without harm: its replica sees the same events. It does
    not see the children of a former root of this name, whose range is ours. Such a request comes
    again until they are gone: the new root may be, before its replica has reconciled it.

    Attributes:
        queue: The queue of the controller.
        roots: The part of the kind that it reconciles.
        is_open: Whether reconciles of a range may start.
        check: Raises if reconciles of a range may not write any more.
        exists: Asks the server whether a root exists.
        has_children: Whether children of a uid are mirrored.
        dropped: Called for each request of another replica.
    """

    queue: WorkQueue[Any]
    roots: ShardPart
    is_open: Callable[[int], bool]
    check: Callable[[int], None]
    exists: Callable[[NamespacedName], Awaitable[bool]]
    has_children: Callable[[str], bool]
    dropped: Callable[[], None]
    _running: collections.Counter[int] = field(default_factory=collections.Counter)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.roots.former.awaited.append(self.queue.__contains__)

    @contextlib.asynccontextmanager
    async def admit(self, request: NamespacedName) -> AsyncIterator[bool]:
        """Enter a reconcile. Yield whether this replica has to do it."""
        number = self.roots.index.get(request)
        if number is None:
            number = next(iter(self._deleted(request).values()), None)
        if number is None or not self.is_open(number):
            self._drop(request)
            yield False
            return
        self._running[number] += 1
        self.roots.running[request] += 1
        try:
            if request not in self.roots.index and await self._was_made_again(request):
                yield False
                return
            with fence(lambda: self.check(number)):
                yield True
        finally:
            self.roots.running[request] -= 1
            if not self.roots.running[request]:
                del self.roots.running[request]
            self._running[number] -= 1
            self._ended.set()

    async def drained(self, number: int) -> None:
        """Wait until no reconcile of a range runs."""
        while self._running[number]:
            self._ended.clear()
            await self._ended.wait()
        del self._running[number]

    async def _was_made_again(self, request: NamespacedName) -> bool:
        """Whether a deleted root is there again, with another uid. It can be in a range of another replica."""
        if self.roots.use.whole:
            return False
        try:
            if not await self.exists(request):
                return False
        except (ApiError, ServerUnreachable) as error:
            logger.warning("cannot ask for a deleted object, will retry", extra={"error": str(error)})
            self.queue.add_rate_limited(request)
            return True
        self._drop(request)
        return True

    def _deleted(self, request: NamespacedName) -> dict[str, int]:
        """The deleted roots of a name for which this replica has to clean up."""
        return {uid: number for uid, number in self.roots.former.of(request).items() if self.is_open(number)}

    def _drop(self, request: NamespacedName) -> None:
        self.dropped()
        if any(map(self.has_children, self._deleted(request))):
            self.queue.add_rate_limited(request)
        else:
            self.queue.forget(request)


class Sharding:
    """The share of one replica."""

    def __init__(self, options: ManagerOptions, *, clock: Clock, metrics: Metrics) -> None:
        """Make an empty share. It sends nothing before :meth:`run`."""
        self.ranges = Ranges(options.shards, ShardBy(options.shard_by))
        self.identity = default_identity()
        """The identity of this process in all Leases."""
        self._options = options
        self._clock = clock
        self._metrics = _ShardMetrics(metrics)
        self._uses: dict[Informer[Any], Use] = {}
        self._roots: list[tuple[Controller[Any], Informer[Any]]] = []
        self._on_leader: list[str] = []
        self._parts: dict[Informer[Any], ShardPart] | None = None
        self._gates: list[Gate] = []
        self._wanted: dict[int, object] = {}
        self._open: set[int] = set()
        self._complete: set[int] = set()
        self._leaving: set[int] = set()
        self._opening: asyncio.TaskGroup | None = None
        self._elector: LeaderElector | None = None
        self._claims: Claims | None = None
        self._client: Client | None = None
        self._was_ready = False
        self.works = asyncio.Event()
        """Set when this replica takes part. Before, replicas of another mode may work."""

    # -- setting up

    def check_open(self) -> None:
        """Check that controllers may still be added.

        Raises:
            RuntimeError: The manager runs already.
        """
        if self._parts is not None:
            raise RuntimeError("a manager with shards needs its controllers before it starts")

    def add(
        self,
        controller: Controller[Any],
        root: Informer[Any] | None,
        owned: Iterable[Informer[Any]],
        others: Iterable[Informer[Any]],
    ) -> None:
        """Add a controller. It is sharded if it reconciles a kind, and its options do not say otherwise.

        Args:
            controller: The controller.
            root: The mirror of the kind that it reconciles.
            owned: The mirrors of the kinds that its roots own.
            others: The mirrors of all other kinds that it watches. They stay whole.
        """
        options = controller.options
        controller.sharded = root is not None and options.sharded and options.needs_leader_election
        roots = [] if root is None else [root]
        if not controller.sharded:
            if root is not None and options.needs_leader_election:
                self._on_leader.append(controller.name)
            others = [*roots, *owned, *others]
            roots, owned = [], []
        for informer in roots:
            self._roots.append((controller, informer))
            self._use(informer, root=True)
        for informer in owned:
            self._use(informer, owned=True)
        for informer in others:
            self._use(informer, whole=True)

    def _use(self, informer: Informer[Any], **changes: bool) -> None:
        use = self._uses.get(informer, Use(whole=not informer.options.sharded))
        self._uses[informer] = replace(use, **changes)

    def prepare(self, client: Client) -> None:
        """Divide the mirrors. Call it when all controllers are there, and before the mirrors start.

        Args:
            client: The client of the controllers.
        """
        self._client = client
        self._parts = {
            informer: ShardPart(informer, self.ranges, use, self._metrics.objects.inc, self._options.cache.sync_timeout)
            for informer, use in self._uses.items()
            if use.root or use.owned
        }
        roots = {(informer.gvk.group, informer.gvk.kind): self._parts[informer] for _, informer in self._roots}
        for informer, part in self._parts.items():
            informer.part, part.roots = part, roots
        for controller, informer in self._roots:
            gate = Gate(
                controller.queue,
                self._parts[informer],
                is_open=self._open.__contains__,
                check=self._check,
                exists=partial(self._exists, informer.gvk),
                has_children=self._has_children,
                dropped=self._metrics.requests.inc,
            )
            controller.admit = gate.admit
            self._gates.append(gate)

    def check_ready(self) -> None:
        """Raise until this replica has its first ranges. Later it stays ready while ranges move.

        A replica that stands by is ready, as with leader election: else, a rolling update would wait for ever.
        """
        if self._claims is not None and self._claims.group.has_stood_by:
            self._was_ready = True
        if self._was_ready:
            return
        if self._claims is None or not self._claims.looked.is_set():
            raise RuntimeError("this replica has not claimed its ranges yet")
        if missing := self._wanted.keys() - self._complete:
            raise RuntimeError(f"no list yet of the objects of ranges {sorted(missing)}")
        self._was_ready = True

    def retire(self) -> None:
        """Take no more ranges, because the manager stops."""
        if self._claims is not None:
            self._claims.is_retiring = True

    # -- running

    async def run(self, client: Client, own_namespace: str, work: Work) -> None:
        """Take part until cancelled, and leave at the end.

        Args:
            client: Reads and writes the Leases.
            own_namespace: The namespace of the Leases if the options have none. If empty too,
                ``default``.
            work: Runs the controllers.

        Raises:
            LeadershipLost: The member's Lease could not be renewed.
            EnvironmentProblem: A controller cannot be sharded by namespace.
            CacheSyncTimeout: No list of a kind that is divided has arrived in time.
        """
        options, identity = self._options, self.identity
        namespace = options.leader_election_namespace or own_namespace or "default"
        group = options.leader_election_id
        place = GroupOptions(
            group,
            namespace,
            identity,
            self.ranges,
            lease_duration=options.lease_duration,
            period=options.retry_period,
            controllers=tuple(controller.name for controller, _ in self._roots),
            on_leader=tuple(self._on_leader),
        )
        election = LeaderElectionOptions(
            member_lease(group, identity),
            namespace,
            identity,
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            release_on_stop=options.release_on_cancel,
            labels=place.labels,
            own=True,
        )
        self._elector = LeaderElector(client, election, clock=self._clock, end_within=work.end_within, idle=work.idle)
        self._claims = Claims(client, place, self, clock=self._clock, observer=self._metrics.observe)
        await self._ask_server(client, namespace)
        await self._claims.group.work(self._elector, lambda: self._take_part(work.lead))

    async def _ask_server(self, client: Client, namespace: str) -> None:
        while True:
            try:
                filters = await filters_by_shard(client, namespace)
                break
            except (ApiError, ServerUnreachable) as error:
                logger.warning("cannot ask the API server about shards", extra={"error": str(error)})
            await self._clock.sleep(self._options.retry_period)
        for part in self._all_parts():
            part.server_filters = filters
        if not filters:
            logger.info(
                "the API server does not filter by shard: it sends all objects to each replica, which drops the others",
                extra={"help": "switch on its feature gate `ShardedListAndWatch` (Kubernetes 1.36)"},
            )

    async def _take_part(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        assert self._claims is not None  # noqa: S101 - `run` made it
        self.works.set()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._opening = tasks
                tasks.create_task(self._claims.run(), name="claims")
                tasks.create_task(lead(), name="sharded controllers")
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            self._opening = None

    # -- as what works on the ranges

    def gained(self, numbers: frozenset[int]) -> None:
        """Start working on ranges, in the background: the Leases are not looked at meanwhile."""
        wanted = {number: object() for number in numbers}
        self._wanted |= wanted
        if self._opening is not None:
            self._opening.create_task(self._open_all(wanted), name="opening ranges")

    async def leaving(self, number: int) -> None:
        """Stop working on a range. Return when nothing works on it any more."""
        self._wanted.pop(number, None)
        self._leaving.add(number)
        self._open.discard(number)
        await asyncio.gather(*(gate.drained(number) for gate in self._gates))
        await asyncio.gather(*(part.narrow(number) for part in self._all_parts()))
        self._complete.discard(number)
        self._leaving.discard(number)
        if not self._leaving:  # once, after the last of those that leave together
            await return_freed()
        self._metrics.moves.labels("given").inc()

    async def _open_all(self, wanted: dict[int, object]) -> None:
        await self._check_scopes()
        first: list[ShardPart] = []
        last: list[ShardPart] = []
        for part in self._all_parts():
            (last if part.use.root and part.way is not Way.WHOLE and not part.use.owned else first).append(part)
        await asyncio.gather(*(part.widen(self._still(wanted)) for part in first))
        numbers = self._still(wanted)
        self._open |= numbers
        for part in first:
            if part.use.root:
                part.announce(numbers)
        await asyncio.gather(*(part.widen(numbers) for part in last))
        numbers = self._still(wanted)
        for part in first:
            if part.use.owned:
                await part.announce_orphans(numbers)
        self._complete |= numbers
        self._metrics.moves.labels("taken").inc(len(numbers))

    async def _check_scopes(self) -> None:
        """Refuse to distribute what has no namespace by its namespace. Waits until the kinds are served."""
        if self.ranges.by is not ShardBy.NAMESPACE or self._client is None:
            return
        for controller, informer in self._roots:
            if not (await self._client.live.mapper.mapping(informer.gvk)).namespaced:
                raise NO_NAMESPACE.problem(
                    f"controller `{controller.name}` cannot be sharded by namespace: {informer.gvk.kind} has none",
                    "use `--shard-by uid`",
                    "or give it to the leader: `.with_options(sharded=False)`",
                )

    def _still(self, wanted: dict[int, object]) -> frozenset[int]:
        """Those ranges that were not given up meanwhile, nor given up and taken again."""
        return frozenset(number for number, token in wanted.items() if self._wanted.get(number) is token)

    def _all_parts(self) -> list[ShardPart]:
        return list((self._parts or {}).values())

    def _check(self, number: int) -> None:
        held = self._claims.held if self._claims is not None else ()
        if self._elector is None or not self._elector.is_leader or number not in held:
            raise LeadershipLost(f"this replica has lost range {number}: another one may work on its objects")

    async def _exists(self, gvk: GroupVersionKind, key: NamespacedName) -> bool:
        return self._client is not None and await self._client.live.find(gvk, key) is not None

    def _has_children(self, uid: str) -> bool:
        return any(part.has_children(uid) for part in self._all_parts())


class _ShardMetrics:
    """The metrics of a replica's share."""

    def __init__(self, metrics: Metrics) -> None:
        registry = metrics.registry
        self.held = Gauge("pykb_shard_ranges_held", "Ranges that this replica holds", registry=registry)
        self.members = Gauge("pykb_shard_members", "Replicas that share the ranges", registry=registry)
        self.moves = Counter(
            "pykb_shard_moves", "Ranges that came to or left this replica", ("direction",), registry=registry
        )
        self.objects = Counter(
            "pykb_shard_foreign_objects_dropped",
            "Objects of other replicas' ranges that the API server sent",
            registry=registry,
        )
        self.requests = Counter(
            "pykb_shard_foreign_requests_dropped",
            "Requests for objects of other replicas' ranges",
            registry=registry,
        )
        for direction in ("taken", "given"):
            self.moves.labels(direction)

    def observe(self, members: int, held: int) -> None:
        """Take the numbers of members and of held ranges."""
        self.members.set(members)
        self.held.set(held)


async def filters_by_shard(client: Client, namespace: str) -> bool:
    """Ask for a list with a wrong selector, which a server refuses only if it reads it, and with a right one.

    Raises:
        ApiError: The list is forbidden, or the server has another problem.
        ServerUnreachable: It does not answer.
    """
    return not await _accepts(client, namespace, "wrong") and await _accepts(client, namespace, Ranges(1).selector(0))


async def _accepts(client: Client, namespace: str, selector: str) -> bool:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    exchange = client.live._exchange  # noqa: SLF001 - a part of the client
    call = Call(
        "GET",
        path,
        query=(("limit", "1"), ("shardSelector", selector)),
        impersonate=exchange.options.impersonate,
    )
    try:
        await exchange.connection.request(call)
    except ApiError as error:
        # 400 by the documentation, and 500 from Kubernetes 1.36.1.
        if "shard selector" not in error.message:
            raise
        return False
    return True
