"""The options of an informer, and guards for the functions among them, so that a bug does not stop the kind.

Without a guard, a mirror would stop at the first object on which a transform or an indexer fails. It
would list the objects again and again, and its controllers would get no events. The failure is
logged with the object, and the object is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.cache.reflector import PAGE_SIZE
from pykb.runtime.cache.store import Indexer, key_of
from pykb.runtime.controller.given import check_durations, check_function, check_names

logger = logging.getLogger(__name__)

RESYNC_PERIOD = timedelta(hours=10)

Transform = Callable[[dict[str, Any]], dict[str, Any]]
"""Changes an object before it is stored. It may change and return its argument."""


def strip_managed_fields(obj: dict[str, Any]) -> dict[str, Any]:
    """Remove ``managedFields``, which is half of an object's size. This is the default transform.

    The API server keeps its own ``managedFields`` when an update does not send them.
    """
    obj["metadata"].pop("managedFields", None)
    return obj


@dataclass(frozen=True, slots=True)
class NamespaceSelection:
    """Selects the objects of one namespace to mirror.

    Attributes:
        labels: A label selector that the server applies. Defaults to the kind's selector.
        fields: A field selector that the server applies. Defaults to the kind's selector.
    """

    labels: str | None = None
    fields: str | None = None


ALL_NAMESPACES = ""
"""Stands in place of a namespace's name for all namespaces that are not named."""


@dataclass(frozen=True, slots=True)
class InformerOptions:
    """Options for the informer of one kind.

    Attributes:
        namespaces: The namespaces to mirror. Defaults to those of the cache's ``default``, else to
            all. A mapping selects the objects of each namespace: ``{"team-a":
            NamespaceSelection(labels="tier=web"), ALL_NAMESPACES: NamespaceSelection()}``.
        labels: A label selector that the server applies.
        fields: A field selector that the server applies.
        transform: Changes every object before it is stored or handled.
        resync: How often every object is reported again as an update without a change. ``None``
            means never.
        indexers: Indexes by name.
        page_size: How many objects a list requests at most at a time; 0 for all at once. Larger
            pages need fewer requests. The text of a page is in memory until its last object was
            handled. Therefore, the first page has at most 100 objects, and the size of these
            decides how many fit into a later page of 1 MiB.
        sharded: Whether a manager with ``shards`` mirrors only its share of the objects that its
            controllers reconcile or own. Set it to false for a kind of which they list all objects.
    """

    namespaces: tuple[str, ...] | Mapping[str, NamespaceSelection] = ()
    labels: str = ""
    fields: str = ""
    transform: Transform | None = strip_managed_fields
    resync: timedelta | None = RESYNC_PERIOD
    indexers: Mapping[str, Indexer] = field(default_factory=dict)
    page_size: int = PAGE_SIZE
    sharded: bool = True

    @property
    def selects(self) -> bool:
        """Whether some objects of the mirrored namespaces are left out."""
        named = self.namespaces.values() if isinstance(self.namespaces, Mapping) else ()
        return any((self.labels, self.fields, *(each.labels or each.fields for each in named)))

    def __post_init__(self) -> None:
        if self.page_size < 0:
            raise ValueError(f"`page_size` is a number of objects, or 0 for all at once; found {self.page_size}")
        check_names("namespaces", self.namespaces)
        check_durations(resync=self.resync)
        if self.transform is not None:
            check_function("`transform`", self.transform, "the object", plain=True)
        for name, indexer in self.indexers.items():
            check_function(f"the indexer of `{name}`", indexer, "the object", plain=True)


def guarded(options: InformerOptions, gvk: GroupVersionKind) -> InformerOptions:
    """Return the same options with functions that never raise."""
    transform = options.transform
    if transform is not None and transform is not strip_managed_fields:
        transform = guarded_transform(transform, gvk)
    indexers = {name: guarded_indexer(indexer, name, gvk) for name, indexer in options.indexers.items()}
    return replace(options, transform=transform, indexers=indexers)


def guarded_transform(transform: Transform, gvk: GroupVersionKind) -> Transform:
    """Keep the original object if the transform fails or does not return an object."""

    def call(obj: dict[str, Any]) -> dict[str, Any]:
        before = {**obj, "metadata": dict(obj["metadata"])}
        try:
            made: object = transform(obj)
            if not isinstance(made, dict) or not isinstance(made.get("metadata"), Mapping):
                raise TypeError(f"a transform must return the object, got {_described(made)}")  # noqa: TRY301
            key_of(made)
        except Exception as error:  # noqa: BLE001 - the program's function may raise anything
            _report("transform failed, object is kept as it came", error, transform, before, gvk)
            return before
        return made

    return call


def guarded_indexer(indexer: Callable[[dict[str, Any]], object], name: str, gvk: GroupVersionKind) -> Indexer:
    """Return no values if the indexer fails. A single string means one value, and ``None`` means none."""

    def call(obj: dict[str, Any]) -> tuple[str, ...]:
        try:
            return _values(indexer(obj))
        except Exception as error:  # noqa: BLE001 - the program's function may raise anything
            _report(f"indexer of `{name}` failed, object is not found by it", error, indexer, obj, gvk)
            return ()

    return call


def _values(found: object) -> tuple[str, ...]:
    if found is None:
        return ()
    if isinstance(found, str):
        return (found,)
    if not isinstance(found, Iterable):
        raise TypeError(f"an indexer must give strings, got {_described(found)}")
    values = tuple(found)
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"an indexer must give strings, got {_described(value)} among them")
    return values


def _report(message: str, error: Exception, function: object, obj: Mapping[str, Any], gvk: GroupVersionKind) -> None:
    called = getattr(function, "__qualname__", type(function).__qualname__)
    shown = {"kind": str(gvk), "object": str(key_of(obj)), "function": called}
    logger.error(message, extra=shown, exc_info=error)


def _described(value: object) -> str:
    return "None" if value is None else f"`{type(value).__name__}`"
