"""An event recorder that keeps events, so that a test can check them."""

from __future__ import annotations

from dataclasses import dataclass

from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime.client.codec import AnyObject, gvk_of, key_of
from pykb.runtime.events import EventKind, EventRecorder


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event. Its text has the form ``Normal Created deployment made``."""

    gvk: GroupVersionKind
    key: NamespacedName
    type: EventKind
    reason: str
    message: str
    action: str = "Reconcile"
    related: NamespacedName | None = None

    def __str__(self) -> str:
        return f"{self.type} {self.reason} {self.message}"


class RecordedEvents(EventRecorder):
    """Replaces a recorder: ``FooReconciler(client, recorder=RecordedEvents())``.

    It merges and drops nothing: a test sees each event as it was recorded.
    """

    def __init__(self) -> None:
        """Start without events."""
        self.events: list[RecordedEvent] = []

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
        """Keep an event; see :meth:`pykb.runtime.EventRecorder.event`."""
        other = None if related is None else key_of(related)
        self.events.append(RecordedEvent(gvk_of(obj), key_of(obj), type, reason, message, action, other))

    async def flush(self) -> None:
        """Do nothing: events are kept at once."""

    def of(self, obj: AnyObject) -> list[str]:
        """Return the texts of the events about an object, in order."""
        gvk, key = gvk_of(obj), key_of(obj)
        return [str(event) for event in self.events if (event.gvk, event.key) == (gvk, key)]
