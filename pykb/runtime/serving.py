"""The manager's small HTTP servers: probes and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from datetime import timedelta

from aiohttp import web
from aiohttp.typedefs import Middleware

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CANNOT_LISTEN
from pykb.runtime.bind import BindAddress
from pykb.runtime.health import Checks
from pykb.runtime.metrics import Metrics

GOODBYE = timedelta(milliseconds=250)
"""What a client gets to take leave of a connection by TLS, once it has its answer."""


class HttpServer:
    """Serves one application at one address, until cancelled."""

    def __init__(
        self,
        name: str,
        address: BindAddress,
        app: web.Application,
        *,
        tls: ssl.SSLContext | None = None,
        remedy: str = "",
        drain: timedelta = timedelta(seconds=2),
    ) -> None:
        """Remember what to serve.

        Args:
            name: What the server is called in messages.
            address: Where it listens.
            app: What answers.
            tls: With what certificate; plain HTTP when ``None``.
            remedy: What to do when it cannot listen; to give another address by the flag named after the server if
                empty.
            drain: How long running requests may take at the end.
        """
        self.name = name
        self.address = address
        self.port = address.port
        """The real port once it listens, where 0 was asked for."""
        self._app = app
        self._tls = tls
        self._remedy = remedy or f"choose another address: `--{name}-bind-address`, or `0` for none"
        self._drain = drain
        self._listening = asyncio.Event()

    async def listening(self) -> None:
        """Wait until requests are accepted."""
        await self._listening.wait()

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            EnvironmentProblem: The address cannot be listened on.
        """
        drain = self._drain.total_seconds()
        runner = web.AppRunner(self._app, access_log=None, handle_signals=False, shutdown_timeout=drain)
        await runner.setup()
        try:
            try:
                await self._site(runner).start()
            except OSError as error:
                where = f"{self.address.host or ''}:{self.address.port}"
                raise EnvironmentProblem(
                    CANNOT_LISTEN.at(
                        None,
                        f"the {self.name} server cannot listen on `{where}`: {error.strerror or error}",
                        help=(self._remedy,),
                    )
                ) from error
            sockets = runner.addresses
            self.port = sockets[0][1] if sockets else self.address.port
            self._listening.set()
            await asyncio.get_running_loop().create_future()
        finally:
            connections = _connections(runner)
            await runner.cleanup()
            await _closed(connections)

    def _site(self, runner: web.AppRunner) -> web.BaseSite:
        if self.address.port == 0:
            # asyncio would take one free port for IPv4 and another one for IPv6.
            return web.SockSite(runner, _free_port(self.address.host), ssl_context=self._tls)
        return web.TCPSite(runner, self.address.host, self.address.port, ssl_context=self._tls)


def _connections(runner: web.AppRunner) -> list[tuple[asyncio.Transport, socket.socket]]:
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


def _free_port(host: str | None) -> socket.socket:
    """A socket at a free port; on every interface, by both protocols where there are two, when no host is said."""
    if host is not None:
        return socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):  # compiled in, and switched off on this host
            return socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def health_app(*checks: Checks) -> web.Application:
    """The probes."""
    app = web.Application()
    for each in checks:
        each.add_routes(app.router)
    return app


def metrics_app(metrics: Metrics, *, middlewares: Sequence[Middleware] = ()) -> web.Application:
    """``/metrics``."""

    async def scrape(_: web.Request) -> web.Response:
        text, content_type = metrics.render()
        return web.Response(body=text, headers={"Content-Type": content_type})

    app = web.Application(middlewares=middlewares)
    app.router.add_get("/metrics", scrape)
    return app
