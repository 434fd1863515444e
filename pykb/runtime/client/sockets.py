"""The sockets of a session, so that closing it can wait until they are closed too."""

from __future__ import annotations

import asyncio
import socket
import weakref
from contextlib import suppress
from typing import Any

_TICK = 0.001


class OpenSockets:
    """Opens sockets for aiohttp's connector and knows which of them are still open.

    When aiohttp's ``close`` returns, it has asked for the end of each connection; under TLS, or in a handshake that was
    given up, the socket itself is closed some turns of the event loop later. A program that ends its loop at once would
    leave it open, with a ``ResourceWarning``.
    """

    def __init__(self) -> None:
        """Know of no socket yet."""
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def __call__(self, address: tuple[Any, ...]) -> socket.socket:
        """Open a socket for an address as :func:`socket.getaddrinfo` gives it."""
        family, kind, protocol, *_ = address
        opened = socket.socket(family=family, type=kind, proto=protocol)
        opened.setblocking(False)
        self._sockets.add(opened)
        return opened

    async def wait_closed(self, *, seconds: float) -> None:
        """Return once every socket is closed, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(each.fileno() != -1 for each in self._sockets):  # noqa: ASYNC110 - sockets tell nobody
                    await asyncio.sleep(_TICK)
