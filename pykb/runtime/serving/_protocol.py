"""One connection of a server. Requests are read whole, answered in order, and limited in size and time.

Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast
from urllib.parse import parse_qs, unquote

from httptools import HttpParserError, HttpParserInvalidURLError, HttpParserUpgrade, HttpRequestParser, parse_url

from pykb.runtime.serving._connections import Connection, Connections
from pykb.runtime.serving._message import Handler, HttpError, HttpRequest, HttpResponse

logger = logging.getLogger(__name__)

HEADERS = 64
"""The maximum number of header fields. The API server, the kubelet and Prometheus send about ten."""

HEAD = 64 * 1024
"""The maximum size of a request's head in bytes."""

BODY = 1024 * 1024
"""The default maximum size of a request's body in bytes."""

SHORT = 256
"""The maximum length of a cached URL in bytes."""


@dataclass(frozen=True, slots=True)
class _Asked:
    request: HttpRequest
    keep_alive: bool


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
        """The task that answers pending requests."""
        self._handler = handler
        self._connections = connections
        self._connection = connection
        self._body_limit = body_limit
        self._open_ones = open_ones
        self._parser: HttpRequestParser | None = HttpRequestParser(self)
        self._waiting: deque[_Asked] = deque()
        self._deaf = False  # further data is not read
        self._closes = False  # with the next answer
        self._stays = False  # the client reads the answer after it has sent the rest, within the time limit
        self._writable = asyncio.Event()
        self._writable.set()
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._fields = 0
        self._field_size = 0
        self._head_size = 0
        self._in_head = True
        self._body: list[bytes] = []
        self._body_size = 0

    def close_when_answered(self) -> None:
        """Finish the running answer, then close."""
        self._deaf = self._closes = True
        self._waiting.clear()
        if self.task is None and self.transport is not None:
            self.transport.close()

    # -- for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when the connection is made."""
        self.transport = cast("asyncio.Transport", transport)
        self._open_ones.add(self)

    def data_received(self, data: bytes) -> None:
        """Called with a part of a request."""
        self._connections.received(self._connection, len(data))
        if self._deaf or self._parser is None:
            return
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._deaf = self._closes = True  # to another protocol: the request is answered without an upgrade
        except HttpParserError:
            self._refuse(400, "this is not an HTTP/1.1 request\n")
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > HEAD:
                self._refuse(431, "the head of the request is too large\n")

    def pause_writing(self) -> None:
        """Called when the client does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Called when the client reads again."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection is lost. The answer is not needed any more."""
        del exc
        self._connections.remove(self._connection)
        self._open_ones.discard(self)
        self._deaf = True
        self._parser = None  # they refer to each other: free the memory at once
        self._waiting.clear()
        self._writable.set()
        if self.task is not None:
            self.task.cancel()

    # -- for the parser

    def on_message_begin(self) -> None:
        """Called at the first byte of a request."""
        self._begin()

    def on_url(self, url: bytes) -> None:
        """Called with a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called with a header."""
        self._fields += 1
        self._field_size += len(name) + len(value)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """Called at the end of the head."""
        self._in_head = False
        if self._fields > HEADERS or self._field_size > HEAD:
            self._refuse(431, f"a request may have {HEADERS} headers, and these {HEAD} bytes\n")
        elif int(self._headers.get("content-length", "0")) > self._body_limit:
            self._give_up_body()
        elif self._headers.get("expect", "").lower() == "100-continue" and self.transport is not None:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Called with a part of the body."""
        self._body_size += len(data)
        if self._body_size > self._body_limit:
            self._give_up_body()
        elif not self._deaf:
            self._body.append(data)

    def on_message_complete(self) -> None:
        """Called at the end of a request."""
        if not self._deaf:
            self._take(self._body[0] if len(self._body) == 1 else b"".join(self._body))

    # -- inside

    def _take(self, content: bytes | None) -> None:
        """Queue a request to be answered after earlier ones."""
        self._body = []
        parser = cast("HttpRequestParser", self._parser)
        try:
            path, query = _known_target(self._url) if len(self._url) <= SHORT else _target(self._url)
        except (ValueError, HttpParserInvalidURLError):
            self._refuse(400, "this is not a URL\n")
            return
        method = parser.get_method().decode("ascii")
        request = HttpRequest(method, path, query, self._headers, content, self.transport, self._body_limit)
        self._waiting.append(_Asked(request, parser.should_keep_alive()))
        self._connections.complete(self._connection)
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._answer_all())

    def _give_up_body(self) -> None:
        """Answer the request without its body, and read nothing more."""
        if not self._deaf:
            self._take(None)
            self._deaf = self._stays = self._closes = True

    def _refuse(self, status: int, text: str) -> None:
        """Answer invalid data, unless another answer is running, and close the connection."""
        if self._deaf:
            return
        self._deaf = self._closes = True
        if self.task is None and self.transport is not None:
            self.transport.write(HttpResponse.text(text, status).encoded(closes=True))
            self.transport.close()

    async def _answer_all(self) -> None:
        try:
            while self._waiting:
                await self._answer_next()
        except asyncio.CancelledError:
            self._closes = True
            raise
        finally:
            self.task = None  # not by a callback of the task: the next request may arrive first
            if self._closes and not self._stays and self.transport is not None:
                self.transport.close()

    async def _answer_next(self) -> None:
        asked = self._waiting.popleft()
        response = await self._answer(asked.request)
        if self.transport is None or self.transport.is_closing():
            return
        if self._closes or response.closes or not asked.keep_alive:
            self._deaf = self._closes = True
            self._waiting.clear()
        has_body = asked.request.method != "HEAD"
        self.transport.write(response.encoded(closes=self._closes, has_body=has_body))
        await self._writable.wait()
        self._connections.answered(self._connection)
        if self._waiting:
            self._connections.complete(self._connection)

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            return await self._handler(request)
        except HttpError as error:
            return error.response
        except Exception:
            logger.exception("request failed", extra={"path": request.path})
            return HttpResponse.text("internal error\n", 500)


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
