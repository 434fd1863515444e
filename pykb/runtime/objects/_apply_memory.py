"""Remembers what this process has applied, for objects from a cache, which have no ``managedFields``.

Only ``managedFields`` say who owns a field. Caches drop them, because they are half of a small
object. A manager that applied exactly this set of fields last owns no others. Any copy of the
object shows whether their values are still the same.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import orjson

from pykb.runtime.client.client import Client
from pykb.runtime.client.connection import Connection
from pykb.runtime.objects.structure import UNKNOWN, Shape, Structure

_REMEMBERED = 50_000
_PLAIN = (str, int, float, NoneType)


class AppliedMemory:
    """Fingerprints of the last applied fields, by object uid and manager. The oldest are dropped."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        """Make a memory for ``limit`` objects."""
        self._limit = limit
        self._fingerprints: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def remember(self, uid: str, manager: str, desired: Mapping[str, Any]) -> None:
        """Record that the server accepted these fields."""
        self._fingerprints[uid, manager] = _fingerprint(desired)
        self._fingerprints.move_to_end((uid, manager))
        while len(self._fingerprints) > self._limit:
            self._fingerprints.popitem(last=False)

    def is_last(self, uid: str, manager: str, desired: Mapping[str, Any]) -> bool:
        """Whether these are the fields that the manager applied last to the object."""
        return self._fingerprints.get((uid, manager)) == _fingerprint(desired)


def memory_of(client: Client) -> AppliedMemory:
    """Return the memory that all variants of a client share."""
    return _MEMORIES.setdefault(client.connection, AppliedMemory())


def contains(found: Any, desired: Any, structure: Structure = UNKNOWN) -> bool:
    """Whether every desired value is present. Other values do not count.

    In a list with keys, elements of others do not count either. Elements of other lists are
    compared by position. A list in a different order counts as different, and is applied.
    """
    if isinstance(desired, _PLAIN):  # true for most values, and the cheapest check
        return bool(found == desired) and isinstance(found, bool) == isinstance(desired, bool)
    if isinstance(desired, Mapping):
        if not isinstance(found, Mapping):
            return False
        for name, value in desired.items():  # not by `all`: this runs in each reconcile of each child
            if name not in found or not contains(found[name], value, structure.child(name)):
                return False
        return True
    if isinstance(desired, Sequence):
        if not isinstance(found, Sequence) or isinstance(found, str):
            return False
        return _contains_list(found, desired, structure)
    return bool(found == desired)


def _contains_list(found: Sequence[Any], desired: Sequence[Any], structure: Structure) -> bool:
    element = structure.element or UNKNOWN
    if structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        rest = iter(found)
        return all(any(contains(present, wanted, element) for present in rest) for wanted in desired)
    return len(found) == len(desired) and all(
        contains(present, wanted, element) for present, wanted in zip(found, desired, strict=True)
    )


def _fingerprint(desired: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(orjson.dumps(desired, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


_MEMORIES: weakref.WeakKeyDictionary[Connection, AppliedMemory] = weakref.WeakKeyDictionary()
