"""What woke a reconcile, in words."""

from __future__ import annotations

import pytest

from pykb.explore._wakers import because
from pykb.runtime import (
    CauseKind,
    EventType,
    FieldChange,
    ObjectId,
    ReconcileCause,
    ReconcileId,
    ReconcileRecord,
    Request,
)

OWN = ReconcileId("web", Request("default", "home"), "1")
SERVICE = ObjectId("v1", "Service", "default", "home")
PORT, TYPE = FieldChange("spec.ports", 80, 81), FieldChange("spec.type", None, "NodePort")


def changed(*changes: FieldChange, by: ReconcileId | None = None) -> ReconcileCause:
    """A change of the Service."""
    return ReconcileCause(CauseKind.EVENT, EventType.UPDATE, SERVICE, changes, written_by=by)


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        ([], ""),
        ([ReconcileCause(CauseKind.RETRY)], "the last reconcile failed"),
        ([ReconcileCause(CauseKind.REQUEUE_AFTER)], "it asked to come back"),
        ([ReconcileCause(CauseKind.PROGRAM)], "the program asked for it"),
        ([ReconcileCause(CauseKind.INITIAL, EventType.CREATE, SERVICE)], "it found Service home when it started"),
        ([ReconcileCause(CauseKind.RESYNC, EventType.UPDATE, SERVICE)], "Service home was looked at again"),
        ([ReconcileCause(CauseKind.EVENT, EventType.CREATE, SERVICE)], "Service home was created"),
        ([ReconcileCause(CauseKind.EVENT, EventType.DELETE, SERVICE)], "Service home was deleted"),
        ([changed(PORT)], "somebody else changed `spec.ports` of Service home"),
        ([changed(PORT, TYPE)], "somebody else changed `spec.ports` and 1 more field of Service home"),
        ([changed(PORT, by=OWN)], "it changed `spec.ports` of Service home itself"),
        ([changed(PORT, by=OWN._replace(request="b"))], "it changed `spec.ports` of Service home itself, for b"),
        ([changed(PORT, by=OWN._replace(controller="b"))], "the controller b changed `spec.ports` of Service home"),
        ([changed(), ReconcileCause(CauseKind.RETRY)], "Service home was written, without a change"),
        ([ReconcileCause(CauseKind.EVENT, EventType.GENERIC, SERVICE)], "of an event of Service home"),
    ],
)
def test_the_last_event_is_told_or_else_the_last_cause(causes, said):
    """With at most one field."""
    assert because(ReconcileRecord(OWN, tuple(causes))) == said
