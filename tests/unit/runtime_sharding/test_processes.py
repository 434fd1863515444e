"""What a parent does for its processes: it adds up their metrics, and asks them questions."""

import asyncio
import socket
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from pykb.runtime.manager.options import ManagerOptions
from pykb.runtime.processes.channel import Channel, Place, answer, options_in
from pykb.runtime.processes.parent import Sums

LIMIT = timedelta(seconds=30)


def scrape(events, size, leader):
    """What one process shows."""
    registry = CollectorRegistry()
    Counter("events", "Events", ["kind"], registry=registry).labels('a "b"\\').inc(events)
    Histogram("times", "Times", buckets=(1, 10), registry=registry).observe(events)
    Gauge("size", "Size", registry=registry).set(size)
    Gauge("leader_election_master_status", "1 on the leader", registry=registry).set(leader)
    return generate_latest(registry).decode()


def values(sums):
    """The samples by name and labels, without the times at which counters began."""
    found = {
        (sample.name, *sample.labels.values()): sample.value for metric in sums.collect() for sample in metric.samples
    }
    return {key: value for key, value in found.items() if not key[0].endswith("_created")}


def test_metrics_are_added_up():
    """Counts and sizes add up, buckets as well. There is still only one leader."""
    sums = Sums()
    sums.add(scrape(events=2, size=3, leader=1))
    sums.add(scrape(events=5, size=4, leader=0))
    assert values(sums) == {
        ("events_total", 'a "b"\\'): 7,
        ("times_bucket", "1.0"): 0,
        ("times_bucket", "10.0"): 2,
        ("times_bucket", "+Inf"): 2,
        ("times_count",): 2,
        ("times_sum",): 7,
        ("size",): 7,
        ("leader_election_master_status",): 1,
    }


def test_what_has_been_counted_outlives_the_process():
    """Its counters stay in the sums, and its gauges go."""
    last, before = Sums(), Sums()
    last.add(scrape(events=2, size=3, leader=1))
    before.add_counted(last.collect())
    assert {key[0] for key in values(before)} == {"events_total", "times_bucket", "times_count", "times_sum"}


def test_sums_can_be_scraped():
    """One process alone shows the same as its sum."""
    text = scrape(events=2, size=3, leader=1)
    sums, registry = Sums(), CollectorRegistry()
    sums.add(text)
    registry.register(sums)
    assert generate_latest(registry).decode() == text


async def test_a_late_answer_is_not_taken_for_the_next_one():
    """A process that was blocked answers all questions in their order, but nobody waits for the first any more."""
    ours, theirs = socket.socketpair()
    channel = await Channel.open(ours)
    blocked = asyncio.Event()

    async def slow():
        await blocked.wait()
        return "slow"

    async def fast():
        return "fast"

    answering = asyncio.create_task(answer(Place(1, theirs.detach()), {"slow": slow, "fast": fast}))
    with pytest.raises(TimeoutError):
        await channel.ask("slow", timedelta(milliseconds=1))
    blocked.set()
    assert await channel.ask("fast", LIMIT) == "fast"
    channel.close()
    await asyncio.wait_for(answering, LIMIT.total_seconds())  # it learns of the parent's end


async def test_a_process_that_has_ended_does_not_answer():
    """The parent need not wait."""
    ours, theirs = socket.socketpair()
    channel = await Channel.open(ours)
    theirs.close()
    with pytest.raises(ConnectionError):
        await channel.ask("healthy", LIMIT)
    channel.close()


def test_the_place_is_not_passed_on():
    """A program that is started by the process would take the channel for its own."""
    environ = {"HOME": "/"} | Place(2, 7).environment()
    assert Place.of(environ) == Place(2, 7)
    assert environ == {"HOME": "/"}
    assert Place.of(environ) is None


@pytest.mark.parametrize(
    ("given", "second"), [("127.0.0.1:8082", "127.0.0.1:8083"), ("[::1]:8082", "[::1]:8083"), (":0", ":0"), ("0", "0")]
)
def test_each_process_has_a_debug_server_of_its_own(given, second):
    """Their ports are in a row. Probes and metrics are the parent's."""
    options = options_in(Place(2, 7), ManagerOptions(shards=4, processes=2, pprof_bind_address=given))
    assert (options.pprof_bind_address, options.processes) == (second, 1)
    assert (options.health_probe_bind_address, options.metrics_bind_address) == ("0", "0")


@pytest.mark.parametrize(("shards", "processes"), [(0, 2), (4, 5), (4, 0)])
def test_there_are_at_most_as_many_processes_as_ranges(shards, processes):
    """Another one would have no work."""
    with pytest.raises(ValueError, match="`processes` must be from 1 to `shards`"):
        ManagerOptions(shards=shards, processes=processes)
