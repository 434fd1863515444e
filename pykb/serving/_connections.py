"""The connections of a server: which of them it closes if there are too many, and how it answers on one.

Anyone who reaches a port can open connections, and each takes memory before its peer is known.
Therefore a server limits their number, the bytes of incomplete requests, and the time. At a limit,
it closes the connection that has waited for the longest time: for its client to send anything, the
rest of a request, or the next one. A normal request takes milliseconds, so it is answered, and a
flood only closes its own connections. New connections wait in the system's queue only if all
connections have requests that are being served.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from typing import NoReturn, cast
from urllib.parse import parse_qs, unquote

from httptools import HttpParserError, HttpParserInvalidURLError, HttpParserUpgrade, HttpRequestParser, parse_url

from pykb.client.clock import Clock
from pykb.client.ending import abort
from pykb.serving._message import Handler, HttpError, HttpRequest, HttpResponse, Refusal

logger = logging.getLogger(__name__)

RECEIVE = timedelta(seconds=32)
"""The time from the first byte of a connection or request to the end of the request. controller-runtime's deadline."""

IDLE = timedelta(seconds=90)
"""The time between two requests on the same connection. controller-runtime's deadline."""

WAIT = timedelta(milliseconds=10)
"""How often to check for room while there is none."""

SWEEP = timedelta(seconds=2)
"""How often deadlines are checked."""

REPORT_AT_MOST_EVERY = timedelta(minutes=1)
"""How often closed connections are logged."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server's connections.

    Attributes:
        connections: The number of connections.
        incomplete: How many of them may have sent nothing, or a part of a request.
        idle: How many of them may wait for the next request, or close. An API server keeps 25 idle
            connections to a webhook.
        received: Bytes of incomplete requests over all connections.
    """

    connections: int = 1024
    incomplete: int = 256
    idle: int = 256
    received: int = 1024 * 1024


FEW_CLIENTS = Limits(connections=32, incomplete=16, received=64 * 1024)
"""For a server that a few engineers use."""


class Connection:
    """One connection, as :class:`Connections` sees it."""

    __slots__ = ("cut", "held", "place", "since")

    def __init__(self) -> None:
        self.cut: Callable[[], object] = _nothing
        """Closes it at once. Set by its protocol."""
        self.since = 0.0
        """When its present state began."""
        self.held = 0
        """Bytes of its incomplete request."""
        self.place: dict[Connection, None] | None = None


