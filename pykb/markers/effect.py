"""What a marker does, as functions on a small view of a schema: a marker's definition has one, ``pykb.gen`` runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

NUMBERS = ("integer", "number")
TEXTS = ("string",)
LISTS = ("array",)
IMMUTABLE = ("self == oldSelf", "field is immutable")
"""The rule of what never changes, and its message."""


class Value(Protocol):
    """A value that a marker is about: one with a schema, or one that only a rule can name, as the keys of a map."""

    @property
    def it(self) -> str:
        """How a rule names it: ``self``."""

    def argument(self, name: str = "") -> object:
        """What the marker says: the value after its name, or an argument."""

    def get(self, keyword: str, *, here: bool = False) -> object:
        """The value of a keyword, ``None`` when nobody says it; ``here``: what its type says does not count."""

    def put(self, keyword: str, value: object) -> None:
        """Set a keyword."""

    def fill(self, keyword: str, value: object, *, implied: bool = False) -> None:
        """Set a keyword that nobody has set; ``implied`` when a rule says it as well."""

    def rule(self, rule: str, message: object = None, **parts: object) -> None:
        """Add a CEL rule."""


class Subject(Value, Protocol):
    """The schema that a marker stands on."""

    @property
    def type(self) -> str | None:
        """The JSON type; ``None`` where it is not known."""

    @property
    def inner(self) -> str:
        """The name of the tag that is the marker's value; empty when there is none."""

    def named(self) -> dict[str, object]:
        """The arguments that have a name."""

    def beside(self, keyword: str) -> list[str]:
        """What markers of the same declaration say of a keyword."""

    def reorder(self, keyword: str, values: list[object]) -> None:
        """Put the values of a keyword into another order."""

    def drop(self, keyword: str) -> None:
        """Take a keyword away."""

    def fields(self, relation: str) -> None:
        """Add the rule of a group of fields, which the marker lists: ``at most``, ``exactly`` or ``at least`` one."""

    def refuse(self, message: str, *help_: str) -> None:
        """Report that the marker does not fit: what it does, and ``{}`` for what it stands on."""

    def inexpressible(self) -> None:
        """Report that the tag that is the marker's value cannot be said there."""

    def each_value(self) -> None:
        """Apply the tag that is the marker's value to the elements of a list or the values of a map."""

    def each_key(self) -> None:
        """Apply it to the keys of a map."""

    def field(self, name: str, *, forbids: bool) -> None:
        """Apply it to a field; ``forbids`` when it says that there must be none."""


class Holder(Protocol):
    """The object around a field, as a marker of the field sees it."""

    @property
    def name(self) -> str:
        """The field's name on the wire."""

    @property
    def at(self) -> str:
        """How a rule of the object names the field: ``self.name``."""

    @property
    def before(self) -> str:
        """How it names what the field was: ``oldSelf.name``."""

    @property
    def inner(self) -> str:
        """The name of the tag that is the marker's value; empty when there is none."""

    def argument(self, name: str = "") -> object:
        """What the marker says."""

    def beside(self, name: str) -> str | None:
        """How a rule names another field; ``None`` after reporting that there is none."""

    def rule(self, rule: str, message: str) -> None:
        """Add a CEL rule to the object."""

    def keep(self) -> None:
        """Forbid to remove the field, if it can be."""

    def join(self, *, may_be_none: bool) -> None:
        """Make the field a member of a union: one of them is set, or at most one."""

    def discriminate(self) -> None:
        """Make the field the one that says which member of the union is set."""

    def decide(self, group: str) -> None:
        """Make the field the one that :meth:`while_decided` goes by."""

    def while_decided(self, group: str, value: str, by: str, *, forbids: bool) -> None:
        """Apply the tag that is the marker's value while the field that decides in a group has a value.

        Args:
            group: The argument that names the group.
            value: The argument that has the value, where it is not in the parentheses.
            by: The marker of the field that decides.
            forbids: Whether the tag says that there must be no such field.
        """


@dataclass(frozen=True, slots=True)
class Sets:
    """The marker's value is that of a keyword; without arguments, the keyword is a flag.

    Attributes:
        keyword: Its name. Two markers of one declaration that set it must agree.
        drops: Keywords that make no sense beside it.
        adds: Whether the value is one more of a list.
    """

    keyword: str
    drops: tuple[str, ...] = ()
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Does:
    """What takes more than one keyword.

    Attributes:
        say: Says it.
        on: The types of schema that it is for; any when empty.
    """

    say: Callable[[Subject], None]
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holds:
    """What holds for a value wherever it is, so that another tag can ask it of keys, or of a field under a condition.

    Attributes:
        say: Says it.
        on: The types of schema that it is for; any when empty.
    """

    say: Callable[[Value], None]
    on: tuple[str, ...] = ()


class Whole(Enum):
    """What a marker does before all others are looked at."""

    EMPTIES = auto()
    """Only the other markers of the field count."""
    OPENS = auto()
    """The validations of the field's type do not count."""
    WRAPS = auto()
    """The tag that is its value stands there in its place."""


Effect = Sets | Does | Holds | Whole
