"""Random objects: what their types allow, edges included, the same for the same seed."""

from __future__ import annotations

import enum
import importlib
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path
from random import Random
from typing import Annotated, Any, Generic, Literal, NewType, Self, TypeVar
from uuid import UUID

import annotated_types as at
import pytest
from pydantic import BaseModel, HttpUrl, SecretStr, StringConstraints, field_validator, model_validator
from typing_extensions import TypeAliasType

from pykb.api import (
    CustomResource,
    EmbeddedResource,
    Field,
    Format,
    GroupVersion,
    Int32,
    IntOrString,
    ListMap,
    ListSet,
    MicroTime,
    Nullable,
    PreserveUnknown,
    Quantity,
    Struct,
    Wire,
    annotate,
    builtin,
)
from pykb.api.core.v1 import PodTemplateSpec
from pykb.api.formats import checker
from pykb.testing import UnsatisfiableFieldError, random_object
from pykb.testing.objects.limits import Limits, NoValueError
from pykb.testing.objects.patterns import text_of
from pykb.testing.objects.texts import _FORMATS, random_text

GROUP_VERSION = GroupVersion("random.example.com", "v1")
SEEDS = range(60)
T = TypeVar("T")
Percent = NewType("Percent", int)
Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=20)]


class Color(enum.StrEnum):
    """An enum of texts."""

    RED = "red"
    BLUE = "blue"


class Port(Struct):
    """An item of a list map."""

    name: Name
    port: Annotated[Int32, Field(ge=1, le=65535)]
    protocol: Literal["TCP", "UDP"] = "TCP"


class Node(Struct):
    """A struct in itself."""

    value: int = 0
    left: Node | None = None
    others: list[Node] = Field(default_factory=list)


class EverythingSpec(Struct):
    """One field of each shape."""

    cpu: Annotated[str, Field(pattern=r"^[0-9]+$")]
    host_ip: Annotated[str | None, Wire("hostIP"), Format("ipv4")] = None
    memory: Quantity = Quantity("2Gi")
    size: IntOrString = 1
    percent: Annotated[Percent, Field(ge=0, le=100, multiple_of=5)] = Percent(50)
    ratio: Annotated[float, Field(gt=0, lt=1)] = 0.5
    started: datetime | None = None
    seen: MicroTime | None = None
    after: Annotated[datetime | None, Field(ge=datetime(2020, 1, 1, tzinfo=UTC))] = None
    timeout: Annotated[timedelta, Field(ge=timedelta(0), le=timedelta(hours=1))] = timedelta(seconds=30)
    secret: Annotated[bytes, Field(min_length=2, max_length=5)] = b"ab"
    color: Color = Color.RED
    mode: Literal["a", "b", 3] = "a"
    either: Port | Node | None = None
    names: Annotated[list[Name], Field(min_length=2, max_length=4), ListSet()] = Field(default=["a", "b"])
    ports: Annotated[list[Port] | None, ListMap("name")] = None
    tags: set[str] | None = None
    pair: tuple[int, str] | None = None
    limits: Annotated[dict[str, Quantity], Field(max_length=2)] = Field(default_factory=dict)
    counts: dict[Color, int] | None = None
    anything: Any = None
    open: dict[str, Any] | None = None
    resource: Annotated[dict[str, Any] | None, EmbeddedResource()] = None
    blank: Annotated[str | None, Nullable()] = None
    tree: Node | None = None
    template: PodTemplateSpec | None = None
    day: date | None = None
    amount: Decimal | None = None
    id: UUID | None = None
    address: IPv4Address | None = None
    network: IPv6Network | None = None

    @field_validator("blank")
    @classmethod
    def _no_letter(cls, value: str | None) -> str | None:
        if value and re.search("[aeiou]", value):
            raise ValueError("has a vowel")
        return value


class Everything(CustomResource, group_version=GROUP_VERSION):
    """A kind with it all."""

    spec: EverythingSpec


@cache
def made() -> list[Everything]:
    """A number of objects, which no test changes."""
    return [random_object(Everything, seed) for seed in SEEDS]


def test_the_same_seed_makes_the_same_object() -> None:
    """And another seed another one."""
    assert [random_object(Everything, seed) for seed in SEEDS] == made()
    assert len({str(o.to_wire()) for o in made()}) > 55


def test_what_is_made_is_read_again() -> None:
    """`from_wire(to_wire(x)) == x`, and the bytes are the same."""
    for obj in made():
        again = Everything.from_wire(obj.to_wire())
        assert again == obj
        assert again.to_wire() == obj.to_wire()


