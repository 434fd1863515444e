"""The manager's small HTTP servers: probes and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CANNOT_LISTEN
from pykb.runtime.bind import BindAddress
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.connections import IDLE, Connection, Connections, Limits
from pykb.runtime.health import Checks
from pykb.runtime.metrics import Metrics

logger = logging.getLogger(__name__)

GOODBYE = timedelta(milliseconds=250)
"""What a client gets to take leave of a connection by TLS, once it has its answer."""

BACKLOG = 1024
"""How many connections wait with the system to be accepted; in a flood clients wait there, and are not turned away."""

AT_ONCE = 16
"""How many connections are accepted before the others have their turn: far fewer than may be incomplete."""

HEADERS = 64
"""Fields of a request. The API server, the kubelet and Prometheus send about ten; each may have 8190 bytes."""

PAUSE = timedelta(seconds=1)
"""After the system had no file descriptor or memory for a connection."""


class HttpServer:
    """Serves one application at one address, until cancelled."""

    def __init__(
        self,
        name: str,
        address: BindAddress,
        app: web.Application,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        remedy: str = "",
        drain: timedelta = timedelta(seconds=2),
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Remember what to serve.

        Args:
            name: What the server is called in messages.
            address: Where it listens.
            app: What answers.
            tls: Gives the present context for each connection; plain HTTP when ``None``.
            remedy: What to do when it cannot listen; to give another address by the flag named after the server if
                empty.
            drain: How long running requests may take at the end.
            limits: What it keeps at once.
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
        app.middlewares.insert(0, _note_progress)
        self._runner = web.AppRunner(
            app, handle_signals=False, handler_cancellation=True, shutdown_timeout=drain.total_seconds()
        )
        self._listening = asyncio.Event()

    async def listening(self) -> None:
        """Wait until requests are accepted."""
        await self._listening.wait()

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            EnvironmentProblem: The address cannot be listened on.
        """
        await self._runner.setup()
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
            connections = _open_ones(self._runner)
            for task in self._opening:
                task.cancel()
            await asyncio.gather(*self._opening, return_exceptions=True)
            await self._runner.cleanup()
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
        assert self._runner.server is not None  # noqa: S101 - it is set up
        handler = _Handler(self._runner.server, self._connections, connection)
        loop = asyncio.get_running_loop()
        tls = None if self._tls is None else self._tls()
        transport, _ = await loop.connect_accepted_socket(lambda: handler, accepted, ssl=tls)
        connection.cut = transport.abort

    def _opened(self, accepted: socket.socket, connection: Connection, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        # That somebody does not speak TLS is not worth a line: anybody can.
        if opening.cancelled() or opening.exception() is not None:
            self._connections.remove(connection)
            accepted.close()


class _Handler(web.RequestHandler):
    """aiohttp's side of a connection, which tells what arrives and when it is closed."""

    __slots__ = ("connection", "connections")

    def __init__(self, server: web.Server, connections: Connections, connection: Connection) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=IDLE.total_seconds(),
            max_headers=HEADERS,
            auto_decompress=False,
        )
        self.connections = connections
        self.connection = connection

    def data_received(self, data: bytes) -> None:
        self.connections.received(self.connection, len(data))
        super().data_received(data)

    def log_exception(self, *args: Any, **kw: Any) -> None:
        if not isinstance(kw.get("exc_info"), HttpProcessingError):  # who sends what is no HTTP fills no log
            super().log_exception(*args, **kw)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.connections.remove(self.connection)
        super().connection_lost(exc)


@web.middleware
async def _note_progress(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell how far a request is: complete, answered."""
    protocol = request.protocol
    if not isinstance(protocol, _Handler):
        return await handler(request)
    connections, connection, answered = protocol.connections, protocol.connection, False

    def complete() -> None:
        if not answered:  # what is left of a refused body comes later
            connections.complete(connection)

    request.content.on_eof(complete)
    try:
        return await handler(request)
    finally:
        answered = True
        connections.answered(connection)


async def _readable(open_one: socket.socket) -> None:
    """Wait until there is something to read, or to accept."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(open_one, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(open_one)


def _open_ones(runner: web.AppRunner) -> list[tuple[asyncio.Transport, socket.socket]]:
    """The open connections, each with its socket, which its transport forgets when it closes."""
    handlers = runner.server.connections if runner.server is not None else []
    transports = [handler.transport for handler in handlers if handler.transport is not None]
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


def health_app(*checks: Checks) -> web.Application:
    """The probes."""
    app = web.Application()
    for each in checks:
        each.add_routes(app.router)
    return app


def metrics_app(metrics: Metrics, middlewares: Sequence[Middleware] = ()) -> web.Application:
    """``/metrics``."""

    async def scrape(_: web.Request) -> web.Response:
        text, content_type = metrics.render()
        return web.Response(body=text, headers={"Content-Type": content_type})

    app = web.Application(middlewares=middlewares)
    app.router.add_get("/metrics", scrape)
    return app
