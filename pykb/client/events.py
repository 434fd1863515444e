"""`EventRecorder`: records what a controller did to an object, for ``kubectl describe``.

Recording never waits and never fails. Events are sent in the background. A flood of events is
counted or dropped, and an event that the server refuses is logged.

Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pykb.api.object import Unstructured
from pykb.api.safe_text import safe_text
from pykb.api.time import format_micro_time
from pykb.api.wire import clone
from pykb.client.bridge import loop_of_thread
from pykb.client.client import Client, finish_before_closing
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import AnyObject, gvk_of, key_of, resource_version_of, uid_of
from pykb.client.errors import ApiError, NotFound, ServerUnreachable
from pykb.client.guard import running_loop
from pykb.client.patches import MergePatch
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from pykb.api.core.v1 import ObjectReference

logger = logging.getLogger(__name__)

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

COMBINED = "(combined from similar events): "

EventKind = Literal["Normal", "Warning"]

# Events are kept in wire form. Their class needs all classes of core/v1, which take 2.5 MiB of memory.
_EVENT = GroupVersionKind("events.k8s.io", "v1", "Event")

# Limits of events.k8s.io/v1; the server refuses longer ones.
_MAX_NOTE = 1024
_MAX_WORD = 128
_MAX_NAME = 253
_MAX_WAITING = 1000


@dataclass(slots=True)
class _Series:
    """One Event object as first recorded, and how often it occurred since. ``stored`` once the server has it."""

    event: dict[str, Any]
    count: int = 1
    stored: bool = False


class EventRecorder:
    """Records events of one controller.

    At most one task writes. It ends when there is nothing more to write.

    ::

        recorder = EventRecorder(client, "machine-controller")
        recorder.event(machine, "Normal", "Started", "The machine runs")
    """

    def __init__(
        self,
        client: Client,
        controller: str,
        *,
        instance: str | None = None,
        options: CorrelatorOptions | None = None,
        clock: Clock | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Make a recorder for one controller.

        Args:
            client: Writes the events.
            controller: The name of the reporting controller.
            instance: The name of the replica. Defaults to the host's name.
            options: The limits for equal, similar and too many events.
            clock: Measures the time between events.
            loop: The event loop that writes. Defaults to the running one. Needed only to record
                from threads that no manager started.
        """
        self._client = client
        self._controller = _qualified(controller)
        self._instance = (instance or socket.gethostname())[:_MAX_WORD] or self._controller
        self._clock = clock or SystemClock()
        self._correlator = Correlator(options)
        self._series = Recent[object, _Series]((options or CorrelatorOptions()).remembered)
        self._waiting: dict[int, _Series] = {}
        self._task: asyncio.Task[None] | None = None
        self._loop = loop or running_loop()
        self._serial = 0

    def event(
        self,
        obj: AnyObject,
        type: EventKind,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        action: str = "Reconcile",
        related: AnyObject | None = None,
    ) -> None:
        """Record an event about an object, from any thread. Returns at once.

        Args:
            obj: The object that it is about.
            type: ``Normal`` or ``Warning``.
            reason: The reason: one word in CamelCase that programs can rely on.
            message: What happened, for people. Cut at 1024 characters.
            action: The action: one word in CamelCase.
            related: Another object involved.
        """
        first = {
            "apiVersion": _EVENT.api_version,
            "kind": _EVENT.kind,
            "eventTime": format_micro_time(datetime.now(UTC)),
            "type": type,
            "reason": safe_text(reason, _MAX_WORD),
            "action": safe_text(action, _MAX_WORD),
            "note": safe_text(message, _MAX_NOTE),
            "regarding": _reference(obj),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
        if related is not None:
            first["related"] = _reference(related)
        loop = running_loop()
        if loop is not None:
            self._loop = loop
            self._record(first)
            return
        loop = self._loop or loop_of_thread()
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._record, first)
        else:
            logger.warning("event dropped: no event loop runs", extra={"reason": reason, "event": message})

    async def flush(self) -> None:
        """Wait until everything recorded so far was sent or given up."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    def _record(self, event: dict[str, Any]) -> None:
        where, note = event["regarding"], event["note"]
        who = tuple(where.get(name) for name in ("apiVersion", "kind", "namespace", "name", "uid"))
        key = EventKey(who, event["type"], event["reason"], event["action"])
        correlated = self._correlator.correlate(key, note, self._clock.now())
        if correlated is None:
            logger.debug("event dropped: too many of one object", extra={"object": str(who), "event": note})
            return
        event["note"] = correlated.note[:_MAX_NOTE]
        series = self._series.get(correlated.identity)
        if series is None:
            event["metadata"] = self._name(where)
            series = _Series(event)
            self._series.put(correlated.identity, series)
        else:
            series.count += 1
            series.event["note"] = event["note"]
            series.event["series"] = {"count": series.count, "lastObservedTime": event["eventTime"]}
        if len(self._waiting) >= _MAX_WAITING:
            logger.warning("event dropped: the server does not keep up", extra={"event": event["note"]})
            return
        self._waiting[id(series)] = series
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(), name="event-recorder")
            finish_before_closing(self._client.connection, self._task)

    def _name(self, where: Mapping[str, str]) -> dict[str, str]:
        self._serial += 1
        unique = f".{time.time_ns() + self._serial:x}"
        # An event about an object without a namespace belongs to `default`.
        return {
            "name": where["name"][: _MAX_NAME - len(unique)] + unique,
            "namespace": where.get("namespace", "default"),
        }

    async def _write(self) -> None:
        while self._waiting:
            series = self._waiting.pop(next(iter(self._waiting)))
            try:
                await self._store(series)
            except PykbError as error:
                logger.warning(
                    "event not recorded",
                    extra={"reason": series.event["reason"], "event": series.event["note"], "error": str(error)},
                )
            except Exception:  # recording must never break the code that it reports about
                logger.exception("event not recorded", extra={"reason": series.event["reason"]})

    async def _store(self, series: _Series) -> None:
        event = series.event
        if series.stored:
            change = MergePatch({"note": event["note"], "series": event.get("series")})
            stub = Unstructured.of(_EVENT, event["metadata"]["name"], event["metadata"]["namespace"])
            try:
                await self._client.patch(stub, change)
            except NotFound:  # the server deletes events after an hour
                pass
            else:
                return
        series.stored = True
        try:
            await self._client.create(Unstructured(clone(event)))
        except (ApiError, ServerUnreachable):
            series.stored = False
            raise


def reference_to(obj: AnyObject) -> ObjectReference:
    """Make the reference by which another object names this one.

    ::

        status.active = [reference_to(job) for job in await list_controlled(client, Job, owner=machine)]

    Unlike client-go's ``GetReference``, it has no ``resourceVersion``. With one, a status that has the
    reference would change with each change of the object.
    """
    from pykb.api.core.v1 import ObjectReference

    found = _reference(obj)
    found.pop("resourceVersion", None)
    return ObjectReference.from_wire(found)


def _reference(obj: AnyObject) -> dict[str, str]:
    """The reference of an event. It names the version that the event is about, as client-go's events do."""
    gvk, where = gvk_of(obj), key_of(obj)
    found = {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "name": where.name,
        "namespace": where.namespace,
        "uid": uid_of(obj),
        "resourceVersion": resource_version_of(obj),
    }
    return {name: value for name, value in found.items() if value}


def _qualified(name: str) -> str:
    # `reportingController` must be a qualified name: at most 63 letters, digits, `-`, `_`, `.`, no sign at the ends.
    return re.sub(r"[^A-Za-z0-9._/-]", "-", name).strip("-_.")[:63].rstrip("-_.") or "controller"


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
    """Decides how to record each event: counts repeated ones, merges similar ones and drops floods.

    The rules and the numbers are client-go's (``tools/record``). A repeated event is counted in one
    Event object. Ten events within ten minutes that differ only in their message become one. An
    object may cause a burst of 25 events, then one every five minutes. It never remembers more than
    its options allow, and uses neither a client nor a clock: callers pass the time.
    """

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
