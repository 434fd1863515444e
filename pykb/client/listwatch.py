"""Lists and watches through a client, for informers and for kopf's handlers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict, cast

from pykb.client._reader import Interrupted, RawWatch
from pykb.client.codec import complete
from pykb.client.connection import Call
from pykb.client.errors import ApiError, Gone, ServerUnreachable, with_rule
from pykb.client.json_text import Page
from pykb.client.selectors import query_pairs
from pykb.diagnostics import EnvironmentProblem
from pykb.meta.gvk import GroupVersionKind, GroupVersionResource

if TYPE_CHECKING:
    from pykb.client.client import Client
    from pykb.client.clock import Clock


PAGE_SIZE = 500
"""The maximum number of objects in one page of a list. Pages of large objects have fewer."""

FIRST_PAGE = 100
"""The maximum number of objects in the first page of a list. It shows how large they are."""

PAGE_BYTES = 1024 * 1024
"""The desired maximum size of later pages. The text of a page is in memory until its last object was handled."""

_METADATA_ONLY = "application/json;as={kind};g=meta.k8s.io;v=v1"


class Listed(Enum):
    """The mark in a stream after the last object of a list."""

    LISTED = auto()


LISTED: Final = Listed.LISTED


class RawEvent(TypedDict):
    """One item of a stream; ``type`` is ``None`` for the objects of the list."""

    type: str | None
    object: dict[str, Any]


class WatchFailed(Exception):  # noqa: N818 - what happened, seen from the watcher
    """A list or watch ended with an error of the server or the network."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        """How long the server asks to wait, if it does."""


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """The target of a list and watch.

    Attributes:
        gvk: The kind.
        resource: Its resource.
        namespace: One namespace. ``None`` means all, or the cluster scope.
        labels: A label selector that the server applies.
        fields: A field selector that the server applies.
        metadata_only: Ask the server for ``PartialObjectMetadata`` instead of whole objects.
        page_size: How many objects to ask for at most at a time; 0 for all at once.
        excluded: Namespaces that other targets of the same mirror cover (``fields`` leaves them
            out).
        shard: A shard selector, for servers with ``ShardedListAndWatch``. Others ignore it.
    """

    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool
    namespace: str | None = None
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    page_size: int = PAGE_SIZE
    excluded: tuple[str, ...] = ()
    shard: str = ""

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.resource.resource}.{self.resource.group or 'core'}/{self.resource.version}{where}"


class ListWatch(Protocol):
    """Lists and watches."""

    def stream(self, target: WatchTarget) -> AsyncGenerator[RawEvent | Listed | WatchFailed, None]:
        """Yield one list, then :data:`LISTED`, then the watch that follows, until it cannot be resumed.

        An interrupted watch yields the failure as an item and is resumed. The stream ends without
        an error when the server no longer knows the version to resume from (410).

        Raises:
            WatchFailed: The server refused, or the list could not be read.
        """


def accepted(*, metadata_only: bool, watch: bool) -> str:
    """Return the media type to accept for a list or a watch.

    A list of metadata and a watch of metadata have different types. The server uses the first type
    that it can read. If it got both, it would refuse the list or send nothing in the watch.

    Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-metadata-only
    """
    if not metadata_only:
        return "application/json"
    return _METADATA_ONLY.format(kind="PartialObjectMetadata" if watch else "PartialObjectMetadataList")


class ClientListWatch:
    """A :class:`ListWatch` on a client."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._exchange = client.live._exchange  # noqa: SLF001 - a part of the client
        self._clock = clock

    async def stream(self, target: WatchTarget) -> AsyncGenerator[RawEvent | Listed | WatchFailed, None]:
        """Yield one list, page by page, and the watch that follows.

        Raises:
            WatchFailed: See :class:`ListWatch`.
        """
        try:
            version = ""
            async for page in self._pages(target):
                for item in page.items():
                    yield {"type": None, "object": complete(item, target.gvk)}
                version = str(page.metadata["resourceVersion"])
            yield LISTED
            watch = RawWatch(self._exchange.connection, self._call(target, watch=True), version, clock=self._clock)
            async with aclosing(watch.events()) as events:
                async for event in events:
                    if not isinstance(event, Interrupted):
                        yield cast("RawEvent", event)
                    elif event.failures:
                        yield _failure(target, event.error)
        except Gone:
            return  # the reflector lists again
        except (ApiError, ServerUnreachable) as error:
            raise _failure(target, error) from error
        except EnvironmentProblem as problem:
            raise WatchFailed(problem.diagnostic.message) from problem

    async def _pages(self, target: WatchTarget) -> AsyncGenerator[Page]:
        size = min(target.page_size, FIRST_PAGE)
        token = None
        while True:
            call = self._call(target, watch=False, limit=size or None)
            if token:  # it names a position and a version only: the API server accepts another limit with it
                call = replace(call, query=(*call.query, ("continue", token)))
            content = await self._exchange.connection.request(call)
            page, length = Page(content), len(content)
            del content  # or it would be kept as long as the page
            yield page
            if page.count:
                size = min(target.page_size, max(1, PAGE_BYTES * page.count // length))
            token = page.metadata.get("continue")
            if not token:
                return

    def _call(self, target: WatchTarget, *, watch: bool, limit: int | None = None) -> Call:
        where = f"/namespaces/{target.namespace}" if target.namespace else ""
        return Call(
            "GET",
            f"{target.resource.group_version.path}{where}/{target.resource.resource}",
            query=query_pairs(target.labels, target.fields, limit=limit, shardSelector=target.shard),
            accept=accepted(metadata_only=target.metadata_only, watch=watch),
            repeatable=not watch,  # a watch has its own pauses
            impersonate=self._exchange.options.impersonate,
        )


def _failure(target: WatchTarget, error: ApiError | ServerUnreachable) -> WatchFailed:
    """The error of a failed list or watch. The message says what can be done about it."""
    if isinstance(error, ServerUnreachable):
        return WatchFailed(str(error))
    message = error.message
    if error.status == 404:  # an informer starts only when its resource is there
        message = (
            f"the API server no longer serves `{target}`: "
            "was its definition deleted, or this version set to `served: false`?"
        )
    text = with_rule(message) or f"HTTP {error.status}"
    return WatchFailed(text, status=error.status, retry_after=error.retry_after)
