"""Correlates events: counts repeated ones, merges similar ones and drops floods.

The rules and the numbers are client-go's (``tools/record``). A repeated event is counted in one
Event object. Ten events within ten minutes that differ only in their message become one. An object
may cause a burst of 25 events, then one every five minutes. This module uses neither a client nor a
clock: callers pass the time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

COMBINED = "(combined from similar events): "


@dataclass(frozen=True, slots=True)
class CorrelatorOptions:
    """Limits.

    Attributes:
        burst: The number of events that an object may cause at once.
        refill: The time until it may cause another one.
        similar: How many events may differ only in their message before they are merged.
        window: The time within which they are merged.
        remembered: How many events, groups and objects are remembered. The least recently used are
            forgotten.
    """

    burst: int = 25
    refill: timedelta = timedelta(minutes=5)
    similar: int = 10
    window: timedelta = timedelta(minutes=10)
    remembered: int = 4096


@dataclass(frozen=True, slots=True)
class EventKey:
    """Identifies equal events, apart from their message."""

    regarding: Hashable
    type: str
    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class Correlated:
    """What to record: the event's message, and the identity of the Event object that counts it."""

    identity: tuple[EventKey, str]
    note: str


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class _Group:
    notes: set[str]
    since: float


class Correlator:
    """Decides how to record each event. It never remembers more than its options allow."""

    def __init__(self, options: CorrelatorOptions | None = None) -> None:
        self._options = options or CorrelatorOptions()
        self._buckets = Recent[Hashable, _Bucket](self._options.remembered)
        self._groups = Recent[EventKey, _Group](self._options.remembered)

    def correlate(self, key: EventKey, note: str, now: float) -> Correlated | None:
        """Return what to record for an event, or ``None`` if its object causes too many.

        Args:
            key: The event without its message.
            note: Its message.
            now: Seconds of a monotonic clock.
        """
        if not self._take(key.regarding, now):
            return None
        group = self._groups.get(key)
        if group is None or now - group.since > self._options.window.total_seconds():
            group = _Group(set(), now)
            self._groups.put(key, group)
        if note in group.notes or len(group.notes) < self._options.similar - 1:
            group.notes.add(note)
            return Correlated((key, note), note)
        # The latest message stands for all of them. One Event object counts them.
        return Correlated((key, COMBINED), COMBINED + note)

    def _take(self, regarding: Hashable, now: float) -> bool:
        bucket = self._buckets.get(regarding)
        if bucket is None:
            bucket = _Bucket(self._options.burst, now)
            self._buckets.put(regarding, bucket)
        gained = (now - bucket.at) / self._options.refill.total_seconds()
        bucket.tokens = min(self._options.burst, bucket.tokens + gained)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


class Recent(Generic[KeyT, ValueT]):
    """A mapping that drops the least recently used entries."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[KeyT, ValueT] = OrderedDict()

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value and mark it as used."""
        value = self._items.get(key)
        if value is not None:
            self._items.move_to_end(key)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Store a value."""
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._size:
            self._items.popitem(last=False)

    def __len__(self) -> int:
        return len(self._items)
