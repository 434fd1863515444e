"""Tracks sockets, so that a program can wait until they are closed."""

from __future__ import annotations

import asyncio
import socket
import weakref
from contextlib import suppress

_TICK = 0.001
_PATIENCE = 1.0
"""Seconds to wait for the last sockets when closing."""


class SocketSet:
    """The open sockets of a client, held by weak references.

    Closing a connection does not wait for its socket. Under TLS, or in a handshake that was given
    up, the socket is closed some turns of the event loop later. A program that ends its loop at
    once would leave it open, with a ``ResourceWarning``.
    """

    def __init__(self) -> None:
        """Start without sockets."""
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def open(self, family: int, kind: int, protocol: int) -> socket.socket:
        """Make a new socket for an event loop."""
        opened = socket.socket(family=family, type=kind, proto=protocol)
        opened.setblocking(False)
        self._sockets.add(opened)
        return opened

    async def wait_closed(self) -> None:
        """Wait for a limited time until all are closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                while any(each.fileno() != -1 for each in self._sockets):  # noqa: ASYNC110 - sockets tell nobody
                    await asyncio.sleep(_TICK)
