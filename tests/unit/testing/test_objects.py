"""Objects that hypothesis draws: what their schemas allow, edges included, the same for the same seed."""

from __future__ import annotations

import enum
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NewType, Self, TypeVar
from uuid import UUID

import annotated_types as at
import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
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
from pykb.gen.checks.value import is_match
from pykb.gen.draft import patched
from pykb.gen.ir import SchemaNode
from pykb.testing import UnsatisfiableFieldError, objects_of
from pykb.testing.objects.kinds import _FORMATS, UNKNOWN, values_of

GROUP_VERSION = GroupVersion("random.example.com", "v1")
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
    """A struct in itself, cut where a schema has to end."""

    value: int = 0
    left: Annotated[Node | None, PreserveUnknown()] = None
    others: list[Annotated[Node, PreserveUnknown()]] = Field(default_factory=list)


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
    pair: tuple[int, int] | None = None
    limits: Annotated[dict[str, Quantity], Field(max_length=2)] = Field(default_factory=dict)
    counts: dict[str, int] | None = None
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

    @field_validator("blank")
    @classmethod
    def _no_letter(cls, value: str | None) -> str | None:
        if value and re.search("[aeiou]", value):
            raise ValueError("has a vowel")
        return value


# +kubebuilder:validation:XValidation:rule="self.low <= self.high",message="low first"
# +kubebuilder:validation:ExactlyOneOf=one;other
class Marked(Struct):
    """What only comments and rules say."""

    # +kubebuilder:validation:Minimum=3
    # +kubebuilder:validation:Maximum=7
    size: int

    # +kubebuilder:validation:Enum=red;blue
    color: str

    low: int
    high: int
    one: str | None = None
    other: str | None = None


class Everything(CustomResource, group_version=GROUP_VERSION):
    """A kind with it all."""

    spec: EverythingSpec


StructT = TypeVar("StructT", bound=Struct)


def drawn(kind: type[StructT], count: int = 60, seed: int = 0, **arguments: Any) -> list[StructT]:
    """Some objects, always the same ones in a process."""
    found: list[StructT] = []

    @hypothesis.seed(seed)
    @settings(max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(objects_of(kind, **arguments))
    def draw(obj: StructT) -> None:
        found.append(obj)

    draw()
    return found


@cache
def made() -> list[Everything]:
    """A number of objects, which no test changes."""
    return drawn(Everything, 150)


def test_the_same_seed_makes_the_same_objects() -> None:
    """And another seed other ones."""
    assert drawn(Everything, 20, seed=3) == drawn(Everything, 20, seed=3)
    assert drawn(Everything, 20, seed=3) != drawn(Everything, 20, seed=4)


def test_the_same_seed_makes_the_same_objects_under_any_hash_seed() -> None:
    """No set decides what comes first."""
    program = "from tests.unit.testing.test_objects import *; print([o.to_wire() for o in drawn(Everything, 12)])"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": number},
            capture_output=True,
            check=True,
        ).stdout
        for number in ("1", "2")
    }
    assert len(printed) == 1


def assert_read_again(obj: Struct) -> None:
    """`from_wire(to_wire(x)) == x`, and the bytes are the same; also with fields of a newer server."""
    newer = obj.to_wire() | {"newer": {"a": [1]}}
    if isinstance(newer.get("spec"), dict):
        newer["spec"] = newer["spec"] | {"newer": True}
    for wire in (obj.to_wire(), newer):
        again = type(obj).from_wire(wire)
        assert again.to_wire() == wire
    assert type(obj).from_wire(obj.to_wire()) == obj


def test_what_is_made_is_read_again() -> None:
    """`from_wire(to_wire(x)) == x`, and the bytes are the same."""
    for obj in made():
        assert_read_again(obj)


@pytest.mark.parametrize("name", sorted(EverythingSpec.model_fields))
def test_every_field_is_there_sometimes_with_more_than_one_value(name: str) -> None:
    """No shape is always absent, or always the same."""
    values = {repr(getattr(obj.spec, name)) for obj in made()}
    assert len(values) >= 2


def test_the_first_object_is_bare() -> None:
    """It has a name, and what it must have."""
    assert made()[0].to_wire() == {
        "apiVersion": "random.example.com/v1",
        "kind": "Everything",
        "metadata": {"name": "0"},
        "spec": {"cpu": "0"},
    }


def test_edges_are_met() -> None:
    """The least and the greatest value, empty containers, null, an absent field."""
    specs = [obj.to_wire()["spec"] for obj in made()]
    assert {1, 65535} <= set(
        some(values_of(patched(SchemaNode(), {"type": "integer", "minimum": 1, "maximum": 65535})))
    )
    assert any(spec.get("limits") == {} for spec in specs)
    assert any("blank" in spec and spec["blank"] is None for spec in specs)
    lengths = {len(spec["names"]) for spec in specs if "names" in spec}
    assert lengths <= {2, 3, 4}
    assert len(lengths) > 1  # what hypothesis draws also depends on the modules that other tests have loaded


def test_markers_are_kept_to() -> None:
    """What a comment says is in the schema, and rules are, too."""
    specs = [obj.to_wire() for obj in drawn(Marked, 60)]
    assert {spec["size"] for spec in specs} <= set(range(3, 8))
    assert {3, 7} <= {spec["size"] for spec in specs}
    assert {spec["color"] for spec in specs} == {"red", "blue"}
    assert all(spec["low"] <= spec["high"] for spec in specs)
    assert all(("one" in spec) is not ("other" in spec) for spec in specs)


@given(objects_of(Marked))
def test_a_test_with_the_usual_settings_runs(obj: Marked) -> None:
    """No health check of hypothesis fails: objects are seldom thrown away."""
    assert obj.low <= obj.high


