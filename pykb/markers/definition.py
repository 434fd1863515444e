"""The definition of a marker: its name, targets, arguments, effect, and the text for ``pykb explain``."""

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
    """The types of arguments."""

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
    """The grammar of the text after the name."""

    KUBEBUILDER = "kubebuilder"
    """``+a:b:c=v,d=w`` and ``+a:b=v``, with Go's tokens, up to the end of the line."""
    DECLARATIVE = "declarative"
    """``+k8s:name(arguments)=value # comment``, the tags of Kubernetes' declarative validation (KEP-5073)."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an argument. ``item`` is the type of a list's elements or a map's values."""

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
class Argument:
    """One argument of a marker.

    Attributes:
        name: The name before ``=``; empty for the value that follows the marker's own name.
        type: The type of its value.
        summary: One line for people.
        optional: Whether the marker may leave it out.
        choices: The allowed values, if the Kubernetes API fixes them.
        folded: Whether ``choices`` ignore case.
        minimum: The smallest allowed number.
        maximum: The largest allowed number.
        positional: Whether it is in the parentheses without a name, in the declarative grammar.
        textual: Whether a value of a guessed type must be a string.
        bare: Whether blanks are allowed around a number, as controller-gen v0.23 allows for some.
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
        """The name in messages."""
        return f"`{self.name}`" if self.name else "the value"


@dataclass(frozen=True, slots=True)
class MarkerDefinition:
    """A marker that pykb knows.

    Attributes:
        name: The full name, without the plus sign.
        targets: The kinds of declaration that it may describe.
        arguments: Its arguments, in the order of the reference.
        summary: One line for people: what it does.
        example: An example line, without the comment sign.
        category: Its heading in the reference.
        priority: The order among markers of one declaration, lower first (controller-gen's numbers).
        generators: The generators that read it: ``crd``, ``rbac``, ``webhook``.
        go_only: Whether it is only for Go code generators. It is accepted with a note.
        repeatable: Whether a declaration may have several. If not, a second one is an error.
        anywhere: Whether it counts anywhere in a file.
        grammar: The grammar of its arguments.
        items_depth: For ``validation:items:`` variants, the depth of the list elements that it applies to.
        base_name: The name of the marker without the ``items:`` steps; gen applies it by this name.
        alias_of: The marker that this is another spelling of, if any.
        open_arguments: Whether unlisted arguments are accepted too, as strings.
        effect: Its effect on the schema of its declaration.
        member: Its effect on the object around its field.
        required: Whether it makes a field required or optional; ``None`` when it does neither.
        synonyms: Its names in other schema languages, in lower case.
    """

    name: str
    targets: frozenset[MarkerTarget]
    arguments: tuple[Argument, ...] = ()
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
    def value(self) -> Argument | None:
        """The argument directly after the name, if it takes one."""
        return next((a for a in self.arguments if not a.name), None)

    def argument(self, name: str) -> Argument | None:
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
