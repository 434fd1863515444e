"""Objects of what fits, for those who must say something of an object that nobody can read."""

from typing import Annotated, Literal, NewType

import pytest
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
