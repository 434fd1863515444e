"""Trying again what another's write got in the way of."""

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

    The function reads the object, changes it and writes it. Read with ``client.live``: a cache may not have the
    other's write yet, and the conflict would come again::

        async def count_up() -> None:
            counter = await client.live.get(ConfigMap, "default/counter")
            counter.data = {"n": str(int((counter.data or {}).get("n", "0")) + 1)}
            await client.update(counter)

        await retry_on_conflict(count_up)

    A reconciler seldom needs it: a ``Conflict`` that it raises makes the request come again, with a fresh object.

    Args:
        change: What to do.
        attempts: How often at most; client-go's ``DefaultRetry`` has 5 too.
        pause: How long to wait between attempts, and up to a tenth of it more at random.
        clock: What to wait with; the system's when not given.

    Raises:
        Conflict: The last attempt met one as well.
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
