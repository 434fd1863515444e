"""Keeps a mirror of a list of objects. A list replaces its content, a watch event changes it, and nothing is lost.

A reflector reads a stream: one list and the watch that follows it (from
:mod:`pykb.client.listwatch`, or scripted in tests). When a stream ends, it starts the next
one. It passes every change to its sink. Its invariants:

* when a list is complete, the mirror holds exactly what was listed; objects that vanished without a
  watch event are reported as deleted;
* a list that broke off deletes nothing;
* whatever fails, it continues, with growing pauses.
"""

from __future__ import annotations

import asyncio
import logging
import random
from datetime import timedelta
from typing import Any, Protocol

from pykb.api.safe_text import error_text
from pykb.client.clock import Clock, SystemClock
from pykb.client.listwatch import Listed, ListWatch, WatchFailed, WatchTarget
from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache.store import key_of

logger = logging.getLogger(__name__)

FIRST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=30)
TURN = 10
"""Objects handled before other tasks run. Pages come as a whole, and the loop would not yield otherwise."""

SILENT = timedelta(minutes=3)
"""A watch that is silent for this long is reported. The API server sends a bookmark every minute."""


class Sink(Protocol):
    """The mirror that a reflector fills."""

    def upsert(self, key: NamespacedName, obj: dict[str, Any], *, listed: bool) -> None:
        """An object was created or changed."""

    def remove(self, key: NamespacedName, obj: dict[str, Any] | None) -> None:
        """An object was deleted. ``obj`` is its last state, if the server sent it."""

    def known(self, namespace: str | None) -> list[NamespacedName]:
        """The keys the sink holds (of a namespace)."""

    def synced(self, target: WatchTarget) -> None:
        """A list is complete."""

    def failed(self, target: WatchTarget, problem: str) -> None:
        """A stream ended with an error. Another one will be started."""


class Reflector:
    """Mirrors one :class:`WatchTarget` into a sink until cancelled."""

    def __init__(self, target: WatchTarget, source: ListWatch, sink: Sink, *, clock: Clock | None = None) -> None:
        self._target = target
        self._source = source
        self._sink = sink
        self._clock: Clock = clock or SystemClock()
        self._failures = 0
        self._problem = ""
        self._reported = 0.0
        self._last_event = self._clock.now()
        self._is_silent = False

    @property
    def silent_for(self) -> timedelta:
        """Time since the last event, bookmark, or answer after a silence."""
        return timedelta(seconds=self._clock.now() - self._last_event)

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            asked = timedelta()
            try:
                await self._once()
            except WatchFailed as error:
                self._failed(error)
                asked = error.retry_after or asked
            except Exception as error:  # the mirror must survive whatever one stream did
                logger.exception("watch ended unexpectedly", extra={"resource": str(self._target)})
                self._sink.failed(self._target, error_text(error))
            await self._clock.sleep(max(self._next_pause(), asked))

    def notice_silence(self) -> timedelta:
        """Report once that the watch has become silent. Returns when to look again."""
        silent_for = self.silent_for
        if silent_for < SILENT:
            return SILENT - silent_for
        if not self._is_silent:
            self._is_silent = True
            shown = {"resource": str(self._target), "seconds": round(silent_for.total_seconds())}
            logger.warning("watch is silent", extra=shown)
        return SILENT

    def _heard(self) -> None:
        self._last_event = self._clock.now()
        if self._is_silent:
            self._is_silent = False
            logger.info("watch is no longer silent", extra={"resource": str(self._target)})

    def _failed(self, error: WatchFailed) -> None:
        # Logged at once and then rarely: the first pauses are so short that they would fill the
        # log.
        now = self._clock.now()
        again = str(error) == self._problem and now - self._reported < LONGEST_PAUSE.total_seconds()
        if not again:
            self._problem, self._reported = str(error), now
        level = logging.ERROR if error.status == 403 else logging.WARNING
        shown = {"resource": str(self._target), "error": str(error), "status": error.status}
        logger.log(logging.DEBUG if again else level, "cannot watch", extra=shown)
        self._sink.failed(self._target, str(error))

    async def _once(self) -> None:
        listing: set[NamespacedName] | None = set()
        stream = self._source.stream(self._target)
        count = 0
        try:
            async for item in stream:
                if isinstance(item, WatchFailed):
                    self._failed(item)
                    continue
                self._heard()
                count += 1
                if count % TURN == 0:
                    await asyncio.sleep(0)
                if isinstance(item, Listed):
                    if listing is not None:
                        self._replace(listing)
                        listing = None
                        self._failures = 0
                        self._problem = ""
                    continue
                kind, obj = item["type"], item["object"]
                if listing is None:
                    self._problem = ""  # the watch was resumed
                if kind == "BOOKMARK":
                    continue
                key = key_of(obj)
                if kind == "DELETED":
                    self._sink.remove(key, obj)
                    continue
                if listing is not None:
                    listing.add(key)
                self._sink.upsert(key, obj, listed=listing is not None)
        finally:
            await stream.aclose()

    def _replace(self, listed: set[NamespacedName]) -> None:
        for key in self._sink.known(self._target.namespace):
            if key not in listed and key.namespace not in self._target.excluded:
                self._sink.remove(key, None)
        self._sink.synced(self._target)

    def _next_pause(self) -> timedelta:
        # Jitter: the reflectors of a process (and of many operators) must not all reconnect at the
        # same moment.
        pause = min(FIRST_PAUSE * (1 << min(self._failures, 16)), LONGEST_PAUSE)
        self._failures += 1
        return pause * (1 + random.random() / 2)  # noqa: S311 - no secret
