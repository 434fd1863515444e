"""What was seen in a rule."""

from __future__ import annotations

from dataclasses import dataclass, field

from pykb.gen.cel.types import DYN, CelType


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown name, with the most similar known one."""

    what: str  # "field", "variable", "function"
    name: str
    offset: int
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Mistype:
    """A call or operator with operands of the wrong type."""

    message: str
    offset: int
    length: int


@dataclass(slots=True)
class Findings:
    """What was seen in a rule.

    Attributes:
        unknown: Unknown names.
        reserved: Fields that older API servers need escaped.
        mistyped: Calls that do not fit the types of their arguments.
        patterns: Regular expressions in literals, with their offsets.
        uses_old_self: Whether the rule uses ``oldSelf``.
        type: The type of the result.
        cost: The worst-case cost of one evaluation.
    """

    unknown: list[Unknown] = field(default_factory=list)
    reserved: list[Unknown] = field(default_factory=list)
    mistyped: list[Mistype] = field(default_factory=list)
    patterns: list[tuple[str, int]] = field(default_factory=list)
    uses_old_self: bool = False
    type: CelType = DYN
    cost: int = 0
