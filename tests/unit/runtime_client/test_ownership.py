"""Owners, finalizers, fields that a manager owns, and events that are like others."""

import pickle

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap, Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Unstructured
from pykb.client._apply_configuration import holds_exactly
from pykb.client.events import COMBINED, Correlator, CorrelatorOptions, EventKey
from pykb.client.finalizers import add_finalizer, has_finalizer, remove_finalizer
from pykb.client.owner import (
    AlreadyOwned,
    CrossNamespaceOwner,
    NotControlled,
    controller_of,
    is_controlled_by,
    owner_references,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)


def _owner(name="parent", uid="u1", namespace="team"):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def _child(form):
    typed = Deployment(metadata=ObjectMeta(name="child", namespace="team"))
    return {"typed": typed, "unstructured": Unstructured(typed.to_wire()), "dict": typed.to_wire()}[form]


FORMS = pytest.mark.parametrize("form", ["typed", "unstructured", "dict"])


@FORMS
def test_a_controller_owns_and_blocks(form):
    """The reference is complete, and setting it again changes nothing."""
    child = _child(form)
    set_controller_reference(_owner(), child)
    set_controller_reference(_owner(), child)
    (reference,) = owner_references(child)
    assert reference.to_wire() == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "parent",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert is_controlled_by(child, _owner())
    assert not is_controlled_by(child, _owner(uid="u2"))


@FORMS
def test_an_object_has_one_controller(form):
    """A second controller is refused by name; a second owner is not."""
    child = _child(form)
    set_controller_reference(_owner(), child)
    with pytest.raises(AlreadyOwned, match="`team/child` is already controlled by ConfigMap `parent`"):
        set_controller_reference(_owner("other", "u2"), child)
    set_owner_reference(_owner("other", "u2"), child)
    assert [reference.name for reference in owner_references(child)] == ["parent", "other"]
    assert controller_of(child).name == "parent"
    assert remove_owner_reference(_owner("other", "u2"), child)
    assert not remove_owner_reference(_owner("other", "u2"), child)
    assert remove_owner_reference(_owner(), child)
    assert owner_references(child) == []


def test_what_stands_against_an_owner_survives_another_process():
    """Worker processes send errors home."""
    child = _child("typed")
    set_controller_reference(_owner(), child)
    with pytest.raises(NotControlled) as caught:
        set_controller_reference(_owner("other", "u2"), child)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (AlreadyOwned, str(caught.value))
    assert (again.kind, again.controller.name, again.owner.name) == ("Deployment", "parent", "other")
    plain = NotControlled(again.kind, again.obj, again.owner)
    assert str(pickle.loads(pickle.dumps(plain))) == str(plain)


def test_an_owner_that_was_made_anew_replaces_itself():
    """The reference to an owner of the same name is renewed, not doubled."""
    child = _child("typed")
    set_controller_reference(_owner(uid="old"), child)
    set_controller_reference(_owner(uid="new"), child)
    assert [reference.uid for reference in owner_references(child)] == ["new"]


@pytest.mark.parametrize(("namespace", "child_namespace"), [("other", "team"), ("team", "")])
def test_an_owner_in_another_namespace_is_refused(namespace, child_namespace):
    """The garbage collector would delete the child."""
    child = ConfigMap(metadata=ObjectMeta(name="c", namespace=child_namespace or None))
    with pytest.raises(CrossNamespaceOwner):
        set_controller_reference(_owner(namespace=namespace), child)


def test_a_cluster_scoped_owner_may_own_anything():
    """Only owners in namespaces are bound to theirs."""
    child = _child("typed")
    set_controller_reference(Namespace(metadata=ObjectMeta(name="n", uid="u")), child)
    assert controller_of(child).kind == "Namespace"


def test_an_owner_that_does_not_exist_yet_is_refused():
    """Without a uid the reference would mean nothing."""
    with pytest.raises(ValueError, match="no `uid`"):
        set_controller_reference(_owner(uid=None), _child("typed"))


