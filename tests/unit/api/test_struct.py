"""Structs: names, what goes out, what is kept."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import Field, PlainSerializer, PrivateAttr, ValidationError, field_serializer

from pykb.api import Int32, IntOrString, MicroTime, Nullable, Quantity, Struct, Wire


class Disk(Struct):
    size: Quantity = Quantity("1Gi")
    labels: dict[str, str] = Field(default_factory=dict)


class Phase(StrEnum):
    RUNNING = "Running"


class Everything(Struct):
    name: str
    host_ip: Annotated[str | None, Wire("hostIP")] = None
    class_: str | None = None
    replicas: Int32 = 1
    port: IntOrString = 80
    at: datetime | None = None
    micro: MicroTime | None = None
    every: timedelta | None = None
    secret: bytes | None = None
    phase: Phase | None = None
    maybe: Annotated[str | None, Nullable()] = None
    disk: Disk = Field(default_factory=Disk)
    disks: list[Disk] = Field(default_factory=list)
    anything: Any = None
    tags: set[str] | None = None


def test_names_are_camel_case_on_the_wire_unless_wire_says_otherwise() -> None:
    """Attributes and wire names correspond by one rule, with `Wire` for exceptions and `_` dropped at the end."""
    made = Everything(name="a", host_ip="1.2.3.4", class_="c")
    assert made.to_wire() == {"name": "a", "hostIP": "1.2.3.4", "class": "c"}
    assert Everything.from_wire(made.to_wire()) == made


def test_from_wire_knows_only_wire_names() -> None:
    """A wire field that happens to be called like an attribute is an unknown field, not that attribute."""
    made = Everything.from_wire({"name": "a", "host_ip": "x"})
    assert made.host_ip is None
    assert made.to_wire() == {"name": "a", "host_ip": "x"}


def test_defaults_stay_home_until_they_are_set_or_changed() -> None:
    """What goes out is what was set, or differs from a fresh default."""
    assert Everything(name="a").to_wire() == {"name": "a"}
    assert Everything(name="a", replicas=1).to_wire() == {"name": "a", "replicas": 1}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda e: e.disks.append(Disk()), {"disks": [{}]}),
        (lambda e: e.disk.labels.update(a="b"), {"disk": {"labels": {"a": "b"}}}),
        (lambda e: setattr(e.disk, "size", Quantity("2Gi")), {"disk": {"size": "2Gi"}}),
        (lambda e: setattr(e, "disk", Disk()), {"disk": {}}),
    ],
)
def test_changes_in_place_are_never_lost(change: Any, expected: dict[str, Any]) -> None:
    """A change deep inside a default is a change of the object."""
    made = Everything(name="a")
    change(made)
    assert made.to_wire() == {"name": "a", **expected}


def test_none_is_absent_unless_nullable() -> None:
    """`None` goes out only where null is a value, and only when it was set."""
    made = Everything(name="a", at=None, maybe=None)
    assert made.to_wire() == {"name": "a", "maybe": None}
    assert Everything(name="a").to_wire() == {"name": "a"}


def test_scalars_have_the_wire_forms_of_kubernetes() -> None:
    """Times, durations, bytes, enums and quantities go out as the API writes them, and come back equal."""
    made = Everything(
        name="a",
        at=datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC),
        micro=datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC),
        every=timedelta(minutes=90),
        secret=b"\xff",
        phase=Phase.RUNNING,
        tags={"b", "a"},
        anything={"at": datetime(2026, 1, 31, tzinfo=UTC)},
    )
    wire = made.to_wire()
    assert wire == {
        "name": "a",
        "at": "2026-01-31T12:00:00Z",
        "micro": "2026-01-31T12:00:00.000005Z",
        "every": "1h30m0s",
        "secret": "/w==",
        "phase": "Running",
        "tags": ["a", "b"],
        "anything": {"at": "2026-01-31T00:00:00Z"},
    }
    assert type(wire["phase"]) is str
    assert Everything.from_wire(wire).to_wire() == wire
    assert made.model_dump(mode="json", by_alias=True, exclude_unset=True)["secret"] == "/w=="


def test_unknown_fields_survive_a_round_trip_and_are_no_attributes() -> None:
    """An older program keeps a newer field, at any depth, whatever it holds."""
    data = {"name": "a", "new": {"x": [None, 1.5]}, "disk": {"alsoNew": None}}
    made = Everything.from_wire(data)
    made.disk.labels["a"] = "b"
    assert made.to_wire() == {"name": "a", "new": {"x": [None, 1.5]}, "disk": {"alsoNew": None, "labels": {"a": "b"}}}
    with pytest.raises(AttributeError):
        made.new  # type: ignore[attr-defined] # noqa: B018


def test_misspelt_names_are_refused_with_a_suggestion() -> None:
    """A typo in a keyword or an attribute is said at once, not kept as an unknown field."""
    made = Everything(name="a")
    with pytest.raises(TypeError, match="did you mean 'replicas'"):
        Everything(name="a", replica=2)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="did you mean 'replicas'"):
        made.replica = 2  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="did you mean 'replicas'"):
        made.replica  # type: ignore[attr-defined] # noqa: B018


def test_assignments_are_validated() -> None:
    """A wrong value is refused where it is assigned, and the old one stays."""
    made = Everything(name="a")
    with pytest.raises(ValidationError):
        made.replicas = "2"  # type: ignore[assignment]
    assert made.replicas == 1


def test_copies_are_deep_and_remember_what_was_set() -> None:
    """No copy shares anything that can change, and all of them go out alike."""
    made = Everything.from_wire({"name": "a", "replicas": 1, "disks": [{"labels": {"a": "b"}}], "new": {"x": [1]}})
    for other in (copy.deepcopy(made), made.model_copy(deep=True), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert other.to_wire() == made.to_wire()
        other.disks[0].labels["a"] = "c"
        assert made.disks[0].labels == {"a": "b"}
        assert other != made


def test_the_wire_form_shares_nothing_with_the_object() -> None:
    """Changing what `to_wire` gave does not change the object, and the other way round."""
    made = Everything.from_wire({"name": "a", "disk": {"labels": {}}, "new": {"x": []}, "anything": [[]]})
    wire = made.to_wire()
    wire["disk"]["labels"]["a"] = "b"
    wire["new"]["x"].append(1)
    wire["anything"][0].append(1)
    assert made.to_wire() == {"name": "a", "disk": {"labels": {}}, "new": {"x": []}, "anything": [[]]}


def test_repr_shows_only_what_is_there() -> None:
    """Empty fields of large types stay out of logs."""
    assert repr(Everything(name="a", replicas=3)) == "Everything(name='a', replicas=3)"


T = TypeVar("T")


class Box(Struct, Generic[T]):
    content: T
    maximum: T | None = None


class Named(Struct):
    name: str = "x"


class Extended(Named):
    size: int = 0
    _seen: int = PrivateAttr(default=0)


def test_generics_and_inheritance_work_as_in_pydantic() -> None:
    """Parameters are validated by their type; subclasses have all fields."""
    assert Box[int](content=1).to_wire() == {"content": 1}
    with pytest.raises(ValidationError):
        Box[int](content="1")  # type: ignore[arg-type]
    extended = Extended(name="y", size=2)
    extended._seen = 5
    assert extended.to_wire() == {"name": "y", "size": 2}
    assert copy.deepcopy(extended)._seen == 5


class Custom(Struct):
    shout: Annotated[str, PlainSerializer(str.upper)]
    twice: int
    hidden: str = Field(default="h", exclude=True)

    @field_serializer("twice")
    def _twice(self, value: int) -> int:
        return value * 2


def test_serialisers_of_the_user_are_honoured() -> None:
    """A field with Pydantic's own serialiser goes out through it; an excluded one does not go out."""
    assert Custom(shout="a", twice=2, hidden="x").to_wire() == {"shout": "A", "twice": 4}


class Tree(Struct):
    children: list[Tree] | None = None


def test_types_may_refer_to_themselves() -> None:
    """Forward references resolve at first use."""
    data = {"children": [{"children": [{}]}]}
    assert Tree.from_wire(data).to_wire() == data


def test_null_goes_out_where_a_value_is_required():
    """A required field that may be null is there, or the API server would miss it."""

    class Held(Struct):
        owner: str | None
        note: str | None = None

    assert Held(owner=None, note=None).to_wire() == {"owner": None}
    assert Held.from_wire({"owner": None}).to_wire() == {"owner": None}


class Own(Struct):
    name: str

    def to_wire(self) -> dict[str, Any]:
        return {"name": self.name.upper()}

    def __deepcopy__(self, memo: Any = None) -> Own:
        return Own(name=f"copy of {self.name}")


class Owner(Struct):
    own: Own


def test_what_a_struct_does_by_itself_is_done_within_others_too() -> None:
    """Both are overridden here."""
    made = Owner(own=Own(name="a"))
    assert made.to_wire() == {"own": {"name": "A"}}
    assert copy.deepcopy(made).own.name == "copy of a"
