"""What was seen in a rule."""

from __future__ import annotations

from dataclasses import dataclass, field

from pykb.gen.cel.types import DYN, CelType


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that means nothing, with the nearest that does."""

    what: str  # "field", "variable", "function"
    name: str
    offset: int
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Mistype:
    """A call or operator on values that it does not take."""

    message: str
    offset: int
    length: int


@dataclass(slots=True)
class Findings:
    """What was seen in a rule.

    Attributes:
        unknown: Names that mean nothing.
        reserved: Fields that need to be escaped for older servers.
        mistyped: Calls that do not fit the types of their arguments.
        patterns: Regular expressions that it spells out, with their offsets.
        uses_old_self: Whether the value before the update is named.
        type: Of the result.
        cost: The worst case of one evaluation.
    """

    unknown: list[Unknown] = field(default_factory=list)
    reserved: list[Unknown] = field(default_factory=list)
    mistyped: list[Mistype] = field(default_factory=list)
    patterns: list[tuple[str, int]] = field(default_factory=list)
    uses_old_self: bool = False
    type: CelType = DYN
    cost: int = 0
