"""Stores the objects of one kind: a table by namespace and name, with indexes.

Objects are kept as compact JSON, not as dicts. That takes an eighth of the memory, and every read
returns a fresh copy that its caller may change. Nothing in the store is ever changed in place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from pykb.client.connection import OWNER_INDEX
from pykb.client.selectors import LabelSelector
from pykb.meta.gvk import NamespacedName

Indexer = Callable[[dict[str, Any]], Iterable[str]]
"""Returns the values under which an object is indexed. It must not change the object."""


def owner_uids(obj: dict[str, Any]) -> Iterable[str]:
    """The uids of an object's owners."""
    return [reference["uid"] for reference in obj["metadata"].get("ownerReferences") or ()]


def key_of(obj: Mapping[str, Any]) -> NamespacedName:
    """The namespace and name of a raw object."""
    metadata = obj["metadata"]
    # Interned, because parsing makes a new string for every object.
    return NamespacedName(sys.intern(metadata.get("namespace", "")), metadata["name"])


def version_of(text: str) -> int:
    """A resource version as a number. The API server compares them so: https://kep.k8s.io/5504 (Kubernetes 1.35)."""
    return int(text) if text.isdecimal() else 0


class Stored:
    """One object as it was last seen."""

    __slots__ = ("_json", "_labels", "resource_version", "values")

    def __init__(self, obj: dict[str, Any], values: tuple[tuple[str, ...], ...]) -> None:
        metadata = obj["metadata"]
        self._json = _compact(obj)
        labels = metadata.get("labels")
        self._labels = _compact(labels) if labels else None  # a dict of two labels takes four times as much
        self.resource_version: str = metadata.get("resourceVersion", "")
        self.values = values

    @property
    def labels(self) -> dict[str, str] | None:
        """A copy of the labels. A selector can use it without loading the whole object."""
        return None if self._labels is None else orjson.loads(self._labels)

    def load(self) -> dict[str, Any]:
        """A copy of the object."""
        loaded: dict[str, Any] = orjson.loads(self._json)
        return loaded


def _compact(value: dict[str, Any]) -> bytes:
    # Copied, because orjson's result keeps its write buffer, which is several times as large.
    return bytes(memoryview(orjson.dumps(value)))


class _Index:
    """The keys of the objects that have a value."""

    def __init__(self) -> None:
        # Most owners have one child of a kind. A dict for it would take 230 bytes more.
        self._keys: dict[str, NamespacedName | dict[NamespacedName, None]] = {}

    def of(self, value: str) -> Mapping[NamespacedName, None]:
        found = self._keys.get(value, {})
        return found if isinstance(found, dict) else {found: None}

    def add(self, value: str, key: NamespacedName) -> None:
        found = self._keys.setdefault(value, key)
        if isinstance(found, dict):
            found[key] = None
        elif found != key:
            self._keys[value] = {found: None, key: None}

    def remove(self, value: str, key: NamespacedName) -> None:
        found = self._keys.get(value)
        if isinstance(found, dict):
            found.pop(key, None)
        if not found or found == key:
            self._keys.pop(value, None)


