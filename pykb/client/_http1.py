"""HTTP/1.1 connections. Some carry one request after another, others carry one stream.

A connection takes a request as bytes and returns an :class:`Answer`. It has no redirects, cookies
or sessions, because an API server uses none of them. aiohttp's client supports all of that and
takes more than twice the CPU time for the same request. An operator spends most of its time on
requests. httptools does the parsing, and the event loop does TLS.

Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

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
            self._transport.abort()

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
