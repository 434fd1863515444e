"""Connections to one API server: a pool for requests, one connection for each stream, and WebSockets for commands.

They may go through an HTTP proxy. Source: RFC 9110, 9.3.6 (``CONNECT``).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import socket
import ssl
import sys
import weakref
import zlib
from asyncio.sslproto import _SSLProtocolTransport
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

import orjson
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from pykb.client.connection import ExecResult
from pykb.client.ending import abort
from pykb.client.errors import error_from_status

# HTTP/1.1 connections. Some carry one request after another, others carry one stream.
#
# A connection takes a request as bytes and returns an `Answer`. It has no redirects, cookies
# or sessions, because an API server uses none of them. aiohttp's client supports all of that and
# takes more than twice the CPU time for the same request. An operator spends most of its time on
# requests. httptools does the parsing, and the event loop does TLS.
#
# Source: RFC 9112.


_GZIP = zlib.MAX_WBITS | 16
_UNREAD = 1 << 18
"""Bytes of a stream to buffer for its reader before reading from the server pauses."""


class ConnectionLost(ConnectionError):  # noqa: N818 - what happened
    """The connection ended, or sent invalid data, before the answer was complete."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server.

    Attributes:
        status: The status code.
        headers: Names (in lower case) and values, in order.
        body: The whole body.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def values(self, name: str) -> list[str]:
        """The values of a header. ``name`` must be in lower case."""
        return [value for each, value in self.headers if each == name]


