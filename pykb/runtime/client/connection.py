"""What the client needs of the network: one request, one stream. The real one is :mod:`~pykb.runtime.client.transport`.

The in-memory API server of :mod:`pykb.runtime.fake` is another, so that everything above this line is the same code
in production and in a test.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Protocol

from pykb.runtime.login.credentials import Impersonation

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request to an API server.

    Attributes:
        method: The verb.
        path: The path, percent-encoded, from the first slash.
        query: The query, in order.
        body: JSON bytes.
        content_type: Of the body.
        accept: The media types asked for.
        repeatable: Whether doing it twice is the same as doing it once, so that it is asked again when
            the answer is lost.
        timeout: How long to wait for the whole answer; the transport's own limit when ``None``.
        impersonate: Whom to act as; whom the credentials say when ``None``.
    """

    method: Method
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"
    accept: str = "application/json"
    repeatable: bool = False
    timeout: timedelta | None = None
    impersonate: Impersonation | None = None


class Connection(Protocol):
    """A way to an API server."""

    async def request(self, call: Call) -> bytes:
        """Do it and give the body of the answer.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer.
        """
        ...

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Do it and give the lines of the answer as they come; it ends when the server ends it.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer, or the stream broke.
        """
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
