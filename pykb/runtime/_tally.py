"""Counters for events that happen thousands of times per second. They become metrics only on a scrape.

prometheus_client's counters take a lock for each change, since any thread may make it. These are
for one event loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Tally:
    """A counter that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        """Add one."""
        self.value += 1

    def dec(self) -> None:
        """Subtract one."""
        self.value -= 1


class Distribution:
    """A histogram: how many values fell into each bucket, and the sum of all values."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value in the first bucket whose bound is not less."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def buckets(self) -> list[tuple[str, float]]:
        """How many values are at most each bound, in Prometheus' form, infinity last."""
        total = 0
        found: list[tuple[str, float]] = []
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            found.append((bound, total))
        return found
