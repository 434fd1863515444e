"""Partial objects: nothing exists on them but what was set."""

import copy
import pickle
from typing import Annotated, Any

import pytest
from pydantic import PrivateAttr, ValidationError, field_validator, model_validator

from pykb.api import CustomResource, Duration, Field, GroupVersion, ListMap, ListSet, Nullable, Struct, Wire, carry_over
from pykb.api.partial import blank, of_wire


class Disk(Struct):
    """A part with a key."""

    name: str
    size: int = 1


class Spec(Struct):
    """A part with everything that validation knows."""

    low: Annotated[int, Field(ge=0)]
    high: int = 10
    zone: Annotated[str, Field(frozen=True)]
    host_ip: Annotated[str | None, Wire("hostIP")] = None
    note: Annotated[str | None, Nullable()] = None
    wait: Duration | None = None
    disks: Annotated[list[Disk], ListMap("name")] = Field(default_factory=list)
    tags: Annotated[list[str], ListSet()] = Field(default_factory=list)
    inner: "Spec | None" = None
    by_name: "dict[str, Spec]" = Field(default_factory=dict)
    _seen: int = PrivateAttr(default=7)

    @field_validator("host_ip")
    @classmethod
    def _no_loopback(cls, value: str | None) -> str | None:
        if value == "127.0.0.1":
            raise ValueError("no loopback")
        return value

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        return value

    @model_validator(mode="after")
    def _ordered(self) -> "Spec":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):
    """A kind."""

    spec: Spec


class OtherThing(CustomResource, group_version=GroupVersion("example.com", "v2"), kind="Thing"):
    """Another version of it."""

    spec: Spec


def test_only_what_was_set_is_there():
    """No default, neither to read nor to send; a default that was set is sent."""
    spec = blank(Spec)
    assert spec.to_wire() == {}
    spec.high, spec.host_ip = 10, "10.0.0.1"
    assert spec.to_wire() == {"high": 10, "hostIP": "10.0.0.1"}
    assert (spec.high, spec.model_fields_set) == (10, {"high", "host_ip"})
    assert repr(spec) == "Spec(high=10, host_ip='10.0.0.1')"
    for name in ("low", "note", "disks", "inner"):
        with pytest.raises(AttributeError, match=f"Spec has no '{name}' yet: set it first"):
            getattr(spec, name)
    assert spec._seen == 7


def test_a_field_is_taken_away_again():
    """It is then as if it had never been set, also where `None` would be sent."""
    spec = blank(Spec)
    spec.note, spec.high = None, 3
    assert spec.to_wire() == {"note": None, "high": 3}
    del spec.note
    del spec.high
    assert (spec.to_wire(), spec.model_fields_set) == ({}, set())
    with pytest.raises(AttributeError):
        del spec.high
    spec.wait = None
    assert spec.to_wire() == {}  # nothing can be meant by this null


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("low", "1", "low\n  Input should be a valid integer"),
        ("low", -1, "low\n  Input should be greater than or equal to 0"),
        ("host_ip", "127.0.0.1", "host_ip\n  Value error, no loopback"),
        ("wait", 3, "wait\n"),
        ("disks", [Disk(name="a"), Disk(name="a")], "disks\n  name: a is in the list twice"),
        ("tags", ["a", "a"], "tags\n  'a' is in the list twice"),
        ("inner", {"low": 1}, "inner.zone\n  Field required"),
        ("inner", Disk(name="a"), "inner\n"),
    ],
)
def test_values_are_judged_when_they_are_set(name, value, text):
    """As in a whole object, with the class and the field."""
    spec = blank(Spec)
    spec.high = 5
    with pytest.raises(ValidationError) as caught:
        setattr(spec, name, value)
    assert str(caught.value).startswith("1 validation error for Spec\n" + text)
    assert spec.to_wire() == {"high": 5}


def test_unknown_fields_are_refused():
    """With the one that was meant."""
    with pytest.raises(AttributeError, match=r"Spec has no field 'hihg' \(attribute\); did you mean 'high'"):
        blank(Spec).hihg = 3  # type: ignore[attr-defined]


