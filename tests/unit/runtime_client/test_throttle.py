"""The client's own limit of requests: bursts, turns in the order of arrival, streams without any, what is reported."""

import asyncio
from datetime import timedelta

import pytest

from pykb.client import Transport, TransportOptions
from pykb.client.clock import VirtualClock
from pykb.client.connection import Call
from pykb.client.login import Credentials, StaticCredentials
from pykb.client.transport import Throttle
from pykb.runtime import BucketLimiter
from pykb.runtime._metrics import Metrics
from pykb.testing import eventually

GET = Call("GET", "/api/v1/namespaces/default/configmaps/a")


async def turn():
    """Let other tasks run."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
def clock():
    """Time that the test moves."""
    return VirtualClock()


@pytest.fixture
def waiting(clock):
    """Start a number of waits, and give their tasks and the list of those that were let through."""
    tasks = []
    passed = []

    def start(throttle, *names):
        async def one(name):
            seconds = await throttle.wait(GET)
            passed.append((name, round(clock.now(), 3), round(seconds, 3)))

        started = [asyncio.create_task(one(name)) for name in names]
        tasks.extend(started)
        return started, passed

    yield start
    for task in tasks:
        task.cancel()


async def pass_time(clock, seconds, step=0.125):
    """Move the clock in small steps, so that each waiter continues at its own time."""
    for _ in range(round(seconds / step)):
        clock.advance(timedelta(seconds=step))
        await turn()


async def test_a_burst_at_once_then_so_many_a_second_in_the_order_of_arrival(clock, waiting):
    """Nobody overtakes, and nobody waits longer than those before him take."""
    _, passed = waiting(Throttle(2, 3, clock), *range(7))
    await turn()
    assert passed == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    await pass_time(clock, 2)
    assert passed[3:] == [(3, 0.5, 0.5), (4, 1.0, 1.0), (5, 1.5, 1.5), (6, 2.0, 2.0)]


async def test_unused_time_gives_no_more_than_the_burst(clock, waiting):
    """A quiet night is no reason for a thousand requests in the morning."""
    throttle = Throttle(2, 3, clock)
    await pass_time(clock, 100, 50)
    _, passed = waiting(throttle, *range(10))
    await turn()
    assert len(passed) == 3


async def test_those_who_give_up_take_no_turn_from_others(clock, waiting):
    """A thousand requests that are broken off leave no debt."""
    throttle = Throttle(10, 1, clock)
    given_up, passed = waiting(throttle, *range(1000))
    await turn()
    for task in given_up:
        task.cancel()
    await turn()
    waiting(throttle, "next")
    await pass_time(clock, 0.25)
    assert [name for name, *_ in passed] == [0, "next"]


async def test_a_long_wait_is_logged_now_and_then(clock, waiting, caplog):
    """Over a second, at most once a minute; with the flag."""
    throttle = Throttle(2, 1, clock)
    _, passed = waiting(throttle, *range(12))
    await turn()
    await pass_time(clock, 6)
    assert len(passed) == 12
    (record,) = caplog.records
    assert (record.getMessage(), record.waited) == ("client-side throttling", "1.5 s")
    assert record.request == "GET /api/v1/namespaces/default/configmaps/a"
    await pass_time(clock, 60, 30)
    waiting(throttle, *range(5))
    await turn()
    await pass_time(clock, 3)
    assert len(caplog.records) == 2


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (float("nan"), 1), (float("inf"), 1), (1, 0)])
def test_a_bucket_that_lets_nothing_through_is_refused(rate, burst):
    """At once, not by hanging."""
    with pytest.raises(ValueError, match="a bucket needs"):
        BucketLimiter(rate=rate, burst=burst)


@pytest.fixture
async def server():
    """An API server that answers everything, and keeps streams open; gives its address and what was asked."""
    asked = []

    async def answer(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                asked.append(head.split(b" ")[1].decode())
                if b"watch=1" in head:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}\n")
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", asked
    listening.close()


def transport_to(server, clock, **options):
    """A client's transport, and the metrics of its requests."""
    metrics = Metrics()
    source = StaticCredentials(Credentials(server[0], origin="a test"))
    transport = Transport(source, TransportOptions(**options), clock=clock, observer=metrics.observe_request)
    return transport, lambda name, **labels: metrics.registry.get_sample_value(name, labels)


async def test_requests_are_limited_and_measured_and_watches_are_not(server, clock):
    """client-go's metric has the waits; a watch begins at once, however many requests queue."""
    transport, value = transport_to(server, clock, qps=1, burst=1)
    async with transport:
        tasks = [asyncio.create_task(transport.request(GET)) for _ in range(3)]
        await eventually(lambda: len(server[1]) == 1)
        async with transport.stream(Call("GET", "/api/v1/pods", (("watch", "1"),))) as lines:
            async for line in lines:
                assert line == b"{}"
                break
        assert len(server[1]) == 2
        for done in (2, 3):
            await eventually(lambda: clock.pending == 1)
            clock.advance(timedelta(seconds=1))
            await tasks[done - 1]
    host = server[0].removeprefix("http://")
    name = "rest_client_rate_limiter_duration_seconds"
    assert value(f"{name}_count", verb="GET", host=host) == 3
    assert value(f"{name}_bucket", verb="GET", host=host, le="0.005") == 1
    assert value(f"{name}_sum", verb="GET", host=host) == 3


@pytest.mark.parametrize("qps", [0, -1])
async def test_without_a_rate_nothing_waits_and_nothing_is_measured(server, clock, qps):
    """As in controller-runtime: the API server has a fair limit of its own."""
    transport, value = transport_to(server, clock, qps=qps, burst=1)
    async with transport:
        await asyncio.gather(*(transport.request(GET) for _ in range(100)))
    assert len(server[1]) == 100
    assert value("rest_client_rate_limiter_duration_seconds_count", verb="GET", host=server[0][7:]) is None
