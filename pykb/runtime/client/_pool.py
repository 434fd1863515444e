"""Connections to one API server: a pool for requests, and one connection for each stream."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import TypeVar

from pykb.runtime.client._http1 import Answer, Http1Connection, Http1Stream
from pykb.runtime.client._proxy import Proxy, Tunnel
from pykb.runtime.client.sockets import SocketSet

_IDLE = 30.0
"""Seconds after which an idle connection is not used again. A NAT or a load balancer may have dropped it silently."""


ConnectionT = TypeVar("ConnectionT", bound=Http1Connection)


class ConnectFailed(ConnectionError):  # noqa: N818 - what happened
    """The connection failed, so nothing was sent. The cause says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer of a connection, and how to reach it.

    Attributes:
        host: Name or address.
        port: The TCP port.
        tls: ``None`` for plain HTTP.
        server_hostname: The name that the certificate must contain.
        proxy: The proxy that connects to it.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: Proxy | None = None


class Pool:
    """Connections to one peer at a time. When the peer or its certificates change, old connections are closed."""

    def __init__(self, connect_timeout: float) -> None:
        """Make a pool without connections.

        Args:
            connect_timeout: How many seconds connecting may take, including TLS.
        """
        self._connect_timeout = connect_timeout
        self._peer: Peer | None = None
        self._idle: list[Http1Connection] = []
        self._open: set[Http1Connection] = set()
        self._connecting: set[asyncio.Timeout] = set()
        self._sockets = SocketSet()

    async def exchange(self, peer: Peer, request: bytes) -> Answer:
        """Send a request, on the connection used last or on a new one.

        Raises:
            ConnectFailed: The connection could not be made.
            ConnectionLost: The connection broke before the answer was complete.
        """
        if peer != self._peer:
            self._close_idle()
            self._peer = peer
        connection = self._take() or await self._connect(peer, Http1Connection)
        answer = await connection.exchange(request)
        if connection.reusable and peer == self._peer:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.abort()
        return answer

    async def open(self, peer: Peer, request: bytes) -> tuple[Http1Stream, Answer]:
        """Send a request on its own connection. Returns the head of the answer and the stream of its body.

        Raises:
            ConnectFailed: The connection could not be made.
            ConnectionLost: The connection broke before the head was complete.
        """
        stream = await self._connect(peer, Http1Stream)
        return stream, await stream.exchange(request)

    async def close(self) -> None:
        """Close every connection, including those in use or being made, and wait until the sockets are closed."""
        self._idle = []
        for limit in (each for each in self._connecting if not each.expired()):
            limit.reschedule(asyncio.get_running_loop().time())
        for connection in tuple(self._open):
            connection.abort()
        await self._sockets.wait_closed()

    def _take(self) -> Http1Connection | None:
        oldest = asyncio.get_running_loop().time() - _IDLE
        while self._idle and (self._idle[0].idle_since < oldest or not self._idle[0].reusable):
            self._idle.pop(0).abort()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().abort()

    async def _connect(self, peer: Peer, kind: type[ConnectionT]) -> ConnectionT:
        limit = asyncio.timeout(self._connect_timeout)
        self._connecting.add(limit)
        try:
            async with limit:
                connection = await self._made(peer, kind)
        except (OSError, TimeoutError, ValueError) as error:  # ValueError: a host that is not a valid DNS name
            raise ConnectFailed(str(error)) from error
        finally:
            self._connecting.discard(limit)
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def _made(self, peer: Peer, kind: type[ConnectionT]) -> ConnectionT:
        loop = asyncio.get_running_loop()
        name = (peer.server_hostname or peer.host) if peer.tls else None
        proxy = peer.proxy
        if proxy is None:
            connected = await self._reach(peer.host, peer.port)
            _, connection = await loop.create_connection(kind, sock=connected, ssl=peer.tls, server_hostname=name)
            return connection
        connected = await self._reach(proxy.host, proxy.port)
        _, tunnel = await loop.create_connection(
            Tunnel, sock=connected, ssl=proxy.tls, server_hostname=proxy.host if proxy.tls else None
        )
        host = f"[{peer.host}]" if ":" in peer.host else peer.host
        return await tunnel.through(proxy, f"{host}:{peer.port}", kind(), peer.tls, name)

    async def _reach(self, host: str, port: int) -> socket.socket:
        # Not by create_connection: it would hide the socket of a handshake that is given up.
        loop = asyncio.get_running_loop()
        problem: OSError | None = None
        for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            opened = self._sockets.open(family, kind, protocol)
            try:
                await loop.sock_connect(opened, address)
            except OSError as error:
                opened.close()
                problem = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise problem or OSError(f"`{host}` has no address")
