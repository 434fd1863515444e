"""The reads by kind that a client needs from a cache.

The client accepts any object with this interface. The manager passes its
:class:`~pykb.runtime.cache.informer_cache.InformerCache`. Objects are passed as raw dicts in wire
form. A result belongs to the caller, who may change it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from pykb.meta.gvk import GroupVersionKind, NamespacedName


class CacheReader(Protocol):
    """Reads objects of watched kinds without a request."""

    def has(self, gvk: GroupVersionKind, namespace: str | None = None) -> bool:
        """Whether this kind is watched (in this namespace). Its reads are then answered from memory."""
        ...

    async def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> dict[str, Any] | None:
        """Return one object, or ``None``. Waits until the first list of the kind is complete.

        Raises:
            CacheSyncTimeout: The first list did not arrive in time.
        """
        ...

    def when_seen(self, gvk: GroupVersionKind, key: NamespacedName, version: str) -> asyncio.Future[None] | None:
        """Return a future that is done when the mirror has an object at this version or a later one.

        ``None`` if it has it already, or if it may never have it.
        """
        ...

    async def list(
        self,
        gvk: GroupVersionKind,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the matching objects, sorted by namespace and name.

        Args:
            gvk: The kind.
            namespace: Only objects in this namespace. ``None`` means all.
            labels: A label selector in Kubernetes' syntax (``app=web,tier!=db``).
            fields: Values by the name of an index (``add_index``) or ``metadata.name`` /
                ``metadata.namespace``. All must match exactly.

        Raises:
            CacheSyncTimeout: The first list did not arrive in time.
            KeyError: A field has no index.
        """
        ...
