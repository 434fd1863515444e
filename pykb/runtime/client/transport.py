"""HTTP to an API server: bounded connections, renewal after 401, retries of what may be retried, typed errors."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
import orjson
from yarl import URL

from pykb.diagnostics.codes.login import CLUSTER_UNREACHABLE
from pykb.runtime.client.connection import Call
from pykb.runtime.client.headers import environment_proxy, request_headers
from pykb.runtime.client.sockets import Connector
from pykb.runtime.client.tls import tls_context
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.errors import ApiError, ServerUnreachable, Unauthorized, error_from_status
from pykb.runtime.fence import check_fence
from pykb.runtime.login.credentials import Credentials, CredentialSource

logger = logging.getLogger(__name__)

# How much a stream may hold before its reader has taken it.
_READ_BUFFER = 1 << 18
_KNOWN_WARNINGS = 256


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """Limits of a transport.

    Attributes:
        max_connections: How many requests may be on the way at once; watches do not count.
        timeout: How long to wait for a whole answer. The server itself gives up after a minute.
        connect_timeout: How long to wait for a connection.
        attempts: How often to try what may be tried again.
        first_backoff: The pause before the second attempt; doubled for each further one, with jitter.
        max_backoff: The longest pause, also where the server asks for a longer one.
        idle_timeout: How long a stream may be silent before it counts as broken (bookmarks come once a minute).
    """

    max_connections: int = 32
    timeout: timedelta = timedelta(seconds=60)
    connect_timeout: timedelta = timedelta(seconds=10)
    attempts: int = 6
    first_backoff: timedelta = timedelta(milliseconds=100)
    max_backoff: timedelta = timedelta(seconds=10)
    idle_timeout: timedelta = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What a metric of requests counts: one attempt. ``code`` is 0 when there was no answer."""

    method: str
    host: str
    code: int
    seconds: float


RequestObserver = Callable[[RequestRecord], None]


