"""The leader election of a manager: makes an elector of its options, with metrics and events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.events import EventRecorder
from pykb.runtime._metrics import Metrics
from pykb.runtime._watchdog import Ending
from pykb.runtime.election.elector import LeaderElectionOptions, LeaderElector, default_identity
from pykb.runtime.options import ManagerOptions
from pykb.runtime.sharding._modes import Group, GroupOptions


@dataclass(frozen=True, slots=True)
class Work:
    """The work of the leader.

    Attributes:
        lead: Does the work.
        idle: Whether all of the work has ended after it was stopped.
        ending: Ends a process that hangs when the lease has expired.
        lease: Which lease it is.
    """

    lead: Callable[[], Awaitable[None]]
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


async def elect(
    client: Client,
    options: ManagerOptions,
    own_namespace: str,
    work: Work,
    *,
    clock: Clock,
    metrics: Metrics,
    member: str | None = None,
) -> None:
    """Wait for the lease, and do the work while it is held. Without shards, no replica with shards may work.

    Args:
        client: Reads and writes the lease.
        options: The options of the manager.
        own_namespace: The namespace of the lease if the options have none. If empty too,
            ``default``.
        work: The work of the leader.
        clock: Measures the lease's age.
        metrics: Report whether this process leads.
        member: The identity of this process if it is a member that works on its ranges.

    Raises:
        LeadershipLost: The lease was lost.
    """
    election = LeaderElectionOptions(
        options.leader_election_id,
        options.leader_election_namespace or own_namespace or "default",
        member or default_identity(),
        lease_duration=options.lease_duration,
        renew_deadline=options.renew_deadline,
        retry_period=options.retry_period,
        release_on_stop=options.release_on_cancel,
    )
    gauge = metrics.leader.labels(options.leader_election_id)
    elector = LeaderElector(
        client,
        election,
        clock=clock,
        recorder=EventRecorder(client, "leader-election"),
        observer=lambda leads: gauge.set(int(leads)),
        end_within=work.end_within,
        idle=work.idle,
    )
    if member is not None:
        await elector.run(work.lead)
        return
    place = GroupOptions(
        election.name,
        election.namespace,
        election.identity,
        lease_duration=options.lease_duration,
        period=options.retry_period,
    )
    await Group(client, place, clock=clock).work(elector, work.lead)