class Connections:
    """The connections of one server."""

    def __init__(self, name: str, limits: Limits, clock: Clock) -> None:
        """Start without connections. ``name`` is the server's name, for the log."""
        self._name = name
        self._limits = limits
        self._clock = clock
        # Each in the order of `since`.
        self._receiving: dict[Connection, None] = {}
        self._serving: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._received = 0
        self._reported_at: float | None = None

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._receiving) + len(self._serving) + len(self._idle)

    def add(self) -> Connection:
        """Add a newly accepted connection."""
        connection = Connection()
        self._receive(connection)
        return connection

    def received(self, connection: Connection, size: int) -> None:
        """Record that bytes of a request have arrived."""
        if connection.place is None:
            return
        if not connection.held:
            self._receive(connection)
        connection.held += size
        self._received += size
        while self._received > self._limits.received:
            # Not those that hold almost nothing: closing them would not help.
            share = self._received / len(self._receiving) / 2
            self._cut(
                next(each for each in self._receiving if each.held >= share), "too many bytes of incomplete requests"
            )

    def complete(self, connection: Connection) -> None:
        """Record that a request is complete. From now on, the server determines the time."""
        if connection.place is not None:
            self._put(connection, self._serving)

    def answered(self, connection: Connection) -> None:
        """Record that the request was answered or refused."""
        if connection.place is not None:
            self._put(connection, self._idle)
            if len(self._idle) > self._limits.idle:
                self._cut(next(iter(self._idle)), "too many idle connections")

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._put(connection, None)
        connection.cut = _nothing  # it may refer to the connection: free the memory at once

    async def room(self) -> None:
        """Wait until there is room for one more. Close another connection if necessary."""
        while len(self) >= self._limits.connections and not self.evict():
            await self._clock.sleep(WAIT)

    def evict(self) -> bool:
        """Close the connection that has waited for its client longest. Return whether there was one."""
        longest = [next(iter(place)) for place in (self._receiving, self._idle) if place]
        if longest:
            self._cut(min(longest, key=lambda connection: connection.since), "too many connections")
        return bool(longest)

    async def watch(self) -> None:
        """Close connections that take too long, until cancelled."""
        while True:
            await self._clock.sleep(SWEEP)
            for place, limit in ((self._receiving, RECEIVE), (self._idle, IDLE)):
                latest = self._clock.now() - limit.total_seconds()
                while place and (first := next(iter(place))).since <= latest:
                    self._cut(first)

    def _receive(self, connection: Connection) -> None:
        self._put(connection, self._receiving)
        if len(self._receiving) > self._limits.incomplete:
            self._cut(next(iter(self._receiving)), "too many incomplete requests")

    def _cut(self, connection: Connection, reason: str = "") -> None:
        cut = connection.cut
        self.remove(connection)
        cut()
        now = self._clock.now()
        if reason and (self._reported_at is None or now - self._reported_at >= REPORT_AT_MOST_EVERY.total_seconds()):
            self._reported_at = now
            logger.warning("connections cut", extra={"server": self._name, "reason": reason})

    def _put(self, connection: Connection, place: dict[Connection, None] | None) -> None:
        if connection.place is not None:
            del connection.place[connection]
            self._received -= connection.held
            connection.held = 0
        connection.place = place
        connection.since = self._clock.now()
        if place is not None:
            place[connection] = None


def _nothing() -> None:
    """Do nothing: there is no connection to close."""


# One connection of a server. A request is read whole, answered, and limited in size and time.
#
# The clients are API servers, Prometheus, kubelets and people with curl. None of them sends a body
# without its length, or a second request before the answer to the first. Both are refused, so there
# is nothing that a client could pile up. A client of another kind fails at its first request.
#
# - A body of unknown length (`Transfer-Encoding: chunked`) gets 411. Go's client gives the length
#   of a body that it has in memory, and the API server has reviews in memory. TLS ends at this
#   server, so no proxy in between (the API server's tunnels, a sidecar) can change the encoding.
#   Without chunks there are no trailers.
# - Bytes that arrive while a request is served or its answer is not read get 400 and end the
#   connection. Reading could pause instead, but then nobody would see that a client has gone, and TLS
#   would buffer 256 KiB per connection.
#
# Source: RFC 9112.


HEADERS = 64
"""The maximum number of header fields. The API server, the kubelet and Prometheus send about ten."""

HEAD = 64 * 1024
"""The maximum size of a request's head in bytes."""

BODY = 4096
"""The default maximum size of a request's body in bytes. A scrape has no body, and a log level is a line."""

LARGE = 64 * 1024
"""A connection is closed after a body of more bytes. TLS would keep buffers of up to 512 KiB for it."""

TOO_EARLY: Refusal = (400, "send the next request after the answer\n")
TOO_LARGE_HEAD: Refusal = (431, f"a request may have {HEADERS} headers, and these {HEAD} bytes\n")

LINGER = 1.0
"""How many seconds a client whose request is refused may take to read the answer and to close."""

UNREAD = 30.0
"""How many seconds a client may take to read parts of an answer before it gets the next one."""

SHORT = 256
"""The maximum length of a cached URL in bytes, and of a path in the log in characters."""


class _Stop(Exception):  # noqa: N818 - not an error of ours
    """Stops the parser."""


