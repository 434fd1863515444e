"""Leader election on a real Lease, with time under control."""

import asyncio
from datetime import timedelta

import pytest

from pykb.api.coordination.v1 import Lease
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import MergePatch
from pykb.client.clock import SystemClock
from pykb.runtime._election import LeaderElectionOptions, LeaderElector, LeadershipLost
from pykb.testing import eventually

pytestmark = pytest.mark.apiserver


def _elector(client, namespace, identity, *, lease=6.0, renew=4.0, retry=0.2, **more):
    options = LeaderElectionOptions(
        "f00.example.com",
        namespace,
        identity,
        lease_duration=timedelta(seconds=lease),
        renew_deadline=timedelta(seconds=renew),
        retry_period=timedelta(seconds=retry),
        release_on_stop=more.pop("release", True),
    )
    return LeaderElector(client, options, **more)


class _Job:
    """What the leader does: runs until it is told to end, and remembers that it ran."""

    def __init__(self):
        self.started = asyncio.Event()
        self.end = asyncio.Event()
        self.cancelled = False

    async def __call__(self):
        self.started.set()
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def _soon(event):
    async with asyncio.timeout(60):
        await event.wait()


async def test_a_lease_taken_by_another_ends_the_leader(client, namespace):
    """Who sees another holder stops its work and says so."""
    job = _Job()
    elector = _elector(client, namespace, "victim")
    run = asyncio.create_task(elector.run(job))
    await _soon(job.started)
    thief = MergePatch({"spec": {"holderIdentity": "thief"}})
    await client.patch(await client.get(Lease, f"{namespace}/f00.example.com"), thief)
    with pytest.raises(LeadershipLost):
        async with asyncio.timeout(60):
            await run
    assert job.cancelled
    assert (await client.get(Lease, f"{namespace}/f00.example.com")).spec.holder_identity == "thief"


async def test_a_strange_write_does_not_end_the_leader(client, namespace):
    """A conflict by an annotation is read again and renewed over."""
    job = _Job()
    elector = _elector(client, namespace, "me")
    run = asyncio.create_task(elector.run(job))
    await _soon(job.started)
    lease = await client.get(Lease, f"{namespace}/f00.example.com")
    await client.patch(lease, MergePatch({"metadata": {"annotations": {"by": "hand"}}}))
    renewed = lease.spec.renew_time

    async def renewed_again():
        found = await client.get(Lease, lease)
        assert found.metadata.annotations == {"by": "hand"}
        return found.spec.renew_time != renewed

    await eventually(renewed_again)
    assert not run.done()
    job.end.set()
    await run


class _Freezing(SystemClock):
    """A clock that jumps ahead, as it does for a process that was stopped."""

    def __init__(self):
        self.ahead = 0.0

    def now(self):
        return super().now() + self.ahead


async def test_a_frozen_leader_gives_up_without_writing(client, namespace):
    """Who wakes up after its deadline does not renew: another may lead by now."""
    clock = _Freezing()
    job = _Job()
    elector = _elector(client, namespace, "frozen", retry=0.5, clock=clock)
    run = asyncio.create_task(elector.run(job))
    await _soon(job.started)
    before = await client.get(Lease, f"{namespace}/f00.example.com")
    clock.ahead = 100
    assert not elector.is_leader
    with pytest.raises(LeadershipLost):
        await run
    after = await client.get(Lease, f"{namespace}/f00.example.com")
    assert after.spec.holder_identity == "frozen"
    assert after.metadata.resource_version == before.metadata.resource_version


async def test_leadership_is_reported_as_events_of_the_lease(client, namespace):
    """`kubectl describe lease` tells who became leader and who stopped."""
    from pykb.api.events.v1 import Event
    from pykb.client.events import EventRecorder

    recorder = EventRecorder(client, "manager")
    job = _Job()
    job.end.set()
    await _elector(client, namespace, "me", recorder=recorder).run(job)
    await recorder.flush()
    events = await client.list(Event, namespace=namespace)
    assert sorted((event.reason, event.note) for event in events) == [
        ("LeaderElection", "me became leader"),
        ("LeaderElection", "me stopped leading"),
    ]
    assert {event.regarding.kind for event in events} == {"Lease"}


@pytest.mark.parametrize(("lease", "renew", "retry"), [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_durations_must_fit_together(client, lease, renew, retry):
    """Durations with which two could lead are refused at once."""
    with pytest.raises(ValueError, match="lease_duration > renew_deadline"):
        _elector(client, "n", "i", lease=lease, renew=renew, retry=retry)


class _SkippingClock(SystemClock):
    """The clock of a process that the system gave no time for a while: it has gone on, and no timer has fired."""

    def __init__(self):
        self.skipped = 0.0

    def now(self):
        return super().now() + self.skipped


async def test_a_leader_that_stood_still_writes_nothing_when_it_goes_on(client, namespace):
    """Work that continues after the lease has run out may read but not write, also in tasks that it started before."""
    clock = _SkippingClock()
    going, going_on = asyncio.Event(), asyncio.Event()
    outcomes = []

    async def write(name):
        await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))

    async def lead():
        await write("before")
        going.set()
        await going_on.wait()
        await client.get(ConfigMap, f"{namespace}/before")
        outcomes.extend(await asyncio.gather(write("after"), return_exceptions=True))

    run = asyncio.create_task(
        _elector(client, namespace, "sleeper", lease=60, renew=50, retry=30, clock=clock).run(lead)
    )
    await _soon(going)
    clock.skipped = 50
    going_on.set()
    await run
    assert [type(outcome) for outcome in outcomes] == [LeadershipLost]
    assert await client.find(ConfigMap, f"{namespace}/after") is None
