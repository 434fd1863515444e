"""Says in a few words what woke a reconcile."""

from __future__ import annotations

from pykb.runtime import CauseKind, EventType, ReconcileCause, ReconcileRecord

_WITHOUT_EVENT = {
    CauseKind.RETRY: "the last reconcile failed",
    CauseKind.REQUEUE_AFTER: "it asked to come back",
    CauseKind.PROGRAM: "the program asked for it",
}


def because(record: ReconcileRecord) -> str:
    """The last event that woke a reconcile, or else the last cause; empty if no causes were noted."""
    every = sorted(record.causes, key=lambda cause: cause.kind is CauseKind.EVENT)
    return _told(every[-1], record) if every else ""


def _told(cause: ReconcileCause, record: ReconcileRecord) -> str:
    if cause.object is None or cause.event is None:
        return _WITHOUT_EVENT[cause.kind]
    what = f"{cause.object.kind} {cause.object.name}"
    if cause.kind is CauseKind.INITIAL:
        return f"it found {what} when it started"
    if cause.kind is CauseKind.RESYNC:
        return f"{what} was looked at again"
    if cause.event is EventType.GENERIC:
        return f"of an event of {what}"
    if cause.event is not EventType.UPDATE:
        return f"{what} was {cause.event}d"
    if not cause.changes:
        return f"{what} was written, without a change"
    first, *more = [f"`{each.path}`" for each in cause.changes]
    fields = f"{first} and {len(more)} more field{'s' * (len(more) > 1)}" if more else first
    writer = cause.written_by
    if writer is None:
        return f"somebody else changed {fields} of {what}"
    if (writer.controller, writer.request) == (record.id.controller, record.id.request):
        return f"it changed {fields} of {what} itself"
    if writer.controller == record.id.controller:
        return f"it changed {fields} of {what} itself, for {writer.request}"
    return f"the controller {writer.controller} changed {fields} of {what}"