class Http1Connection(asyncio.Protocol):
    """One connection, as a protocol of the event loop."""

    def __init__(self) -> None:
        """Wait for a transport."""
        self.idle_since = 0.0
        """When its last answer was complete, on the loop's clock."""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended."""
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._waiting: asyncio.Future[Answer] | None = None
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._in_body = False
        self._reusable = True

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent."""
        return self._reusable and self._waiting is None

    async def exchange(self, request: bytes) -> Answer:
        """Send a request and wait for the whole answer. If it does not come, the connection cannot be used again.

        Raises:
            ConnectionLost: There was no answer, or it could not be parsed.
        """
        if self._transport is None or not self.reusable:
            raise ConnectionLost("the connection was closed before the request was sent")
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(request)
            return await self._waiting
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiting = None

    def abort(self) -> None:
        """Close the connection at once."""
        self._reusable = False
        if self._transport is not None:
            abort(self._transport)

    # -- for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when the connection is made."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called with a part of an answer."""
        if not self._expects_more():
            self.abort()  # an answer without a request, such as 408 to an idle connection
            return
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(ConnectionLost(f"the answer is not HTTP/1.1: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection is lost."""
        self._reusable = False
        if self._in_body and exc is None and not {"content-length", "transfer-encoding"} & dict(self._headers).keys():
            self.on_message_complete()  # RFC 9112, 6.3: such a body ends with the connection
        self._fail(ConnectionLost(str(exc) if exc else "the server closed the connection"))
        self.closed.set_result(None)

    # -- for the parser

    def on_message_begin(self) -> None:
        """Called at the first byte of an answer."""
        self._headers, self._body, self._in_body = [], [], False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called with a header."""
        self._headers.append((name.decode("latin-1").lower(), value.decode("utf-8", "replace")))

    def on_headers_complete(self) -> None:
        """Called at the end of the headers."""
        self._in_body = True

    def on_body(self, data: bytes) -> None:
        """Called with a part of the body."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Called at the end of an answer."""
        self._in_body = False
        status = self._parser.get_status_code()
        if status < 200:
            return  # an interim answer: another one follows
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        self._reusable = self._reusable and self._parser.should_keep_alive()
        if ("content-encoding", "gzip") in self._headers:
            try:
                body = zlib.decompress(body, _GZIP)
            except zlib.error as error:
                self._fail(ConnectionLost(f"the answer cannot be unpacked: {error}"))
                return
        self._answer(body)

    # -- inside

    def _expects_more(self) -> bool:
        return self._waiting is not None

    def _answer(self, body: bytes) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Answer(self._parser.get_status_code(), tuple(self._headers), body))

    def _fail(self, error: ConnectionLost) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


class Http1Stream(Http1Connection):
    """A connection for one request. Its answer is read while it arrives."""

    def __init__(self) -> None:
        """Wait for a transport."""
        super().__init__()
        self._unread = 0
        self._complete = False
        self._lost: ConnectionLost | None = None
        self._more: asyncio.Future[None] | None = None
        self._waiting_since = 0.0
        self._watchdog: asyncio.TimerHandle | None = None

    async def body(self, patience: float | None) -> AsyncIterator[bytes]:
        """Yield the body that follows the head returned by :meth:`exchange`.

        Args:
            patience: How many seconds to wait for the next data. ``None`` waits until the connection breaks.

        Raises:
            ConnectionLost: The connection ended before the body did.
            TimeoutError: No data came for ``patience`` seconds.
        """
        loop = asyncio.get_running_loop()
        if patience is not None:
            self._watch_silence(loop, loop.time() + patience, patience)
        try:
            while True:
                if self._body:
                    data, self._body, self._unread = b"".join(self._body), [], 0
                    if self._transport is not None:
                        self._transport.resume_reading()
                    yield data
                elif self._complete:
                    return
                elif self._lost is not None:
                    raise self._lost
                else:
                    self._waiting_since = loop.time()
                    self._more = loop.create_future()
                    await self._more
        finally:
            if self._watchdog is not None:
                self._watchdog.cancel()

    # -- for the parser

    def on_headers_complete(self) -> None:
        """Called at the end of the headers, which completes the answer."""
        super().on_headers_complete()
        if self._parser.get_status_code() >= 200:
            self._answer(b"")

    def on_body(self, data: bytes) -> None:
        """Called with a part of the body."""
        super().on_body(data)
        self._unread += len(data)
        if self._unread > _UNREAD and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        """Called at the end of the stream."""
        if self._parser.get_status_code() >= 200:
            self._complete = True
            self._wake()

    # -- inside

    def _expects_more(self) -> bool:
        return not self._complete

    def _fail(self, error: ConnectionLost) -> None:
        super()._fail(error)
        self._lost = self._lost or error
        self._wake()

    def _watch_silence(self, loop: asyncio.AbstractEventLoop, deadline: float, patience: float) -> None:
        self._watchdog = loop.call_at(deadline, self._check_silence, loop, patience)

    def _check_silence(self, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        """End a wait that has lasted too long. One timer for the whole stream: a timer for each wait costs more."""
        is_waiting = self._more is not None and not self._more.done()
        deadline = (self._waiting_since if is_waiting else loop.time()) + patience
        if self._more is not None and is_waiting and deadline <= loop.time():
            self._more.set_exception(TimeoutError())
            return
        if not self.closed.done():
            self._watch_silence(loop, deadline, patience)

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)


class Http1Upgrade(Http1Stream):
    """A connection that another protocol takes over after the answer 101. :meth:`body` yields its bytes."""

    _switched = False

    def send(self, data: bytes) -> None:
        """Send bytes of the other protocol."""
        if self._transport is not None:
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        """Called with a part of an answer, or of the other protocol."""
        if self._switched:
            self.on_body(data)
            return
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._switched = True
            self._answer(b"")
            if rest := data[upgrade.args[0] :]:
                self.on_body(rest)
        except HttpParserError as error:
            self._fail(ConnectionLost(f"the answer is not HTTP/1.1: {error}"))
            self.abort()


ProtocolT = TypeVar("ProtocolT", bound=asyncio.Protocol)

_LONGEST_HEAD = 1 << 16
_CLOSES_WRONGLY = sys.version_info < (3, 11, 8) or (3, 12) <= sys.version_info < (3, 12, 2)
"""After an error of the TLS inside, asyncio closes the outer transport by a method that raises a TypeError in these
versions of Python. The connection would stay open (python/cpython#113214)."""
_TICK = 0.001
_PATIENCE = 1.0
"""Seconds to wait for the last sockets when closing."""
_KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""Seconds until the first probe of a silent connection, seconds between two, and how many fail before it is lost."""

ConnectionT = TypeVar("ConnectionT", bound=Http1Connection)
StreamT = TypeVar("StreamT", bound=Http1Stream)


class ConnectFailed(ConnectionError):  # noqa: N818 - what happened
    """The connection failed, so nothing was sent. The cause says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer of a connection, and how to reach it.

    Attributes:
        host: Name or address.
        port: The TCP port.
        tls: ``None`` for plain HTTP.
        server_hostname: The name that the certificate must contain.
        proxy: The proxy that connects to it.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: Proxy | None = None


class Pool:
    """Connections to one peer at a time. When the peer or its certificates change, old connections are closed."""

    def __init__(self, connect_timeout: float, *, trusted_for: float = 30.0) -> None:
        """Make a pool without connections.

        Args:
            connect_timeout: How many seconds connecting may take, including TLS.
            trusted_for: Seconds after which an idle connection is not used again. A NAT or a load balancer may have
                dropped it silently.
        """
        self._trusted_for = trusted_for
        self._connect_timeout = connect_timeout
        self._peer: Peer | None = None
        self._idle: list[Http1Connection] = []
        self._open: set[Http1Connection] = set()
        self._connecting: set[asyncio.Timeout] = set()
        self._sockets = SocketSet()

    async def exchange(self, peer: Peer, request: bytes) -> Answer:
        """Send a request, on the connection used last or on a new one.

        Raises:
            ConnectFailed: The connection could not be made.
            ConnectionLost: The connection broke before the answer was complete.
        """
        if peer != self._peer:
            self._close_idle()
            self._peer = peer
        connection = self._take() or await self._connect(peer, Http1Connection)
        answer = await connection.exchange(request)
        if connection.reusable and peer == self._peer:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.abort()
        return answer

    async def open(self, peer: Peer, request: bytes, kind: type[StreamT]) -> tuple[StreamT, Answer]:
        """Send a request on its own connection. Returns the head of the answer and the stream of its body.

        Raises:
            ConnectFailed: The connection could not be made.
            ConnectionLost: The connection broke before the head was complete.
        """
        stream = await self._connect(peer, kind)
        return stream, await stream.exchange(request)

    async def close(self) -> None:
        """Close every connection, including those in use or being made, and wait until the sockets are closed."""
        self._idle = []
        for limit in (each for each in self._connecting if not each.expired()):
            limit.reschedule(asyncio.get_running_loop().time())
        for connection in tuple(self._open):
            connection.abort()
        await self._sockets.wait_closed()

    def _take(self) -> Http1Connection | None:
        oldest = asyncio.get_running_loop().time() - self._trusted_for
        while self._idle and (self._idle[0].idle_since < oldest or not self._idle[0].reusable):
            self._idle.pop(0).abort()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().abort()

    async def _connect(self, peer: Peer, kind: type[ConnectionT]) -> ConnectionT:
        limit = asyncio.timeout(self._connect_timeout)
        self._connecting.add(limit)
        try:
            async with limit:
                connection = await self._made(peer, kind)
        except (OSError, TimeoutError, ValueError) as error:  # ValueError: a host that is not a valid DNS name
            raise ConnectFailed(str(error)) from error
        finally:
            self._connecting.discard(limit)
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def _made(self, peer: Peer, kind: type[ConnectionT]) -> ConnectionT:
        loop = asyncio.get_running_loop()
        name = (peer.server_hostname or peer.host) if peer.tls else None
        proxy = peer.proxy
        if proxy is None:
            connected = await self._reach(peer.host, peer.port)
            _, connection = await loop.create_connection(kind, sock=connected, ssl=peer.tls, server_hostname=name)
            return connection
        connected = await self._reach(proxy.host, proxy.port)
        host = f"[{peer.host}]" if ":" in peer.host else peer.host
        return await _through(proxy, connected, f"{host}:{peer.port}", kind(), peer.tls, name)

    async def _reach(self, host: str, port: int) -> socket.socket:
        # Not by create_connection: it would hide the socket of a handshake that is given up.
        loop = asyncio.get_running_loop()
        problem: OSError | None = None
        for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            opened = self._sockets.open(family, kind, protocol)
            try:
                await loop.sock_connect(opened, address)
            except OSError as error:
                opened.close()
                problem = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise problem or OSError(f"`{host}` has no address")


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


async def _through(
    proxy: Proxy,
    connected: socket.socket,
    target: str,
    protocol: ProtocolT,
    tls: ssl.SSLContext | None,
    name: str | None,
) -> ProtocolT:
    """Connect a protocol to ``target`` (host and port) through a proxy, with TLS inside of the tunnel.

    Raises:
        OSError: The proxy refused, or the connection broke.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(_LONGEST_HEAD)
    hostname = proxy.host if proxy.tls else None
    transport, _ = await loop.create_connection(
        lambda: asyncio.StreamReaderProtocol(reader), sock=connected, ssl=proxy.tls, server_hostname=hostname
    )
    if _CLOSES_WRONGLY and isinstance(transport, _SSLProtocolTransport):
        transport._force_close = lambda _: abort(transport)  # type: ignore[attr-defined] # noqa: SLF001
    try:
        transport.write(_connect(target, proxy))
        await _check_connected(reader, proxy, target)
        inside: asyncio.BaseTransport | None = transport
        if tls is not None:
            inside = await loop.start_tls(transport, protocol, tls, server_hostname=name)
        else:
            transport.set_protocol(protocol)
        protocol.connection_made(cast("asyncio.BaseTransport", inside))
    except BaseException:
        abort(transport)
        raise
    return protocol


async def _check_connected(reader: asyncio.StreamReader, proxy: Proxy, target: str) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")  # the server behind it sends nothing before a request
    except asyncio.IncompleteReadError:
        raise ConnectionError("the proxy closed the connection") from None
    except asyncio.LimitOverrunError as error:
        head = await reader.read(error.consumed)
    line = head.split(b"\r\n", 1)[0].decode("latin-1")
    if line.split(" ")[1:2] != ["200"]:
        raise ConnectionError(f"the proxy `{proxy.host}:{proxy.port}` does not connect to `{target}`: {line}")


def _connect(target: str, proxy: Proxy) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


class SocketSet:
    """The open sockets of a client, held by weak references.

    Closing a connection does not wait for its socket. Under TLS, or in a handshake that was given
    up, the socket is closed some turns of the event loop later. A program that ends its loop at
    once would leave it open, with a ``ResourceWarning``.
    """

    def __init__(self) -> None:
        """Start without sockets."""
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def open(self, family: int, kind: int, protocol: int) -> socket.socket:
        """Make a new socket for an event loop."""
        opened = socket.socket(family=family, type=kind, proto=protocol)
        opened.setblocking(False)
        # A log may be silent for hours. The kernel finds out whether the server is still there.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE.items():
            if hasattr(socket, name):
                opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._sockets.add(opened)
        return opened

    async def wait_closed(self) -> None:
        """Wait for a limited time until all are closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                while any(each.fileno() != -1 for each in self._sockets):  # noqa: ASYNC110 - sockets tell nobody
                    await asyncio.sleep(_TICK)


# Runs a command in a container, over a WebSocket with the channels of Kubernetes.
#
# Sources: RFC 6455; https://kubernetes.io/docs/concepts/architecture/api-server-streaming (`v5.channel.k8s.io`). A
# message begins with the number of its channel.


PROTOCOL = "v5.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE_CHANNEL = 0, 1, 2, 3, 255
_CONTINUATION, _BINARY, _CLOSE, _PING, _PONG = 0, 2, 8, 9, 10
_LONGEST = 2**20
"""Bytes of one message. The API server sends at most 32 KiB."""
_PIECE = 2**15
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


def handshake() -> dict[str, str]:
    """Headers that ask for a WebSocket."""
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
        "Sec-WebSocket-Protocol": PROTOCOL,
    }


