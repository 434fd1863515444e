"""Which differences of two clusters count, and which are by design."""

from __future__ import annotations

import copy

from pykb.explore._history import Identity
from pykb.explore._state import Difference, differences, state_of

UID = "23a7711a-8133-4876-b7eb-dcd9e87a1613"
WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default", "uid": UID, "resourceVersion": "5", "generation": 2},
    "spec": {"size": 1, "owner": UID},
    "status": {
        "observedGeneration": 2,
        "lastAppliedGeneration": "2",
        "since": "2030-01-01T00:00:00Z",
        "conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}],
    },
}


def changed(**changes):
    """The widget with other values, by dotted path."""
    obj = copy.deepcopy(WIDGET)
    for path, value in changes.items():
        *within, last = path.split("__")
        place = obj
        for step in within:
            place = place[step]
        place[last] = value
    return obj


def test_what_servers_count_and_clocks_say_does_not_differ():
    """Versions, uids wherever they are written, times, generations, the order of conditions."""
    other_uid = UID.replace("2", "3")
    other = changed(
        metadata__uid=other_uid,
        metadata__resourceVersion="9",
        metadata__generation=7,
        spec__owner=other_uid,
        status__observedGeneration=7,
        status__lastAppliedGeneration="7",
        status__since="2030-02-03T04:05:06.5Z",
        status__conditions=WIDGET["status"]["conditions"][::-1],
    )
    assert differences(state_of([WIDGET]), state_of([other])) == ()


def test_records_and_what_every_cluster_has_are_left_out():
    """Events and leases tell of the work; they are not its result."""
    for kind in ("Event", "Lease", "CustomResourceDefinition"):
        assert not state_of([{**WIDGET, "kind": kind}])


def test_of_a_namespace_the_spec_is_left_out():
    """The API server writes it, and an apply takes it away again."""
    assert "spec" not in next(iter(state_of([{**WIDGET, "kind": "Namespace"}]).values()))


def test_a_value_a_missing_object_and_one_too_many_differ():
    """Each as people say it."""
    expected, bigger = state_of([WIDGET]), state_of([changed(spec__size=2)])
    assert [str(each) for each in differences(expected, bigger)] == ["Widget w: spec.size is 2 instead of 1"]
    assert [str(each) for each in differences(expected, {})] == ["Widget w is missing"]
    assert [str(each) for each in differences({}, expected)] == ["Widget w is left over"]


def test_fields_that_may_differ_are_named_by_path_or_kind_and_path():
    """And all that is below."""
    expected, bigger = state_of([WIDGET]), state_of([changed(spec__size=2)])
    for name in ("spec", "spec.size", "Widget.spec", "Widget.spec.size"):
        assert not differences(expected, bigger, [name])
    for name in ("spec.siz", "Gadget.spec", "status"):
        assert differences(expected, bigger, [name])


def test_generated_names_are_compared_by_their_prefix():
    """Two objects of one prefix are alike whatever they are called."""

    def made(*names):
        return state_of(
            {**WIDGET, "metadata": {"name": name, "generateName": "w-", "uid": name}, "spec": {"size": number}}
            for number, name in enumerate(names)
        )

    assert differences(made("w-abcde", "w-fghij"), made("w-zzzzz", "w-aaaaa")) == ()
    assert differences(made("w-abcde", "w-fghij"), made("w-abcde"))


def test_a_generated_name_may_differ_wherever_it_is():
    """Also in the status of another object, but not a name that no object has."""

    def world(name: str, child: str):
        part = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"generateName": "part-", "name": name, "uid": "7"},
        }
        return state_of([{**WIDGET, "status": {"child": child}}, part])

    assert not differences(world("part-a", "part-a"), world("part-b", "part-b"))
    assert [str(each) for each in differences(world("part-a", "part-a"), world("part-b", "part-a"))] == [
        'Widget w: status.child is "part-a" instead of "part-<generated>"'
    ]
    assert [str(each) for each in differences(state_of([WIDGET]), state_of([changed(spec__more=2)]))] == [
        "Widget w: spec.more = 2 is left over"
    ]


def test_values_of_secrets_are_not_shown():
    """A finding is logged, and kept by CI."""
    secret = Identity("v1", "Secret", "default", "db")
    found = Difference(secret, "data.password", "c2VjcmV0", "Z2Vo")
    assert str(found) == "Secret db: data.password has another value"
    found = Difference(secret, "data", None, {"password": "Z2Vo"})
    assert str(found) == "Secret db: data is left over"
    assert str(Difference(secret, "type", "Opaque", None)) == 'Secret db: type = "Opaque" is missing'


def test_an_ignored_kind_is_ignored_where_a_status_refers_to_it():
    """A list of the Jobs that run differs if the Jobs do."""
    job, pod = ({"kind": kind, "name": "w-1", "namespace": "default"} for kind in ("Job", "Pod"))
    without, one, both = (changed(status__active=each) for each in ([], [job], [job, pod]))
    for before, after in ((without, one), (changed(), one), (one, changed(status__active=[]))):
        assert differences(state_of([before]), state_of([after]))
        assert differences(state_of([before]), state_of([after]), ["Job"]) == ()
    assert differences(state_of([changed()]), state_of([both]), ["Job"])
    assert differences(state_of([changed()]), state_of([changed(spec__target=job)]), ["Job"])
