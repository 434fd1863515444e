"""The connections that a server keeps, and which of them goes when there are too many.

Whoever reaches a port can open connections, and each takes memory before anything is known of its peer. So a server
bounds them: in number, in the bytes of requests that are not complete, and in time. Where a bound is reached, the
connection goes that has been silent or has been sending its request for longest, or has been idle for longest. A client
that asks is done within milliseconds, so it is answered while a flood cuts its own connections. Only when all
connections have requests that are being served do others wait in the system's queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from pykb.runtime.clock import Clock

logger = logging.getLogger(__name__)

RECEIVE = timedelta(seconds=32)
"""From the first byte of a connection or request to the last one of the request; controller-runtime's deadline."""

IDLE = timedelta(seconds=90)
"""From a request to the next one on the same connection; controller-runtime's deadline."""

WAIT = timedelta(milliseconds=10)
"""How often is looked whether there is room, when there is none."""

SWEEP = timedelta(seconds=2)
"""How often deadlines are looked at."""

AHEAD = 64 * 1024
"""Bytes that a client may send before it has the answer to what it sent before. No client of Kubernetes sends any."""

TOLD = timedelta(minutes=1)
"""How often the log says that connections are cut."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server keeps at once.

    Attributes:
        connections: How many connections.
        incomplete: How many of these may have sent nothing yet, and how many a part of a request.
        received: Bytes of incomplete requests, over all connections.
    """

    connections: int = 1024
    incomplete: int = 256
    received: int = 1024 * 1024


class Connection:
    """One connection, as :class:`Connections` sees it."""

    __slots__ = ("cut", "held", "place", "since")

    def __init__(self) -> None:
        self.cut: Callable[[], object] = _nothing
        """Ends it at once; set by whoever knows how."""
        self.since = 0.0
        """When it came to its present place."""
        self.held = 0
        """Bytes received since the last answer."""
        self.place: dict[Connection, None] | None = None


class Connections:
    """The connections of one server."""

    def __init__(self, name: str, limits: Limits, clock: Clock) -> None:
        """Start with none; the name is the server's, for the log."""
        self._name = name
        self._limits = limits
        self._clock = clock
        # Each in the order of `since`.
        self._silent: dict[Connection, None] = {}
        self._receiving: dict[Connection, None] = {}
        self._serving: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._received = 0
        self._told: float | None = None

    def __len__(self) -> int:
        """How many there are."""
        return sum(map(len, (self._silent, self._receiving, self._serving, self._idle)))

    def add(self) -> Connection:
        """A new connection, accepted just now."""
        connection = Connection()
        self._put(connection, self._silent)
        return connection

    def begun(self, connection: Connection) -> None:
        """The first byte has come."""
        if connection.place is not None:
            self._put(connection, self._receiving)
            if len(self._receiving) > self._limits.incomplete:
                self._cut(next(iter(self._receiving)), "too many incomplete requests")

    def received(self, connection: Connection, size: int) -> None:
        """Bytes have come."""
        if connection.place is None or not size:
            return
        if connection.place is self._idle:
            self.begun(connection)
        connection.held += size
        if connection.place is self._receiving:
            self._received += size
            self._make_room_for_bytes()
        elif connection.held > AHEAD:
            self._cut(connection, "sent without waiting for answers")

    def complete(self, connection: Connection) -> None:
        """A whole request is there: from now on it takes as long as the server takes."""
        if connection.place is not None:
            self._put(connection, self._serving)
            connection.held = 0

    def answered(self, connection: Connection) -> None:
        """The request is answered."""
        if connection.place is not None:
            self._put(connection, self._idle)
            connection.held = 0

    def remove(self, connection: Connection) -> None:
        """It is closed."""
        self._put(connection, None)
        connection.cut = _nothing  # which may know the connection: memory is to be free at once

    async def room(self) -> None:
        """Wait until there is room for one more, and make it if need be."""
        if len(self._silent) >= self._limits.incomplete:
            self._cut(next(iter(self._silent)), "too many silent connections")
        while len(self) >= self._limits.connections and not self.evict():
            await self._clock.sleep(WAIT)

    def evict(self) -> bool:
        """Cut the connection that is missed least; whether there was one."""
        for place in (self._silent, self._idle, self._receiving):
            if place:
                self._cut(next(iter(place)), "too many connections")
                return True
        return False

    async def watch(self) -> None:
        """Cut those that take too long, until cancelled."""
        while True:
            await self._clock.sleep(SWEEP)
            for place, limit in ((self._silent, RECEIVE), (self._receiving, RECEIVE), (self._idle, IDLE)):
                latest = self._clock.now() - limit.total_seconds()
                while place and (first := next(iter(place))).since <= latest:
                    self._cut(first)

    def _make_room_for_bytes(self) -> None:
        while self._received > self._limits.received:
            # Not those that hold next to nothing: they would go for nothing.
            share = self._received / len(self._receiving) / 2
            self._cut(
                next(each for each in self._receiving if each.held >= share), "too many bytes of incomplete requests"
            )

    def _cut(self, connection: Connection, reason: str = "") -> None:
        cut = connection.cut
        self.remove(connection)
        cut()
        now = self._clock.now()
        if reason and (self._told is None or now - self._told >= TOLD.total_seconds()):
            self._told = now
            logger.warning("connections cut", extra={"server": self._name, "reason": reason})

    def _put(self, connection: Connection, place: dict[Connection, None] | None) -> None:
        if connection.place is not None:
            del connection.place[connection]
            if connection.place is self._receiving:
                self._received -= connection.held
        connection.place = place
        connection.since = self._clock.now()
        if place is not None:
            place[connection] = None


def _nothing() -> None:
    """There is nothing to cut."""
