"""Delays after failures: client-go's numbers."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.runtime.clock import VirtualClock
from pykb.runtime.ratelimit import BucketLimiter, ItemExponentialLimiter, MaxOfLimiter, default_rate_limiter


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


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 5)), max_size=200))
def test_the_default_is_never_shorter_than_either_limit(steps):
    """The longer of the two delays counts, whatever happened before."""
    clock = VirtualClock()
    default = default_rate_limiter(clock=clock)
    item, bucket = ItemExponentialLimiter(), BucketLimiter(clock=clock)
    for key, pause in steps:
        clock.advance(timedelta(seconds=pause))
        assert default.when(key) == max(item.when(key), bucket.when(key))


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