class Store:
    """Objects of one kind by key, and by the values of each index."""

    def __init__(self, indexers: Mapping[str, Indexer] | None = None) -> None:
        self._indexers: dict[str, Indexer] = {OWNER_INDEX: owner_uids, **(indexers or {})}
        self._objects: dict[NamespacedName, Stored] = {}
        self._by_namespace: dict[str, dict[NamespacedName, None]] = {}
        self._by_value = {name: _Index() for name in self._indexers}
        self._nothing: tuple[tuple[str, ...], ...] = ((),) * len(self._indexers)  # one for all that no index finds
        self._closed = False

    def close(self) -> None:
        """Free the objects. Reads fail from now on: somebody may still have a lister, and to find nothing is wrong."""
        self._closed = True
        self._objects, self._by_namespace = {}, {}
        self._by_value = {name: _Index() for name in self._indexers}

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Index by the results of ``indexer``, including the objects already stored.

        Raises:
            ValueError: An index of this name exists already.
        """
        if name in self._indexers:
            raise ValueError(f"there is an index `{name}` already")
        self._indexers[name] = indexer
        self._by_value[name] = _Index()
        self._nothing = ((),) * len(self._indexers)
        for key, stored in list(self._objects.items()):
            self.put(key, stored.load())

    def put(self, key: NamespacedName, obj: dict[str, Any]) -> Stored | None:
        """Store an object and return the previous one. The dict still belongs to the caller.

        Raises:
            TypeError: It has no JSON form. Nothing is changed.
        """
        old = self._objects.get(key)
        values = tuple(tuple(indexer(obj)) for indexer in self._indexers.values())
        if not any(values):
            values = self._nothing
        stored = Stored(obj, values)
        if old is None:
            self._by_namespace.setdefault(key.namespace, {})[key] = None
        elif old.values != values:
            self._unindex(key, old)
        if old is None or old.values != values:
            for index, found in zip(self._by_value.values(), values, strict=True):
                for value in found:
                    index.add(value, key)
        self._objects[key] = stored
        return old

    def remove(self, key: NamespacedName) -> Stored | None:
        """Remove an object and return it."""
        old = self._objects.pop(key, None)
        if old is None:
            return None
        self._unindex(key, old)
        names = self._by_namespace[key.namespace]
        del names[key]
        if not names:
            del self._by_namespace[key.namespace]
        return old

    def get(self, key: NamespacedName) -> dict[str, Any] | None:
        """A copy of an object, or ``None``."""
        stored = self._objects.get(key)
        if stored is None:
            self._check_open()
            return None
        return stored.load()

    def peek(self, key: NamespacedName) -> Stored | None:
        """The stored form, without the cost of a copy."""
        return self._objects.get(key)

    def all_keys(self, namespace: str | None = None) -> list[NamespacedName]:
        """The keys of a namespace, or all."""
        return list(self._objects if namespace is None else self._by_namespace.get(namespace, ()))

    def select(
        self,
        *,
        namespace: str | None = None,
        labels: LabelSelector | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Copies of the matching objects, sorted by namespace and name.

        Raises:
            KeyError: A field is neither ``metadata.name`` nor ``metadata.namespace`` nor has an index.
        """
        self._check_open()
        for key in sorted(self._candidates(namespace, fields or {})):
            stored = self._objects[key]
            if labels is None or labels.matches(stored.labels):
                yield stored.load()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this informer was removed from its cache: ask the cache for a new one")

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: NamespacedName) -> bool:
        return key in self._objects

    def _candidates(self, namespace: str | None, fields: Mapping[str, str]) -> Iterable[NamespacedName]:
        tables: list[Mapping[NamespacedName, None] | Mapping[NamespacedName, Stored]] = []
        name: str | None = None
        for field, value in fields.items():
            if field == "metadata.namespace":
                if namespace not in (None, value):
                    return ()
                namespace = value
            elif field == "metadata.name":
                name = value
            elif field in self._by_value:
                tables.append(self._by_value[field].of(value))
            else:
                known = ", ".join(sorted(("metadata.name", "metadata.namespace", *self._by_value)))
                raise KeyError(f"no index `{field}`; there are: {known}")
        if namespace is not None:
            tables.append(self._by_namespace.get(namespace, {}))
        if not tables:
            tables.append(self._objects)
        tables.sort(key=len)
        first, rest = tables[0], tables[1:]
        return [key for key in first if (name is None or key.name == name) and all(key in table for table in rest)]

    def _unindex(self, key: NamespacedName, stored: Stored) -> None:
        # Older entries have no values for an index that was added later, so zip must stop early.
        for index, values in zip(self._by_value.values(), stored.values, strict=False):
            for value in values:
                index.remove(value, key)
