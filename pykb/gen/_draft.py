"""A schema under construction.

Python constraints and markers set its keywords. Contradictions between the two are reported here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from pykb.diagnostics import Code, Diagnostics, Label, Span
from pykb.diagnostics.codes.crd import CONSTRAINT_CONFLICT
from pykb.gen.ir import Keyword, Place, PropertyNode, Rule, SchemaNode


@dataclass(slots=True)
class Draft:
    """The schema of one use of a type, under construction.

    Attributes:
        node: The schema being refined; may be a bare reference.
        effective: The same schema with references resolved. Its type decides which keyword a length becomes.
        place: The use, for messages.
        diagnostics: Gets what does not fit the type.
    """

    node: SchemaNode
    effective: SchemaNode
    place: Place
    diagnostics: Diagnostics
    _by_markers: set[str] = field(default_factory=set)

    @property
    def type(self) -> str | None:
        """The JSON type."""
        return self.effective.type

    def report(self, code: Code, message: str, *help_: str, notes: tuple[str, ...] = ()) -> None:
        """Report a problem with this use."""
        self.diagnostics.add(code.at(self.place.span, message, notes=notes, help=help_))

    def start(self, node: SchemaNode) -> None:
        """Replace the schema, whatever the type says."""
        self.node = self.effective = node

    def change(self, change: Callable[[SchemaNode], SchemaNode]) -> None:
        """Apply a change to both ``node`` and ``effective``."""
        is_whole = self.node is self.effective
        self.node = change(self.node)
        self.effective = self.node if is_whole else change(self.effective)

    def put(self, name: str, new: Keyword, drops: tuple[str, ...] = ()) -> None:
        """Set a keyword."""

        def change(node: SchemaNode) -> SchemaNode:
            node = node.without(*drops)
            return (node.retyped(str(new.value)) if name == "type" else node).put_all({name: new})

        self.change(change)

    def put_marker(self, name: str, new: Keyword, drops: tuple[str, ...] = ()) -> None:
        """Set a keyword from a marker. Reports a different value from Python.

        Markers were compared with each other when they were read.
        """
        old = self.node.keywords.get(name)
        if old is not None and old.spelling and old.value != new.value and name not in self._by_markers:
            self.contradict(new, old)
        self._by_markers.add(name)
        self.put(name, new, drops)

    def contradict(self, new: Keyword, old: Keyword) -> None:
        """Report that a marker contradicts another part of the declaration."""
        at = old.span or self.place.span
        self.diagnostics.add(
            CONSTRAINT_CONFLICT.at(
                new.span,
                f"`{new.spelling}` contradicts `{old.spelling}`",
                label=f"says {new.value!r}",
                labels=(Label(at, f"says {old.value!r}"),) if at else (),
                help=("remove one of the two, or make them equal",),
            )
        )

    def add(self, *rules: Rule) -> None:
        """Add CEL rules."""
        self.change(lambda node: node.add(*rules))

    def part(self, name: Literal["items", "values"]) -> Draft | None:
        """A draft for the list's elements or the map's values. :meth:`adopt` puts the result back."""
        seen: SchemaNode | None = getattr(self.effective, name)
        return None if seen is None else self._part(getattr(self.node, name), seen, f"an element of {self.place.what}")

    def field(self, prop: PropertyNode) -> Draft:
        """A draft for a field of the object."""
        said = (self.node.properties or {}).get(prop.name)
        return self._part(said.schema if said else None, prop.schema, f"the field `{prop.name}` of {self.place.what}")

    def _part(self, node: SchemaNode | None, effective: SchemaNode, what: str) -> Draft:
        return Draft(node or SchemaNode(), effective, replace(self.place, what=what), self.diagnostics)

    def adopt(self, name: Literal["items", "values"], part: Draft) -> None:
        """Put the draft of a part back into this one."""
        node, effective = {name: part.node}, {name: part.effective}
        self.node = replace(self.node, **node)  # type: ignore[arg-type]  # one of two attributes of one type
        self.effective = replace(self.effective, **effective)  # type: ignore[arg-type]

    def adopt_field(self, prop: PropertyNode, part: Draft | None = None, *, required: bool = False) -> None:
        """Put the draft of a field back, or make the field required."""
        said = (self.node.properties or {}).get(prop.name)
        refined = said or PropertyNode(prop.name, prop.attribute, SchemaNode(), required=prop.required, span=prop.span)
        refined = replace(refined, required=refined.required or required)
        refined = refined if part is None else replace(refined, schema=part.node)
        self.node = replace(self.node, properties={**(self.node.properties or {}), prop.name: refined})


def shown_type(node: SchemaNode) -> str:
    """The type of a schema with its article, for messages."""
    name = node.type_name
    if name == "any":
        return "of any type"
    return f"an {name}" if name[0] in "aio" else f"a {name}"


def type_label(node: SchemaNode, span: Span | None) -> tuple[Label, ...]:
    """A label at the type's place that names its schema type."""
    return (Label(span, f"the schema of this type is `{node.type_name}`"),) if span else ()
