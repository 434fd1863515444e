"""Guards the functions that a program gives to a cache (a transform, indexers), so that a bug does not stop the kind.

Without a guard, a mirror would stop at the first object on which such a function fails. It would
list the objects again and again, and its controllers would get no events. The failure is logged
with the object, and the object is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.cache.informer import InformerOptions, Transform, strip_managed_fields
from pykb.runtime.cache.store import Indexer, key_of

logger = logging.getLogger(__name__)


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
