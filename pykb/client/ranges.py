"""Ranges: the values of a 64-bit hash, cut into equal parts.

The API server hashes in the same way if its feature gate ``ShardedListAndWatch`` is on, and then
sends a replica only the objects of its ranges. Source: https://kep.k8s.io/5866
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pykb.meta.names import SUBDOMAIN_LENGTH

_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
MOST = 4096
"""The maximum number of ranges. Each has a Lease, and a watch of each kind."""

LONGEST_GROUP = SUBDOMAIN_LENGTH - len("-member-") - 36
"""The maximum length of the name of a group. Those of its Leases end with that and a UUID."""


class ShardBy(StrEnum):
    """The field by which objects are distributed."""

    UID = "uid"
    NAMESPACE = "namespace"


def hash_of(text: str) -> int:
    """The 64-bit FNV-1a hash of a text."""
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & _MASK
    return value


_hash_of_namespace = lru_cache(maxsize=4096)(hash_of)


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of a group of replicas.

    Attributes:
        count: How many there are.
        by: The field whose hash decides.

    Raises:
        ValueError: The count is not between 1 and :data:`MOST`.
    """

    count: int
    by: ShardBy = ShardBy.UID

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise ValueError(f"the number of ranges is between 1 and {MOST}, got {self.count}")

    def __str__(self) -> str:
        return f"{self.count} by {self.by}"

    def of(self, text: str) -> int:
        """The range of a uid or of a namespace."""
        return hash_of(text) * self.count >> 64

    def of_object(self, metadata: Mapping[str, Any]) -> int:
        """The range of an object, from its metadata."""
        if self.by is ShardBy.NAMESPACE:
            return _hash_of_namespace(metadata.get("namespace", "")) * self.count >> 64
        return self.of(metadata.get("uid", ""))

    def bounds(self, number: int) -> tuple[int, int]:
        """The first hash of a range, and the first one after it."""
        return -(-(number << 64) // self.count), -(-(number + 1 << 64) // self.count)

    def selector(self, number: int) -> str:
        """The ``shardSelector`` of a range, for lists and watches."""
        start, end = self.bounds(number)
        return f"shardRange(object.metadata.{self.by}, '0x{start:016x}', '0x{end:016x}')"