def check_handshake(asked: Mapping[str, str], answer: Answer) -> None:
    """Check that the server has agreed.

    Raises:
        ConnectionLost: It has not.
    """
    # RFC 6455 prescribes SHA-1. It only shows that the server knows WebSockets.
    digest = hashlib.sha1(f"{asked['Sec-WebSocket-Key']}{_MAGIC}".encode(), usedforsecurity=False).digest()
    agreed = (answer.values("sec-websocket-accept"), answer.values("sec-websocket-protocol"))
    if answer.status != 101 or agreed != ([base64.b64encode(digest).decode()], [PROTOCOL]):
        raise ConnectionLost(f"the server does not speak `{PROTOCOL}`, which API servers do since Kubernetes 1.30")


async def run_command(stream: Http1Upgrade, stdin: bytes | None, limit: int) -> ExecResult:
    """Send the input, and gather what the command prints until it ends.

    Args:
        stream: The connection after the handshake.
        stdin: What the command reads.
        limit: How many bytes to keep of each output.

    Raises:
        ConnectionLost: The connection ended before the command, or sent invalid data.
        ApiError: The command could not be run.
    """
    if stdin is not None:
        for start in range(0, len(stdin), _PIECE):
            stream.send(_frame(_BINARY, bytes([_STDIN]) + stdin[start : start + _PIECE]))
        stream.send(_frame(_BINARY, bytes([_CLOSE_CHANNEL, _STDIN])))
    outputs = {_STDOUT: bytearray(), _STDERR: bytearray()}
    truncated = False
    async for message in _messages(stream):
        channel, content = message[0], message[1:]
        if channel in outputs:
            kept = outputs[channel]
            truncated = truncated or len(kept) + len(content) > limit
            kept += content[: limit - len(kept)]
        elif channel == _ERROR and content:
            code = _exit_code(orjson.loads(content))
            return ExecResult(code, bytes(outputs[_STDOUT]), bytes(outputs[_STDERR]), truncated)
    raise ConnectionLost("the connection was closed before the command ended")


