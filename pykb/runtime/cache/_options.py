"""The options of an informer, and guards for the functions among them, so that a bug does not stop the kind.

Without a guard, a mirror would stop at the first object on which a transform or an indexer fails. It
would list the objects again and again, and its controllers would get no events. The failure is
logged with the object, and the object is kept. A transform can fail on all objects, and on all of
their events: each cause is logged once per hour.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import orjson

from pykb.api.safe_text import without_values
from pykb.client.clock import Clock
from pykb.client.guard import is_end, outside_task
from pykb.client.json_text import flaw_of, has_json, storable
from pykb.client.listwatch import PAGE_SIZE
from pykb.client.options import check_durations, check_function, check_names, described
from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime._lasting import Lasting
from pykb.runtime.cache.store import Indexer, key_of, owner_uids

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

    ::

        pods = InformerOptions(namespaces={
            "shop": NamespaceSelection(labels="app=web"),
            ALL_NAMESPACES: NamespaceSelection(labels="app=db"),
        })
        manager = Manager(ManagerOptions(cache=CacheOptions(by_kind={Pod.gvk: pods})))

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

    ::

        def without_data(secret: dict[str, Any]) -> dict[str, Any]:
            secret["metadata"].pop("managedFields", None)  # as the default does
            secret.pop("data", None)
            return secret

        secrets = InformerOptions(fields="type=kubernetes.io/tls", transform=without_data)
        manager = Manager(ManagerOptions(cache=CacheOptions(by_kind={Secret.gvk: secrets})))

    Attributes:
        namespaces: The namespaces to mirror. Defaults to those of the cache's ``default``, else to
            all. A mapping selects the objects of each namespace: ``{"team-a":
            NamespaceSelection(labels="tier=web"), ALL_NAMESPACES: NamespaceSelection()}``.
        labels: A label selector that the server applies.
        fields: A field selector that the server applies.
        transform: Changes every object before it is stored or handled. If it fails, or returns
            what is not JSON, the error is logged and the object is kept as it came.
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


def _nothing() -> None:
    """Count nothing."""


def guarded(
    options: InformerOptions, gvk: GroupVersionKind, clock: Clock, counted: Callable[[], None]
) -> InformerOptions:
    """Return the same options with functions that never raise. ``counted`` is called for each failure."""
    transform = options.transform
    if transform is not None and transform is not strip_managed_fields:
        transform = guarded_transform(transform, gvk, clock, counted)
    indexers = {name: guarded_indexer(indexer, name, gvk, clock, counted) for name, indexer in options.indexers.items()}
    return replace(options, transform=transform, indexers=indexers)


def guarded_transform(
    transform: Transform, gvk: GroupVersionKind, clock: Clock, counted: Callable[[], None] = _nothing
) -> Transform:
    """Keep the original object if the transform fails or does not return an object that can be stored."""
    report = _Report("transform failed, object is kept as it came", transform, gvk, clock, counted)

    def call(obj: dict[str, Any]) -> dict[str, Any]:
        key, is_writable = key_of(obj), True
        try:
            before = orjson.dumps(obj)
        except TypeError:  # it is nested too deeply, or has large numbers
            before, is_writable = orjson.dumps(storable(obj)), False
        try:
            made: object = outside_task(transform, obj)
            if not isinstance(made, dict) or not isinstance(made.get("metadata"), Mapping):
                raise TypeError(f"a transform must return the object, got {described(made)}")  # noqa: TRY301
            if not is_writable:
                made = storable(made)
            _check_storable(made, key)
        except BaseException as error:
            if is_end(error):
                raise
            report(error, key)
            kept: dict[str, Any] = orjson.loads(before)
            return kept
        return made

    return call


def _check_storable(obj: dict[str, Any], key: NamespacedName) -> None:
    if not has_json(obj):
        raise TypeError("a transform must return JSON: `{}` {}".format(*flaw_of(obj)))
    if key_of(obj) != key:
        raise ValueError("a transform must not change the name and the namespace")
    try:
        owner_uids(obj)
    except (TypeError, LookupError) as error:
        raise TypeError("a transform must return valid `metadata.ownerReferences`, or none") from error


def guarded_indexer(
    indexer: Callable[[dict[str, Any]], object],
    name: str,
    gvk: GroupVersionKind,
    clock: Clock,
    counted: Callable[[], None] = _nothing,
) -> Indexer:
    """Return no values if the indexer fails. A single string means one value, and ``None`` means none."""
    report = _Report(f"indexer of `{name}` failed, object is not found by it", indexer, gvk, clock, counted)

    def call(obj: dict[str, Any]) -> tuple[str, ...]:
        try:
            return outside_task(_values, indexer, obj)
        except BaseException as error:
            if is_end(error):
                raise
            report(error, key_of(obj))
            return ()

    return call


def _values(indexer: Callable[[dict[str, Any]], object], obj: dict[str, Any]) -> tuple[str, ...]:
    found = indexer(obj)
    if found is None:
        return ()
    if isinstance(found, str):
        return (found,)
    if not isinstance(found, Iterable):
        raise TypeError(f"an indexer must give strings, got {described(found)}")
    values = tuple(found)
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"an indexer must give strings, got {described(value)} among them")
    return values


class _Report:
    """Logs the failures of a function: each cause, which is an error at a line of code, once per hour."""

    def __init__(
        self,
        message: str,
        function: Callable[..., object],
        gvk: GroupVersionKind,
        clock: Clock,
        counted: Callable[[], None],
    ) -> None:
        self._counted = counted
        self._message = f"{message}; the same error is not logged again for an hour"
        called = getattr(function, "__qualname__", type(function).__qualname__)
        self._shown = {"kind": str(gvk), "function": f"{getattr(function, '__module__', '')}.{called}"}
        self._lasting = Lasting(clock)

    def __call__(self, error: BaseException, key: NamespacedName) -> None:
        self._counted()
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        if self._lasting.is_due((type(error), frame.f_code.co_filename, line)):
            logger.error(self._message, extra={**self._shown, "object": str(key)}, exc_info=without_values(error))
