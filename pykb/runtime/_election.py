"""Leader election by a Lease: one of several replicas works, the others wait with warm caches.

The rules and the numbers are client-go's. The leader renews the lease every 2 s. It gives up after
10 s without a renewal. A lease that was not renewed for 15 s may be taken. Each process measures
time on its own monotonic clock, from when it *saw* the lease change, so clocks need not agree.
Every write is a compare-and-swap by ``resourceVersion``.

A manager does::

    elector = LeaderElector(client, LeaderElectionOptions("f00.example.com", namespace), recorder=recorder)
    await elector.run(lead)   # `lead` does the leader's work

``run`` returns when ``lead`` does. It raises :class:`LeadershipLost` if the lease was lost. The
process should then end, since another one may work already. Cancelling ``run`` cancels ``lead``,
renews the lease while ``lead`` drains, and then releases it.

Source: https://kubernetes.io/docs/concepts/architecture/leases/#leader-election
"""

from __future__ import annotations

import asyncio
import copy
import logging
import random
import socket
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pykb.api.coordination.v1 import Lease, LeaseSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.client import Client
from pykb.client.clock import Clock, SystemClock
from pykb.client.errors import ApiError, Conflict, NotFound, ServerUnreachable
from pykb.client.events import EventRecorder
from pykb.client.task import fenced
from pykb.diagnostics import PykbError
from pykb.meta.gvk import NamespacedName
from pykb.meta.names import is_subdomain
from pykb.runtime._watchdog import Ending

logger = logging.getLogger(__name__)

_JITTER = 1.2


class LeadershipLost(PykbError):  # noqa: N818
    """The lease could not be renewed in time, or someone else took it."""