@pytest.mark.parametrize("name", sorted(EverythingSpec.model_fields))
def test_every_field_is_there_sometimes_with_more_than_one_value(name: str) -> None:
    """No shape is always absent, or always the same."""
    values = {repr(getattr(obj.spec, name)) for obj in made()}
    assert len(values) >= 2


def test_of_ten_objects_one_is_bare_and_one_is_full() -> None:
    """The bare one has nothing it need not have."""
    assert set(random_object(Everything, 10).to_wire()["spec"]) == {"cpu"}
    full = set(random_object(Everything, 11).to_wire()["spec"])
    assert len(full) > len(EverythingSpec.model_fields) - 3


def test_edges_are_met() -> None:
    """The least and the greatest value, empty containers, null, an absent field."""
    specs = [random_object(Everything, seed).to_wire()["spec"] for seed in range(300)]
    ports = {port["port"] for spec in specs for port in spec.get("ports") or []}
    assert {1, 65535} <= ports
    assert {0, 100} <= {spec.get("percent") for spec in specs}
    assert any(spec.get("limits") == {} for spec in specs)
    assert any("blank" in spec and spec["blank"] is None for spec in specs)
    assert {len(spec["names"]) for spec in specs if "names" in spec} == {2, 3, 4}


def test_unknown_fields_are_there_when_asked_for() -> None:
    """As a newer server would send them."""
    texts = [str(random_object(Everything, seed, unknown_fields=True).to_wire()) for seed in SEEDS]
    assert any("unknownToThisVersion" in text for text in texts)
    assert not any("unknownToThisVersion" in str(obj.to_wire()) for obj in made())


@annotate(PreserveUnknown())
class Open(Struct):
    """A server keeps whatever else is in it."""

    known: int = 0


def test_structs_that_are_open_have_unknown_fields_anyway() -> None:
    """They are part of the API."""
    assert any("unknownToThisVersion" in random_object(Open, seed).to_wire() for seed in SEEDS)


def test_overrides_make_what_the_type_does_not_say() -> None:
    """By path: of a field, of the items of a list, of the values of a map; None leaves a field out."""
    overrides = {
        "spec.cpu": lambda random: str(random.randint(1, 8)),
        "spec.ports[].name": lambda random: f"p{random.randint(0, 10**6)}",
        "spec.limits.*": lambda _: Quantity("1"),
        "spec.tree": lambda _: None,
        "spec.started": lambda _: datetime(2026, 1, 1, tzinfo=UTC),
    }
    specs = [random_object(Everything, seed, overrides=overrides).to_wire()["spec"] for seed in SEEDS]
    assert all(1 <= int(spec["cpu"]) <= 8 for spec in specs)
    assert all(port["name"][0] == "p" for spec in specs for port in spec.get("ports") or [])
    assert {value for spec in specs for value in spec.get("limits", {}).values()} == {"1"}
    assert not any("tree" in spec for spec in specs)
    assert {spec["started"] for spec in specs} == {"2026-01-01T00:00:00Z"}


class Impossible(Struct):
    """Nothing is both long and short."""

    spec_name: Annotated[str, Field(pattern="^a{3}$", max_length=2)]


class Greek(Struct):
    """A pattern of which no text can be made."""

    name: Annotated[str, Field(pattern=r"^\p{Greek}+$")]


class Odd(Struct):
    """A validator that no random text passes."""

    word: str

    @field_validator("word")
    @classmethod
    def _xyzzy(cls, value: str) -> str:
        if value != "xyzzy":
            raise ValueError("say the word")
        return value


class Endless(Struct):
    """Needs itself."""

    inner: Endless


@pytest.mark.parametrize(
    ("kind", "path"), [(Impossible, "specName"), (Greek, "name"), (Odd, "word"), (Endless, "inner")]
)
def test_what_cannot_be_made_is_said_with_the_way_out(kind: type[Struct], path: str) -> None:
    """The field, and how to give an override for it."""
    with pytest.raises(UnsatisfiableFieldError) as raised:
        random_object(kind, 1)
    assert path in raised.value.path
    assert f'overrides={{"{raised.value.path}": lambda random: ...}}' in str(raised.value)


def test_a_misspelt_override_is_told() -> None:
    """With what is near."""
    with pytest.raises(ValueError, match="EverythingSpec has no `cpus`; did you mean `cpu`"):
        random_object(Everything, overrides={"spec.cpus": lambda _: "1"})


def test_an_override_satisfies_what_a_type_cannot() -> None:
    """The remedy of the message works."""
    assert random_object(Odd, 1, overrides={"word": lambda _: "xyzzy"}).word == "xyzzy"


