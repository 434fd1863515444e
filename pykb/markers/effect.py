"""The effects of markers, as functions on a small view of a schema.

A marker's definition has an effect, and ``pykb.gen`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

NUMBERS = ("integer", "number")
TEXTS = ("string",)
LISTS = ("array",)
IMMUTABLE = ("self == oldSelf", "field is immutable")
"""The CEL rule of an immutable value, and its message."""


class Value(Protocol):
    """A value that a marker constrains. It has a schema, or only rules can refer to it, like the keys of a map."""

    @property
    def it(self) -> str:
        """Its expression in rules, such as ``self``."""

    def argument(self, name: str = "") -> object:
        """The value after the marker's name, or an argument."""

    def get(self, keyword: str, *, here: bool = False) -> object:
        """The value of a keyword; ``None`` when it is not set. With ``here``, keywords of the type do not count."""

    def put(self, keyword: str, value: object) -> None:
        """Set a keyword."""

    def fill(self, keyword: str, value: object, *, implied: bool = False) -> None:
        """Set a keyword if it is not set. ``implied`` says that a rule checks it as well."""

    def rule(self, rule: str, message: object = None, **parts: object) -> None:
        """Add a CEL rule."""


class Subject(Value, Protocol):
    """The schema that a marker is applied to."""

    @property
    def type(self) -> str | None:
        """The JSON type; ``None`` when it is not known."""

    @property
    def inner(self) -> str:
        """The name of the tag that is the marker's value; empty when there is none."""

    def named(self) -> dict[str, object]:
        """The named arguments."""

    def beside(self, keyword: str) -> list[str]:
        """The values of a keyword in the other markers of the declaration."""

    def reorder(self, keyword: str, values: list[object]) -> None:
        """Put the values of a keyword into another order."""

    def drop(self, keyword: str) -> None:
        """Remove a keyword."""

    def fields(self, relation: str) -> None:
        """Add the rule for the group of fields in the marker: ``at most``, ``exactly`` or ``at least`` one is set."""

    def refuse(self, message: str, *help_: str) -> None:
        """Report that the marker does not fit. The message says what it does, with ``{}`` for the declaration."""

    def inexpressible(self) -> None:
        """Report that a CRD cannot express the tag in the marker's value."""

    def each_value(self) -> None:
        """Apply the tag in the marker's value to the elements of a list or the values of a map."""

    def each_key(self) -> None:
        """Apply the tag in the marker's value to the keys of a map."""

    def field(self, name: str, *, forbids: bool) -> None:
        """Apply the tag in the marker's value to a field. ``forbids`` says that the tag forbids the field."""


class Holder(Protocol):
    """The object around a field, as a marker of the field sees it."""

    @property
    def name(self) -> str:
        """The field's name on the wire."""

    @property
    def at(self) -> str:
        """The field's expression in rules of the object: ``self.name``."""

    @property
    def before(self) -> str:
        """The expression of the field's old value: ``oldSelf.name``."""

    @property
    def inner(self) -> str:
        """The name of the tag that is the marker's value; empty when there is none."""

    def argument(self, name: str = "") -> object:
        """An argument of the marker."""

    def beside(self, name: str) -> str | None:
        """The expression of another field. Returns ``None`` and reports it when the field does not exist."""

    def rule(self, rule: str, message: str) -> None:
        """Add a CEL rule to the object."""

    def keep(self) -> None:
        """Forbid removing the field, if it is optional."""

    def join(self, *, may_be_none: bool) -> None:
        """Make the field a member of a union. Exactly one member is set, or at most one."""

    def discriminate(self) -> None:
        """Make the field the discriminator of the union."""

    def decide(self, group: str) -> None:
        """Make the field the deciding field for :meth:`while_decided`."""

    def while_decided(self, group: str, value: str, by: str, *, forbids: bool) -> None:
        """Apply the tag in the marker's value while the deciding field of a group has a certain value.

        Args:
            group: The argument that names the group.
            value: The argument with the value, if it is not in the parentheses.
            by: The marker of the deciding field.
            forbids: Whether the tag forbids the field.
        """


@dataclass(frozen=True, slots=True)
class Sets:
    """The effect that sets a keyword to the marker's value. Without arguments, the keyword is a flag.

    Attributes:
        keyword: Its name. Two markers of one declaration must set it to the same value.
        drops: Keywords to remove, since they make no sense with it.
        adds: Whether the value is added to a list.
    """

    keyword: str
    drops: tuple[str, ...] = ()
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Does:
    """An effect beyond setting one keyword.

    Attributes:
        say: Says it.
        on: The types of schema that it is for; any when empty.
    """

    say: Callable[[Subject], None]
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holds:
    """An effect on a value in any place. Another tag can apply it to map keys or to a conditional field.

    Attributes:
        say: Says it.
        on: The types of schema that it is for; any when empty.
    """

    say: Callable[[Value], None]
    on: tuple[str, ...] = ()


class Whole(Enum):
    """An effect that runs before all others."""

    EMPTIES = auto()
    """Only the other markers of the field count."""
    OPENS = auto()
    """The validations of the field's type do not count."""
    WRAPS = auto()
    """The tag in its value replaces it."""


Effect = Sets | Does | Holds | Whole
