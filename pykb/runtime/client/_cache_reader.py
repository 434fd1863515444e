"""What a client needs of a cache: reads by kind, answered from memory.

The client accepts anything of this shape; the manager's
:class:`~pykb.runtime.cache.informer_cache.InformerCache` is the real one.
Objects travel as raw dicts in wire form. What a reader returns belongs to the caller: it may be changed freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pykb.meta.gvk import GroupVersionKind


class CacheReader(Protocol):
    """Reads of watched kinds without a request."""

    def has(self, gvk: GroupVersionKind, namespace: str | None = None) -> bool:
        """Whether this kind is watched (in this namespace), so that its reads are answered from memory."""
        ...

    async def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> dict[str, Any] | None:
        """One object, or ``None``; waits until the first list of the kind is in.

        Raises:
            CacheSyncTimeout: The first list did not arrive in time.
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
        """The objects that match, by namespace and name in order.

        Args:
            gvk: The kind.
            namespace: Only of this namespace; all when ``None``.
            labels: A label selector in Kubernetes' syntax (``app=web,tier!=db``).
            fields: Values by the name of an index (``add_index``) or ``metadata.name`` / ``metadata.namespace``; all
                must match exactly.

        Raises:
            CacheSyncTimeout: The first list did not arrive in time.
            KeyError: A field has no index.
        """
        ...
