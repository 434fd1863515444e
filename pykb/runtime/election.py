"""The leader election of a manager: its options made into an elector that reports by metric and by event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pykb.runtime.client.client import Client
from pykb.runtime.clock import Clock
from pykb.runtime.leader import LeaderElectionOptions, LeaderElector
from pykb.runtime.metrics import Metrics
from pykb.runtime.options import ManagerOptions
from pykb.runtime.recorder import EventRecorder


async def elect(
    client: Client,
    options: ManagerOptions,
    own_namespace: str,
    lead: Callable[[], Awaitable[None]],
    *,
    clock: Clock,
    metrics: Metrics,
) -> None:
    """Wait for the lease, and do ``lead`` while holding it.

    Args:
        client: Reads and writes the lease.
        options: Of the manager.
        own_namespace: Where the lease is when the options do not say; ``default`` when this is empty too.
        lead: What only the leader does.
        clock: Measures the lease's age.
        metrics: Say whether this process leads.

    Raises:
        LeadershipLost: The lease was lost.
    """
    election = LeaderElectionOptions(
        options.leader_election_id,
        options.leader_election_namespace or own_namespace or "default",
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
    )
    await elector.run(lead)
