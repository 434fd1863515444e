"""Connects to an API server through an HTTP proxy.

Source: RFC 9110, 9.3.6 (``CONNECT``).
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from dataclasses import dataclass, field
from typing import TypeVar, cast
from urllib.parse import unquote, urlsplit

ProtocolT = TypeVar("ProtocolT", bound=asyncio.Protocol)

_LONGEST_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy.

    Attributes:
        host: Name or address.
        port: The TCP port.
        tls: How to reach the proxy itself; ``None`` for plain HTTP.
        authorization: The value of ``Proxy-Authorization``, if the proxy requires it.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str) -> Proxy:
        """The proxy with this URL.

        Raises:
            ValueError: The scheme is not ``http`` or ``https``, or the URL has no host.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"a proxy is `http://HOST:PORT` or `https://HOST:PORT`, found a `{parts.scheme}` one")
        secure = parts.scheme == "https"
        authorization = None
        if parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = "Basic " + base64.b64encode(pair.encode()).decode()
        tls = ssl.create_default_context() if secure else None
        return cls(parts.hostname, parts.port or (443 if secure else 80), tls, authorization)


class Tunnel(asyncio.Protocol):
    """A connection to a proxy that becomes a connection to the server behind it."""

    def __init__(self) -> None:
        """Wait for a transport."""
        self._transport: asyncio.Transport | None = None
        self._head = b""
        self._answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def through(
        self, proxy: Proxy, target: str, protocol: ProtocolT, tls: ssl.SSLContext | None, name: str | None
    ) -> ProtocolT:
        """Connect a protocol to ``target`` (host and port), with TLS inside of the tunnel.

        Raises:
            OSError: The proxy refused, or the connection broke.
        """
        transport = cast("asyncio.Transport", self._transport)
        try:
            transport.write(_connect(target, proxy))
            await self._ask(proxy, target)
            if tls is not None:
                inside = await asyncio.get_running_loop().start_tls(transport, protocol, tls, server_hostname=name)
                protocol.connection_made(cast("asyncio.BaseTransport", inside))
            else:
                transport.set_protocol(protocol)
                protocol.connection_made(transport)
        except BaseException:
            transport.abort()
            raise
        return protocol

    async def _ask(self, proxy: Proxy, target: str) -> None:
        line = (await self._answered).split(b"\r\n", 1)[0].decode("latin-1")
        code = line.split(" ")[1:2]
        if code != ["200"]:
            raise ConnectionError(f"the proxy `{proxy.host}:{proxy.port}` does not connect to `{target}`: {line}")

    # -- for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when the connection to the proxy is made."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called with a part of the proxy's answer. The server behind it sends nothing before a request."""
        self._head += data
        if b"\r\n\r\n" in self._head or len(self._head) > _LONGEST_HEAD:
            self._answer(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the proxy closed the connection."""
        self._answer(exc or ConnectionError("the proxy closed the connection"))

    def _answer(self, error: Exception | None) -> None:
        if self._answered.done():
            return
        if error is None:
            self._answered.set_result(self._head)
        else:
            self._answered.set_exception(error)


def _connect(target: str, proxy: Proxy) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