class Transport:
    """A :class:`~pykb.runtime.client.connection.Connection` over HTTP/1.1 with TLS.

    A TLS context is built once for each set of certificates; a new token costs nothing.
    """

    def __init__(
        self,
        source: CredentialSource,
        options: TransportOptions | None = None,
        *,
        clock: Clock | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        """Remember how to connect; nothing is opened before the first request.

        Args:
            source: The credentials.
            options: The limits.
            clock: What to wait with between attempts.
            observer: Is told about each attempt; see :attr:`observer`.
        """
        self._source = source
        self._options = options or TransportOptions()
        self._clock = clock or SystemClock()
        self.observer = observer
        """Is called after each attempt, in the event loop; it must neither block nor raise."""
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._streams: set[aiohttp.ClientResponse] = set()
        self._slots = asyncio.Semaphore(self._options.max_connections)
        self._tls: tuple[Credentials, ssl.SSLContext | bool] | None = None
        self._server = _Server("")
        self._renewal = asyncio.Lock()
        self._warnings: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def source(self) -> CredentialSource:
        """Where the credentials come from."""
        return self._source

    async def close(self) -> None:
        """Close every connection; the transport cannot be used any more."""
        self._closed = True
        for response in self._streams:
            # Closing the connection would not wake the one who reads from it.
            response.content.set_exception(aiohttp.ClientConnectionError("this client is closed"))
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def request(self, call: Call) -> bytes:
        """Do a request; see :class:`~pykb.runtime.client.connection.Connection`."""
        timeout = call.timeout or self._options.timeout
        limits = aiohttp.ClientTimeout(
            total=timeout.total_seconds(), sock_connect=self._options.connect_timeout.total_seconds()
        )
        response = await self._attempts(call, limits, slots=self._slots)
        return await response.read()  # already read: this is its memory

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Do a request and read its lines; see :class:`~pykb.runtime.client.connection.Connection`."""
        limits = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._options.connect_timeout.total_seconds(),
            sock_read=self._options.idle_timeout.total_seconds(),
        )
        response = await self._attempts(call, limits, slots=None)
        self._streams.add(response)
        try:
            yield self._lines(response)
        finally:
            self._streams.discard(response)
            response.close()

    async def _lines(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        # Not StreamReader.readline: it refuses lines longer than its limit, and an object may be long.
        rest: list[bytes] = []
        try:
            async for chunk in response.content.iter_any():
                if b"\n" not in chunk:
                    rest.append(chunk)
                    continue
                *lines, tail = chunk.split(b"\n")
                lines[0] = b"".join([*rest, lines[0]])
                rest = [tail]
                for line in lines:
                    if line:
                        yield line
        except (aiohttp.ClientError, TimeoutError, OSError, RuntimeError) as error:  # aiohttp: "Connection closed."
            raise self._unreachable(str(response.url.origin()), "", error, connected=True) from error

    async def _attempts(
        self, call: Call, limits: aiohttp.ClientTimeout, *, slots: asyncio.Semaphore | None
    ) -> aiohttp.ClientResponse:
        renewed = False
        attempt = 0
        while True:
            credentials = await self._source.current()
            attempt += 1
            try:
                async with slots or nullcontext():
                    return await self._attempt(call, credentials, limits, read_body=slots is not None)
            except Unauthorized:
                if renewed:
                    raise
                renewed = True
                await self._renew(credentials)
            except (ApiError, ServerUnreachable) as error:
                if attempt >= self._options.attempts or not _may_repeat(call, error):
                    raise
                await self._clock.sleep(self._pause(attempt, error))

    async def _renew(self, refused: Credentials) -> None:
        async with self._renewal:
            # Many requests may have been refused at once: one renewal is enough.
            if await self._source.current() == refused:
                await self._source.refresh()

    def _pause(self, attempt: int, error: ApiError | ServerUnreachable) -> timedelta:
        asked = error.retry_after if isinstance(error, ApiError) else None
        factor = 2.0 ** (attempt - 1) * random.uniform(1.0, 1.5)  # noqa: S311 - jitter
        backoff = self._options.first_backoff * factor
        return min(max(asked or timedelta(), backoff), self._options.max_backoff)

    async def _attempt(
        self, call: Call, credentials: Credentials, limits: aiohttp.ClientTimeout, *, read_body: bool
    ) -> aiohttp.ClientResponse:
        if self._server.url != credentials.server:
            self._server = _Server(credentials.server)
        if call.method != "GET":
            check_fence()
        started = self._clock.now()
        code = 0
        try:
            response = await self._open_session().request(
                call.method,
                URL(f"{credentials.server}{call.path}{_query(call.query)}", encoded=True),
                data=call.body,
                headers=request_headers(call, credentials),
                timeout=limits,
                ssl=self._tls_for(credentials),
                proxy=credentials.proxy_url or self._server.proxy,
                server_hostname=credentials.tls_server_name,
                allow_redirects=False,
            )
            code = response.status
            self._note_warnings(response)
            if code >= 400:
                raise await _refusal(response)
            if read_body:
                await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            connected = not isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError))
            raise self._unreachable(credentials.server, credentials.origin, error, connected=connected) from error
        finally:
            if self.observer is not None:
                seconds = self._clock.now() - started
                self.observer(RequestRecord(call.method, self._server.host, code, seconds))
        return response

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise RuntimeError("this client is closed")
        if self._session is None:
            # The semaphore bounds requests; a limit here would let watches use it up.
            self._session = aiohttp.ClientSession(
                connector=Connector(ttl_dns_cache=30),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_READ_BUFFER,
            )
        return self._session

    def _tls_for(self, credentials: Credentials) -> ssl.SSLContext | bool:
        if self._tls is None or not _same_tls(self._tls[0], credentials):
            plain = credentials.server.startswith("http://")
            self._tls = (credentials, True if plain else tls_context(credentials))
        return self._tls[1]

    def _note_warnings(self, response: aiohttp.ClientResponse) -> None:
        for header in response.headers.getall("Warning", ()):
            # RFC 7234, 5.5: `299 - "text"`, where a backslash quotes; other codes are between caches.
            text = re.match(r'299 \S+ "((?:[^"\\]|\\.)*)"', header)
            if text and header not in self._warnings and len(self._warnings) < _KNOWN_WARNINGS:
                self._warnings.add(header)
                logger.warning("the API server warns", extra={"warning": re.sub(r"\\(.)", r"\1", text[1])})

    def _unreachable(self, server: str, origin: str, error: BaseException, *, connected: bool) -> ServerUnreachable:
        cause = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        certificate = isinstance(error, (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError))
        help_text = (
            "check `certificate-authority` and `tls-server-name` in the kubeconfig"
            if certificate
            else "start it, for a control plane on this host: `pykb cluster up`; or use another kubeconfig"
        )
        diagnostic = CLUSTER_UNREACHABLE.at(
            None,
            f"the API server at `{server}` does not answer: {cause}",
            notes=(f"the server is that of {origin}",) if origin else (),
            help=(help_text,),
        )
        return ServerUnreachable(diagnostic, connected=connected)


class _Server:
    """What follows from a server's URL; found once, since reading the environment costs as much as a request."""

    __slots__ = ("host", "proxy", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.host = urlsplit(url).netloc
        self.proxy = environment_proxy(url) if url else None


@lru_cache(maxsize=256)
def _query(pairs: tuple[tuple[str, str], ...]) -> str:
    return f"?{urlencode(pairs)}" if pairs else ""


def _may_repeat(call: Call, error: ApiError | ServerUnreachable) -> bool:
    """Whether nothing can have been done yet, or doing it twice does no harm."""
    if isinstance(error, ServerUnreachable):
        return call.repeatable or not error.connected
    if error.status == 429 or (error.status >= 500 and error.retry_after is not None):
        # An eviction that a disruption budget forbids is a 429 too, but says so by a cause and not by a header.
        return not any(cause.reason == "DisruptionBudget" for cause in error.causes)
    return call.repeatable and error.status in (500, 502, 503, 504)


def _same_tls(left: Credentials, right: Credentials) -> bool:
    return left is right or (
        left.server == right.server
        and left.ca_data == right.ca_data
        and left.insecure == right.insecure
        and left.client_certificate == right.client_certificate
        and left.client_key == right.client_key
    )


async def _refusal(response: aiohttp.ClientResponse) -> ApiError:
    content = await response.read()
    body: Any
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = content.decode("utf-8", "replace")
    header = response.headers.get("Retry-After", "")
    retry_after = timedelta(seconds=int(header)) if header.isdigit() else None
    return error_from_status(response.status, body, retry_after=retry_after)