def default_identity() -> str:
    """Return a unique name for this process: the host's name and a random part."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True)
class LeaderElectionOptions:
    """Options of a leader election.

    Attributes:
        name: The name of the lease.
        namespace: The namespace of the lease.
        identity: The identity of this process.
        lease_duration: How long a lease is valid without a renewal.
        renew_deadline: How long the leader tries to renew the lease before it gives up.
        retry_period: The pause between tries.
        release_on_stop: Whether the lease is released at a normal end, so that the next leader need
            not wait.
        labels: The labels of the lease, if it is created.
        own: The lease is for this process alone: it is deleted instead of released, and never made
            again. Who deletes it ends the work.

    Raises:
        ValueError: The durations are not in the order lease_duration > renew_deadline > 1.2 x retry_period.
    """

    name: str
    namespace: str
    identity: str = field(default_factory=default_identity)
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    release_on_stop: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    own: bool = False

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > _JITTER * self.retry_period > timedelta():
            raise ValueError(
                "leader election needs lease_duration > renew_deadline > 1.2 x retry_period, found "
                f"{self.lease_duration}, {self.renew_deadline}, {self.retry_period}"
            )
        if not is_subdomain(self.name) or not self.namespace or not self.identity:
            raise ValueError(
                "leader election needs the name and the namespace of a Lease, and an identity, found "
                f"`{self.name}`, `{self.namespace}`, `{self.identity}`"
            )


@dataclass(frozen=True, slots=True)
class Work:
    """The work that a lease allows.

    Attributes:
        lead: Does the work.
        idle: Whether all of the work has ended after it was stopped.
        ending: Ends a process that hangs when the lease has expired.
        lease: Which lease it is.
    """

    lead: Callable[[], Coroutine[Any, Any, None]]
    idle: Callable[[], bool]
    ending: Ending
    lease: str = "the lease"

    def end_within(self, limit: timedelta | None) -> None:
        """Ensure that the process ends within this time, unless called again before."""
        why = f"{self.lease} has expired, and another replica may work"
        if limit is None:
            self.ending.lift(why)
        else:
            self.ending.within(limit, why)


class LeaderElector:
    """Competes for a lease. ``is_leader`` is true only while the last renewal is younger than the renew deadline.

    ::

        async def report() -> None:
            print("one replica at a time does this")

        await LeaderElector(client, LeaderElectionOptions("nightly-report", "default")).run(report)
    """

    def __init__(
        self,
        client: Client,
        options: LeaderElectionOptions,
        *,
        clock: Clock | None = None,
        recorder: EventRecorder | None = None,
        observer: Callable[[bool], None] | None = None,
        end_within: Callable[[timedelta | None], None] | None = None,
        idle: Callable[[], bool] | None = None,
    ) -> None:
        """Make an elector. It sends nothing before :meth:`run`.

        Args:
            client: Reads and writes the lease, never through a cache.
            options: Options of a leader election.
            clock: Measures the lease's age.
            recorder: Reports changes of leadership as events of the lease.
            observer: Called with whether this process leads, for a metric.
            end_within: Called at each renewal with the time within which this process must end,
                unless called again. Afterwards another process may lead. Called with ``None`` when
                this process stops leading.
            idle: Returns at a normal end whether all work under the lease has ended. Otherwise the
                lease is not released.
        """
        self._client = client.live
        self._options = options
        self._clock = clock or SystemClock()
        self._recorder = recorder
        self._observer = observer or (lambda _leads: None)
        self._end_within = end_within or (lambda _limit: None)
        self._idle = idle or (lambda: True)
        self._seen: Lease | None = None
        self._stale = True
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self._problem = ""
        self._leads = False

    @property
    def identity(self) -> str:
        """The name of this process."""
        return self._options.identity

    @property
    def is_leader(self) -> bool:
        """Whether this process leads."""
        return self._leads and self._age(self._renewed_at) < self._options.renew_deadline

    @property
    def leader(self) -> str:
        """The identity of the last seen leader. Empty if there is none."""
        spec = self._seen.spec if self._seen else None
        return (spec.holder_identity if spec else None) or ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, run ``lead`` while renewing it, then release it.

        Nothing that ``lead`` starts can write after the lease has expired; see
        :mod:`pykb.client.task`.

        Raises:
            LeadershipLost: The lease was lost. ``lead`` was cancelled and has ended.
        """
        self._observer(False)
        await self.acquire()
        work = asyncio.create_task(_awaited(lead), name="leader", context=fenced(self._check))
        renewal = asyncio.create_task(self._renew_until_lost(), name="leader-election")
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if renewal.done():
                await _stop(work)
                raise LeadershipLost(f"lease `{self._options.namespace}/{self._options.name}` was lost")
            await work
        finally:
            await _stop(work)  # still renewing: draining work may still write
            await _stop(renewal)
            await self.release()

    async def acquire(self) -> None:
        """Wait until this process leads."""
        logger.info("waiting for the lease", extra={"lease": str(self._key), "identity": self.identity})
        while not await self._attempt(self._options.renew_deadline):
            pause = self._options.retry_period * (1 + _JITTER * random.random())  # noqa: S311 - jitter
            await self._clock.sleep(pause)
        self._leads = True
        self._observer(True)
        logger.info("became leader", extra={"lease": str(self._key), "identity": self.identity})
        self._report("became leader")

    async def release(self) -> None:
        """Stop leading. Release the lease if the options say so and it is still held. Never raises an API error."""
        held, self._leads = self._leads, False
        if not held:
            return
        self._observer(False)
        self._report("stopped leading")
        if not self._idle():
            logger.warning("the lease is not released: something still works", extra={"lease": str(self._key)})
            return  # and this process must have ended when the lease expires
        self._end_within(None)
        if not self._options.release_on_stop or self._seen is None or self.leader != self.identity:
            return
        try:
            async with asyncio.timeout(self._options.renew_deadline.total_seconds()):
                await self._let_go(self._seen)
        except (ApiError, ServerUnreachable, TimeoutError) as error:
            logger.warning("the lease could not be released", extra={"lease": str(self._key), "error": str(error)})

    async def _let_go(self, lease: Lease) -> None:
        if self._options.own:
            await self._client.delete(lease, resource_version=lease.metadata.resource_version)
            return
        now = datetime.now(UTC)
        lease.spec = LeaseSpec(
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=now,
            renew_time=now,
            lease_transitions=lease.spec.lease_transitions if lease.spec else 0,
        )
        await self._client.update(lease)

    async def _renew_until_lost(self) -> None:
        deadline = self._options.renew_deadline
        while True:
            await self._clock.sleep(self._options.retry_period)
            left = deadline - self._age(self._renewed_at)
            # A frozen process wakes up here. It must not renew a lease that it may have lost.
            renewed = left > timedelta() and await self._attempt(left)
            if renewed:
                continue
            why = self._why_lost()
            if why:
                logger.error("lost the lease", extra={"lease": str(self._key), "leader": self.leader, "error": why})
                self._leads = False
                self._end_within(self._options.lease_duration - deadline)
                self._observer(False)
                self._report("stopped leading")
                return

    def _why_lost(self) -> str:
        """Why this process leads no longer. Empty if it does."""
        if self._options.own and self._seen is None:
            return "it was deleted"
        if self.leader not in ("", self.identity):
            return "another process holds it"
        age = self._age(self._renewed_at)
        if age < self._options.renew_deadline:
            return ""
        not_renewed = f"not renewed for {age.total_seconds():.0f} s"
        return f"{not_renewed}: {self._problem}" if self._problem else not_renewed

    async def _attempt(self, limit: timedelta) -> bool:
        """Try once to acquire or renew the lease, at most for ``limit``."""
        self._problem = self._problem or "the API server did not answer"
        attempt = asyncio.ensure_future(self._acquire_or_renew())
        timer = asyncio.ensure_future(self._clock.sleep(limit))
        try:
            await asyncio.wait({attempt, timer}, return_when=asyncio.FIRST_COMPLETED)
            return attempt.done() and attempt.result()
        except (ApiError, ServerUnreachable) as error:
            self._stale = True  # written by another client, deleted, or unknown: it is read again next time
            self._problem = str(error)
            if isinstance(error, NotFound):
                self._seen = None
            if isinstance(error, Conflict):
                return False
            logger.warning("the lease could not be written", extra={"lease": str(self._key), "error": str(error)})
            return False
        finally:
            await _stop(timer)
            await _stop(attempt)

    async def _acquire_or_renew(self) -> bool:
        if not self._leads or self._stale:
            await self._look()
        started = self._clock.now()
        if self._seen is None:
            if self._leads and self._options.own:
                return False
            labels = dict(self._options.labels) or None
            metadata = ObjectMeta(name=self._options.name, namespace=self._options.namespace, labels=labels)
            lease = Lease(metadata=metadata)
            lease.spec = self._spec(None)
            self._note(await self._client.create(lease))
        else:
            if self.leader not in ("", self.identity) and not self._expired():
                return False
            lease = copy.deepcopy(self._seen)
            lease.spec = self._spec(self._seen.spec)
            self._note(await self._client.update(lease))
        # Measured from before the write: others may count from then on.
        self._renewed_at, self._problem = started, ""
        self._end_within(self._options.lease_duration - self._age(started))
        return True

    async def _look(self) -> None:
        found = await self._client.find(Lease, self._key)
        made_again = self._leads and self._seen is not None and found and found.metadata.uid != self._seen.metadata.uid
        if found is None or (self._options.own and made_again):
            self._seen = None
        elif self._seen is None or found.metadata.resource_version != self._seen.metadata.resource_version:
            self._note(found)
        self._stale = False

    def _note(self, lease: Lease) -> None:
        before = self.leader
        same = self._seen is not None and self._seen.spec == lease.spec
        self._seen = lease
        if not same:
            self._seen_at = self._clock.now()
        if self.leader and self.leader != before:
            logger.info("new leader", extra={"lease": str(self._key), "leader": self.leader})

    def _expired(self) -> bool:
        spec = self._seen.spec if self._seen else None
        seconds = spec.lease_duration_seconds if spec else None
        # Another tool may omit it. A holder without a duration may still be alive.
        duration = self._options.lease_duration if seconds is None else timedelta(seconds=seconds)
        return self._age(self._seen_at) >= duration

    def _spec(self, before: LeaseSpec | None) -> LeaseSpec:
        now = datetime.now(UTC)
        mine = before is not None and before.holder_identity == self.identity
        transitions = (before.lease_transitions or 0) if before else 0
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=max(1, round(self._options.lease_duration.total_seconds())),
            acquire_time=before.acquire_time if before and mine else now,
            renew_time=now,
            lease_transitions=transitions if mine or before is None else transitions + 1,
        )

    def _check(self) -> None:
        if not self.is_leader:
            raise LeadershipLost(f"lease `{self._key}` has expired: another replica may lead")

    def _report(self, what: str) -> None:
        if self._recorder is not None and self._seen is not None:
            self._recorder.event(self._seen, "Normal", "LeaderElection", f"{self.identity} {what}")

    def _age(self, moment: float) -> timedelta:
        return timedelta(seconds=self._clock.now() - moment)

    @property
    def _key(self) -> NamespacedName:
        return NamespacedName(self._options.namespace, self._options.name)


async def _awaited(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()


async def _stop(task: asyncio.Future[Any]) -> None:
    """Cancel a task, wait for its end, and log its error."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("failed while stopping", exc_info=error)
