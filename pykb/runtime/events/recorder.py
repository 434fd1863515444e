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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pykb.api.core.v1 import ObjectReference
from pykb.api.events.v1 import Event, EventSeries
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.unstructured import Unstructured
from pykb.diagnostics import PykbError
from pykb.runtime._bridge import loop_of_thread
from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import AnyObject, gvk_of, key_of, resource_version_of, uid_of
from pykb.runtime.client.patches import MergePatch
from pykb.runtime.client.pending import keep
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.errors import ApiError, NotFound, ServerUnreachable
from pykb.runtime.events._correlator import Correlator, CorrelatorOptions, EventKey, Recent

logger = logging.getLogger(__name__)

EventKind = Literal["Normal", "Warning"]

# Limits of events.k8s.io/v1; the server refuses longer ones.
_MAX_NOTE = 1024
_MAX_WORD = 128
_MAX_NAME = 253
_MAX_WAITING = 1000


@dataclass(slots=True)
class _Series:
    """One Event object as first recorded, and how often it occurred since. ``stored`` once the server has it."""

    event: Event
    count: int = 1
    stored: bool = False


class EventRecorder:
    """Records events of one controller.

    At most one task writes. It ends when there is nothing more to write.
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
        self._loop = loop or _running_loop()
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
        first = Event(
            event_time=datetime.now(UTC),
            type=type,
            reason=reason[:_MAX_WORD],
            action=action[:_MAX_WORD],
            note=message,
            regarding=reference_to(obj),
            related=reference_to(related) if related is not None else None,
            reporting_controller=self._controller,
            reporting_instance=self._instance,
        )
        loop = _running_loop()
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

    def _record(self, event: Event) -> None:
        where = event.regarding or ObjectReference()
        who = (where.api_version, where.kind, where.namespace, where.name, where.uid)
        key = EventKey(who, event.type or "", event.reason or "", event.action or "")
        correlated = self._correlator.correlate(key, event.note or "", self._clock.now())
        if correlated is None:
            logger.debug("event dropped: too many of one object", extra={"object": str(who), "event": event.note})
            return
        event.note = correlated.note[:_MAX_NOTE]
        series = self._series.get(correlated.identity)
        if series is None:
            event.metadata = self._name(where)
            series = _Series(event)
            self._series.put(correlated.identity, series)
        else:
            series.count += 1
            series.event.note = event.note
            series.event.series = EventSeries(count=series.count, last_observed_time=event.event_time)
        if len(self._waiting) >= _MAX_WAITING:
            logger.warning("event dropped: the server does not keep up", extra={"event": event.note})
            return
        self._waiting[id(series)] = series
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(), name="event-recorder")
            keep(self._client.connection, self._task)

    def _name(self, where: ObjectReference) -> ObjectMeta:
        self._serial += 1
        unique = f".{time.time_ns() + self._serial:x}"
        # An event about an object without a namespace belongs to `default`.
        return ObjectMeta(
            name=(where.name or "")[: _MAX_NAME - len(unique)] + unique, namespace=where.namespace or "default"
        )

    async def _write(self) -> None:
        while self._waiting:
            series = self._waiting.pop(next(iter(self._waiting)))
            try:
                await self._store(series)
            except PykbError as error:
                logger.warning(
                    "event not recorded",
                    extra={"reason": series.event.reason, "event": series.event.note, "error": str(error)},
                )
            except Exception:  # recording must never break the code that it reports about
                logger.exception("event not recorded", extra={"reason": series.event.reason})

    async def _store(self, series: _Series) -> None:
        event = series.event
        if series.stored:
            change = MergePatch({"note": event.note, "series": event.series.to_wire() if event.series else None})
            stub = Unstructured(event.to_wire())
            try:
                await self._client.patch(stub, change)
            except NotFound:  # the server deletes events after an hour
                pass
            else:
                return
        copy = Unstructured(event.to_wire())
        copy.metadata.pop("resourceVersion", None)
        series.stored = True
        try:
            await self._client.create(copy)
        except (ApiError, ServerUnreachable):
            series.stored = False
            raise


def reference_to(obj: AnyObject) -> ObjectReference:
    """Make the reference by which an event, or another object, names this one."""
    gvk, where = gvk_of(obj), key_of(obj)
    return ObjectReference(
        api_version=gvk.api_version,
        kind=gvk.kind,
        name=where.name,
        namespace=where.namespace or None,
        uid=uid_of(obj) or None,
        resource_version=resource_version_of(obj) or None,
    )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _qualified(name: str) -> str:
    # `reportingController` must be a qualified name: at most 63 letters, digits, `-`, `_`, `.`, no sign at the ends.
    return re.sub(r"[^A-Za-z0-9._/-]", "-", name).strip("-_.")[:63].rstrip("-_.") or "controller"
