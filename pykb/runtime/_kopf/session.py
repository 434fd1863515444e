"""HTTP sessions for kopf's vault. kopf's own requests for handlers use them."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import aiohttp
import kopf

from pykb.runtime.client.connection import Call
from pykb.runtime.client.headers import environment_proxy, request_headers
from pykb.runtime.client.server import host_of
from pykb.runtime.client.sockets import SocketSet
from pykb.runtime.client.tls import tls_context
from pykb.runtime.client.transport import RequestObserver, RequestRecord
from pykb.runtime.election.fence import check_fence
from pykb.runtime.login import Credentials


def new_session(credentials: Credentials, *, observer: RequestObserver | None = None) -> aiohttp.ClientSession:
    """Make a session that is authenticated at the API server.

    Args:
        credentials: The server's URL, and how to log in.
        observer: Called for each request, like the observer of a transport.
    """

    async def complete(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if request.method != "GET":
            check_fence()
        if credentials.tls_server_name:
            request.server_hostname = credentials.tls_server_name
        return await observed(request, handler)

    async def observed(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if observer is None:
            return await handler(request)
        loop = asyncio.get_running_loop()
        started, code = loop.time(), 0
        try:
            response = await handler(request)
            code = response.status
        finally:
            observer(RequestRecord(request.method, host, code, loop.time() - started))
        return response

    host = host_of(credentials.server)
    plain = credentials.server.startswith("http://")
    return aiohttp.ClientSession(
        connector=_Connector(ssl=True if plain else tls_context(credentials)),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=request_headers(Call("GET", "/"), credentials),
        proxy=credentials.proxy_url or environment_proxy(credentials.server),
        middlewares=(complete,),
    )


def kopf_session(credentials: Credentials, session: aiohttp.ClientSession) -> kopf.AiohttpSession:
    """Make a session for the vault."""
    return kopf.AiohttpSession(
        server=credentials.server,
        aiohttp_session=session,
        expiration=credentials.expiration,
        default_namespace=credentials.namespace or None,
    )


class _Connector(aiohttp.TCPConnector):
    """A connector whose close waits for its sockets."""

    def __init__(self, **options: Any) -> None:
        """Take the options of :class:`aiohttp.TCPConnector`. The number of connections is not limited."""
        self._sockets = SocketSet()
        super().__init__(limit=0, socket_factory=self._open, **options)

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close every connection and wait until the sockets are closed."""
        await super().close(abort_ssl=abort_ssl)
        await self._sockets.wait_closed()

    def _open(self, address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, *_ = address
        return self._sockets.open(family, kind, protocol)
