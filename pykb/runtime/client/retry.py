"""Retries writes that conflict with other writes."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.errors import Conflict

T = TypeVar("T")


async def retry_on_conflict(
    change: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    pause: timedelta = timedelta(milliseconds=10),
    clock: Clock | None = None,
) -> T:
    """Call a function again while it raises :class:`Conflict`, and return what it returns.

    The function reads the object, changes it and writes it. Read with ``client.live``: a cache may
    not have the other write yet, and the conflict would repeat::

        async def count_up() -> None:
            counter = await client.live.get(ConfigMap, "default/counter")
            counter.data = {"n": str(int((counter.data or {}).get("n", "0")) + 1)}
            await client.update(counter)

        await retry_on_conflict(count_up)

    A reconciler seldom needs it. When it raises a ``Conflict``, its request is retried with a fresh
    object.

    Args:
        change: The function to call.
        attempts: The maximum number of calls. client-go's ``DefaultRetry`` also has 5.
        pause: How long to wait between attempts. Up to a tenth is added at random.
        clock: The clock for pauses. Defaults to the system's clock.

    Raises:
        Conflict: The last attempt failed with a conflict too.
        ValueError: ``attempts`` is less than 1.

    Source: https://pkg.go.dev/k8s.io/client-go/util/retry
    """
    if attempts < 1:
        raise ValueError(f"at least one attempt is needed, got {attempts}")
    clock = clock or SystemClock()
    for _ in range(attempts - 1):
        try:
            return await change()
        except Conflict:
            await clock.sleep(pause * (1 + random.random() / 10))  # noqa: S311 - no secret
    return await change()
