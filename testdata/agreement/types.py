"""Every constraint in its Pydantic spelling, one field each."""

from datetime import date, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from uuid import UUID

from pykb.api import (
    CustomResource,
    Field,
    Format,
    GroupVersion,
    Int32,
    Int64,
    IntOrString,
    ListMap,
    ListSet,
    Nullable,
    Quantity,
    Struct,
)

GROUP_VERSION = GroupVersion("agreement.example.com", "v1")


class Letter(StrEnum):
    A = "a"
    B = "b"


class Number(IntEnum):
    ONE = 1
    FIVE = 5


class Port(Struct):
    name: str
    protocol: str = "TCP"


class Inline(Struct):
    kind: Literal["inline"]
    text: str


class Named(Struct):
    kind: Literal["named"]
    name: str


class JudgeSpec(Struct):
    integer: int | None = None
    int32: Int32 | None = None
    int64: Int64 | None = None
    floating: float | None = None
    boolean: bool | None = None
    text: str | None = None
    contains: Annotated[str | None, Field(pattern="a")] = None
    word: Annotated[str | None, Field(pattern=r"^\w+$")] = None
    digit: Annotated[str | None, Field(pattern=r"^\d$")] = None
    space: Annotated[str | None, Field(pattern=r"^[\s]$")] = None
    kelvin: Annotated[str | None, Field(pattern=r"(?i)^k$")] = None
    two: Annotated[str | None, Field(pattern=r"^.{2}$")] = None
    at_most: Annotated[str | None, Field(max_length=2)] = None
    at_least: Annotated[str | None, Field(min_length=2)] = None
    one_item: Annotated[list[int] | None, Field(min_length=1, max_length=1)] = None
    one_entry: Annotated[dict[str, str] | None, Field(min_length=1, max_length=1)] = None
    counts: dict[str, int] | None = None
    literal: Literal["a", "b"] | None = None
    numeric: Literal[1, 5] | None = None
    letter: Letter | None = None
    number: Number | None = None
    int_or_string: IntOrString | None = None
    time: datetime | None = None
    octets: bytes | None = None
    day: date | None = None
    uuid: UUID | None = None
    ipv4: IPv4Address | None = None
    ipv6: IPv6Address | None = None
    even: Annotated[int | None, Field(multiple_of=2)] = None
    between: Annotated[int | None, Field(ge=1, le=5)] = None
    inside: Annotated[int | None, Field(gt=1, lt=5)] = None
    tags: set[str] | None = None
    pair: tuple[int, int] | None = None
    anything: Any = None
    free: dict[str, Any] | None = None
    nullable: Annotated[str | None, Nullable()] = None
    unique: Annotated[list[str] | None, ListSet()] = None
    ports: Annotated[list[Port] | None, ListMap("name", "protocol")] = None
    quantity: Quantity | None = None
    above: Annotated[float | None, Field(gt=1)] = None
    below: Annotated[float | None, Field(lt=1.5)] = None
    third: Annotated[float | None, Field(multiple_of=0.5)] = None
    decimal: Decimal | None = None
    path: PurePosixPath | None = None
    nested: Port | None = None
    by_name: dict[str, Port] | None = None
    lists: list[Annotated[list[int], Field(max_length=1)]] | None = None
    mode: int | Annotated[str, Field(pattern="^[0-9]+%$")] | None = None
    union: Annotated[Inline | Named | None, Field(discriminator="kind")] = None
    named_ports: Annotated[list[Port], ListMap("name")] | None = None
    f_bsonobjectid: Annotated[str | None, Format("bsonobjectid")] = None
    f_byte: Annotated[str | None, Format("byte")] = None
    f_cidr: Annotated[str | None, Format("cidr")] = None
    f_creditcard: Annotated[str | None, Format("creditcard")] = None
    f_date: Annotated[str | None, Format("date")] = None
    f_date_time: Annotated[str | None, Format("date-time")] = None
    f_duration: Annotated[str | None, Format("duration")] = None
    f_email: Annotated[str | None, Format("email")] = None
    f_hexcolor: Annotated[str | None, Format("hexcolor")] = None
    f_hostname: Annotated[str | None, Format("hostname")] = None
    f_ipv4: Annotated[str | None, Format("ipv4")] = None
    f_ipv6: Annotated[str | None, Format("ipv6")] = None
    f_isbn: Annotated[str | None, Format("isbn")] = None
    f_mac: Annotated[str | None, Format("mac")] = None
    f_password: Annotated[str | None, Format("password")] = None
    f_rgbcolor: Annotated[str | None, Format("rgbcolor")] = None
    f_ssn: Annotated[str | None, Format("ssn")] = None
    f_uri: Annotated[str | None, Format("uri")] = None
    f_uuid: Annotated[str | None, Format("uuid")] = None
    f_uuid4: Annotated[str | None, Format("uuid4")] = None
    f_long_name: Annotated[str | None, Format("k8s-long-name")] = None
    f_short_name: Annotated[str | None, Format("k8s-short-name")] = None


class Judge(CustomResource, group_version=GROUP_VERSION):
    spec: JudgeSpec
