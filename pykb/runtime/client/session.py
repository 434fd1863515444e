"""HTTP sessions for the engine, which knows paths and queries but neither credentials nor media types."""

from __future__ import annotations

from typing import Any

import aiohttp
import orjson

from pykb.runtime.client.connection import Call
from pykb.runtime.client.headers import environment_proxy, request_headers
from pykb.runtime.client.listwatch import accepted
from pykb.runtime.client.sockets import Connector
from pykb.runtime.client.tls import tls_context
from pykb.runtime.fence import check_fence
from pykb.runtime.login.credentials import Credentials


class _Response(aiohttp.ClientResponse):
    """Parses with orjson: the list of a large kind is the most expensive thing the engine does."""

    async def json(self, **_: Any) -> Any:
        return orjson.loads(await self.read())


def new_session(credentials: Credentials, *, metadata_only: bool = False) -> aiohttp.ClientSession:
    """A session that is admitted by the API server. The number of connections is that of the streams."""

    async def complete(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if request.method != "GET":
            check_fence()
        if credentials.tls_server_name:
            request.server_hostname = credentials.tls_server_name
        if metadata_only:
            watch = request.url.query.get("watch") == "true"
            request.headers["Accept"] = accepted(metadata_only=True, watch=watch)
        return await handler(request)

    plain = credentials.server.startswith("http://")
    return aiohttp.ClientSession(
        connector=Connector(ssl=True if plain else tls_context(credentials)),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=request_headers(Call("GET", "/"), credentials),
        proxy=credentials.proxy_url or environment_proxy(credentials.server),
        response_class=_Response,
        middlewares=(complete,),
    )
