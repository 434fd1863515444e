"""Lets a request wait until the caches hold what its last reconcile wrote.

The answer to a write comes a moment before its event reaches the cache. Another event, such as that
of a child created just before, would wake the reconciler in this moment. It would read the state
from before its own write, and write again. So the request waits, and no worker waits with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime._logging import current_reconcile
from pykb.runtime.clock import Clock

if TYPE_CHECKING:
    from pykb.runtime.client.connection import CacheReader

LIMIT = timedelta(seconds=5)
"""How long a request waits. A watch that broke off takes longer to return, and must not stop the work."""


def note_write(cache: CacheReader, gvk: GroupVersionKind, stored: dict[str, Any]) -> None:
    """Note what a server answered to a write of the running reconcile, if there is one."""
    context = current_reconcile.get()
    metadata = stored.get("metadata") or {}
    version, name = metadata.get("resourceVersion"), metadata.get("name")
    if context is None or not version or not name or _is_gone(metadata):
        return
    unseen = cache.when_seen(gvk, NamespacedName(metadata.get("namespace", ""), name), version)
    if unseen is not None:
        context.unseen.append(unseen)


def _is_gone(metadata: dict[str, Any]) -> bool:
    """Whether this was the last write to an object that is being deleted. Its event may have come already."""
    return "deletionTimestamp" in metadata and not metadata.get("finalizers")


def when_all_seen(unseen: list[asyncio.Future[None]], clock: Clock, then: Callable[[], None]) -> None:
    """Call ``then`` once, when the caches hold all that was written, or after :data:`LIMIT`."""
    left = set(unseen)

    def give_up() -> None:
        for future in tuple(left):
            future.cancel()

    def seen(future: asyncio.Future[None]) -> None:
        left.discard(future)
        if not left:
            timer.cancel()
            then()

    timer = clock.call_at(clock.now() + LIMIT.total_seconds(), give_up)
    for future in unseen:
        future.add_done_callback(seen)
