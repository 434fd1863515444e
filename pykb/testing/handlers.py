"""For tests without a cluster: calls one kopf handler as kopf would, and keeps the events of a reconciler."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykb.api.object import Object, Unstructured
from pykb.client.codec import AnyObject, gvk_of, key_of
from pykb.client.events import EventKind, EventRecorder
from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pykb.runtime._kopf import OperatorRegistry


@dataclass(frozen=True, slots=True)
class HandlerOutcome:
    """The outcome of a handler.

    ::

        outcome = await call_handler(create_fn, machine)
        assert outcome.patch == {"status": {"phase": "Ready"}}
        assert outcome.events == ()

    Attributes:
        result: Its result, which kopf would store in the status.
        patch: The content of its ``patch``: the merge patch that kopf would send.
        arguments: The arguments of the call.
        events: The events that it posted by ``kopf.event``, ``info``, ``warn`` or ``exception``, as
            texts (``Normal Made it``).
    """

    result: Any
    patch: dict[str, Any]
    arguments: Mapping[str, Any]
    events: tuple[str, ...] = ()


async def call_handler(
    handler: Callable[..., Any],
    obj: Object | Unstructured | Mapping[str, Any],
    *,
    old: Object | Unstructured | Mapping[str, Any] | None = None,
    registry: OperatorRegistry | None = None,
    **arguments: Any,
) -> HandlerOutcome:
    """Call a handler, and its sub-handlers, as kopf would for an object. Works for every kind of handler, async or not.

    ``kopf.adopt``, ``kopf.event``, ``kopf.execute`` and ``@kopf.subhandler`` work in it. Every
    sub-handler is called once. The patch does not include kopf's record of the progress.

    ::

        outcome = await call_handler(create_fn, machine)
        assert outcome.patch == {"status": {"phase": "Ready"}}

    Args:
        handler: The decorated function. kopf's decorators do not change it.
        obj: The object as it is now.
        old: The object before the change, for update and field handlers. It determines ``old``,
            ``new`` and ``diff``. If the decorator names a ``field``, they are those of the field.
        registry: The registry that the decorator names, if any. The ids of the handler and of its
            sub-handlers, ``param`` and ``field`` are those of the decorator.
        **arguments: Further or different arguments of the handler: ``retry=3``, ``memo=...``,
            ``stopped=...``, an index by its name, ``userinfo=...`` and ``warnings=[]`` for
            admission.

    Raises:
        Exception: The error of the handler or of one of its sub-handlers: ``kopf.TemporaryError``,
            ...
    """
    from pykb.runtime._kopf import call

    logger = logging.getLogger(getattr(handler, "__module__", None) or __name__)
    before = None if old is None else _wire(old)
    made = await call(handler, _wire(obj), old=before, extra=arguments, logger=logger, registry=registry)
    events = tuple(f"{event.type} {event.reason} {event.message}" for event in made.events)
    return HandlerOutcome(made.result, _plain(made.arguments["patch"]), made.arguments, events)


def _wire(obj: Object | Unstructured | Mapping[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(dict(obj)) if isinstance(obj, Mapping) else obj.to_wire()


def _plain(patch: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(patch, default=dict))
    return {key: value for key, value in plain.items() if value != {}}


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event. Its text has the form ``Normal Created deployment made``.

    ::

        events = RecordedEvents()
        events.event(machine, "Normal", "Started", "the machine runs")
        assert events.events[0].reason == "Started"
    """

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
    """Replaces a recorder: ``VirtulMachineReconciler(client, recorder=RecordedEvents())``.

    ::

        events = RecordedEvents()
        await VirtulMachineReconciler(fake_client(machine), recorder=events).reconcile(Request("default", "vm"))
        assert events.of(machine) == ["Normal Started the machine runs"]

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
