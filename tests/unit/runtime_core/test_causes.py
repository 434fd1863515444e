"""Causes as values: what changed, who wrote it, and what must never be shown."""

import pytest

from pykb.runtime.cache.event import EventType
from pykb.runtime.records.causes import (
    HIDDEN,
    CauseKind,
    FieldChange,
    ObjectId,
    ReconcileCause,
    ReconcileId,
    SentRequest,
    changes_between,
    field_manager_of,
)
from pykb.runtime.requests.reconcile import Request

from .conftest import widget  # noqa: TID252 - shared by this folder only


def changes(before, after):
    """Between two widgets with these specs."""
    found = changes_between(widget("a", "1", spec=before), widget("a", "2", spec=after))
    return [(each.path, each.before, each.after) for each in found]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"size": 1}, {"size": 1}, []),
        ({"size": 1, "kept": 1}, {"size": 2, "kept": 1}, [("spec.size", 1, 2)]),
        ({}, {"deep": {"er": 1}}, [("spec.deep.er", None, 1)]),
        ({"deep": {"er": 1}}, {}, [("spec.deep.er", 1, None)]),
        ({"list": [{"a": 1}, {"a": 2}]}, {"list": [{"a": 1}, {"a": 3}]}, [("spec.list[1].a", 2, 3)]),
        ({"list": [1]}, {"list": [1, 2]}, [("spec.list", [1], [1, 2])]),
        ({"list": ["a", "b"]}, {"list": ["b", "a"]}, [("spec.list", ["a", "b"], ["b", "a"])]),
        ({"a.b/c": 1}, {"a.b/c": 2}, [("spec['a.b/c']", 1, 2)]),
        ({"x": {}}, {"x": "text"}, [("spec.x", {}, "text")]),
    ],
)
def test_fields_that_changed_are_named_with_both_values(before, after, expected):
    """Mappings field by field, lists by element; a list in another order is one change."""
    assert changes(before, after) == expected


def test_what_the_server_counts_is_not_a_change():
    """Versions, generations and managers change with every write."""
    before = widget("a", "1", metadata={"generation": 1, "managedFields": [{"manager": "x"}]})
    after = widget("a", "2", metadata={"generation": 2, "managedFields": [{"manager": "y"}]})
    assert changes_between(before, after) == ()


def test_no_value_of_a_secret_is_kept():
    """Not of a Secret, wherever it stands, and not of a field that is called like one."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {"last": "hunter1"}}}
    found = changes_between(
        {**secret, "data": {"key": "aHVudGVyMQ=="}},
        {**secret, "data": {"key": "aHVudGVyMg==", "new": "aHVudGVyMw=="}, "metadata": {"name": "s"}},
    )
    assert [str(each) for each in found] == [
        f'data.key: "{HIDDEN}" -> "{HIDDEN}"',
        f'data.new: unset -> "{HIDDEN}"',
        f'metadata.annotations.last: "{HIDDEN}" -> unset',
    ]
    found = changes(
        {"db": {"password": "hunter1"}, "users": [{"name": "a", "apiToken": "hunter1"}]},
        {"db": {"password": "hunter2"}, "users": [], "privateKey": "hunter3"},
    )
    assert "hunter" not in str(found)
    assert ("spec.users", [{"name": "a", "apiToken": HIDDEN}], []) in found


def managed(manager, time, **fields):
    """An entry of managedFields."""
    return {"manager": manager, "time": time, "fieldsV1": fields}


def test_the_writer_is_the_manager_of_the_changed_field():
    """The newest one, if several own it or nobody does."""
    kubectl = managed("kubectl", "2030-01-01T00:00:01Z", **{"f:spec": {"f:size": {}}})
    other = managed("other", "2030-01-01T00:00:02Z", **{"f:status": {"f:ready": {}}})
    size, gone = FieldChange("spec.size", 1, 2), FieldChange("spec.list[0].a", 1, None)
    assert field_manager_of([kubectl, other], [size]) == "kubectl"
    assert field_manager_of([kubectl, other], [gone]) == "other"
    assert field_manager_of([], [size]) == ""


def test_who_once_made_a_mapping_did_not_write_what_others_changed_in_it():
    """It keeps owning the mapping. Both wrote in the same second, as operators that fight do."""
    phase = FieldChange("status.phase", "one", "two")
    first = managed("first", "2030-01-01T00:00:01Z", **{"f:status": {}})
    second = managed("second", "2030-01-01T00:00:01Z", **{"f:status": {"f:phase": {}}})
    assert field_manager_of([first, second], [phase]) == "second"
    assert field_manager_of([second, first], [phase]) == "second"
    assert field_manager_of([first], [phase]) == "first"


def test_causes_and_requests_read_as_sentences():
    """For logs and for people."""
    target = ObjectId("v1", "ConfigMap", "default", "a")
    change = FieldChange("data.x", "1", "2")
    event = ReconcileCause(CauseKind.EVENT, EventType.UPDATE, target, (change,), "kubectl")
    assert str(event) == 'update of ConfigMap default/a by kubectl (data.x: "1" -> "2")'
    own = ReconcileCause(
        CauseKind.EVENT, EventType.CREATE, target, written_by=ReconcileId("map", Request("default", "a"), "1234")
    )
    assert str(own) == "create of ConfigMap default/a by reconcile 1234 of map default/a"
    assert str(ReconcileCause(CauseKind.RETRY)) == "retry"
    assert str(ReconcileCause(CauseKind.RESYNC, EventType.UPDATE, target)) == "resync of ConfigMap default/a"
    assert str(SentRequest("PUT", target, "status", (change,))) == (
        'PUT ConfigMap default/a (status): data.x: "1" -> "2"'
    )
    assert str(SentRequest("GET", target, error="NotFound: gone")) == "GET ConfigMap default/a: NotFound: gone"
    long = str(FieldChange("data.x", None, "x" * 1000))
    assert len(long) < 120
