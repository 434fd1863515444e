"""What ``Annotated[...]`` and ``Field(...)`` say about a value, in the form that a generator asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import annotated_types as at

from pykb.api import annotations as api
from pykb.api.time import MicroTimeFormat
from pykb.gen.lower.constraints import flatten
from pykb.gen.lower.limits import tightest

_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}


class NoValueError(ValueError):
    """No value is within the limits, or none was found."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one value.

    Attributes:
        ge: The least value.
        gt: What the value is above.
        le: The greatest value.
        lt: What the value is below.
        multiple_of: What it is a multiple of.
        min_length: The least number of characters, items or entries.
        max_length: The greatest number of them.
        patterns: Expressions that a text matches.
        format: The format of a scalar.
        keys: The wire names that tell the items of a list apart.
        unique: Whether no two items are equal.
        known: The values that a server knows.
        microseconds: Whether a time has fractions of a second on the wire.
        embedded: Whether it is an object with a kind of its own.
        nullable: Whether ``null`` is a value.
    """

    ge: Any = None
    gt: Any = None
    le: Any = None
    lt: Any = None
    multiple_of: Any = None
    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[str, ...] = ()
    format: str = ""
    keys: tuple[str, ...] = ()
    unique: bool = False
    known: tuple[str, ...] = ()
    microseconds: bool = False
    embedded: bool = False
    nullable: bool = False

    @classmethod
    def of(cls, metadata: Iterable[object]) -> Limits:
        """Gather what metadata says; of two limits of a kind the tighter one counts."""
        try:
            return _gathered(tuple(metadata))
        except TypeError:  # some of it cannot be hashed
            return _gathered.__wrapped__(metadata)


@lru_cache(maxsize=4096)
def _gathered(metadata: Iterable[object]) -> Limits:
    limits: dict[str, Any] = {}
    for item in tightest(flatten(metadata)):
        said = next((said for kind, said in _SAID.items() if isinstance(item, kind)), _pattern)
        for name, value in said(item).items():
            limits[name] = (*limits.get(name, ()), *value) if name == "patterns" else value
    return Limits(**limits)


def _pattern(item: Any) -> dict[str, Any]:
    pattern = getattr(item, "pattern", None)
    if isinstance(pattern, re.Pattern):
        flags = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
        pattern = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    return {"patterns": (pattern,)} if isinstance(pattern, str) else {}


_SAID: dict[type, Callable[[Any], dict[str, Any]]] = {
    at.Ge: lambda item: {"ge": item.ge},
    at.Gt: lambda item: {"gt": item.gt},
    at.Le: lambda item: {"le": item.le},
    at.Lt: lambda item: {"lt": item.lt},
    at.MultipleOf: lambda item: {"multiple_of": item.multiple_of},
    at.MinLen: lambda item: {"min_length": item.min_length},
    at.MaxLen: lambda item: {"max_length": item.max_length},
    api.Format: lambda item: {"format": item.name.replace("-", "")},
    api.ListMap: lambda item: {"keys": item.keys},
    api.ListSet: lambda _: {"unique": True},
    api.KnownValues: lambda item: {"known": item.values},
    api.EmbeddedResource: lambda _: {"embedded": True},
    api.Nullable: lambda _: {"nullable": True},
    MicroTimeFormat: lambda _: {"microseconds": True},
}
