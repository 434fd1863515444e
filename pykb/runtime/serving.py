"""The manager's small HTTP servers: probes and metrics."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence

from aiohttp import web
from aiohttp.typedefs import Middleware

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CANNOT_LISTEN
from pykb.runtime.bind import BindAddress
from pykb.runtime.health import Checks
from pykb.runtime.metrics import Metrics


class HttpServer:
    """Serves one application at one address, until cancelled."""

    def __init__(
        self, name: str, address: BindAddress, app: web.Application, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.name = name
        self.address = address
        self.port = address.port
        """The real port once it listens, where 0 was asked for."""
        self._app = app
        self._tls = tls
        self._listening = asyncio.Event()

    async def listening(self) -> None:
        """Wait until requests are accepted."""
        await self._listening.wait()

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            EnvironmentProblem: The address cannot be listened on.
        """
        runner = web.AppRunner(self._app, access_log=None, handle_signals=False, shutdown_timeout=2.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self.address.host, self.address.port, ssl_context=self._tls)
            try:
                await site.start()
            except OSError as error:
                where = f"{self.address.host or ''}:{self.address.port}"
                raise EnvironmentProblem(
                    CANNOT_LISTEN.at(
                        None,
                        f"the {self.name} server cannot listen on `{where}`: {error.strerror or error}",
                        help=(f"choose another address: `--{self.name}-bind-address`, or `0` for none",),
                    )
                ) from error
            sockets = runner.addresses
            self.port = sockets[0][1] if sockets else self.address.port
            self._listening.set()
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()


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
