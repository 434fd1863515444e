"""What this process has applied, for objects whose ``managedFields`` a cache has dropped.

Who owns a field is told by ``managedFields`` alone, and caches do without them: they are half of a small object. But a
manager that has itself applied exactly this set of fields owns no others; whether their values still hold is seen in
any copy of the object.
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
    """Fingerprints of what was applied last, by the uid of the object and the manager; the oldest are forgotten."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        """Remember as many objects as ``limit`` says."""
        self._limit = limit
        self._fingerprints: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def remember(self, uid: str, manager: str, desired: Mapping[str, Any]) -> None:
        """Note that the server took this."""
        self._fingerprints[uid, manager] = _fingerprint(desired)
        self._fingerprints.move_to_end((uid, manager))
        while len(self._fingerprints) > self._limit:
            self._fingerprints.popitem(last=False)

    def is_last(self, uid: str, manager: str, desired: Mapping[str, Any]) -> bool:
        """Whether this, and nothing since, is what the manager applied to the object."""
        return self._fingerprints.get((uid, manager)) == _fingerprint(desired)


def memory_of(client: Client) -> AppliedMemory:
    """The memory that all variants of a client share."""
    return _MEMORIES.setdefault(client.connection, AppliedMemory())


def contains(found: Any, desired: Any, structure: Structure = UNKNOWN) -> bool:
    """Whether every value that is wanted is there; what is there beside it does not count.

    Nor do elements of others in a list whose elements are told apart. Elements of other lists are compared by position.
    A list in another order is taken for another list: it is applied then.
    """
    if isinstance(desired, _PLAIN):  # most values, and the cheapest question to ask
        return bool(found == desired) and isinstance(found, bool) == isinstance(desired, bool)
    if isinstance(desired, Mapping):
        return isinstance(found, Mapping) and all(
            name in found and contains(found[name], value, structure.child(name)) for name, value in desired.items()
        )
    if isinstance(desired, Sequence):
        if not isinstance(found, Sequence) or isinstance(found, str):
            return False
        element = structure.element or UNKNOWN
        if structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
            rest = iter(found)
            return all(any(contains(present, wanted, element) for present in rest) for wanted in desired)
        return len(found) == len(desired) and all(
            contains(present, wanted, element) for present, wanted in zip(found, desired, strict=True)
        )
    return bool(found == desired)


def _fingerprint(desired: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(orjson.dumps(desired, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


_MEMORIES: weakref.WeakKeyDictionary[Connection, AppliedMemory] = weakref.WeakKeyDictionary()
