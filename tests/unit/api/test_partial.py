"""Objects of what fits, for those who must say something of an object that nobody can read."""

from typing import Annotated, Literal, NewType

import pytest
from pydantic import AfterValidator, model_validator
from typing_extensions import TypeAliasType

from pykb.api import CustomResource, Field, GroupVersion, Int32, Quantity, Struct
from pykb.api.partial import fitting

Words = NewType("Words", str)
Alias = TypeAliasType("Alias", list[int])


class Part(Struct):
    """A part."""

    weight: Annotated[int, Field(ge=1)]
    name: str = "part"


class Spec(Struct):
    """A required field of each sort, and some that are not."""

    number: Int32
    text: str
    words: Words
    flag: bool
    ratio: float
    items: list[Part]
    alias: Alias
    names: dict[str, str]
    zones: set[str]
    part: Part
    mode: Literal["a", "b"]
    memory: Quantity
    either: int | str
    maybe: str | None
    optional: str | None = None
    defaulted: int = 3


class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):
    """A thing."""

    spec: Spec


@pytest.mark.parametrize("wire", [{}, {"spec": {}}, {"spec": None}, {"spec": "text"}, {"spec": {"number": "x"}}])
def test_what_is_required_and_not_there_is_empty(wire):
    """As programs in Go see it; `None` where the type has no empty value."""
    spec = fitting(Thing, wire).spec
    empty = {"number": 0, "text": "", "words": "", "flag": False, "ratio": 0.0, "items": [], "alias": [], "names": {}}
    empty |= {"zones": set(), "mode": None, "memory": None, "either": None, "maybe": None}
    assert {name: getattr(spec, name) for name in empty} == empty
    assert (spec.part.weight, spec.part.name, spec.optional, spec.defaulted) == (0, "part", None, 3)


def test_what_fits_stays_at_every_depth():
    """And what the class does not know."""
    wire = {
        "metadata": {"name": "a"},
        "spec": {
            "number": 7,
            "text": 5,
            "items": [{"name": "x", "more": {"y": None}}, {"weight": 2}],
            "names": {"a": "b"},
            "unknown": [1],
        },
        "later": True,
    }
    made = fitting(Thing, wire)
    assert (made.metadata.name, made.spec.number, made.spec.text, made.spec.names) == ("a", 7, "", {"a": "b"})
    assert [(item.weight, item.name, item.model_extra) for item in made.spec.items] == [
        (0, "x", {"more": {"y": None}}),
        (2, "part", {}),
    ]
    assert (made.spec.model_extra, made.model_extra) == ({"unknown": [1]}, {"later": True})


def test_a_validator_of_a_field_does_not_see_what_its_class_would_refuse():
    """Neither the class's validator nor the field's is asked about an object that misses something."""

    class Window(Struct):
        start: int
        end: int

        @model_validator(mode="after")
        def _ordered(self) -> "Window":
            assert self.start < self.end
            return self

    def short(window: Window) -> Window:
        assert window.end > 0
        return window

    class Plan(Struct):
        window: Annotated[Window, AfterValidator(short)]

    assert fitting(Plan, {"window": {"end": -9}}).to_wire() == {"window": {"start": 0, "end": -9}}