@pytest.mark.parametrize("name", sorted(_FORMATS))
def test_texts_are_of_their_format(name: str) -> None:
    """As the API server judges it."""
    check, random = checker(name), Random(1)
    assert check is not None
    for _ in range(200):
        text = random_text(Limits(format=name), random)
        assert check(text), text


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi)?$",
        r"^(a|b(c|d){2,3})*$",
        r"[^a-z\s]{3}",
        r"^[[:alpha:]_][[:alnum:]_]*\z",
        r"^\d{3}-\w+\.[A-F]?$",
        r"(?i)^ab.$",
        r"^[\w.-]+@example\.com$",
        r"^[^\d]\D\S\W$",
    ],
)
def test_texts_match_their_pattern(pattern: str) -> None:
    """As RE2 understands it, within the length that is asked for."""
    random = Random(1)
    texts = {random_text(Limits(patterns=(pattern,), max_length=20), random) for _ in range(50)}
    assert len(texts) > 3
    assert all(len(text) <= 20 for text in texts)


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"\p{Greek}", r"(a)\1"])
def test_patterns_beyond_the_generator_are_told(pattern: str) -> None:
    """Never a wrong text."""
    with pytest.raises(NoValueError):
        text_of(pattern, Random(1))


class Box(Struct, Generic[T]):
    """A generic struct."""

    value: T
    more: list[T] = Field(default_factory=list)


class Plain(BaseModel):
    """A model that is no struct."""

    a: int = 1


class Cat(Struct):
    """A member of a union."""

    kind: Literal["cat"]
    lives: int


class Dog(Struct):
    """Another one."""

    kind: Literal["dog"]
    name: str


class Level(enum.IntEnum):
    """Numbers with names."""

    LOW = 1
    HIGH = 2


Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))


class Unusual(Struct):
    """Types and constraints that are spelt in other ways."""

    box: Box[int]
    boxes: Box[Box[str]] | None = None
    plain: Plain | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    sequence: Sequence[str] = ()
    frozen: frozenset[int] = frozenset()
    levels: dict[Level, int] = Field(default_factory=dict)
    texts: Annotated[str, StringConstraints(pattern="^x+$", max_length=4)] = "x"
    pair: Pair[int] | None = None
    url: HttpUrl | None = None
    secret: SecretStr | None = None
    level: Level = Level.LOW
    nested: list[list[dict[str, list[int]]]] = Field(default_factory=list)
    counted: Annotated[dict[Annotated[str, Field(pattern="^k[0-9]$")], str], at.Len(1, 3)]
    interval: Annotated[int, at.Interval(ge=1, le=5)] = 2
    half: Annotated[float, Field(multiple_of=0.5, ge=-1, le=1)] = 0
    low: Annotated[int, Field(le=-5)] = -5
    eleven: Annotated[int, Field(gt=10, lt=12)] = 11

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.interval == 5 and self.level is Level.LOW:
            raise ValueError("not both")
        return self


def test_other_spellings_are_understood() -> None:
    """Generics, aliases with parameters, unions told apart by a field, Pydantic's own types, validators of a whole."""
    for seed in range(100):
        obj = random_object(Unusual, seed, unknown_fields=True)
        again = Unusual.from_wire(obj.to_wire())
        assert again == obj
        assert again.to_wire() == obj.to_wire()
        assert obj.eleven == 11


SOURCES = Path(__file__).parents[3] / "testdata"
MODULES = sorted(
    ".".join(file.relative_to(SOURCES.parent).with_suffix("").parts)
    for folder in ("crd", "agreement", "differential")
    for file in (SOURCES / folder).rglob("*types.py")
)


@pytest.mark.parametrize("module", MODULES)
def test_types_of_the_golden_files_are_read_again(module: str) -> None:
    """Whatever the generator has a case for."""
    found = importlib.import_module(module)
    for kind in vars(found).values():
        if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__ == found.__name__:
            for seed in range(6):
                obj = random_object(kind, seed, unknown_fields=True)
                again = kind.from_wire(obj.to_wire())
                assert again == obj
                assert again.to_wire() == obj.to_wire()


@pytest.mark.parametrize("gvk", list(builtin.kinds()), ids=str)
def test_built_in_kinds_are_read_again(gvk: Any) -> None:
    """Every kind of Kubernetes goes out and comes back the same, fields unknown to us included."""
    kind = builtin.find_class(gvk)
    assert kind is not None
    for seed in range(12):
        obj = random_object(kind, seed, unknown_fields=True)
        again = kind.from_wire(obj.to_wire())
        assert again == obj
        assert again.to_wire() == obj.to_wire()