def test_an_immutable_field_can_be_set_once():
    """A value has to come from somewhere."""
    spec = blank(Spec)
    spec.zone = "a"
    with pytest.raises(ValidationError, match="Field is frozen"):
        spec.zone = "b"
    assert spec.zone == "a"


def test_validators_of_the_whole_wait_for_a_whole_object():
    """Neither a part's nor its parent's see a partial one; given a whole one, they judge as ever."""
    spec = blank(Spec)
    spec.low = 20  # above the default of the other, which is not there
    outer = blank(Spec)
    outer.inner = spec
    outer.by_name = {"a": spec}
    thing = Thing(spec=Spec(low=1, zone="a"))
    thing.spec = outer
    assert thing.to_wire()["spec"] == {"inner": {"low": 20}, "byName": {"a": {"low": 20}}}
    with pytest.raises(ValidationError, match="low is above high"):
        outer.inner = {"low": 20, "zone": "a"}  # type: ignore[assignment]
    with pytest.raises(ValidationError, match="low is above high"):
        Spec(low=20, zone="a")


def test_a_validator_that_looks_into_a_part_says_what_it_wants():
    """What it reads is to be set first; then it judges."""

    class Outer(Struct):
        disk: Disk
        other: str | None = None

        @field_validator("disk")
        @classmethod
        def _small(cls, disk: Disk) -> Disk:
            assert disk.size < 10
            return disk

    outer, disk = blank(Outer), blank(Disk)
    with pytest.raises(AttributeError, match="Disk has no 'size' yet: set it first") as caught:
        outer.disk = disk
    assert caught.value.__notes__ == [
        "A validator of `Outer.disk` reads it: set it on the part first, then the part.",
    ]
    disk.size = 20
    with pytest.raises(ValidationError):
        outer.disk = disk
    disk.size = 5
    outer.disk = disk
    assert outer.to_wire() == {"disk": {"size": 5}}


def test_parts_without_anything_set_are_left_out():
    """At every depth; an empty part that is whole is sent."""

    class Empty(Struct):
        a: int | None = None

    class Holder(Struct):
        left: Empty | None = None
        right: Empty | None = None
        deep: "Holder | None" = None

    holder = blank(Holder)
    holder.left, holder.right, holder.deep = blank(Empty), Empty(), blank(Holder)
    holder.deep.deep = blank(Holder)
    assert holder.to_wire() == {"right": {}}


def test_items_may_get_their_keys_later():
    """Whether they have them is looked at when they are applied."""
    spec = blank(Spec)
    first, second = blank(Disk), Disk(name="b")
    spec.disks = [first, second]
    first.name = "a"
    assert spec.to_wire() == {"disks": [{"name": "a"}, {"name": "b"}]}


def test_copies_are_partial_too():
    """By `copy`, `deepcopy` and `pickle`."""
    spec = blank(Spec)
    spec.disks = [blank(Disk)]
    spec.disks[0].size = 1
    for copied in (copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):
        assert copied == spec
        assert copied.to_wire() == {"disks": [{"size": 1}]}
        assert not hasattr(copied, "high")


def test_a_converter_can_set_what_was_not_carried():
    """Also where the class has a validator of its own."""
    made = carry_over(Thing.from_wire({"spec": {"low": 1, "zone": "a"}}), OtherThing)
    assert made.spec.zone == "a"
    source = blank(Spec)
    source.high = 30
    spec = carry_over(source, Spec)
    spec.low = 20
    spec.zone = "b"
    assert spec.to_wire() == {"low": 20, "high": 30, "zone": "b"}


def test_the_wire_makes_a_partial_object():
    """At every depth; unknown fields are kept, and an empty part is there."""
    wire = {"spec": {"high": 10, "inner": {"low": 99, "newer": [1]}, "disks": [{"name": "a"}]}}
    made = of_wire(Thing, {**wire, "apiVersion": "example.com/v1", "kind": "Thing"})
    assert made.to_wire()["spec"] == wire["spec"]
    assert type(made.spec.disks[0]) is Disk
    assert (hasattr(made.spec, "low"), hasattr(made.spec.disks[0], "size")) == (False, False)
    with pytest.raises(ValueError, match="'spec' of Thing is not what its type says"):
        of_wire(Thing, {"spec": {"high": "10"}})
