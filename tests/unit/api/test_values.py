"""Values are judged as the API server judges them; the server's side is held by tests/apiserver/api."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from pydantic import Field, SecretStr, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticCustomError

from pykb.api import Format, Int32, Int64, IntOrString, ListMap, ListSet, Struct
from pykb.api._core_schema import _check_unique, _KeysUnique, to_rust
from pykb.api.formats import checker
from pykb.meta.names import to_camel, to_snake


class Number(IntEnum):
    ONE = 1


class Mixed(Enum):
    TEXT = "a"
    TRUE = True


class Port(Struct):
    name: str
    host_port: int = 0


Percent = NewType("Percent", int)
Shared = Annotated[int, Field(ge=1)]


def judge(annotation: Any, value: Any) -> Any:
    """What a field of a type makes of a value of the wire."""
    return create_model("Judge", __base__=Struct, v=(annotation, ...)).from_wire({"v": value}).to_wire()["v"]


@pytest.mark.parametrize(
    ("annotation", "value", "wire"),
    [
        (int, 5.0, 5),
        (Shared, 5, 5),
        (Percent, 5, 5),
        (Int32, 2**31 - 1, 2**31 - 1),
        (IntOrString, "80", "80"),
        (IntOrString, 80, 80),
        (float, 5, 5.0),
        (Literal[1, "a"], 1.0, 1),
        (Number, 1, 1),
        (Mixed, True, True),
        (date, "2026-01-31", "2026-01-31"),
        (time, "12:00:00", "12:00:00"),
        (UUID, "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        (IPv4Address, "1.2.3.4", "1.2.3.4"),
        (Decimal, "1.50", "1.50"),
        (tuple[int, int], [1, 2], [1, 2]),
        (set[str], ["b", "a"], ["a", "b"]),
        (dict[str, list[int]], {"a": [1.0]}, {"a": [1]}),
        (Annotated[str, Field(max_length=2)], "\U0001f600\U0001f600", "\U0001f600\U0001f600"),
        (Annotated[str, Field(pattern="b")], "abc", "abc"),
        (Annotated[str | None, Format("ipv4")], "1.2.3.4", "1.2.3.4"),
        (Annotated[list[Port], ListMap("name", "hostPort")], [{"name": "a"}, {"name": "a", "hostPort": 1}], ...),
        (Annotated[float, Field(multiple_of=0.1)], 0.7, 0.7),
    ],
)
def test_what_the_schema_accepts_is_accepted(annotation: Any, value: Any, wire: Any) -> None:
    """And goes out in a form that the schema accepts."""
    assert judge(annotation, value) == (value if wire is ... else wire)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, True),
        (int, 5.5),
        (int, 2**63),
        (int, 1e19),
        (Shared, 0),
        (Percent, "5"),
        (Int32, 2**31),
        (Int64, -(2**63) - 1),
        (list[int], ["1"]),
        (dict[str, int], {"a": "1"}),
        (int | bool, "1"),
        (IntOrString, True),
        (IntOrString, 5.5),
        (float, "1"),
        (float, True),
        (bool, 1),
        (bool, "true"),
        (str, 5),
        (str, b"x"),
        (Literal[1], True),
        (Literal[True], 1),
        (Number, True),
        (Number, "1"),
        (Mixed, 1),
        (date, 0),
        (date, "0"),
        (date, "2026-01-31T00:00:00"),
        (time, 5),
        (UUID, "{123e4567-e89b-12d3-a456-426614174000}"),
        (UUID, "urn:uuid:123e4567-e89b-12d3-a456-426614174000"),
        (IPv4Address, 1),
        (IPv6Address, "fe80::1%eth0"),
        (Decimal, 1),
        (bytes, "not base64!"),
        (bytes, ""),
        (set[str], ["a", "a"]),
        (Annotated[list[str], ListSet()], ["a", "a"]),
        (Annotated[list[Port], ListMap("name", "hostPort")], [{"name": "a"}, {"name": "a", "hostPort": 0}]),
        (Annotated[str, Field(max_length=2)], "\U0001f600" * 3),
        (Annotated[str, Field(pattern=r"^\d$")], "\u0663"),
        (Annotated[str, Format("ipv4")], "1.2.3"),
        (Annotated[str | None, Format("ipv4")], "1.2.3"),
        (Annotated[float, Field(multiple_of=0.1)], 0.75),
        (Annotated[int | None, Format("int32")], 2**31),
    ],
)
def test_what_the_schema_refuses_is_refused(annotation: Any, value: Any) -> None:
    """No value passes in Python that the server would turn down."""
    with pytest.raises(ValidationError):
        judge(annotation, value)


def test_errors_say_what_pydantic_would_say() -> None:
    """The stricter judgement does not make messages longer or stranger."""
    with pytest.raises(ValidationError, match=r"v\n  Input should be a valid integer \[type=int_type"):
        judge(int, "5")
    with pytest.raises(ValidationError, match=r"less than or equal to 5"):
        judge(Annotated[int, Field(le=5)], 6)


def test_models_that_are_no_structs_stay_as_they_are() -> None:
    """Only what is inside a `Struct` is judged by the server's rules."""
    judge(int, 5)
    assert TypeAdapter(int).validate_python("5") == 5
    assert TypeAdapter(Number).validate_python("1") is Number.ONE