@FORMS
def test_finalizers_are_added_and_removed_once(form):
    """Each call tells whether it changed something; an empty list disappears."""
    child = _child(form)
    assert add_finalizer(child, "a.example/x")
    assert not add_finalizer(child, "a.example/x")
    assert add_finalizer(child, "b.example/x")
    assert has_finalizer(child, "a.example/x")
    assert remove_finalizer(child, "a.example/x")
    assert not remove_finalizer(child, "a.example/x")
    assert remove_finalizer(child, "b.example/x")
    wire = child if isinstance(child, dict) else child.to_wire()
    assert "finalizers" not in wire["metadata"]


FIELDS = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
        "f:set": {'v:"a"': {}},
        "f:args": {},
    },
}
FOUND = {
    "apiVersion": "v1",
    "metadata": {
        "name": "x",
        "labels": {"app": "web", "added": "by-another"},
        "managedFields": [{"manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsV1": FIELDS}],
    },
    "spec": {
        "replicas": 1,
        "defaulted": True,
        "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "protocol": "TCP"}],
        "set": ["b", "a"],
        "args": ["-v"],
    },
}


def _desired(**spec):
    base = {"replicas": 1, "ports": [{"containerPort": 80}], "set": ["a"], "args": ["-v"]}
    wanted = {name: value for name, value in {**base, **spec}.items() if value is not None}
    return {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "labels": {"app": "web"}}, "spec": wanted}


@pytest.mark.parametrize(
    ("desired", "manager", "holds"),
    [
        (_desired(), "me", True),
        (_desired(), "other", False),
        (_desired(replicas=2), "me", False),
        (_desired(replicas=True), "me", False),
        (_desired(replicas=None), "me", False),
        (_desired(more=1), "me", False),
        (_desired(ports=[{"containerPort": 81}]), "me", False),
        (_desired(ports=[{"containerPort": 80, "name": "http"}]), "me", False),
        (_desired(ports=[{"containerPort": 80}, {"containerPort": 81}]), "me", False),
        (_desired(set=["a", "c"]), "me", False),
        (_desired(set=["c"]), "me", False),
        (_desired(args=["-v", "-v"]), "me", False),
        ({**_desired(), "apiVersion": "v2"}, "me", False),
        ({**_desired(), "metadata": {"name": "x", "labels": {"app": "db"}}}, "me", False),
    ],
)
def test_applying_again_is_needed_only_when_a_value_or_an_owner_would_change(desired, manager, holds):
    """Defaults and other managers' fields do not count; a field left out does, if it was ours."""
    assert holds_exactly(FOUND, desired, manager) is holds


def _key(name="x", reason="R"):
    return EventKey(name, "Normal", reason, "Act")


def test_the_same_event_is_one_object():
    """Repetition keeps the identity, so that one Event object counts."""
    correlator = Correlator()
    assert correlator.correlate(_key(), "a", 0) == correlator.correlate(_key(), "a", 1)


def test_events_that_differ_only_in_their_words_are_combined_after_nine():
    """The tenth and later ones become one object with the latest words; ten minutes later it starts again."""
    correlator = Correlator()
    found = [correlator.correlate(_key(), f"note {number}", 0) for number in range(12)]
    assert [entry.note for entry in found[:9]] == [f"note {number}" for number in range(9)]
    assert {entry.identity for entry in found[9:]} == {(_key(), COMBINED)}
    assert found[11].note == COMBINED + "note 11"
    assert correlator.correlate(_key(), "later", 601).note == "later"


def test_an_object_that_floods_is_cut_off_and_others_are_not():
    """25 at once, then one in five minutes, for each object by itself."""
    correlator = Correlator()
    found = [correlator.correlate(_key(reason=f"R{number}"), "a", 0) for number in range(30)]
    assert [entry is not None for entry in found] == [True] * 25 + [False] * 5
    assert correlator.correlate(_key("other"), "a", 0) is not None
    assert correlator.correlate(_key(), "a", 299) is None
    assert correlator.correlate(_key(), "a", 301) is not None


def test_a_correlator_forgets():
    """What is remembered is bounded."""
    correlator = Correlator(CorrelatorOptions(remembered=3, burst=1))
    for name in "abcd":
        assert correlator.correlate(_key(name), "x", 0) is not None
    assert correlator.correlate(_key("d"), "x", 0) is None
    assert correlator.correlate(_key("a"), "x", 0) is not None
