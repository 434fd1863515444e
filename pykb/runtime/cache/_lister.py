"""Typed reads from a cache, like client-go's generated listers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache.store import OWNER_INDEX, Store
from pykb.runtime.client.codec import alone
from pykb.runtime.client.label_selector import LabelSelector
from pykb.runtime.client.unreadable import readable

T = TypeVar("T")


class Lister(Generic[T]):
    """Reads objects of one kind from memory, without waiting. It returns copies, which the caller may change."""

    def __init__(self, store: Store, parse: Callable[[dict[str, Any]], T]) -> None:
        self._store = store
        self._parse = parse

    def get(self, name: str, *, namespace: str = "") -> T | None:
        """Return one object, or ``None`` when it is not in the cache.

        An object that is being deleted is read as far as it fits its class.

        Raises:
            UnreadableObject: The object does not fit its class and is not being deleted.
        """
        raw = self._store.get(NamespacedName(namespace, name))
        return None if raw is None else alone(self._parse, raw)

    def list(
        self,
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[T]:
        """Return the matching objects, sorted by namespace and name. Objects that do not fit their class are left out.

        Args:
            namespace: Only objects in this namespace.
            labels: A selector's text, exact labels, or a selector.
            fields: The required value for each index name.

        Raises:
            KeyError: A field has no index.
            ValueError: The text is not a label selector.
        """
        chosen = self._store.select(namespace=namespace, labels=as_selector(labels), fields=fields)
        return readable(self._parse, chosen)[0]

    def owned_by(self, uid: str, *, namespace: str | None = None) -> Sequence[T]:
        """Return the objects that have an owner with this uid."""
        return self.list(namespace=namespace, fields={OWNER_INDEX: uid})


def as_selector(labels: str | Mapping[str, str] | LabelSelector | None) -> LabelSelector | None:
    """Convert any form of a label selector.

    Raises:
        ValueError: The text is not a label selector.
    """
    match labels:
        case None | LabelSelector():
            return labels
        case str():
            return LabelSelector.parse(labels)
        case _:
            return LabelSelector.from_labels(labels)
