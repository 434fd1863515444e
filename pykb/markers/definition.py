"""What a marker is: its name, where it may stand, which arguments it takes, and what ``pykb explain`` says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykb.markers.effect import Effect, Holder


class MarkerTarget(StrEnum):
    """The kinds of declaration that a marker can describe."""

    PACKAGE = "package"
    TYPE = "type"
    FIELD = "field"


class ValueKind(StrEnum):
    """The types of argument that the grammar knows."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"
    ANY = "any"
    JSON = "JSON"
    RAW = "raw text"
    MARKER = "marker"


class Grammar(Enum):
    """How the text after the name is read."""

    KUBEBUILDER = "kubebuilder"
    """``+a:b:c=v,d=w`` and ``+a:b=v``, with Go's tokens; everything up to the end of the line counts."""
    DECLARATIVE = "declarative"
    """``+k8s:name(arguments)=value # comment``, the tags of Kubernetes' declarative validation (KEP-5073)."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an argument; ``item`` is the type of the elements of a list or the values of a map."""

    kind: ValueKind
    item: ValueType | None = None

    def __str__(self) -> str:
        if self.kind is ValueKind.LIST:
            return f"list of {self.item}"
        if self.kind is ValueKind.MAP:
            return f"map of {self.item}"
        return str(self.kind)


STRING = ValueType(ValueKind.STRING)
INTEGER = ValueType(ValueKind.INTEGER)
NUMBER = ValueType(ValueKind.NUMBER)
BOOLEAN = ValueType(ValueKind.BOOLEAN)
ANY = ValueType(ValueKind.ANY)
JSON = ValueType(ValueKind.JSON)
RAW = ValueType(ValueKind.RAW)
MARKER = ValueType(ValueKind.MARKER)
STRINGS = ValueType(ValueKind.LIST, STRING)
ANYS = ValueType(ValueKind.LIST, ANY)
OBJECT = ValueType(ValueKind.MAP, ANY)


@dataclass(frozen=True, slots=True)
class ArgumentDefinition:
    """One argument of a marker.

    Attributes:
        name: The name before ``=``; empty for the value that follows the marker's own name.
        type: What its value is read as.
        summary: One line for people.
        optional: Whether the marker may leave it out.
        choices: The only values it may have, where the Kubernetes API fixes them.
        folded: Whether upper and lower case are alike among ``choices``.
        minimum: The least number it may be.
        maximum: The greatest number it may be.
        positional: In the declarative grammar: stands in the parentheses without a name.
        textual: Whether a value whose type is guessed must turn out to be a string.
        bare: Whether blanks may stand around a number (so controller-gen v0.23 reads some).
    """

    name: str
    type: ValueType
    summary: str = ""
    optional: bool = False
    choices: tuple[str, ...] = ()
    folded: bool = False
    minimum: int | None = None
    maximum: int | None = None
    positional: bool = False
    textual: bool = False
    bare: bool = False

    @property
    def spelling(self) -> str:
        """How messages name it."""
        return f"`{self.name}`" if self.name else "the value"


@dataclass(frozen=True, slots=True)
class MarkerDefinition:
    """A marker that pykb knows.

    Attributes:
        name: The full name, without the plus sign.
        targets: The declarations that it may describe.
        arguments: What it takes, in the order of the reference.
        summary: One line for people: what it does.
        example: A marker line as one would write it, without the comment sign.
        category: The heading of the reference that it stands under.
        priority: Order of application among markers of one declaration, lower first (controller-gen's numbers).
        generators: Who reads it: ``crd``, ``rbac``, ``webhook``.
        go_only: Whether it only means something to Go code generators; accepted with a note.
        repeatable: Whether several on one declaration add up; otherwise a second one is an error.
        anywhere: Whether it counts wherever it stands in a file.
        grammar: How its arguments are written.
        items_depth: For ``validation:items:`` variants, how many levels of list elements down it applies.
        base_name: The name of the marker without the ``items:`` steps; gen applies it by this name.
        alias_of: The marker that this is another spelling of, if any.
        open_arguments: Whether arguments that are not listed are taken too (as strings).
        effect: What it does to the schema that it stands on.
        member: What it does to the object around the field that it stands on.
        required: Whether it says that the field must be there, or may be left out; ``None`` when it says neither.
        synonyms: What other schema languages call it, in small letters.
    """

    name: str
    targets: frozenset[MarkerTarget]
    arguments: tuple[ArgumentDefinition, ...] = ()
    summary: str = ""
    example: str = ""
    category: str = ""
    priority: int = 10
    generators: frozenset[str] = frozenset({"crd"})
    go_only: bool = False
    repeatable: bool = False
    anywhere: bool = False
    grammar: Grammar = Grammar.KUBEBUILDER
    items_depth: int = 0
    base_name: str = ""
    alias_of: str = ""
    open_arguments: bool = False
    effect: Effect | None = None
    member: Callable[[Holder], None] | None = None
    required: bool | None = None
    synonyms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.base_name:
            object.__setattr__(self, "base_name", self.name)

    @property
    def value(self) -> ArgumentDefinition | None:
        """The argument that follows the name directly, if it takes one."""
        return next((a for a in self.arguments if not a.name), None)

    def argument(self, name: str) -> ArgumentDefinition | None:
        """The argument of that name."""
        return next((a for a in self.arguments if a.name == name), None)

    def at_items(self, depth: int) -> MarkerDefinition:
        """The same marker for the elements of a list, ``depth`` levels down."""
        prefix, _, last = self.base_name.rpartition(":")
        name = f"{prefix}:{'items:' * depth}{last}"
        summary = f"{self.summary} Applies to the elements of a list."
        first, colon, rest = self.example.partition(self.base_name)
        example = f"{first}{name}{rest}" if colon else f"+{name}"
        return replace(self, name=name, items_depth=depth, summary=summary, example=example, base_name=self.base_name)