@annotate(PreserveUnknown())
class Open(Struct):
    """A server keeps whatever else is in it."""

    known: int = 0


def test_structs_that_are_open_have_unknown_fields() -> None:
    """They are part of the API."""
    assert any(UNKNOWN in obj.to_wire() for obj in drawn(Open))
    assert not any(UNKNOWN in str(obj.to_wire()["spec"].get("ports")) for obj in made())


def test_overrides_make_what_the_type_does_not_say() -> None:
    """By path: of a field, of the items of a list, of the values of a map; None leaves a field out."""
    overrides: dict[str, Any] = {
        "spec.cpu": lambda random: str(random.randint(1, 8)),
        "spec.ports[].name": st.integers(0, 10**6).map("p{}".format),
        "spec.limits.*": st.just(Quantity("1")),
        "spec.tree": lambda _: None,
        "spec.started": lambda _: datetime(2026, 1, 1, tzinfo=UTC),
    }
    specs = [obj.to_wire()["spec"] for obj in drawn(Everything, 100, overrides=overrides)]
    found = {spec["cpu"] for spec in specs}
    assert found <= set("12345678")
    assert len(found) > 1  # hypothesis likes to draw the same number again
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


@pytest.mark.parametrize(("kind", "path"), [(Impossible, "specName"), (Greek, "name"), (Odd, "word")])
def test_what_cannot_be_made_is_said_with_the_way_out(kind: type[Struct], path: str) -> None:
    """The field, and how to give an override for it."""
    with pytest.raises(UnsatisfiableFieldError) as raised:
        drawn(kind)
    assert raised.value.path == path
    assert f'overrides={{"{path}": lambda random: ...}}' in str(raised.value)


def test_a_misspelt_override_is_told() -> None:
    """With what is near."""
    with pytest.raises(ValueError, match="EverythingSpec has no `cpus`; did you mean `cpu`"):
        objects_of(Everything, overrides={"spec.cpus": lambda _: "1"})


def test_an_override_satisfies_what_a_type_cannot() -> None:
    """The remedy of the message works."""
    assert drawn(Odd, 3, overrides={"word": lambda _: "xyzzy"})[0].word == "xyzzy"


@pytest.mark.parametrize("name", sorted(_FORMATS))
def test_texts_are_of_their_format(name: str) -> None:
    """As the API server judges it, and nearly all at once."""
    check = checker(name)
    assert check is not None
    schema = patched(SchemaNode(), {"type": "string", "format": name})
    for text in some(values_of(schema)):
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
    schema = patched(SchemaNode(), {"type": "string", "pattern": pattern, "maxLength": 20})
    texts = some(values_of(schema))
    assert len(set(texts)) > 3
    assert all(is_match(pattern, text) and len(text) <= 20 for text in texts)


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"type": "integer", "minimum": 2, "maximum": 11, "multipleOf": 5}, lambda n: n in (5, 10)),
        ({"type": "integer", "minimum": 10, "exclusiveMinimum": True, "maximum": 12}, lambda n: n in (11, 12)),
        ({"type": "integer", "format": "int32"}, lambda n: -(2**31) <= n < 2**31),
        ({"type": "number", "minimum": -1, "maximum": 1, "multipleOf": 0.5}, lambda n: n * 2 in (-2, -1, 0, 1, 2)),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1}, lambda n: 0 < n <= 1),
        ({"type": "array", "items": {"type": "boolean"}, "x-kubernetes-list-type": "set"}, lambda v: len(v) <= 2),
        ({"type": "string", "enum": ["a", "b"], "nullable": True}, lambda v: v in ("a", "b", None)),
        ({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": -5}]}, lambda n: abs(n) >= 5),
        ({"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 7}], "not": {"enum": [6]}}, lambda n: n in (5, 7)),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            lambda v: len(v) == 1,
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2, "maxProperties": 3},
            lambda v: len(v) in (2, 3),
        ),
    ],
)
def test_values_fit_their_schema(schema: dict[str, Any], fits: Callable[[Any], bool]) -> None:
    """Each keyword of a CRD's schema that is about values."""
    for value in some(values_of(patched(SchemaNode(), schema))):
        assert fits(value), value


def some(strategy: st.SearchStrategy[Any]) -> list[Any]:
    """Values of a strategy."""
    found: list[Any] = []

    @settings(max_examples=40, database=None, derandomize=True, phases=[Phase.generate])
    @given(strategy)
    def draw(value: Any) -> None:
        found.append(value)

    draw()
    return found


def test_without_hypothesis_it_is_said_what_to_install() -> None:
    """In one line, and only where objects are made: the plugin does not need it."""
    program = (
        "import sys; sys.modules['hypothesis'] = None; import pykb.testing, pykb.testing.plugin\n"
        "try: pykb.testing.assert_round_trips\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("install it: pip install 'pykubebuilder[test]'\n")


def test_the_plugin_does_not_import_hypothesis() -> None:
    """It is loaded in every environment that has pykb."""
    program = "import sys, pykb.testing, pykb.testing.plugin; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


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
    for obj in drawn(Unusual, overrides={"counted": st.just({"k1": "x"})}):
        assert_read_again(obj)
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
            for obj in drawn(kind, 3):
                assert_read_again(obj)


@pytest.mark.parametrize("gvk", list(builtin.kinds()), ids=str)
def test_built_in_kinds_are_read_again(gvk: Any) -> None:
    """Every kind of Kubernetes goes out and comes back the same, fields unknown to us included."""
    kind = builtin.find_class(gvk)
    assert kind is not None
    for obj in drawn(kind, 4):
        assert_read_again(obj)
