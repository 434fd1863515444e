"""Calling what the author of a webhook wrote: coroutines on the event loop, plain functions in threads."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

THREADS = 32
"""Plain functions that run at once; what comes on top of them waits."""

_pool: ThreadPoolExecutor | None = None


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, whichever kind of function it is."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    answer = await in_thread(partial(function, *arguments))
    # A plain function that gives a coroutine (a wrapper) is awaited here like an async one.
    return await answer if inspect.isawaitable(answer) else answer


async def in_thread(function: Callable[[], Any]) -> Any:
    """What a plain function gives that runs in a thread of a bounded pool, with the caller's context."""
    global _pool  # noqa: PLW0603 - threads are the process's, and most programs never need them
    if _pool is None:
        _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="webhook-")
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool, context.run, function)
