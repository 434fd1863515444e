"""Counts of what happens thousands of times a second, turned into metrics when somebody asks for them.

prometheus_client's own take a lock for each change, since any thread may make it; these are for one event loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Tally:
    """A number that is counted up (and down)."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        """One more."""
        self.value += 1

    def dec(self) -> None:
        """One less."""
        self.value -= 1


class Distribution:
    """How often a value fell between two bounds, and the sum of all values."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value: it falls under the first bound that is not less."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def buckets(self) -> list[tuple[str, float]]:
        """How many values are at most each bound, infinity last, as Prometheus wants them."""
        total = 0
        found: list[tuple[str, float]] = []
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            found.append((bound, total))
        return found