class ServerProtocol(asyncio.Protocol):
    """One connection, as a protocol of the event loop."""

    def __init__(
        self,
        handler: Handler,
        connections: Connections,
        connection: Connection,
        *,
        body_limit: int,
        open_ones: set[ServerProtocol],
    ) -> None:
        """Wait for a transport.

        Args:
            handler: Answers the requests.
            connections: Tracks the state of all connections.
            connection: The state of this connection.
            body_limit: The maximum size of a body in bytes.
            open_ones: Holds this connection while it is open.
        """
        self.transport: asyncio.Transport | None = None
        self.task: asyncio.Task[None] | None = None
        """The task that answers the request."""
        self._handler = handler
        self._connections = connections
        self._connection = connection
        self._body_limit = body_limit
        self._open_ones = open_ones
        self._parser: HttpRequestParser | None = HttpRequestParser(self)
        self._deaf = False  # further data is not read
        self._closes = False  # with the next answer
        self._is_unread = False  # the client has not read the last answer
        self._read: asyncio.Future[None] | None = None  # ends when it has
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._fields = 0
        self._field_size = 0
        self._head_size = 0
        self._in_head = True
        self._body: list[bytes] = []
        self._refused: Refusal | None = None
        self._is_whole = False

    def close_when_answered(self) -> None:
        """Finish the running answer, then close."""
        self._deaf = self._closes = True
        if self.task is None and self.transport is not None:
            self.transport.close()

    # -- for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when the connection is made."""
        self.transport = cast("asyncio.Transport", transport)
        if self._connection.place is None:  # it was cut meanwhile
            abort(self.transport)
            return
        self._connection.cut = partial(abort, self.transport)
        self._open_ones.add(self)

    def data_received(self, data: bytes) -> None:
        """Called with a part of a request."""
        if self._deaf or self._parser is None:
            return
        if self.task is not None or self._is_unread:
            self._refuse(TOO_EARLY)
            return
        self._connections.received(self._connection, len(data))
        if self.transport is None or self.transport.is_closing():  # it has just been cut
            return
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._deaf = self._closes = True  # to another protocol: the request is answered without an upgrade
        except HttpParserError:
            if self._in_head or self._is_whole:
                self._refuse(self._refused or (400, "this is not an HTTP/1.1 request\n"))
                return
            self._deaf = self._closes = True  # it is answered without its body
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > HEAD:
                self._refuse(TOO_LARGE_HEAD)
        elif self._is_whole or self._refused is not None:
            self._serve()

    def pause_writing(self) -> None:
        """Called when the client does not read."""
        self._is_unread = True

    def resume_writing(self) -> None:
        """Called when the client reads again."""
        self._is_unread = False
        if self._read is not None and not self._read.done():
            self._read.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection is lost. The answer is not needed any more."""
        del exc
        self._connections.remove(self._connection)
        self._open_ones.discard(self)
        self._deaf = True
        self._parser = None  # they refer to each other: free the memory at once
        if self.task is not None:
            self.task.cancel()
            self.task = None  # so does one that has not begun, by the traceback of its cancellation

    # -- for the parser, which stops at an error

    def on_message_begin(self) -> None:
        """Called at the first byte of a request."""
        if self._is_whole:
            self._stop(TOO_EARLY)

    def on_url(self, url: bytes) -> None:
        """Called with a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called with a header."""
        self._fields += 1
        self._field_size += len(name) + len(value)
        if self._fields > HEADERS or self._field_size > HEAD:
            self._stop(TOO_LARGE_HEAD)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """Called at the end of the head."""
        self._in_head = False
        if "transfer-encoding" in self._headers:
            self._stop((411, "a request with a body must have a Content-Length\n"))
        elif int(self._headers.get("content-length", "0")) > self._body_limit:
            self._stop((413, f"the body may have {self._body_limit} bytes\n"))
        if self._headers.get("expect", "").lower() == "100-continue" and self.transport is not None:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Called with a part of the body."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Called at the end of a request."""
        self._is_whole = True
        self._closes = self._closes or not cast("HttpRequestParser", self._parser).should_keep_alive()

    def _stop(self, refusal: Refusal) -> NoReturn:
        self._refused = refusal
        raise _Stop

    # -- inside

    def _serve(self) -> None:
        """Answer a request that is complete, or whose body is not read."""
        parser = cast("HttpRequestParser", self._parser)
        try:
            path, query = _known_target(self._url) if len(self._url) <= SHORT else _target(self._url)
        except (ValueError, HttpParserInvalidURLError):
            self._refuse((400, "this is not a URL\n"))
            return
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        self._closes = self._closes or len(body) > LARGE
        method = parser.get_method().decode("ascii")
        request = HttpRequest(method, path, query, self._headers, body, self.transport, self._refused)
        self._connections.complete(self._connection)
        self.task = asyncio.get_running_loop().create_task(self._answer(request))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer invalid data and close the connection."""
        self._deaf = True
        self._connections.answered(self._connection)
        if self.task is not None:
            self.task.cancel()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(HttpError(*refusal).response.encoded(closes=True))
            self.transport.close()
            self._end_soon()

    def _end_soon(self) -> None:
        """Do not wait for the TLS shutdown, or for the rest of a body, for which TLS has buffers."""
        if self.transport is not None:
            asyncio.get_running_loop().call_later(LINGER, abort, self.transport)

    async def _answer(self, request: HttpRequest) -> None:
        answer = b""
        try:
            whole, parts = await self._answer_to(request)
            if parts is None:
                answer = whole
            else:
                await self._send(whole, parts, request)
        except asyncio.CancelledError:
            pass  # a task that ends so keeps its traceback, and with it the body
        finally:  # also after an error that ends the program
            self.task = None
            self._connections.answered(self._connection)
            if self.transport is not None and not self.transport.is_closing():
                self.transport.write(answer)
                if not self._closes:
                    self._begin()
                elif self._refused is None:
                    self.transport.close()
                else:  # the client may send the rest of the body before it reads the answer
                    self._end_soon()

    async def _send(self, head: bytes, parts: AsyncGenerator[bytes, None], request: HttpRequest) -> None:
        """Write an answer in parts, as fast as the client reads. An error cuts the connection: the body has no end."""
        transport = cast("asyncio.Transport", self.transport)
        transport.write(head)
        try:
            async with contextlib.aclosing(parts):
                async for part in parts:
                    transport.write(part)
                    if self._is_unread:
                        self._read = asyncio.get_running_loop().create_future()
                        await asyncio.wait([self._read], timeout=UNREAD)
                    if self._is_unread:
                        abort(transport)
                        return
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            logger.exception("request failed", extra={"path": request.path[:SHORT]})
            abort(transport)

    async def _answer_to(self, request: HttpRequest) -> tuple[bytes, AsyncGenerator[bytes, None] | None]:
        """Return the answer as bytes, and what follows in parts: 500 after any error, also in the answer itself."""
        has_body = request.method != "HEAD"
        try:
            try:
                response = await self._handler(request)
            except HttpError as error:
                response = error.response
            closes = self._closes or response.closes or response.parts is not None
            answer = response.encoded(closes=closes, has_body=has_body)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            self._closes = True
            raise
        except BaseException:  # extensions in Rust raise such errors
            logger.exception("request failed", extra={"path": request.path[:SHORT]})
            return HttpResponse.text("internal error\n", 500).encoded(closes=self._closes, has_body=has_body), None
        self._closes = closes
        return answer, response.parts if has_body else None


def _target(url: bytes) -> tuple[str, Mapping[str, list[str]]]:
    """Parse path and query.

    Raises:
        ValueError: The URL is invalid, or its query has too many fields.
    """
    parts = parse_url(url)
    query = (parts.query or b"").decode("latin-1")
    values = parse_qs(query, keep_blank_values=True, max_num_fields=HEADERS) if query else {}
    return unquote((parts.path or b"/").decode("latin-1")), values


_known_target = lru_cache(maxsize=256)(_target)
"""Cached, because clients request the same URLs repeatedly."""
