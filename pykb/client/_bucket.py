"""A token bucket. It limits the requests of a client, or the retries of a controller."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import timedelta

from pykb.client.clock import Clock, SystemClock


class BucketLimiter:
    """A token bucket over all items: ``burst`` at once, then ``rate`` per second.

    ::

        bucket = BucketLimiter(rate=2, burst=1, clock=VirtualClock())
        assert bucket.when("a") == timedelta()
        assert bucket.when("b") == timedelta(seconds=0.5)
    """

    def __init__(self, *, rate: float = 10.0, burst: int = 100, clock: Clock | None = None) -> None:
        if not 0 < rate < float("inf") or burst < 1:
            raise ValueError(f"a bucket needs a positive rate and a burst of at least 1, got {rate} and {burst}")
        self._rate = rate
        self._burst = float(burst)
        self._clock: Clock = clock or SystemClock()
        self._tokens = float(burst)
        self._at = self._clock.now()

    def when(self, item: Hashable) -> timedelta:  # noqa: ARG002 - the bucket is one for all
        """Take a present or future token, and return the delay until it exists."""
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate) - 1.0
        self._at = now
        return timedelta(seconds=max(0.0, -self._tokens / self._rate))

    def forget(self, item: Hashable) -> None:
        """Do nothing: tokens return only with time."""

    def failures(self, item: Hashable) -> int:  # noqa: ARG002
        """Always 0: the bucket does not count single items."""
        return 0
