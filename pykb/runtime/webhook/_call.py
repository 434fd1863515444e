"""Calls the functions of webhooks: coroutines on the event loop, plain functions in threads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pykb.runtime._bridge import call_in_thread
from pykb.runtime.webhook.steps import followed

ADMISSION = "webhook"
CONVERSION = "conversion"
THREADS = {ADMISSION: 32, CONVERSION: 8}
"""How many plain functions run at once. Further calls wait.

Conversions have their own threads. Validators may occupy all others while they wait for the API
server, which may need a conversion first.
"""

_pools: dict[str, ThreadPoolExecutor] = {}


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a plain or async function and return its result."""
    if inspect.iscoroutinefunction(function):
        return await followed(function, *arguments)
    answer = await in_thread(partial(function, *arguments))
    # A plain function that returns a coroutine (a wrapper) is awaited here like an async one.
    return await answer if inspect.isawaitable(answer) else answer


async def in_thread(function: Callable[[], Any], purpose: str = ADMISSION) -> Any:
    """Run a plain function in a thread of a bounded pool, with the caller's context, and return its result."""
    pool = _pools.get(purpose)  # threads belong to the process, and most programs never need them
    if pool is None:
        pool = _pools[purpose] = ThreadPoolExecutor(THREADS[purpose], thread_name_prefix=f"{purpose}-")
    return await call_in_thread(function, pool)
