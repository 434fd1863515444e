"""The patch of a defaulter: what it changed, on the object as it was sent."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.fake._merge import json_patch
from pykb.webhook._admission import carried, operations, same

from .conftest import Disk, Machine, wire  # noqa: TID252 - shared by this folder only

CASES = {
    "a value that was not there": ({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
    "another value": ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
    "a value less": ({"a": 1, "b": 2}, {"b": 2}, [{"op": "remove", "path": "/a"}]),
    "a null where a value was": ({"a": 1}, {"a": None}, [{"op": "replace", "path": "/a", "value": None}]),
    "true and 1 differ": ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
    "1.0 and 1 differ": ({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}]),
    "names are escaped": (
        {"a/b~c": {"~1": 1}},
        {"a/b~c": {"~1": 2}},
        [{"op": "replace", "path": "/a~1b~0c/~01", "value": 2}],
    ),
    "an item more": ({"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 2}]),
    "an item before others": ({"a": [1, 2]}, {"a": [0, 1, 2]}, [{"op": "add", "path": "/a/0", "value": 0}]),
    "items less, from the back": (
        {"a": [1, 2, 3, 4]},
        {"a": [1, 4]},
        [{"op": "remove", "path": "/a/2"}, {"op": "remove", "path": "/a/1"}],
    ),
    "within an item": (
        {"a": [{"b": 1}, {"b": 2}]},
        {"a": [{"b": 1}, {"b": 3}]},
        [{"op": "replace", "path": "/a/1/b", "value": 3}],
    ),
    "another type": ({"a": [1]}, {"a": {"0": 1}}, [{"op": "replace", "path": "/a", "value": {"0": 1}}]),
    "the empty name": ({"": 1}, {"": 2}, [{"op": "replace", "path": "/", "value": 2}]),
    "nothing": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_operations_are_few_and_in_order(case):
    """As RFC 6902 wants them."""
    original, target, expected = CASES[case]
    found = list(operations(original, target))
    assert json.dumps(found) == json.dumps(expected)
    assert same(json_patch(original, tuple(found)), target)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 1.5]) | st.text("a/~01é", max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("a/~01", max_size=3), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text("ab/~", max_size=2), json_values, max_size=4)


@given(objects, objects)
def test_the_operations_make_the_one_from_the_other(original, target):
    """For any two objects, and without touching either."""
    before = copy.deepcopy(original)
    assert same(json_patch(original, operations(original, target)), target)
    assert same(original, before)


@given(objects, objects)
def test_a_program_that_sees_everything_is_followed_exactly(original, after):
    """Where nothing is lost in reading, what it made is what is stored."""
    assert same(carried(original, original, after), after)


@given(objects, json_values)
def test_a_program_that_changes_nothing_changes_nothing(original, seen):
    """However it sees the object."""
    assert carried(original, seen, seen) is original


# -- what a typed defaulter does to an object of the API

disks = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c"])},
    optional={"size": st.sampled_from([1, 1024, "1Gi", "0.5", None]), "extra": json_values},
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.integers(0, 8),
        "memory": st.sampled_from([1, 1024, 2**31, "1Gi", "0.50", None]),
        "image": st.sampled_from(["", "x", None]),
        "disks": st.lists(disks, max_size=4),
        "zones": st.lists(st.sampled_from("abcd"), max_size=4, unique=True),
        "unknown/~field": json_values,
    },
)


def set_cpu(obj):
    """One value."""
    obj.spec.cpu = 7


def forget_memory(obj):
    """One value less."""
    obj.spec.memory = None


def name_zone(obj):
    """One more item of a set."""
    obj.spec.zones.add("x")


def leave_zone(obj):
    """One item less of a set."""
    obj.spec.zones.discard("a")


def sort_disks(obj):
    """Another order."""
    obj.spec.disks.sort(key=lambda disk: disk.name)


def drop_disk(obj):
    """One item less."""
    obj.spec.disks = obj.spec.disks[1:]


def prepend_disk(obj):
    """One item more, before the others."""
    obj.spec.disks.insert(0, Disk(name="root"))


def image_of_all(obj):
    """A value in each item."""
    for disk in obj.spec.disks:
        disk.size = "3Gi"


CHANGES = (set_cpu, forget_memory, name_zone, leave_zone, sort_disks, drop_disk, prepend_disk, image_of_all)


@given(specs, st.lists(st.sampled_from(CHANGES), max_size=3, unique=True))
def test_the_patch_gives_what_the_defaulter_meant(spec, changes):
    """Read again, the patched object is the one that the defaulter left; what it did not touch is as it was sent."""
    original = wire() | {"spec": spec}
    obj = Machine.from_stored(original)
    before = obj.to_wire()
    for change in changes:
        change(obj)
    after = obj.to_wire()
    target = carried(original, before, after)
    patched = json_patch(original, operations(original, target))
    assert same(patched, target)
    assert same(Machine.from_stored(patched).to_wire(), after)
    untouched = set(spec) - {"cpu", "memory", "zones", "disks"}
    assert all(same(patched["spec"][name], spec[name]) for name in untouched)
    for name in ("memory", "zones", "disks"):
        if same(before["spec"].get(name) if "spec" in before else None, after.get("spec", {}).get(name)):
            assert same(patched["spec"].get(name), spec.get(name))
    assert patched["metadata"]["creationTimestamp"] is None


def test_items_that_moved_keep_what_the_class_does_not_show():
    """Their nulls and the form of their numbers go with them."""
    spec = {"disks": [{"name": "b", "size": None}, {"name": "a", "size": 1024}], "zones": ["c", "a", "b"]}
    original = wire() | {"spec": spec}
    obj = Machine.from_stored(original)
    before = obj.to_wire()
    obj.spec.disks.reverse()
    obj.spec.zones = {"d", *obj.spec.zones} - {"a"}
    made = carried(original, before, obj.to_wire())
    assert made["spec"] == {
        "disks": [{"name": "a", "size": 1024}, {"name": "b", "size": None}],
        "zones": ["c", "b", "d"],
    }


def test_long_lists_take_no_long_time():
    """Each item of 20,000 is compared with itself, and not with all others."""
    items = [{"name": f"n{index}", "size": None} for index in range(20_000)]
    before = [{"name": item["name"]} for item in items]
    after = [*reversed(before[:10_000]), {"name": "new"}, *({"name": item["name"] + "x"} for item in before[10_001:])]
    made = carried(items, before, after)
    assert made[0] == items[9_999]
    assert made[10_000] == {"name": "new", "size": None}  # changed where it is
    assert len(operations(items, made)) == 20_000


def test_a_part_that_was_not_there_is_added_whole():
    """Also where the class fills it in for reading."""
    original = {key: value for key, value in wire().items() if key != "spec"}
    obj = Machine.from_stored(original)
    before = obj.to_wire()
    obj.spec.cpu = 2
    target = carried(original, before, obj.to_wire())
    assert operations(original, target) == ({"op": "add", "path": "/spec", "value": {"cpu": 2}},)
