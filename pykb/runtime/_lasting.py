"""Remembers which problems were logged."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import timedelta

from pykb.client.clock import Clock

SILENCE = timedelta(hours=1)
"""How long a problem that lasts is not logged again."""


class Lasting:
    """Remembers which problems were logged. One that lasts is logged again after :data:`SILENCE`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged: dict[Hashable, float] = {}
        """When each problem was logged, in this order."""

    def is_due(self, problem: Hashable) -> bool:
        """Whether to log a problem. It counts as logged then."""
        now = self._clock.now()
        while self._logged and now - next(iter(self._logged.values())) >= SILENCE.total_seconds():
            del self._logged[next(iter(self._logged))]
        if problem in self._logged:
            return False
        self._logged[problem] = now
        return True
