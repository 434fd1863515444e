"""For whom a task works: who learns what it sends to the API server and what the server has stored.

A controller sets a witness for each reconcile. So the client knows nothing of controllers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader, Call


class Witness(Protocol):
    """Learns of the requests of a task. Each method gets the cache from which the client reads, if it has one."""

    @property
    def wants_requests(self) -> bool:
        """Whether :meth:`sent` is called for each request. Most witnesses only want to know what was written."""

    async def sent(
        self, answer: Awaitable[dict[str, Any]], call: Call, gvk: GroupVersionKind, cache: CacheReader | None
    ) -> dict[str, Any]:
        """Await the answer to a request and return it."""

    def stored(
        self,
        cache: CacheReader | None,
        gvk: GroupVersionKind,
        obj: dict[str, Any],
        query: Iterable[tuple[str, str]] = (),
    ) -> None:
        """The server has answered a write with this object. ``query`` is that of the request."""

    def deleted(
        self, cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, answer: dict[str, Any]
    ) -> None:
        """The server has accepted the deletion of an object."""

    def conflicted(self, cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, version: str) -> None:
        """The server has refused a write: the object has changed since it had this version."""


current_witness: ContextVar[Witness | None] = ContextVar("witness", default=None)
"""The witness of the running task."""

current_call: ContextVar[Mapping[str, str] | None] = ContextVar("current_call", default=None)
"""The identity of the call that the running task serves, as fields of its log lines."""
