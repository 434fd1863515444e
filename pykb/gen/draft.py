"""Schemas under construction.

A :class:`Draft` gets keywords from Python constraints and markers, and reports contradictions between the two.
``patched`` applies a ``SchemaPatch``, a merge patch on a schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pykb.diagnostics import Code, Diagnostics, Label, Span
from pykb.diagnostics.codes.crd import CONSTRAINT_CONFLICT
from pykb.gen.ir import RULES, Keyword, Place, PropertyNode, Rule, SchemaNode, read_rules


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
        self.diagnostics.report(code, self.place.span, message, *help_, notes=notes)

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
        self.diagnostics.report(
            CONSTRAINT_CONFLICT,
            new.span,
            f"`{new.spelling}` contradicts `{old.spelling}`",
            "remove one of the two, or make them equal",
            label=f"says {new.value!r}",
            labels=(Label(at, f"says {old.value!r}"),) if at else (),
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
    return "of any type" if node.type_name == "any" else with_article(node.type_name)


def with_article(name: str) -> str:
    """The name of a schema type with its article."""
    return f"an {name}" if name[0] in "aio" else f"a {name}"


def type_label(node: SchemaNode, span: Span | None) -> tuple[Label, ...]:
    """A label at the type's place that names its schema type."""
    return (Label(span, f"the schema of this type is `{node.type_name}`"),) if span else ()


_SPELLING = "SchemaPatch"
Apply = Callable[[SchemaNode | None, Mapping[str, object]], SchemaNode]


def patched(
    node: SchemaNode, patch: Mapping[str, Any], span: Span | None = None, *, spelling: str = _SPELLING
) -> SchemaNode:
    """The schema with a patch applied (RFC 7386, sub-schemas included).

    Args:
        node: A schema without references.
        patch: Keywords to set; ``None`` removes one. ``required`` is the list of all required properties. A value
            without the form of a schema stays a keyword, and the checks report it.
        span: The place of the patch in the source.
        spelling: The spelling of the patch in the source.
    """

    def apply(node: SchemaNode | None, value: Mapping[str, object]) -> SchemaNode:
        return patched(node or SchemaNode(span=span), value, span, spelling=spelling)

    for name, value in sorted(patch.items(), key=lambda item: item[0] == "required"):  # last, since it names properties
        if value is None:
            node = _without(node, name)
        elif (structured := _with_structure(node, name, value, span, apply)) is not None:
            node = structured
        else:
            node = _without(node, name).put(name, value, span, spelling)
    return node


def _with_structure(node: SchemaNode, name: str, value: Any, span: Span | None, apply: Apply) -> SchemaNode | None:
    """The schema with sub-schemas, required names or rules; ``None`` for plain keywords, and values of another form."""
    match name:
        case "properties" if _are_schemas(value, Mapping):
            return replace(node, properties=_properties(node.properties or {}, value, span, apply))
        case "required" if node.properties is not None and isinstance(value, list):
            return _required(node, value, span)
        case "items" if isinstance(value, Mapping):
            return replace(node, items=apply(node.items, value))
        case "additionalProperties" if isinstance(value, Mapping):
            return replace(node, values=apply(node.values, value))
        case "allOf" if _are_schemas(value, list):
            return replace(node, all_of=tuple(apply(None, part) for part in value))
    rules = read_rules(value, span) if name == RULES else None
    return None if rules is None else replace(node.without(name), rules=rules)


def _are_schemas(value: Any, kind: Any) -> bool:
    """Whether it is a list or map of schemas. A null in a map removes a schema."""
    if not isinstance(value, kind):
        return False
    parts: Iterable[Any] = value.values() if isinstance(value, Mapping) else value
    return all(isinstance(part, Mapping) or (part is None and kind is Mapping) for part in parts)


def _without(node: SchemaNode, name: str) -> SchemaNode:
    match name:
        case "properties":
            return replace(node, properties=None)
        case "items":
            return replace(node, items=None)
        case "additionalProperties":
            return replace(node.without(name), values=None)
        case "allOf":
            return replace(node, all_of=())
        case "required":
            return _required(node, (), None)
    return replace(node.without(name), rules=() if name == RULES else node.rules)


def _properties(
    properties: Mapping[str, PropertyNode], patch: Any, span: Span | None, apply: Apply
) -> dict[str, PropertyNode]:
    found = dict(properties)
    for name, value in patch.items():
        old = found.get(name)
        if value is None:
            found.pop(name, None)
        elif old is None:
            found[name] = PropertyNode(name, name, apply(None, value), required=False, span=span)
        else:
            found[name] = replace(old, schema=apply(old.schema, value))
    return found


def _required(node: SchemaNode, names: Iterable[object], span: Span | None) -> SchemaNode:
    wanted = list(names)
    if node.properties is not None:
        properties = {name: replace(prop, required=name in wanted) for name, prop in node.properties.items()}
        node = replace(node, properties=properties)
    # Unusual, but no structural rule forbids it.
    unknown = [name for name in wanted if name not in (node.properties or {})]
    return node.without("required").put("required", unknown, span, _SPELLING) if unknown else node.without("required")
