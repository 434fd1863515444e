"""Connections whose end can be waited for."""

from __future__ import annotations

import asyncio
import socket
import weakref
from contextlib import suppress

_TICK = 0.001
_PATIENCE = 1.0
"""Seconds that closing waits for the last sockets."""


class SocketSet:
    """The sockets that were opened for something, as long as they are known to anybody.

    Whoever asks for the end of a connection is not told of it: under TLS, or in a handshake that was given up, the
    socket itself is closed some turns of the event loop later. A program that ends its loop at once would leave it
    open, with a ``ResourceWarning``.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def open(self, family: int, kind: int, protocol: int) -> socket.socket:
        """A new socket, for an event loop."""
        opened = socket.socket(family=family, type=kind, proto=protocol)
        opened.setblocking(False)
        self._sockets.add(opened)
        return opened

    async def wait_closed(self) -> None:
        """Wait until all are closed, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                while any(each.fileno() != -1 for each in self._sockets):  # noqa: ASYNC110 - sockets tell nobody
                    await asyncio.sleep(_TICK)
