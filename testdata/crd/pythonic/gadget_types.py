"""Every constraint in its Pydantic spelling."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar
from uuid import UUID

from pykb.api import (
    CEL,
    AtLeastOneOf,
    CustomResource,
    EmbeddedResource,
    ExactlyOneOf,
    ExternalDocs,
    Field,
    Format,
    GroupVersion,
    Immutable,
    Int32,
    Int64,
    IntOrString,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    Nullable,
    PreserveUnknown,
    Quantity,
    RawSchema,
    ServerDefault,
    Struct,
    Wire,
    annotate,
)
from pykb.api.meta.v1 import Condition, LabelSelector

T = TypeVar("T")

GROUP_VERSION = GroupVersion("golden.example.com", "v1")

# A name that is a DNS label.
Label = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]

# A share of a hundred.
Percentage = NewType("Percentage", Annotated[int, Field(ge=0, le=100)])


class Colour(StrEnum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"
    AMBER = "amber"


class Speed(IntEnum):
    SLOW = 1
    FAST = 10


class Range(Struct, Generic[T]):
    """From one value to another."""

    start: T
    end: T | None = None


class Port(Struct):
    name: Label
    number: Annotated[Int32, Field(ge=1, le=65535)]
    protocol: Literal["TCP", "UDP"] = "TCP"


class Inline(Struct):
    kind: Literal["inline"]
    text: str


class Reference(Struct):
    kind: Literal["reference"]
    name: str


@annotate(CEL("self.min <= self.max", message="min is above max"), MapAtomic())
class Bounds(Struct):
    """Two numbers in order."""

    min: Int64
    max: Int64


@annotate(ExactlyOneOf("by_name", "by_label"), AtLeastOneOf("by_name", "by_label", "by_address"))
class Target(Struct):
    by_name: str | None = None
    by_label: LabelSelector | None = None
    by_address: Annotated[str, Field(max_length=45), Format("ipv4")] | None = None


class Node(Struct):
    """A tree, cut where it returns to itself."""

    value: str
    children: list[Annotated[Node, PreserveUnknown()]] | None = None


class Named(Struct):
    """What everything has."""

    display_name: Annotated[str | None, Field(max_length=100)] = None
    """How people call it."""


class GadgetSpec(Named):
    """What a gadget is to be."""

    name: Label
    title: Annotated[str, Field(min_length=1, max_length=80, title="Title", examples=["A gadget"])]
    colour: Colour = Colour.RED
    colours: list[Colour] | None = None
    speed: Speed | None = None
    mode: Literal["auto", "manual"] | None = None
    answer: Literal[1, 2, 4] = 2
    share: Percentage | None = None
    above: Annotated[int, Field(gt=0, lt=100, multiple_of=5)] | None = None
    flag: bool = True
    size: Quantity = Quantity("2Gi")
    timeout: timedelta = timedelta(minutes=5)
    started: datetime = datetime(2026, 1, 31, 12, tzinfo=UTC)
    birthday: date | None = None
    identity: UUID | None = None
    secret: bytes | None = None
    either: IntOrString = "50%"
    maximum: Annotated[IntOrString, ServerDefault("25%")] | None = None
    ports: Annotated[list[Port], ListMap("name", "protocol"), Field(min_length=1, max_length=16)]
    words: Annotated[list[str], ListSet(), Field(max_length=8)] = Field(default_factory=list)
    letters: set[str] = Field(default_factory=set)
    history: Annotated[list[str], ListAtomic()] = ["first"]
    pair: tuple[int, int] | None = None
    labels: Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=10), MapAtomic()] | None = None
    anything: Any = None
    fields: dict[str, Any] | None = None
    open: Annotated[Bounds, PreserveUnknown()] | None = None
    embedded: Annotated[dict[str, Any], EmbeddedResource()] | None = None
    maybe: Annotated[str, Nullable()] | None = None
    required_but_null: str | None
    host_ip: Annotated[str | None, Wire("hostIP")] = None
    bounds: Bounds | None = None
    target: Target | None = None
    tree: Node | None = None
    numbers: Range[int] | None = None
    dates: Range[date] | None = None
    source: Annotated[Inline | Reference, Field(discriminator="kind")] | None = None
    class_name: Annotated[str | None, Immutable()] = None
    serial: Annotated[str, Field(frozen=True, max_length=20)]
    checked: Annotated[list[Int64], CEL("self.all(x, x > 0)", reason="FieldValueInvalid"), Field(max_length=10)] | None = None
    documented: Annotated[str | None, ExternalDocs("https://example.com/gadgets")] = None
    raw: Annotated[Any, RawSchema({"type": "object", "maxProperties": 2, "x-kubernetes-preserve-unknown-fields": True})] = None
    old: Annotated[str | None, Field(deprecated="use `name`", description="The former name.")] = None


class GadgetStatus(Struct):
    conditions: Annotated[list[Condition], ListMap("type")] | None = None
    replicas: Int32 = 0


# +kubebuilder:subresource:status
# +kubebuilder:printcolumn:name=Colour,type=string,JSONPath=`.spec.colour`
# +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
# +kubebuilder:resource:shortName=gdg
class Gadget(CustomResource, group_version=GROUP_VERSION):
    """Gadget shows what Python can say about an API."""

    spec: GadgetSpec
    status: GadgetStatus = Field(default_factory=GadgetStatus)
