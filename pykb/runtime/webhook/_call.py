"""Calling what the author of a webhook wrote: coroutines on the event loop, plain functions in threads."""

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
"""Plain functions that run at once; what comes on top of them waits.

Conversions have threads of their own: all the others may be taken by validators that ask the API server for something,
which it has to have converted first.
"""

_pools: dict[str, ThreadPoolExecutor] = {}


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, whichever kind of function it is."""
    if inspect.iscoroutinefunction(function):
        return await followed(function, *arguments)
    answer = await in_thread(partial(function, *arguments))
    # A plain function that gives a coroutine (a wrapper) is awaited here like an async one.
    return await answer if inspect.isawaitable(answer) else answer


async def in_thread(function: Callable[[], Any], purpose: str = ADMISSION) -> Any:
    """What a plain function gives that runs in a thread of a bounded pool, with the caller's context."""
    pool = _pools.get(purpose)  # threads are the process's, and most programs never need them
    if pool is None:
        pool = _pools[purpose] = ThreadPoolExecutor(THREADS[purpose], thread_name_prefix=f"{purpose}-")
    return await call_in_thread(function, pool)
