"""The definition of a marker: its name, targets, arguments, text for ``pykb explain``, and its effect on a schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

# The effects of markers, as functions on a small view of a schema.
#
# A marker's definition has an effect, and `pykb.gen` runs it.


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
        usual: Values to propose, if others are allowed, too.
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
    usual: tuple[str, ...] = ()
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
