"""Leader election with a clock that stands still, on the in-memory API server: who leads when, to the second."""

import asyncio
from datetime import timedelta

import pytest

from pykb.api.coordination.v1 import Lease, LeaseSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client
from pykb.client.clock import VirtualClock
from pykb.client.errors import error_from_status
from pykb.runtime._election import LeaderElectionOptions, LeaderElector, LeadershipLost
from pykb.runtime.fake import FakeApiServer

OPTIONS = {"name": "l", "namespace": "default"}


class Candidate:
    """An elector with its job and its clock."""

    def __init__(self, client, identity, clock):
        self.elector = LeaderElector(client, LeaderElectionOptions(**OPTIONS, identity=identity), clock=clock)
        self.started = asyncio.Event()
        self.ended = asyncio.Event()
        self.task = asyncio.create_task(self.elector.run(self._lead))

    async def _lead(self):
        self.started.set()
        try:
            await self.ended.wait()
        finally:
            self.started.clear()


async def _settle():
    for _ in range(60):
        await asyncio.sleep(0)


async def _pass_time(clock, seconds):
    for _ in range(round(seconds * 2)):
        clock.advance(timedelta(seconds=0.5))
        await _settle()


@pytest.fixture
def server():
    """An empty server."""
    return FakeApiServer()


async def _cancel(*candidates):
    for candidate in candidates:
        candidate.task.cancel()
    await asyncio.gather(*(candidate.task for candidate in candidates), return_exceptions=True)


async def test_a_leader_renews_every_two_seconds(server):
    """client-go's numbers: 15 s of lease, renewed every 2 s."""
    clock = VirtualClock()
    one = Candidate(Client(server), "one", clock)
    await _settle()
    assert one.started.is_set()
    before = len([call for call in server.calls if call.method == "PUT"])
    await _pass_time(clock, 20)
    assert len([call for call in server.calls if call.method == "PUT"]) - before == 10
    assert (await Client(server).get(Lease, "default/l")).spec.lease_duration_seconds == 15
    await _cancel(one)


async def test_a_dead_leader_is_followed_after_its_lease_and_not_before(server):
    """The standby waits until it has seen no renewal for 15 s."""
    clock = VirtualClock()
    dead = Candidate(Client(server), "dead", VirtualClock())
    await _settle()
    standby = Candidate(Client(server), "standby", clock)
    await _settle()
    await _pass_time(clock, 14.5)
    assert not standby.started.is_set()
    await _pass_time(clock, 5.5)
    assert standby.started.is_set()
    lease = await Client(server).get(Lease, "default/l")
    assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("standby", 1)
    await _cancel(standby, dead)


def down(call):
    """The API server refuses each request."""
    raise error_from_status(503, "down")


async def no_answer(call):
    """The API server does not answer."""
    await asyncio.Event().wait()


async def test_a_leader_without_a_server_gives_up_after_ten_seconds(server):
    """Before the standby may take over: 10 s against 15 s."""
    clock = VirtualClock()
    one = Candidate(Client(server), "one", clock)
    await _settle()
    server.react = down
    await _pass_time(clock, 9)
    assert one.started.is_set()
    await _pass_time(clock, 3)
    assert not one.started.is_set()
    with pytest.raises(LeadershipLost):
        await one.task


def _why(caplog):
    """What the log says of the lost lease."""
    (lost,) = (record for record in caplog.records if record.getMessage() == "lost the lease")
    return lost.leader, lost.error


