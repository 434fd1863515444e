"""HTTP sessions for the engine, which knows paths and queries but neither credentials nor media types."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import orjson

from pykb.runtime.client.connection import Call
from pykb.runtime.client.headers import environment_proxy, request_headers
from pykb.runtime.client.listwatch import accepted
from pykb.runtime.client.server import host_of
from pykb.runtime.client.sockets import Connector
from pykb.runtime.client.tls import tls_context
from pykb.runtime.client.transport import RequestObserver, RequestRecord, refusal
from pykb.runtime.fence import check_fence
from pykb.runtime.login.credentials import Credentials


class _Response(aiohttp.ClientResponse):
    """Parses with orjson: the list of a large kind is the most expensive thing the engine does."""

    async def json(self, **_: Any) -> Any:
        return orjson.loads(await self.read())


def new_session(
    credentials: Credentials,
    *,
    metadata_only: bool = False,
    observer: RequestObserver | None = None,
    raise_forbidden: bool = False,
) -> aiohttp.ClientSession:
    """A session that is admitted by the API server. The number of connections is that of the streams.

    Args:
        credentials: The server's URL, and how to log in.
        metadata_only: Whether to ask for metadata in place of whole objects.
        observer: Is told about each request, as that of a transport.
        raise_forbidden: Whether a 403 raises :class:`~pykb.runtime.errors.Forbidden`. kopf tries it again for a while
            without a word that could be acted on.
    """

    async def complete(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if request.method != "GET":
            check_fence()
        if credentials.tls_server_name:
            request.server_hostname = credentials.tls_server_name
        if metadata_only:
            watch = request.url.query.get("watch") == "true"
            request.headers["Accept"] = accepted(metadata_only=True, watch=watch)
        response = await observed(request, handler)
        if raise_forbidden and response.status == 403:
            raise await refusal(response)
        return response

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
        connector=Connector(ssl=True if plain else tls_context(credentials)),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=request_headers(Call("GET", "/"), credentials),
        proxy=credentials.proxy_url or environment_proxy(credentials.server),
        response_class=_Response,
        middlewares=(complete,),
    )
