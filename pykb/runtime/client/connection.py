"""The interface to the network: a request and a stream. :mod:`~pykb.runtime.client.transport` implements it.

The in-memory API server of :mod:`pykb.runtime.fake` implements it too. All code above this
interface is the same in production and in tests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
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
        content_type: The media type of the body.
        accept: The accepted media types of the answer.
        repeatable: Whether the request is idempotent. It is then repeated when the answer is lost.
        timeout: How long to wait for the whole answer. Defaults to the transport's limit.
        impersonate: The user to act as. Defaults to the user of the credentials.
        on_date: Called with the header ``Date`` of the answer, the server's time.
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
    on_date: Callable[[str], None] | None = None


class Connection(Protocol):
    """A way to an API server."""

    async def request(self, call: Call) -> bytes:
        """Send a request and return the body of the answer.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer.
        """
        ...

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Send a request and yield the lines of the answer as they arrive, until the server ends it.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer, or the stream broke.
        """
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