async def test_the_log_says_why_a_lease_is_lost(server, caplog, monkeypatch):
    """An API server that refuses or does not answer, a frozen process, and another leader differ."""
    clock = VirtualClock()
    one = Candidate(Client(server), "one", clock)
    await _settle()
    server.react = down
    await _pass_time(clock, 12)
    assert _why(caplog) == ("one", "not renewed for 10 s: down (ServiceUnavailable, 503)")
    server.react = None
    await asyncio.gather(one.task, return_exceptions=True)
    caplog.clear()

    refused = Candidate(Client(server), "one", clock)
    await _settle()
    server.react = down
    await _pass_time(clock, 5)
    monkeypatch.setattr(server, "request", no_answer)
    await _pass_time(clock, 7)
    monkeypatch.undo()
    assert _why(caplog) == ("one", "not renewed for 10 s: down (ServiceUnavailable, 503)")
    server.react = None
    await asyncio.gather(refused.task, return_exceptions=True)
    caplog.clear()

    frozen = Candidate(Client(server), "one", clock)
    await _settle()
    clock.advance(timedelta(seconds=40))
    await _settle()
    assert _why(caplog) == ("one", "not renewed for 40 s")
    await asyncio.gather(frozen.task, return_exceptions=True)
    caplog.clear()

    robbed = Candidate(Client(server), "one", clock)
    await _settle()
    lease = await Client(server).get(Lease, "default/l")
    lease.spec.holder_identity = "two"
    await Client(server).update(lease)
    await _pass_time(clock, 6)
    assert _why(caplog) == ("two", "another process holds it")
    await asyncio.gather(robbed.task, return_exceptions=True)


async def test_a_short_outage_costs_nothing(server):
    """Renewals that fail for less than the deadline are made up for."""
    clock = VirtualClock()
    one = Candidate(Client(server), "one", clock)
    await _settle()

    def down(call):
        raise error_from_status(500, "down")

    server.react = down
    await _pass_time(clock, 6)
    server.react = None
    await _pass_time(clock, 30)
    assert one.elector.is_leader
    assert one.started.is_set()
    await _cancel(one)


async def test_never_two_at_a_time(server):
    """Three candidates, each in turn ending: there is never more than one that leads."""
    clock = VirtualClock()
    candidates = [Candidate(Client(server), f"c{number}", clock) for number in range(3)]
    led = []
    for _ in range(3):
        await _pass_time(clock, 8)
        leading = [candidate for candidate in candidates if candidate.started.is_set()]
        assert len(leading) == 1
        led.append(leading[0])
        leading[0].ended.set()
        await _settle()
        assert not leading[0].started.is_set()
    assert len(set(led)) == 3
    await asyncio.gather(*(candidate.task for candidate in candidates))


async def test_a_leader_that_drains_still_leads(server):
    """Cancelled, its job may take its time: the lease is renewed meanwhile and given back after it."""
    clock = VirtualClock()
    draining = asyncio.Event()
    client = Client(server)

    async def lead():
        try:
            await asyncio.Event().wait()
        finally:
            await draining.wait()

    elector = LeaderElector(client, LeaderElectionOptions(**OPTIONS, identity="one"), clock=clock)
    task = asyncio.create_task(elector.run(lead))
    await _settle()
    task.cancel()
    await _settle()
    await _pass_time(clock, 40)
    assert elector.is_leader
    assert (await client.get(Lease, "default/l")).spec.holder_identity == "one"
    draining.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not elector.is_leader
    assert (await client.get(Lease, "default/l")).spec.holder_identity == ""


async def test_a_deleted_lease_is_made_again(server):
    """Somebody deleted it: the leader creates it anew and goes on."""
    clock = VirtualClock()
    one = Candidate(Client(server), "one", clock)
    await _settle()
    await Client(server).delete(Lease, "default/l")
    await _pass_time(clock, 6)
    assert one.started.is_set()
    assert (await Client(server).get(Lease, "default/l")).spec.holder_identity == "one"
    await _cancel(one)


async def test_what_the_job_raises_comes_out(server):
    """And the lease is given back."""

    async def lead():
        raise OSError("broken")

    elector = LeaderElector(Client(server), LeaderElectionOptions(**OPTIONS, identity="one"), clock=VirtualClock())
    with pytest.raises(OSError, match="broken"):
        await elector.run(lead)
    assert (await Client(server).get(Lease, "default/l")).spec.holder_identity == ""


async def test_a_holder_that_says_no_duration_is_not_thereby_gone(server):
    """A lease that another tool wrote without one counts for as long as our own would."""
    client, clock = Client(server), VirtualClock()
    await client.create(
        Lease(metadata=ObjectMeta(name="l", namespace="default"), spec=LeaseSpec(holder_identity="another-tool"))
    )
    candidate = Candidate(client, "a", clock)
    await _pass_time(clock, 14)
    assert not candidate.started.is_set()
    await _pass_time(clock, 6)
    assert candidate.started.is_set()
    await _cancel(candidate)
