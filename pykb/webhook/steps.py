"""Calls the functions of webhooks: coroutines on the event loop, plain functions in threads.

Async webhooks that block the event loop are logged, counted, and run one at a time with pauses.

A coroutine that waits or computes without `await` blocks everything else: reconcilers, probes, the
lease, and all other requests of the API server. The API server waits 10 s for an answer, and a
user's write waits for it. pykb cannot move the coroutine into a thread, since what it awaits (the
client, locks and sessions) belongs to this loop. Its author can make it a plain function. Until
then there are pauses between its steps, so that ten calls block others no longer than one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykb.client.bridge import call_in_thread
from pykb.client.clock import Clock
from pykb.client.guard import OwnCancellations, keeping_its_task
from pykb.client.task import reset
from pykb.serving.tls import CertificateMetrics

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram


class WebhookMetrics(CertificateMetrics, Protocol):
    """The manager's metrics, as far as webhooks need them."""

    webhook_seconds: Histogram
    webhook_requests: Counter
    webhook_in_flight: Gauge
    webhook_panics: Counter
    conversion_panics: Counter

    def observe_blocking_webhook(self, webhook: str, seconds: float) -> None:
        """Count seconds for which a coroutine of a webhook blocked the event loop."""


logger = logging.getLogger(__name__)

T = TypeVar("T")

LIMIT = 0.1
"""A step, from one `await` to the next, that takes more seconds than this counts as blocking."""

PAUSE, LONGEST_PAUSE = 0.25, 1.0
"""The pause as a fraction of a blocking step, and its maximum in seconds.

Others need little time, and the webhook must answer nearly as many requests as before.
"""

INTERVAL = 60.0
"""Seconds between two log lines about one webhook, and how long a webhook that has blocked makes pauses."""

_HELP = "make it a plain `def`, which runs in a thread and has `client.sync`, or call `await asyncio.to_thread(...)`"
ADMISSION = "webhook"
CONVERSION = "conversion"
THREADS = {ADMISSION: 32, CONVERSION: 8}
"""How many plain functions run at once. Further calls wait.

Conversions have their own threads. Validators may occupy all others while they wait for the API
server, which may need a conversion first.
"""

_pools: dict[str, ThreadPoolExecutor] = {}


class Lane:
    """Decides when a blocking webhook may take its next step. All blocking webhooks share one lane."""

    def __init__(self) -> None:
        self.free_at = float("-inf")
        self.waiting = asyncio.Lock()
        """Lets waiters continue in the order of their arrival."""


@dataclass(slots=True, eq=False)
class Steps:
    """Awaits the coroutines of one webhook and measures how long each step takes."""

    webhook: str
    lane: Lane
    metrics: WebhookMetrics
    clock: Clock
    _blocked_at: float = float("-inf")
    _told_at: float = float("-inf")

    async def follow(self, coroutine: Coroutine[Any, Any, T], called: str) -> T:
        """Await a coroutine and return its result."""
        return await keeping_its_task(coroutine, _Measured(self.clock, partial(self._observe, called)), self._turn)

    async def _turn(self) -> None:
        if self.clock.now() - self._blocked_at >= INTERVAL:
            return
        async with self.lane.waiting:
            while (left := self.lane.free_at - self.clock.now()) > 0:
                await self.clock.sleep(timedelta(seconds=left))

    def _observe(self, called: str, took: float) -> None:
        if took < LIMIT:
            return
        now = self.clock.now()
        self._blocked_at = now
        self.lane.free_at = now + min(took * PAUSE, LONGEST_PAUSE)
        self.metrics.observe_blocking_webhook(self.webhook, took)
        if now - self._told_at >= INTERVAL:
            self._told_at = now
            logger.warning(
                "webhook blocks the event loop: it waits or computes without `await`, and holds up everything else",
                extra={"webhook": self.webhook, "function": called, "seconds": round(took, 3), "help": _HELP},
            )


class _Measured(OwnCancellations):
    """Measures how long each step of a coroutine takes, too."""

    def __init__(self, clock: Clock, observe: Callable[[float], None]) -> None:
        super().__init__()
        self._clock = clock
        self._observe = observe
        self._began = 0.0

    def begin_step(self) -> None:
        super().begin_step()
        self._began = self._clock.now()

    def end_step(self) -> None:
        super().end_step()
        self._observe(self._clock.now() - self._began)


_current: ContextVar[Steps | None] = ContextVar("steps", default=None)


@contextmanager
def following(steps: Steps | None) -> Iterator[None]:
    """Measure in this object what is :func:`followed` in a block."""
    token = _current.set(steps)
    try:
        yield
    finally:
        reset(_current, token)


async def followed(function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
    """Await a coroutine function of a webhook. In a webhook server, each step is measured."""
    return await _follow(function(*arguments), function)


async def _follow(coroutine: Coroutine[Any, Any, T], function: object) -> T:
    steps = _current.get()
    if steps is None:
        return await coroutine
    return await steps.follow(coroutine, getattr(function, "__qualname__", type(function).__qualname__))


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a plain or async function and return its result."""
    if inspect.iscoroutinefunction(function):
        return await followed(function, *arguments)
    answer = await in_thread(partial(function, *arguments))
    # A plain function that returns a coroutine (a wrapper) is awaited here like an async one.
    return await _follow(_awaited(answer), function) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


async def in_thread(function: Callable[[], Any], purpose: str = ADMISSION) -> Any:
    """Run a plain function in a thread of a bounded pool, with the caller's context, and return its result."""
    pool = _pools.get(purpose)  # threads belong to the process, and most programs never need them
    if pool is None:
        pool = _pools[purpose] = ThreadPoolExecutor(THREADS[purpose], thread_name_prefix=f"{purpose}-")
    return await call_in_thread(function, pool)
