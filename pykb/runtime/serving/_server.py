"""One server: it listens, shakes hands, and hands each connection to its protocol."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CANNOT_LISTEN
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.serving._connections import Connection, Connections, Limits
from pykb.runtime.serving._message import Handler
from pykb.runtime.serving._protocol import BODY, ServerProtocol
from pykb.runtime.serving.bind import BindAddress

logger = logging.getLogger(__name__)

GOODBYE = timedelta(milliseconds=250)
"""What a client gets to take leave of a connection by TLS, once it has its answer."""

BACKLOG = 1024
"""How many connections wait with the system to be accepted; in a flood clients wait there, and are not turned away."""

AT_ONCE = 16
"""How many connections are accepted before the others have their turn: far fewer than may be incomplete."""

PAUSE = timedelta(seconds=1)
"""After the system had no file descriptor or memory for a connection."""


class HttpServer:
    """Has requests at one address answered, until cancelled."""

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
        """Remember what to serve.

        Args:
            name: What the server is called in messages.
            address: Where it listens.
            handler: What answers.
            tls: Gives the present context for each connection; plain HTTP when ``None``.
            remedy: What to do when it cannot listen; to give another address by the flag named after the server if
                empty.
            drain: How long running requests may take at the end.
            limits: What it keeps at once.
            body_limit: Bytes of a request's body.
            clock: What deadlines of connections go by.
        """
        self.name = name
        self.address = address
        self.port = address.port
        """The real port once it listens, where 0 was asked for."""
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
            EnvironmentProblem: The address cannot be listened on.
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
            for task in self._opening:
                task.cancel()
            await asyncio.gather(*self._opening, return_exceptions=True)
            await self._finish()

    async def _finish(self) -> None:
        """Have what runs answered within the time there is, and close every connection."""
        protocols = tuple(self._open_ones)
        connections = _sockets(protocols)
        for protocol in protocols:
            protocol.close_when_answered()
        running = [protocol.task for protocol in protocols if protocol.task is not None]
        if running:
            await asyncio.wait(running, timeout=self._drain.total_seconds())
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        await _closed(connections)

    def _listen(self) -> list[socket.socket]:
        host, port = self.address.host, self.address.port
        try:
            return _listeners(host, port)
        except OSError as error:
            raise EnvironmentProblem(
                CANNOT_LISTEN.at(
                    None,
                    f"the {self.name} server cannot listen on `{host or ''}:{port}`: {error.strerror or error}",
                    help=(self._remedy,),
                )
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
        except ConnectionError:  # the client has gone already
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
        """Shake hands, and have requests answered from then on.

        Clients send at once. For those that do not, nothing is made that takes time or memory.
        """
        await _readable(accepted)
        self._connections.begun(connection)
        protocol = ServerProtocol(
            self._handler, self._connections, connection, body_limit=self._body_limit, open_ones=self._open_ones
        )
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, accepted, ssl=self._tls() if self._tls else None
        )
        connection.cut = transport.abort

    def _opened(self, accepted: socket.socket, connection: Connection, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        # That somebody does not speak TLS is not worth a line: anybody can.
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
    """The open connections, each with its socket, which its transport forgets when it closes."""
    transports = [protocol.transport for protocol in protocols if protocol.transport is not None]
    found = ((transport, transport.get_extra_info("socket")) for transport in transports)
    return [(transport, open_one) for transport, open_one in found if open_one is not None]


async def _closed(connections: list[tuple[asyncio.Transport, socket.socket]]) -> None:
    """Wait until connections that were told to close have done so; those that take long are cut.

    TLS takes leave in two steps; an event loop that ended between them would leave sockets to the garbage collector.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + GOODBYE.total_seconds()
    # Nobody is told of the moment.
    while any(open_one.fileno() >= 0 for _, open_one in connections) and clock() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    for transport, _ in connections:
        transport.abort()
    await asyncio.sleep(0)


def _listeners(host: str | None, port: int) -> list[socket.socket]:
    """Sockets that listen: one of each address of a host, one on every interface when no host is said."""
    if host is None:
        if socket.has_dualstack_ipv6():
            try:
                return [_listener(socket.AF_INET6, ("::", port), dualstack=True)]
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise
                # IPv6 is compiled in, and switched off on this host.
        return [_listener(socket.AF_INET, ("", port))]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = list(dict.fromkeys((family, address) for family, *_, address in found))
    if port == 0:  # each would have a port of its own
        addresses = sorted(addresses, key=lambda each: each[0] != socket.AF_INET)[:1]
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(_listener(family, address)) for family, address in addresses]
        stack.pop_all()
    return made


def _listener(family: socket.AddressFamily, address: tuple[Any, ...], *, dualstack: bool = False) -> socket.socket:
    made = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=dualstack)
    made.setblocking(False)
    return made
