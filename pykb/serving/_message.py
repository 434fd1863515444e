"""HTTP requests and responses, and the handlers to which a path leads.

Source: RFC 9110.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, TypeAlias

import orjson

Refusal: TypeAlias = tuple[int, str]
"""The code and the text for people. Not the error itself: with its traceback, it would keep the connection alive."""

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@dataclass(slots=True)
class HttpRequest:
    """One request, read to its end, or to its head if its body is refused.

    Attributes:
        method: The verb.
        path: The path, decoded.
        query: The values of each name in the query.
        headers: By name in lower case; several values of one name are joined by commas.
        content: The body as sent.
        transport: The connection of the request.
        refused: Why the body was not read.
    """

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    transport: asyncio.BaseTransport | None = None
    refused: Refusal | None = None

    @property
    def body(self) -> bytes:
        """The body as sent.

        Raises:
            HttpError: It was not read: it is larger than the server accepts, or of unknown length.
        """
        if self.refused is not None:
            raise HttpError(*self.refused)
        return self.content

    @property
    def media_type(self) -> str:
        """The media type of the body, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def host(self) -> str:
        """The requested host, without its port."""
        host = self.headers.get("host", "")
        if host.startswith("["):
            return host[1:].partition("]")[0]
        return host.partition(":")[0]

    @property
    def peer_certificate(self) -> Mapping[str, Any]:
        """The client's certificate, as from :meth:`ssl.SSLSocket.getpeercert`; empty without one."""
        return (self.transport.get_extra_info("peercert") if self.transport is not None else None) or {}

    @property
    def is_abandoned(self) -> bool:
        """Whether the client has closed the connection."""
        return self.transport is None or self.transport.is_closing()

    def first(self, name: str, default: str = "") -> str:
        """Return the first value of a name in the query."""
        return self.query.get(name, [default])[0]


@dataclass(slots=True)
class HttpResponse:
    """An answer.

    Attributes:
        body: The whole body.
        status: The status code.
        content_type: The media type of the body.
        headers: Further headers.
        closes: Whether the connection is closed after it.
        parts: The body in parts, in place of ``body``. It is of unknown length, so the connection is closed after it. A
            part is taken when the client has read those before.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)
    closes: bool = False
    parts: AsyncGenerator[bytes, None] | None = None

    @classmethod
    def text(cls, text: str, status: int = 200) -> HttpResponse:
        """Plain text."""
        return cls(text.encode(), status)

    @classmethod
    def json(cls, value: Any, status: int = 200) -> HttpResponse:
        """A value as JSON."""
        return cls(orjson.dumps(value), status, JSON)

    def encoded(self, *, closes: bool, has_body: bool = True) -> bytes:
        """Encode it for the wire."""
        lines = [
            f"HTTP/1.1 {self.status} {_phrase(self.status)}",
            f"Content-Type: {self.content_type}",
            *([f"Content-Length: {len(self.body)}"] if self.parts is None else []),
            f"Date: {_date(int(time.time()))}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        if closes:
            lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        return head + self.body if has_body else head


class HttpError(Exception):
    """Ends a request with an error response."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        """Make an error with a code, a text for people, and headers."""
        super().__init__(f"{status}: {text.strip()}")
        self.status = status
        self.response = HttpResponse(text.encode(), status, headers=headers or {})


Handler: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponse]]
"""Answers requests. Raises :class:`HttpError` if it cannot."""


@lru_cache(maxsize=64)
def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


Middleware: TypeAlias = Callable[[HttpRequest, Handler], Awaitable[HttpResponse]]
"""A middleware: passes a request to the next handler or answers it."""


def passing(middlewares: Sequence[Middleware], handler: Handler) -> Handler:
    """Wrap a handler in middlewares. The first one gets requests first."""
    for middleware in reversed(middlewares):
        handler = _behind(middleware, handler)
    return handler


def _behind(middleware: Middleware, handler: Handler) -> Handler:
    return lambda request: middleware(request, handler)


class Routes:
    """A handler that calls others by path and method. A path that ends in ``/*`` matches all paths below it."""

    def __init__(self, middlewares: Sequence[Middleware] = ()) -> None:
        """Start without paths.

        Args:
            middlewares: The middlewares of every request, in order.
        """
        self._paths: dict[str, dict[str, Handler]] = {}
        self._handler = passing(middlewares, self._route)

    def add(self, path: str, handler: Handler, *, method: str = "GET") -> None:
        """Add a handler for a path."""
        self._paths.setdefault(path, {})[method] = handler

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request."""
        return await self._handler(request)

    async def _route(self, request: HttpRequest) -> HttpResponse:
        methods = self._paths.get(request.path) or self._paths.get(request.path.rpartition("/")[0] + "/*")
        if methods is None:
            raise HttpError(404, f"there is nothing at {request.path}\n")
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            allowed = ", ".join(sorted(methods))
            raise HttpError(405, f"{request.path} accepts only {allowed}\n", {"Allow": allowed})
        return await handler(request)
