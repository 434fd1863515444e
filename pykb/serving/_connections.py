"""The connections of a server, and which of them it closes if there are too many.

Anyone who reaches a port can open connections, and each takes memory before its peer is known.
Therefore a server limits their number, the bytes of incomplete requests, and the time. At a limit,
it closes the connection that has waited for the longest time: for its client to send anything, the
rest of a request, or the next one. A normal request takes milliseconds, so it is answered, and a
flood only closes its own connections. New connections wait in the system's queue only if all
connections have requests that are being served.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from pykb.client.clock import Clock

logger = logging.getLogger(__name__)

RECEIVE = timedelta(seconds=32)
"""The time from the first byte of a connection or request to the end of the request. controller-runtime's deadline."""

IDLE = timedelta(seconds=90)
"""The time between two requests on the same connection. controller-runtime's deadline."""

WAIT = timedelta(milliseconds=10)
"""How often to check for room while there is none."""

SWEEP = timedelta(seconds=2)
"""How often deadlines are checked."""

REPORT_AT_MOST_EVERY = timedelta(minutes=1)
"""How often closed connections are logged."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server's connections.

    Attributes:
        connections: The number of connections.
        incomplete: How many of them may have sent nothing, or a part of a request.
        idle: How many of them may wait for the next request, or close. An API server keeps 25 idle
            connections to a webhook.
        received: Bytes of incomplete requests over all connections.
    """

    connections: int = 1024
    incomplete: int = 256
    idle: int = 256
    received: int = 1024 * 1024


class Connection:
    """One connection, as :class:`Connections` sees it."""

    __slots__ = ("cut", "held", "place", "since")

    def __init__(self) -> None:
        self.cut: Callable[[], object] = _nothing
        """Closes it at once. Set by its protocol."""
        self.since = 0.0
        """When its present state began."""
        self.held = 0
        """Bytes of its incomplete request."""
        self.place: dict[Connection, None] | None = None


class Connections:
    """The connections of one server."""

    def __init__(self, name: str, limits: Limits, clock: Clock) -> None:
        """Start without connections. ``name`` is the server's name, for the log."""
        self._name = name
        self._limits = limits
        self._clock = clock
        # Each in the order of `since`.
        self._receiving: dict[Connection, None] = {}
        self._serving: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._received = 0
        self._reported_at: float | None = None

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._receiving) + len(self._serving) + len(self._idle)

    def add(self) -> Connection:
        """Add a newly accepted connection."""
        connection = Connection()
        self._receive(connection)
        return connection

    def received(self, connection: Connection, size: int) -> None:
        """Record that bytes of a request have arrived."""
        if connection.place is None:
            return
        if not connection.held:
            self._receive(connection)
        connection.held += size
        self._received += size
        while self._received > self._limits.received:
            # Not those that hold almost nothing: closing them would not help.
            share = self._received / len(self._receiving) / 2
            self._cut(
                next(each for each in self._receiving if each.held >= share), "too many bytes of incomplete requests"
            )

    def complete(self, connection: Connection) -> None:
        """Record that a request is complete. From now on, the server determines the time."""
        if connection.place is not None:
            self._put(connection, self._serving)

    def answered(self, connection: Connection) -> None:
        """Record that the request was answered or refused."""
        if connection.place is not None:
            self._put(connection, self._idle)
            if len(self._idle) > self._limits.idle:
                self._cut(next(iter(self._idle)), "too many idle connections")

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._put(connection, None)
        connection.cut = _nothing  # it may refer to the connection: free the memory at once

    async def room(self) -> None:
        """Wait until there is room for one more. Close another connection if necessary."""
        while len(self) >= self._limits.connections and not self.evict():
            await self._clock.sleep(WAIT)

    def evict(self) -> bool:
        """Close the connection that has waited for its client longest. Return whether there was one."""
        longest = [next(iter(place)) for place in (self._receiving, self._idle) if place]
        if longest:
            self._cut(min(longest, key=lambda connection: connection.since), "too many connections")
        return bool(longest)

    async def watch(self) -> None:
        """Close connections that take too long, until cancelled."""
        while True:
            await self._clock.sleep(SWEEP)
            for place, limit in ((self._receiving, RECEIVE), (self._idle, IDLE)):
                latest = self._clock.now() - limit.total_seconds()
                while place and (first := next(iter(place))).since <= latest:
                    self._cut(first)

    def _receive(self, connection: Connection) -> None:
        self._put(connection, self._receiving)
        if len(self._receiving) > self._limits.incomplete:
            self._cut(next(iter(self._receiving)), "too many incomplete requests")

    def _cut(self, connection: Connection, reason: str = "") -> None:
        cut = connection.cut
        self.remove(connection)
        cut()
        now = self._clock.now()
        if reason and (self._reported_at is None or now - self._reported_at >= REPORT_AT_MOST_EVERY.total_seconds()):
            self._reported_at = now
            logger.warning("connections cut", extra={"server": self._name, "reason": reason})

    def _put(self, connection: Connection, place: dict[Connection, None] | None) -> None:
        if connection.place is not None:
            del connection.place[connection]
            self._received -= connection.held
            connection.held = 0
        connection.place = place
        connection.since = self._clock.now()
        if place is not None:
            place[connection] = None


def _nothing() -> None:
    """Do nothing: there is no connection to close."""