def _exit_code(status: dict[str, Any]) -> int:
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        causes = (status.get("details") or {}).get("causes") or ()
        codes = [cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"]
        if codes and codes[0].isdecimal():
            return int(codes[0])
    # A kubelet leaves out the kind.
    raise error_from_status(status.get("code") or 500, status | {"kind": "Status"})


def _frame(kind: int, payload: bytes) -> bytes:
    """A whole message of a client, which masks it (RFC 6455, 5.3)."""
    length = len(payload)
    # Pieces are shorter than 64 KiB, so no length needs eight bytes.
    size = bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + length.to_bytes(2)
    mask = secrets.token_bytes(4)
    pattern = (mask * (length // 4 + 1))[:length]
    masked = (int.from_bytes(payload) ^ int.from_bytes(pattern)).to_bytes(length)
    return bytes([0x80 | kind]) + size + mask + masked


async def _messages(stream: Http1Upgrade) -> AsyncIterator[bytes]:
    """Yield binary messages that are not empty, until the server closes. Pings are answered."""
    buffer = bytearray()
    message = bytearray()
    async for chunk in stream.body(None):
        buffer += chunk
        while (found := _take(buffer)) is not None:
            kind, is_last, payload = found
            if kind == _CLOSE:
                return
            if kind == _PING:
                stream.send(_frame(_PONG, payload[:125]))
            elif kind in (_BINARY, _CONTINUATION):
                message += payload
                if len(message) > _LONGEST:
                    raise ConnectionLost("the server sent a message that is too long")
                if is_last and message:
                    yield bytes(message)
                if is_last:
                    message.clear()
            elif kind != _PONG:
                raise ConnectionLost(f"the server sent an invalid frame of kind {kind}")


def _take(buffer: bytearray) -> tuple[int, bool, bytes] | None:
    """Take a frame from the buffer, if it is whole: its kind, whether it ends its message, and its content."""
    if len(buffer) < 2:
        return None
    kind, length, start = buffer[0] & 0x0F, buffer[1], 2
    if length > 127:
        raise ConnectionLost("the server sent a masked frame")
    if length > 125:
        start = 4 if length == 126 else 10
        if len(buffer) < start:
            return None
        length = int.from_bytes(buffer[2:start])
    if length > _LONGEST:
        raise ConnectionLost("the server sent a frame that is too long")
    if len(buffer) < start + length:
        return None
    is_last, payload = bool(buffer[0] & 0x80), bytes(buffer[start : start + length])
    del buffer[: start + length]
    return kind, is_last, payload
