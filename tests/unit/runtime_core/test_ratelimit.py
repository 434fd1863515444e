"""Delays after failures: client-go's numbers."""

import heapq
from datetime import timedelta

import pytest

from pykb.client.clock import VirtualClock
from pykb.client.transport import BucketLimiter
from pykb.runtime.requests.queue import ItemExponentialLimiter, MaxOfLimiter, default_rate_limiter


def test_delays_double_from_5_ms_to_1000_s():
    """Each failure doubles the delay; the eighteenth reaches the limit and stays there."""
    limiter = ItemExponentialLimiter()
    delays = [limiter.when("a").total_seconds() for _ in range(40)]
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[17] == 655.36
    assert delays[18:] == [1000.0] * 22


def test_items_have_delays_of_their_own_and_forget_them():
    """One item's failures do not slow another; success starts over."""
    limiter = ItemExponentialLimiter()
    for _ in range(5):
        limiter.when("a")
    assert limiter.when("b") == timedelta(milliseconds=5)
    assert limiter.failures("a") == 5
    limiter.forget("a")
    assert limiter.when("a") == timedelta(milliseconds=5)


def test_the_bucket_lets_100_through_and_then_10_a_second():
    """A burst costs nothing; after it each item waits a tenth of a second more."""
    limiter = BucketLimiter(clock=VirtualClock())
    assert {limiter.when(n) for n in range(100)} == {timedelta()}
    assert [limiter.when(n).total_seconds() for n in range(3)] == pytest.approx([0.1, 0.2, 0.3])


def test_the_bucket_fills_up_with_time_but_not_beyond_its_burst():
    """An idle hour does not save up more than one burst."""
    clock = VirtualClock()
    limiter = BucketLimiter(rate=10, burst=5, clock=clock)
    clock.advance(timedelta(hours=1))
    assert [limiter.when("a") for _ in range(5)] == [timedelta()] * 5
    assert limiter.when("a") > timedelta()


def test_of_several_limits_the_longest_counts():
    """The first failure waits for its item, and the next one of another item for the bucket."""
    both = MaxOfLimiter(ItemExponentialLimiter(), BucketLimiter(rate=10, burst=1, clock=VirtualClock()))
    assert [both.when(item).total_seconds() for item in "ab"] == pytest.approx([0.005, 0.1])


def tries(limiter, *, objects: int, outage: float) -> tuple[list[float], float]:
    """When each of many failing objects is tried, and when the last one succeeds after an outage."""
    due = [(0.0, item) for item in range(objects)]
    tried: list[float] = []
    while due[0][0] < outage:
        now, item = heapq.heappop(due)
        tried.append(now)
        heapq.heappush(due, (now + limiter.when(item).total_seconds(), item))
    return tried, max(now for now, _ in due)


def test_thousands_of_failures_recover_soon_after_an_outage():
    """No object waits longer than the outage took, and a little: no debt of the others is paid."""
    _, recovered = tries(default_rate_limiter(), objects=2_000, outage=20)
    assert recovered <= 2 * 20 + 1


def test_a_long_outage_is_not_hammered():
    """In its tenth minute two thousand objects together cost fewer than ten tries a second."""
    tried, _ = tries(default_rate_limiter(), objects=2_000, outage=600)
    assert sum(1 for moment in tried if moment >= 300) < 10 * 300


@pytest.mark.parametrize(
    "make",
    [
        lambda: ItemExponentialLimiter(base=timedelta()),
        lambda: ItemExponentialLimiter(base=timedelta(seconds=2), limit=timedelta(seconds=1)),
        lambda: BucketLimiter(rate=0),
        lambda: BucketLimiter(burst=0),
        MaxOfLimiter,
    ],
)
def test_senseless_limits_are_refused(make):
    """A limiter that would never let anything through, or always, is a mistake."""
    with pytest.raises(ValueError):
        make()
