"""Limits the client's requests per second: client-go's QPS and burst.

It is off by default, as in controller-runtime. The API server has its own limit (priority and
fairness) and answers 429 with a time to wait.
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
"""A request that waits longer than this is logged."""

TOLD = timedelta(minutes=1)
"""The shortest time between two such log lines."""


class Throttle:
    """Lets requests through in their order of arrival: ``burst`` at once, then ``qps`` per second."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        """Start with the full burst.

        Raises:
            ValueError: The limit would let nothing through.
        """
        self._bucket = BucketLimiter(rate=qps, burst=burst, clock=clock)
        self._clock = clock
        # The lock is handed on in the order of arrival. Only its holder has taken a future token,
        # so a cancelled waiter takes none from the others.
        self._turn = asyncio.Lock()
        self._told = float("-inf")

    async def wait(self, call: Call) -> float:
        """Wait until a request may be sent. Return the seconds waited."""
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
