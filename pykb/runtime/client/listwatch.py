"""Lists and watches by a client's own requests: for informers without a manager, and over the API server in memory.

A manager's informers go through kopf (:mod:`pykb.runtime._kopf`); a program that only wants to read need not load it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import orjson

from pykb.api.unstructured import Unstructured
from pykb.runtime.client.codec import complete
from pykb.runtime.client.connection import Call
from pykb.runtime.client.selection import query_pairs
from pykb.runtime.client.watch import Watch
from pykb.runtime.errors import ApiError, Gone, NoKindMatch, ServerUnreachable, with_rule
from pykb.runtime.reflector import LISTED, Listed, RawEvent, WatchFailed, WatchTarget

if TYPE_CHECKING:
    from pykb.runtime.client.client import Client
    from pykb.runtime.clock import Clock


def refused(target: WatchTarget, message: str, status: int) -> WatchFailed:
    """What a list or a watch fails with that the API server refused; the message says what can be done about it."""
    if status == 404:  # an informer starts only when its resource is there
        message = (
            f"the API server does not serve `{target}` any more: "
            "was its definition deleted, or this version set to `served: false`?"
        )
    return WatchFailed(with_rule(message) or f"HTTP {status}", status=status)


_METADATA_ONLY = "application/json;as={kind};g=meta.k8s.io;v=v1"


def accepted(*, metadata_only: bool, watch: bool) -> str:
    """The media type to ask for in a list or a watch.

    A list of metadata and a watch of it have types of their own, and the server goes by the first it can read: given
    both, it refuses the one and sends nothing in the other.

    Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-metadata-only
    """
    if not metadata_only:
        return "application/json"
    return _METADATA_ONLY.format(kind="PartialObjectMetadata" if watch else "PartialObjectMetadataList")


class ClientListWatch:
    """A :class:`~pykb.runtime.reflector.ListWatch` on a client."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._client = client.live
        self._clock = clock

    async def stream(self, target: WatchTarget) -> AsyncGenerator[RawEvent | Listed, None]:
        """One list, page by page, and the watch that follows it.

        Raises:
            WatchFailed: See :class:`~pykb.runtime.reflector.ListWatch`.
        """
        try:
            version = ""
            async for page in self._pages(target):
                version = str(page["metadata"]["resourceVersion"])
                for item in page.get("items") or ():
                    yield {"type": None, "object": complete(item, target.gvk)}
            yield LISTED
            async for event in self._changes(target, version):
                yield event
        except Gone:
            return  # the reflector lists again
        except NoKindMatch as error:
            raise WatchFailed(str(error), status=404) from error
        except ApiError as error:
            raise refused(target, error.message, error.status) from error
        except ServerUnreachable as error:
            raise WatchFailed(str(error)) from error

    async def _pages(self, target: WatchTarget) -> AsyncGenerator[dict[str, Any]]:
        exchange = self._client._exchange  # noqa: SLF001 - a part of the client
        endpoint = await exchange.endpoint(target.gvk, namespace=target.namespace or "")
        token: str | None = None
        while True:
            others = {"limit": target.page_size or None, "continue": token}
            call = Call(
                "GET",
                endpoint.path,
                query=query_pairs(target.labels, target.fields, **others),
                accept=accepted(metadata_only=target.metadata_only, watch=False),
                repeatable=True,
                impersonate=exchange.options.impersonate,
            )
            page: dict[str, Any] = orjson.loads(await exchange.connection.request(call))
            yield page
            token = page["metadata"].get("continue") or None
            if token is None:
                return

    async def _changes(self, target: WatchTarget, version: str) -> AsyncGenerator[RawEvent]:
        watch: Watch[Unstructured] = Watch(
            self._client._exchange,  # noqa: SLF001
            target.gvk,
            target.namespace or "",
            query_pairs(target.labels, target.fields),
            version,
            bookmarks=True,
            accept=accepted(metadata_only=target.metadata_only, watch=True),
            clock=self._clock,
        )
        async with watch:
            async for event in watch:
                yield {"type": str(event.type), "object": event.object.data}