@pytest.mark.parametrize(
    ("re2", "rust"),
    [
        (r"^\d+$", "^[0-9]+$"),
        (r"[\w.-]", "[[0-9A-Za-z_].-]"),
        ("[[]", r"[\[]"),
        ("[]a]", r"[\]a]"),
        ("[^]a]", r"[^\]a]"),
        ("[a&&b]", r"[a\&\&b]"),
        ("[+--]", r"[+-\-]"),
        ("[--a]", r"[\--a]"),
        ("[[:alpha:]_]", "[[:alpha:]_]"),
        (r"\Qa.b\E+", r"a\.b+"),
        (r"\<a\>", "<a>"),
        (r"a\.b", r"a\.b"),
        ("(a|b){2,3}", "(a|b){2,3}"),
    ],
)
def test_patterns_keep_the_meaning_they_have_for_the_server(re2: str, rust: str) -> None:
    """Where the two engines differ, the pattern is rewritten; elsewhere it stays."""
    assert to_rust(re2) == rust


@pytest.mark.parametrize(
    ("attribute", "wire"),
    [
        ("cpu", "cpu"),
        ("service_account_name", "serviceAccountName"),
        ("from_", "from"),
        ("ipv4_cidr", "ipv4Cidr"),
        ("a_1", "a1"),
        ("x509_url", "x509Url"),
    ],
)
def test_attributes_become_camel_case(attribute: str, wire: str) -> None:
    """Word by word; digits do not start one."""
    assert to_camel(attribute) == wire


@pytest.mark.parametrize(
    ("wire", "attribute"),
    [
        ("hostIP", "host_ip"),
        ("podIPs", "pod_ips"),
        ("httpGet", "http_get"),
        ("HTTPGet", "http_get"),
        ("nonResourceURLs", "non_resource_urls"),
        ("targetWWNs", "target_wwns"),
        ("downwardAPI", "downward_api"),
        ("x-kubernetes-list-type", "x_kubernetes_list_type"),
        ("$ref", "ref"),
        ("ipv4", "ipv4"),
    ],
)
def test_wire_names_become_snake_case(wire: str, attribute: str) -> None:
    """Acronyms stay in one piece, in the plural too."""
    assert to_snake(wire) == attribute


def test_formats_that_the_server_does_not_know_are_not_checked() -> None:
    """It ignores them, and so does Python; hyphens in names do not count."""
    assert checker("zip-code") is None
    assert checker("date-time") is checker("datetime")
    assert judge(Annotated[str, Format("zip-code")], "x") == "x"


class Checked(Struct):
    names: Annotated[list[str] | None, ListSet()] = None
    ports: Annotated[list[Port], ListMap("name")] = Field(default_factory=list)


def test_checked_lists_may_have_defaults() -> None:
    """A check for duplicates does not make a field required, and holds for assignments."""
    checked = Checked()
    assert checked.names is None
    assert checked.ports == []
    with pytest.raises(ValidationError):
        checked.ports = [Port(name="a"), Port(name="a")]


class Counted(int):
    """A number that counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int.__eq__(self, other)


def test_duplicates_are_found_without_comparing_each_with_each() -> None:
    """An object of 1.5 MiB may have 100,000 items."""
    Counted.compared = 0
    _check_unique([Counted(number) for number in range(1000)])
    _KeysUnique(("name",))([{"name": Counted(number)} for number in range(1000)])
    assert Counted.compared < 1000


EQUAL = [
    ("a", "a"),
    (1, 1.0),
    ([1, {"a": [2]}], [1, {"a": [2]}]),
    ({"a": 1, "b": {"c": 2}}, {"b": {"c": 2}, "a": 1}),
    (Port(name="a"), Port(name="a")),
    (Port.from_wire({"name": "a", "more": 1}), Port.from_wire({"name": "a", "more": 1})),
]
DIFFERENT = ["a", "b", 1, None, [1], [2], {"a": 1}, {"a": 2}, {"b": 1}, Port(name="a"), Port(name="b")]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_items_are_duplicates(one: Any, other: Any) -> None:
    """Whatever they are."""
    with pytest.raises(PydanticCustomError):
        _check_unique([one, "between", other])


def test_different_items_are_no_duplicates() -> None:
    """Whatever they are."""
    assert _check_unique(DIFFERENT) is DIFFERENT


class Collections(Struct):
    numbers: list[int] = []
    ports: list[Port] = []
    by_name: dict[str, int] = {}
    several: set[int] = set()
    pair: tuple[int, ...] = ()


@pytest.mark.parametrize("name", ["numbers", "ports", "byName", "several", "pair"])
def test_only_the_first_item_that_does_not_fit_is_an_error(name: str) -> None:
    """Errors take much more memory than what they are about."""
    wrong = {f"{number}": "x" for number in range(1000)} if name == "byName" else [f"{n}" for n in range(1000)]
    for read in (Collections.from_wire, Collections.from_stored):
        with pytest.raises(ValidationError) as raised:
            read({name: wrong})
        assert raised.value.error_count() == 1


def test_secrets_go_out_as_they_are() -> None:
    """Pydantic writes stars in their place; the API server would store them, and the value would be lost."""

    class Login(Struct):
        password: SecretStr | None = None

    login = Login.from_wire({"password": "hunter2"})
    assert "hunter2" not in repr(login)
    assert login.to_wire() == {"password": "hunter2"}
    assert Login.from_wire(login.to_wire()) == login
