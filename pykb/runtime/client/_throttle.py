"""A limit of requests a second on the client's side: client-go's QPS and burst.

It is off unless somebody asks for it, as in controller-runtime. The API server has a fair limit of its own (priority
and fairness), and answers 429 with a time to wait.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from pykb.runtime.client.connection import Call
from pykb.runtime.clock import Clock
from pykb.runtime.controller.ratelimit import BucketLimiter

logger = logging.getLogger(__name__)

LONG = timedelta(seconds=1)
"""Whoever waits longer is worth a line in the log."""

TOLD = timedelta(minutes=1)
"""How often the log says so."""


class Throttle:
    """Lets requests through in the order in which they come: ``burst`` at once, then ``qps`` a second."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        """Start with all of the burst.

        Raises:
            ValueError: Such a limit would let nothing through.
        """
        self._bucket = BucketLimiter(rate=qps, burst=burst, clock=clock)
        self._clock = clock
        # Handed on in the order of arrival. Only its holder has taken a token from the future, so whoever is cancelled
        # takes none from the others.
        self._turn = asyncio.Lock()
        self._told = float("-inf")

    async def wait(self, call: Call) -> float:
        """Wait for the turn of a request, and give the seconds that took."""
        asked = self._clock.now()
        async with self._turn:
            delay = self._bucket.when(call)
            if delay > timedelta():
                await self._clock.sleep(delay)
        now = self._clock.now()
        waited = now - asked
        if waited > LONG.total_seconds() and now - self._told >= TOLD.total_seconds():
            self._told = now
            shown = {"waited": f"{waited:.1f} s", "request": f"{call.method} {call.path}"}
            logger.warning("client-side throttling", extra=shown | {"help": "raise --kube-api-qps, or switch it off"})
        return waited
