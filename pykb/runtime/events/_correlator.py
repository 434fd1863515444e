"""What becomes of an event that is like others: repeated ones are counted, similar ones are merged, floods are dropped.

The rules and the numbers are client-go's (``tools/record``): the same event again is counted in one Event object; ten
that differ only in their words within ten minutes become one; an object may cause a burst of 25, then one in five
minutes. Pure: knows no client and no clock but the readings it is given.
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
        burst: How many events an object may cause at once.
        refill: How long until it may cause another.
        similar: How many events may differ only in their words before they are merged.
        window: Within what time.
        remembered: How many events, groups and objects are remembered; the longest unused are forgotten.
    """

    burst: int = 25
    refill: timedelta = timedelta(minutes=5)
    similar: int = 10
    window: timedelta = timedelta(minutes=10)
    remembered: int = 4096


@dataclass(frozen=True, slots=True)
class EventKey:
    """What makes events the same, but for their words."""

    regarding: Hashable
    type: str
    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class Correlated:
    """What to record: the event's words, and what identifies the Event object that counts it."""

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
    """Decides about each event in turn. Invariant: never remembers more than its options say."""

    def __init__(self, options: CorrelatorOptions | None = None) -> None:
        self._options = options or CorrelatorOptions()
        self._buckets = Recent[Hashable, _Bucket](self._options.remembered)
        self._groups = Recent[EventKey, _Group](self._options.remembered)

    def correlate(self, key: EventKey, note: str, now: float) -> Correlated | None:
        """What to record of an event; ``None`` when its object causes too many.

        Args:
            key: The event but for its words.
            note: Its words.
            now: Seconds of a clock that never jumps.
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
        # The words of the latest stand for all; one Event object counts them.
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
    """A mapping that forgets what was not used for longest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[KeyT, ValueT] = OrderedDict()

    def get(self, key: KeyT) -> ValueT | None:
        """The value, which now counts as used."""
        value = self._items.get(key)
        if value is not None:
            self._items.move_to_end(key)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Remember a value."""
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._size:
            self._items.popitem(last=False)

    def __len__(self) -> int:
        return len(self._items)
