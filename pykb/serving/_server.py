"""One server: it listens, does the TLS handshake, and passes each connection to its protocol.

Addresses to listen on are as Go writes them: ``:8081``, ``127.0.0.1:8081``, ``[::1]:8081``; ``0`` for nowhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any

from pykb.client.clock import Clock, SystemClock
from pykb.client.ending import abort, end_tasks
from pykb.diagnostics.codes.runtime import CANNOT_LISTEN
from pykb.serving._connections import BODY, Connection, Connections, Limits, ServerProtocol
from pykb.serving._message import Handler

logger = logging.getLogger(__name__)

GOODBYE = timedelta(milliseconds=250)
"""How long a client may take for the TLS shutdown after its answer."""

BACKLOG = 1024
"""How many connections the system queues. In a flood, clients wait there and are not refused."""

AT_ONCE = 16
"""How many connections are accepted before other tasks run: far fewer than may be incomplete."""

PAUSE = timedelta(seconds=1)
"""The pause after the system had no file descriptor or memory for a connection."""


@dataclass(frozen=True, slots=True)
class BindAddress:
    """The address of a server. It listens on all interfaces if the host is ``None``."""

    host: str | None
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return self.host is not None and ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @classmethod
    def parse(cls, text: str) -> BindAddress | None:
        """Parse an address. ``None`` means that the server is off (``0`` or empty).

        Raises:
            ValueError: The text is not an address.
        """
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError(
                f"`{text}` is not an address to listen on; expected `:8081`, `127.0.0.1:8081` or `0` for none"
            )
        return cls(host.removeprefix("[").removesuffix("]") or None, int(port))


class HttpServer:
    """Serves requests at one address until cancelled."""

    def __init__(
        self,
        name: str,
        address: BindAddress,
        handler: Handler,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        remedy: str = "",
        drain: timedelta = timedelta(seconds=2),
        limits: Limits | None = None,
        body_limit: int = BODY,
        clock: Clock | None = None,
    ) -> None:
        """Make a server.

        Args:
            name: The name of the server in messages.
            address: The address that it listens on.
            handler: Answers the requests.
            tls: Returns the present TLS context for each connection. ``None`` means plain HTTP.
            remedy: What the user can do if it cannot listen. By default: set another address by the
                flag named after the server.
            drain: How long running requests may take to finish at the end.
            limits: The limits of its connections.
            body_limit: The maximum size of a request's body in bytes.
            clock: The clock for deadlines of connections.
        """
        self.name = name
        self.address = address
        self.port = address.port
        """The port. If it was 0, the real port once the server listens."""
        self._tls = tls
        self._remedy = remedy or f"choose another address: `--{name}-bind-address`, or `0` for none"
        self._clock: Clock = clock or SystemClock()
        self._connections = Connections(name, limits or Limits(), self._clock)
        self._opening: set[asyncio.Task[None]] = set()
        self._handler = handler
        self._body_limit = body_limit
        self._drain = drain
        self._open_ones: set[ServerProtocol] = set()
        self._listening = asyncio.Event()

    async def listening(self) -> None:
        """Wait until requests are accepted."""
        await self._listening.wait()

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            EnvironmentProblem: The address cannot be bound.
        """
        try:
            with contextlib.ExitStack() as stack:
                listeners = [stack.enter_context(each) for each in self._listen()]
                self.port = listeners[0].getsockname()[1]
                self._listening.set()
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._connections.watch())
                    for each in listeners:
                        tasks.create_task(self._accept(each))
        finally:
            await end_tasks(*self._opening)
            await self._finish()

    async def _finish(self) -> None:
        """Finish running requests within the time limit, and close every connection."""
        protocols = tuple(self._open_ones)
        connections = _sockets(protocols)
        for protocol in protocols:
            protocol.close_when_answered()
        running = [protocol.task for protocol in protocols if protocol.task is not None]
        if running:
            await asyncio.wait(running, timeout=self._drain.total_seconds())
            await end_tasks(*running)
        await _closed(connections)

    def check(self) -> None:
        """Check that it could listen now.

        Raises:
            EnvironmentProblem: The address is in use, or cannot be bound.
        """
        for listener in self._listen():
            listener.close()

    def _listen(self) -> list[socket.socket]:
        host, port = self.address.host, self.address.port
        try:
            return _listeners(host, port)
        except OSError as error:
            raise CANNOT_LISTEN.problem(
                f"the {self.name} server cannot listen on `{host or ''}:{port}`: {error.strerror or error}",
                self._remedy,
            ) from error

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            await _readable(listener)
            with contextlib.suppress(BlockingIOError):
                for _ in range(AT_ONCE):
                    await self._connections.room()
                    await self._accept_one(listener)

    async def _accept_one(self, listener: socket.socket) -> None:
        try:
            accepted, _ = listener.accept()
        except (BlockingIOError, InterruptedError):
            raise
        except ConnectionError:  # the client has closed the connection already
            return
        except OSError as error:
            logger.warning("cannot accept", extra={"server": self.name, "error": error.strerror or str(error)})
            self._connections.evict()
            await self._clock.sleep(PAUSE)
            return
        accepted.setblocking(False)
        connection = self._connections.add()
        opening = asyncio.create_task(self._open(accepted, connection), name=f"{self.name} connection")
        connection.cut = opening.cancel
        self._opening.add(opening)
        opening.add_done_callback(partial(self._opened, accepted, connection))

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        """Do the TLS handshake, then answer requests.

        Clients send at once. For a client that does not, nothing is made that takes time or memory.
        """
        await _readable(accepted)
        protocol = ServerProtocol(
            self._handler, self._connections, connection, body_limit=self._body_limit, open_ones=self._open_ones
        )
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: protocol, accepted, ssl=self._tls() if self._tls else None)

    def _opened(self, accepted: socket.socket, connection: Connection, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        # A client without TLS is not logged: anybody can cause this.
        if opening.cancelled() or opening.exception() is not None:
            self._connections.remove(connection)
            accepted.close()


async def _readable(open_one: socket.socket) -> None:
    """Wait until there is something to read, or to accept."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(open_one, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(open_one)


def _sockets(protocols: Iterable[ServerProtocol]) -> list[tuple[asyncio.Transport, socket.socket]]:
    """The open connections with their sockets, which a transport drops when it closes."""
    transports = [protocol.transport for protocol in protocols if protocol.transport is not None]
    found = ((transport, transport.get_extra_info("socket")) for transport in transports)
    return [(transport, open_one) for transport, open_one in found if open_one is not None]


async def _closed(connections: list[tuple[asyncio.Transport, socket.socket]]) -> None:
    """Wait until closing connections are closed. Abort those that take too long.

    A TLS shutdown has two steps. If the event loop ended between them, sockets would be left to the
    garbage collector.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + GOODBYE.total_seconds()
    # There is no event for this.
    while any(open_one.fileno() >= 0 for _, open_one in connections) and clock() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    for transport, _ in connections:
        abort(transport)
    await asyncio.sleep(0)


def _listeners(host: str | None, port: int) -> list[socket.socket]:
    """Listening sockets: one for each address of a host. Without a host, on every interface."""
    if host is None:
        if socket.has_dualstack_ipv6():
            try:
                return [_listener(socket.AF_INET6, ("::", port), dualstack=True)]
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise
                # IPv6 is compiled in but disabled on this host.
        return [_listener(socket.AF_INET, ("", port))]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = list(dict.fromkeys((family, address) for family, *_, address in found))
    if port == 0:  # each would get a different port
        addresses = sorted(addresses, key=lambda each: each[0] != socket.AF_INET)[:1]
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(_listener(family, address)) for family, address in addresses]
        stack.pop_all()
    return made


def _listener(family: socket.AddressFamily, address: tuple[Any, ...], *, dualstack: bool = False) -> socket.socket:
    made = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=dualstack)
    made.setblocking(False)
    return made
