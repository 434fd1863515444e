"""Types made by chance out of every constraint in its Pydantic spelling, and values for them, near their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

HEADER = """\
from datetime import date, datetime, timedelta
from enum import IntEnum, StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal
from uuid import UUID

from pykb.api import *

GROUP_VERSION = GroupVersion("agreement.example.com", "v1")


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


"""
PATTERNS = ["^[a-z]+$", r"^\d{2,3}$", "a|b", r"^\w*$", "^(foo|bar)?$", "[^x]", r"^[-.\w]+\.[a-z]{2,}$", "(?i)^yes$"]
WORDS = ["", "a", "ab", "abc", "x", "12", "123", "1234", "foo", "bar", "yes", "YES", "a.bc", "é", "ab\n", "a b"]
FORMATS = ["date-time", "date", "duration", "email", "uri", "ipv4", "ipv6", "cidr", "uuid", "hostname", "mac", "byte"]
TIMES = [
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00.5+02:00",
    "2026-02-30T12:00:00Z",
    "2026-01-31",
    "1h",
    "1h30m",
    "90",
]
ADDRESSES = ["1.2.3.4", "1.2.3", "::1", "1.2.3.0/24", "http://a.b/c", "a@b.c", "a.b", "00:00:5e:00:53:01"]
OTHERS = ["YQ==", "123e4567-e89b-12d3-a456-426614174000", "2Gi", "1.5", "-1", "red", "RED", "low"]
NUMBERS = [0, 1, -1, 2, 3, 5, 7, 10, 11, 1.5, 2.0, -0.5, 2**31, 2**63, 1e3, True]
ANYTHING: list[Any] = [*WORDS, *TIMES, *ADDRESSES, *OTHERS, *NUMBERS, None, False, [], {}, ["a"], {"a": 1}, [None]]

Value = Callable[[Random], Any]


@dataclass
class Made:
    """A type: its Python text, and what makes a value that may fit."""

    text: str
    value: Value
    is_scalar: bool = True


@dataclass
class Maker:
    """Makes types; structs that they need are gathered in ``classes``."""

    rng: Random
    classes: list[str] = field(default_factory=list)

    def make(self, depth: int = 2) -> Made:
        """A type, at most so deep."""
        kinds = [self.integer, self.number, self.text, self.choice, self.fixed]
        if depth:
            kinds += [self.array, self.mapping, self.struct, self.tuple, self.keyed, self.union, self.nullable]
        made = self.rng.choice(kinds)
        return made() if kinds.index(made) < 5 else made(depth - 1)  # type: ignore[call-arg]

    def _bounds(self, low: str, high: str, span: tuple[int, int]) -> tuple[str, int, int]:
        first, last = sorted(self.rng.randint(*span) for _ in range(2))
        last += 2
        said = [f"{low}={first}", f"{high}={last}"]
        keep = self.rng.choice([said, said[:1], said[1:], []])
        return ", ".join(keep), first, last

    def _annotated(self, base: str, constraints: str) -> str:
        return f"Annotated[{base}, Field({constraints})]" if constraints else base

    def integer(self) -> Made:
        """Inclusive and exclusive bounds, multiples, widths."""
        text, first, last = self._bounds(
            *self.rng.choice([("ge", "le"), ("gt", "lt"), ("ge", "lt"), ("gt", "le")]), (-5, 9)
        )
        if self.rng.random() < 0.3:
            text = ", ".join(part for part in (text, f"multiple_of={self.rng.choice([2, 3, 5])}") if part)
        near = [first - 1, first, first + 1, last - 1, last, last + 1, 6, 30, float(first), first + 0.5]
        return Made(self._annotated(self.rng.choice(["int", "Int32", "Int64"]), text), lambda r: r.choice(near))

    def number(self) -> Made:
        """Fractions."""
        text, first, last = self._bounds(*self.rng.choice([("ge", "le"), ("gt", "lt")]), (-3, 3))
        near = [first, last, first - 0.5, last + 0.5, first + 0.25, 0.1, 1e3]
        return Made(self._annotated("float", text), lambda r: r.choice(near))

    def text(self) -> Made:
        """Lengths, patterns, formats."""
        text, _, _ = self._bounds("min_length", "max_length", (0, 3))
        if self.rng.random() < 0.4:
            text = ", ".join(part for part in (text, f"pattern={self.rng.choice(PATTERNS)!r}") if part)
        if self.rng.random() < 0.2:
            return Made(
                f"Annotated[str, Format({self.rng.choice(FORMATS)!r})]", lambda r: r.choice(TIMES + ADDRESSES + OTHERS)
            )
        return Made(self._annotated("str", text), lambda r: r.choice(WORDS))

    def choice(self) -> Made:
        """Literals and enums."""
        text = self.rng.choice(
            ['Literal["a", "abc"]', "Literal[1, 5]", "Color", "Level", 'Literal["x"]', "Literal[True]"]
        )
        return Made(text, lambda r: r.choice(["a", "abc", 1, 5, 3, "red", "blue", "x", True, 1.0]))

    def fixed(self) -> Made:
        """Types whose schema is given."""
        names = ["bool", "datetime", "date", "timedelta", "bytes", "UUID", "IPv4Address", "IPv6Address"]
        names += ["IntOrString", "Quantity", "Any", "dict[str, Any]", "bool"]
        return Made(
            self.rng.choice(names), lambda r: r.choice([*TIMES, *ADDRESSES, *OTHERS, *NUMBERS, False, {"a": 1}])
        )

    def array(self, depth: int) -> Made:
        """Lists and sets with their sizes."""
        inner = self.make(depth)
        text, first, last = self._bounds("min_length", "max_length", (0, 2))
        base = f"list[{inner.text}]"
        if inner.is_scalar and inner.text in {"int", "str", "bool", "Color"} and self.rng.random() < 0.5:
            base = f"set[{inner.text}]"
        sizes = [max(first - 1, 0), first, last, last + 1]
        return Made(
            self._annotated(base, text), lambda r: [inner.value(r) for _ in range(r.choice(sizes))], is_scalar=False
        )

    def mapping(self, depth: int) -> Made:
        """Maps with their sizes."""
        inner = self.make(depth)
        text, first, last = self._bounds("min_length", "max_length", (0, 2))
        sizes = [max(first - 1, 0), first, last, last + 1]
        return Made(
            self._annotated(f"dict[str, {inner.text}]", text),
            lambda r: {f"k{i}": inner.value(r) for i in range(r.choice(sizes))},
            is_scalar=False,
        )

    def tuple(self, depth: int) -> Made:
        """As many elements as said."""
        del depth
        inner, count = self.integer(), self.rng.randint(1, 3)
        return Made(
            f"tuple[{', '.join([inner.text] * count)}]",
            lambda r: [inner.value(r) for _ in range(r.choice([count, count, count - 1, count + 1]))],
            is_scalar=False,
        )

    def keyed(self, depth: int) -> Made:
        """A list whose elements are told apart by a field."""
        del depth
        inner = self.make(0)
        name = self._class([("name", "str", ""), ("value", f"{inner.text} | None", " = None")])
        names = ["a", "b", "a", "c"]

        def value(r: Random) -> Any:
            found = [{"name": r.choice(names), "value": inner.value(r)} for _ in range(r.randint(0, 3))]
            return [{"value": 1}] if r.random() < 0.1 else found

        return Made(f'Annotated[list[{name}], ListMap("name")]', value, is_scalar=False)

    def struct(self, depth: int) -> Made:
        """Required and optional fields, with defaults, nullable."""
        fields, values = [], {}
        for i in range(self.rng.randint(1, 3)):
            inner = self.make(depth)
            how = self.rng.choice(["required", "optional", "nullable"])
            values[f"f{i}"] = inner.value
            text, default = {
                "required": (inner.text, ""),
                "optional": (f"{inner.text} | None", " = None"),
                "nullable": (f"{inner.text} | None", ""),
            }[how]
            fields.append((f"f{i}", text, default))
        name = self._class(fields)
        return Made(name, lambda r: _object(values, r), is_scalar=False)

    def union(self, depth: int) -> Made:
        """Structs told apart by a literal."""
        made = [(tag, self.make(depth)) for tag in ("a", "b", "c")[: self.rng.randint(2, 3)]]
        names = [self._class([("kind", f'Literal["{tag}"]', ""), (f"of_{tag}", inner.text, "")]) for tag, inner in made]

        def value(r: Random) -> Any:
            tag, inner = r.choice(made)
            found = {"kind": tag, f"of{tag.upper()}": inner.value(r)}
            if r.random() < 0.2:
                found.pop(r.choice(list(found)))
            return {**found, "kind": "z"} if r.random() < 0.1 else found

        return Made(f'Annotated[{" | ".join(names)}, Field(discriminator="kind")]', value, is_scalar=False)

    def nullable(self, depth: int) -> Made:
        """Null is a value."""
        inner = self.make(depth)
        return Made(
            f"Annotated[{inner.text} | None, Nullable()]",
            lambda r: None if r.random() < 0.4 else inner.value(r),
            is_scalar=False,
        )

    def _class(self, fields: list[tuple[str, str, str]]) -> str:
        name = f"Struct{len(self.classes)}"
        lines = "".join(f"    {attribute}: {text}{default}\n" for attribute, text, default in fields)
        self.classes.append(f"class {name}(Struct):\n{lines}\n\n")
        return name


def _object(values: dict[str, Value], r: Random) -> Any:
    found = {name: value(r) for name, value in values.items()}
    if r.random() < 0.2:
        found.pop(r.choice(list(found)))
    if r.random() < 0.1:
        found[r.choice(list(values))] = None
    return found


def make_module(seed: int, count: int) -> tuple[str, dict[str, Made]]:
    """The text of a module with a kind of so many fields, and their types by name."""
    maker = Maker(Random(seed))
    made = {f"f{i}": maker.make() for i in range(count)}
    lines = "".join(f"    {name}: Annotated[{kind.text} | None, Field()] = None\n" for name, kind in made.items())
    text = f"{HEADER}{''.join(maker.classes)}class JudgeSpec(Struct):\n{lines}\n\n"
    return text + "class Judge(CustomResource, group_version=GROUP_VERSION):\n    spec: JudgeSpec\n", made


def value_for(made: Made, r: Random) -> Any:
    """A value near the limits of a type; now and then anything."""
    return r.choice(ANYTHING) if r.random() < 0.15 else made.value(r)
