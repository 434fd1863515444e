"""Turns named types into finished schemas: applies field markers, replaces references, applies type markers last."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from pykb.api import annotations as api
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import CustomResource, Object
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostics, Label, Severity, Span
from pykb.diagnostics.codes.crd import BARE_METADATA, ENUM_DISJOINT, RECURSION, TYPE_CONFLICT, UNION
from pykb.gen.cel.types import type_of_schema
from pykb.gen.declare import Declarations, NamedType, generic_origin
from pykb.gen.draft import Draft
from pykb.gen.ir import Keyword, Origin, Place, PropertyNode, Rule, SchemaNode, StructUnion
from pykb.gen.lower.annotation import PRESERVE, Lowering, shape
from pykb.gen.lower.constraints import IMMUTABLE_RULE, constrain
from pykb.gen.lower.models import lower_named
from pykb.gen.lower.scalars import node_of
from pykb.gen.options import SchemaOptions
from pykb.gen.passes._markers import ANNOTATIONS, Members, apply_markers, emptied, empties, one_of_rule
from pykb.markers.definition import Sets, Whole
from pykb.markers.model import Marker, unwrap
from pykb.meta.names import cel_selector

_FIELD_WINS = frozenset(
    [
        *("title", "description", "externalDocs", "example", "default", "nullable"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    ],
)
# Steps over whole schemas.
#
# `merge` joins a named type with the constraints of a field, as controller-gen merges `allOf`: when both set a keyword
# to different values and both must hold, the two values go into `allOf`. A field can tighten its type and cannot loosen
# it. `unite` makes one object of a union of structs. `without_validation` keeps only the shape.

# Kept once when both are equal. Other keywords appear twice in `allOf` even then, as in controller-gen's output.
_DEDUPLICATED = frozenset(
    ["pattern", "format", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "minProperties", "maxProperties"],
)


def merge(named: SchemaNode, refinement: SchemaNode, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of a field of a named type.

    Args:
        named: The type's own schema, without references.
        refinement: What the field adds to it.
        diagnostics: Gets conflicts that no value could satisfy.
    """
    keywords = dict(named.keywords)
    named_part: dict[str, Keyword] = {}
    refined_part: dict[str, Keyword] = {}
    for name, new in refinement.keywords.items():
        old = keywords.get(name)
        if old is None or name in _FIELD_WINS:
            keywords[name] = new
        elif name == "enum":
            keywords[name] = _common_values(old, new, diagnostics)
        elif name == "type":
            if old.value != new.value:
                diagnostics.report(
                    TYPE_CONFLICT,
                    new.span,
                    f"a field of type `{new.value}` refines a type that is `{old.value}`",
                    labels=(Label(old.span, f"`{old.value}` comes from here"),) if old.span else (),
                )
        elif old.value == new.value and (name in _DEDUPLICATED or name.startswith("x-")):
            continue
        else:
            named_part[name], refined_part[name] = keywords.pop(name), new
    all_of = (*refinement.all_of, *named.all_of)
    if refined_part:
        all_of = (*all_of, SchemaNode(named_part, named.span), SchemaNode(refined_part, refinement.span))
    return replace(
        refinement,
        keywords=keywords,
        reference=None,
        origin=Origin(refinement.reference, named) if refinement.reference is not None else refinement.origin,
        all_of=all_of,
        rules=(*refinement.rules, *named.rules),
        properties=_merge_properties(named, refinement, diagnostics),
        items=_merge_child(named.items, refinement.items, diagnostics),
        values=_merge_child(named.values, refinement.values, diagnostics),
    )


def _list(keyword: Keyword) -> list[object]:
    return list(keyword.value) if isinstance(keyword.value, list) else [keyword.value]


def _merge_child(
    named: SchemaNode | None, refinement: SchemaNode | None, diagnostics: Diagnostics
) -> SchemaNode | None:
    if named is None or refinement is None:
        return refinement if named is None else named
    return merge(named, refinement, diagnostics)


def _merge_properties(
    named: SchemaNode, refinement: SchemaNode, diagnostics: Diagnostics
) -> dict[str, PropertyNode] | None:
    if named.properties is None and refinement.properties is None:
        return None
    properties = dict(named.properties or {})
    for name, prop in (refinement.properties or {}).items():
        old = properties.get(name)
        if old is None:
            properties[name] = prop
        else:
            schema = merge(old.schema, prop.schema, diagnostics)
            properties[name] = replace(prop, schema=schema, required=old.required or prop.required)
    return properties


def _common_values(old: Keyword, new: Keyword, diagnostics: Diagnostics) -> Keyword:
    allowed = _list(old)
    common = [value for value in _list(new) if value in allowed]
    if not common:
        labels = (Label(old.span, "the type allows other values"),) if old.span else ()
        diagnostics.report(
            ENUM_DISJOINT,
            new.span,
            f"no value is allowed by both this field {_shown(new)} and its type {_shown(old)}",
            "list only values that the type allows",
            labels=labels,
        )
    return Keyword(common, new.span, new.spelling)


def _shown(keyword: Keyword) -> str:
    return "(" + ", ".join(f"`{value}`" for value in _list(keyword)) + ")"


def unite(union: StructUnion, nodes: Sequence[SchemaNode], diagnostics: Diagnostics) -> SchemaNode:
    """One object with the fields of all members; a field is required where every member requires it.

    A discriminator, a field of literals with different values in the members, is required and has no default, as in
    Python. A rule then requires each field that only some members require.

    Args:
        union: The union.
        nodes: The schemas of its members, without references.
        diagnostics: Gets members that cannot be distinguished.
    """
    place = union.place
    tag = _tag(nodes)
    merged: dict[str, PropertyNode] = {}
    seen: dict[str, int] = {}
    for node in nodes:
        for name, prop in (node.properties or {}).items():
            seen[name] = seen.get(name, 0) + 1
            old = merged.get(name)
            merged[name] = prop if old is None else _join(old, prop, place, diagnostics)
    properties = {
        name: replace(prop, required=prop.required and seen[name] == len(nodes)) for name, prop in merged.items()
    }
    united = SchemaNode({"type": Keyword("object", place.span)}, span=place.span, properties=properties)
    if tag is None:
        _say_lost(union, nodes, properties, diagnostics)
        return united
    properties[tag] = replace(merged[tag], schema=merged[tag].schema.without("default"), required=True)
    return united.add(*_rules(tag, nodes, properties, place.span))


def _say_lost(
    union: StructUnion, nodes: Sequence[SchemaNode], properties: Mapping[str, PropertyNode], diagnostics: Diagnostics
) -> None:
    """Report a union without a discriminator. Fields that only some members require become optional in it."""
    place = union.place
    lost = [
        f"`{name}` of `{cls}`"
        for cls, node in zip(union.names, nodes, strict=True)
        for name, prop in (node.properties or {}).items()
        if prop.required and not properties[name].required
    ]
    if lost:
        diagnostics.report(
            UNION,
            place.span,
            f"nothing tells the members of the union at {place.what} apart, so no object needs {', '.join(lost)}",
            'give each member a field that tells them apart: `kind: Literal["..."]`',
            notes="the API server stores an object that matches no member, and your code cannot read it",
            severity=Severity.WARNING,
        )


def _tag(nodes: Sequence[SchemaNode]) -> str | None:
    """The discriminator: a field with different values in the members."""
    shared = [name for name in nodes[0].properties or {} if all(name in (n.properties or {}) for n in nodes)]
    for name in shared:
        values = [json.dumps(value) for node in nodes for value in _values(node, name)]
        if values and len(set(values)) == len(values) and all(_values(node, name) for node in nodes):
            return name
    return None


def _values(node: SchemaNode, name: str) -> list[object]:
    values = (node.properties or {})[name].schema.get("enum")
    return values if isinstance(values, list) else []


def _rules(
    tag: str, nodes: Sequence[SchemaNode], properties: Mapping[str, PropertyNode], span: Span | None
) -> Iterator[Rule]:
    for node in nodes:
        shown = [json.dumps(value) for value in _values(node, tag)]
        field = f"self.{cel_selector(tag)}"
        other = f"{field} != {shown[0]}" if len(shown) == 1 else f"!({field} in [{', '.join(shown)}])"
        words = " or ".join(str(value) for value in _values(node, tag))
        for name, prop in (node.properties or {}).items():
            if prop.required and not properties[name].required and _is_visible(prop.schema):
                message = f"{name} is required when {tag} is {words}"
                yield Rule(f"{other} || has(self.{cel_selector(name)})", message, span=span)


def _is_visible(node: SchemaNode) -> bool:
    """Whether a rule can test the presence of a field. It cannot for fields of any type, or with null."""
    return type_of_schema(node) is not None and not node.get("nullable")


def _join(old: PropertyNode, new: PropertyNode, place: Place, diagnostics: Diagnostics) -> PropertyNode:
    required = old.required and new.required
    old_values, new_values = old.schema.get("enum"), new.schema.get("enum")
    if old.schema.type == new.schema.type and isinstance(old_values, list) and isinstance(new_values, list):
        values = [*old_values, *(value for value in new_values if value not in old_values)]
        return replace(old, schema=old.schema.put("enum", values, place.span), required=required)
    if shape(old.schema) != shape(new.schema):
        diagnostics.report(
            UNION,
            place.span,
            f"the members of the union at {place.what} disagree about the field `{new.name}`",
            "give the field one type in all members, or another name",
            notes="a structural schema has only one type for each field",
        )
    return replace(old, required=required)


_KEPT = frozenset(
    [
        *("type", "format", "description", "title", "externalDocs", "example", "default", "nullable", "anyOf"),
        *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
    ],
)


def without_validation(node: SchemaNode) -> SchemaNode:
    """Only the shape of a schema. Keys of lists stay required, since lists are merged by them."""
    shaped = _with_parts(node, without_validation)
    keys = node.get("x-kubernetes-list-map-keys")
    if shaped.items is not None and node.items is not None and isinstance(keys, list):
        shaped = replace(shaped, items=_with_required(shaped.items, node.items, keys))
    return replace(
        shaped,
        keywords={name: keyword for name, keyword in node.keywords.items() if name in _KEPT},
        all_of=(),
        rules=(),
        properties=node.properties
        and {
            name: replace(prop, schema=without_validation(prop.schema), required=False)
            for name, prop in node.properties.items()
        },
    )


def _with_parts(node: SchemaNode, change: Callable[[SchemaNode], SchemaNode]) -> SchemaNode:
    """The schema with changed schemas of its elements and values. It is the same object if they do not change."""
    items = None if node.items is None else change(node.items)
    values = None if node.values is None else change(node.values)
    is_same = items is node.items and values is node.values
    return node if is_same else replace(node, items=items, values=values)


def _with_required(items: SchemaNode, original: SchemaNode, keys: list[object]) -> SchemaNode:
    """Make keys required that were required before."""
    before = original.properties or {}
    properties = {n: replace(p, required=n in keys and before[n].required) for n, p in (items.properties or {}).items()}
    return replace(items, properties=properties) if properties else items


_CUT = node_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
_BASES: frozenset[type] = frozenset({Struct, Object, CustomResource, BaseModel})


@dataclass(slots=True)
class Resolver:
    """Makes the finished schema of each type, once."""

    declarations: Declarations
    diagnostics: Diagnostics
    options: SchemaOptions = field(default_factory=SchemaOptions)
    _done: dict[NamedType, SchemaNode] = field(default_factory=dict)
    _open: list[NamedType] = field(default_factory=list)
    _cut: set[NamedType] = field(default_factory=set)
    _lowering: Lowering = field(init=False)

    def __post_init__(self) -> None:
        self._lowering = Lowering(
            self.declarations,
            self.diagnostics,
            allow_dangerous_types=self.options.allow_dangerous_types,
        )

    def schema_of(self, python: object) -> SchemaNode:
        """The schema of a class, ``NewType`` or alias, without references."""
        return self._schema(self.declarations.named(python))

    def resolve(self, node: SchemaNode) -> SchemaNode:
        """Replace the references in a schema by the schemas of their types."""
        node = _with_parts(self._settled(node), self.resolve)
        if node.reference is None:
            return node
        named = node.reference
        if named in self._open:
            return self._recursive(node, named)
        return merge(self._schema(named), node, self.diagnostics)

    def _settled(self, node: SchemaNode) -> SchemaNode:
        """Complete the parts of a schema that waited for referenced types. References stay, for markers to refine."""
        node = _with_parts(node, self._settled)
        waiting = node.waiting
        if waiting is None:
            return node
        if isinstance(waiting, StructUnion):
            settled = unite(waiting, [self.resolve(member) for member in waiting.members], self.diagnostics)
        else:
            inner = self._settled(waiting.node)
            settled = constrain(Draft(inner, self.resolve(inner), waiting.place, self.diagnostics), waiting.metadata)
        return settled.put_all(node.keywords)

    def _recursive(self, node: SchemaNode, named: NamedType) -> SchemaNode:
        if not node.get("x-kubernetes-preserve-unknown-fields"):
            self._cut.add(named)
            path = " -> ".join(f"`{step.name}`" for step in [*self._open[self._open.index(named) :], named])
            self.diagnostics.report(
                RECURSION,
                node.span,
                f"the type `{named.name}` contains itself, but a CRD's schema cannot have references",
                f"add this where the type refers to itself: `Annotated[{named.name}, PreserveUnknown()]`",
                "with `from pykb.api import PreserveUnknown`; the fields below are then kept, but not checked",
                notes=path,
            )
        return merge(_CUT, node, self.diagnostics)

    def _schema(self, named: NamedType) -> SchemaNode:
        found = self._done.get(named)
        if found is None:
            self._open.append(named)
            try:
                found = self._make(named)
            finally:
                self._open.pop()
            self._done[named] = found
        return found

    def _make(self, named: NamedType) -> SchemaNode:
        node = lower_named(named, self._lowering, embedded_metadata=self.options.embedded_metadata)
        python = named.python
        if isinstance(python, type) and issubclass(python, BaseModel):
            members: dict[type, Members] = {}
            if not named.built_in:
                node = self._fields(python, node, members)
            elif self.options.reports_bare_metadata and (python is ObjectMeta or issubclass(python, Object)):
                self._report_bare_metadata()
            if named.built_in and self.options.builtin_texts is not None:
                node = self.options.builtin_texts.describe(python, node)
            return self._class(python, named, self._children(node), members)
        node = self.resolve(node)
        node = self._own(named, node)
        description = named.declaration.description if named.declaration else None
        return node.put("description", description, named.span) if description else node

    def _report_bare_metadata(self) -> None:
        """Report, once per run, that the API server drops embedded metadata without a schema."""
        self.options = replace(self.options, reports_bare_metadata=False)
        user = next((named for named in reversed(self._open) if not named.built_in), None)
        where = f" in `{user.name}`" if user else ""
        self.diagnostics.report(
            BARE_METADATA,
            user.span if user else None,
            f"the embedded `metadata`{where} has no fields, as controller-gen writes it: the API server drops them",
            "crd:generateEmbeddedObjectMeta=true",
            "or set it to false, if you want that",
        )

    def _class(
        self, python: type[BaseModel], named: NamedType, node: SchemaNode, members: dict[type, Members]
    ) -> SchemaNode:
        """Apply the markers of the class and its bases.

        Keywords of the class win. Its rules come first, then those of the last base.
        """
        own: dict[type, list[Rule]] = {}
        for base in reversed([base for base in python.__mro__ if _has_own(base)]):
            node = self._annotated(base, named, self._own(self.declarations.named(base), replace(node, rules=())))
            own[base] = [*(members[base].finish() if base in members else ()), *node.rules]
        node = replace(node, rules=tuple(rule for base in _outwards(python) for rule in own.get(base, ())))
        declaration = self.declarations.named(generic_origin(python)).declaration
        if declaration is not None and declaration.description:
            node = node.put("description", declaration.description, declaration.span)
        return node

    def _own(self, named: NamedType, node: SchemaNode) -> SchemaNode:
        place = Place(named.span, f"the type `{named.name}`")
        return apply_markers(Draft(node, node, place, self.diagnostics), named.markers)

    def _annotated(self, base: type, named: NamedType, node: SchemaNode) -> SchemaNode:
        """Apply ``@annotate(...)`` of one class."""
        place = Place(named.span, f"the type `{named.name}`")
        for item in base.__dict__.get("__schema_annotations__", ()):
            group = ANNOTATIONS.get(type(item))
            if group is None:
                node = constrain(Draft(node, node, place, self.diagnostics), (item,))
                continue
            by_attribute = {prop.attribute: prop.name for prop in (node.properties or {}).values()}
            members = [by_attribute.get(member, member) for member in item.fields]
            node = node.add(*one_of_rule(group, members, node, named.span, place.what, self.diagnostics))
        return node

    def _children(self, node: SchemaNode) -> SchemaNode:
        properties = {n: self._child(p) for n, p in (node.properties or {}).items()}
        return replace(self.resolve(node), properties=properties) if properties else self.resolve(node)

    def _child(self, prop: PropertyNode) -> PropertyNode:
        schema = self.resolve(prop.schema)
        return prop if schema is prop.schema else replace(prop, schema=schema)

    def _fields(self, owner: type[BaseModel], node: SchemaNode, members: dict[type, Members]) -> SchemaNode:
        """Apply the markers of an object's fields. ``members`` collects what they require of the object."""
        if node.properties is None:
            return node
        package = self.declarations.package_of(owner)
        properties: dict[str, PropertyNode] = {}
        found = []
        for name, prop in node.properties.items():
            declaration, declared_by = self.declarations.field(owner, prop.attribute)
            properties[name] = _presence(prop, declaration.markers if declaration else (), package)
            found.append((name, declaration, declared_by))
        for name, declaration, declared_by in found:
            markers = tuple(unwrap(declaration.markers)) if declaration else ()
            prop = properties[name]
            frozen = self._is_frozen(owner, prop)
            if not markers and not frozen:
                continue
            span = declaration.annotation_span if declaration else None
            schema = self._marked(prop, markers, Place(span, f"the field `{prop.attribute}`"))
            if frozen:
                schema = schema.add(replace(IMMUTABLE_RULE, span=prop.span))
            if schema is not prop.schema:
                properties[name] = replace(prop, schema=schema)
            members.setdefault(declared_by, Members(properties, self.diagnostics)).read(prop, markers, frozen=frozen)
        return replace(node, properties=properties)

    def _marked(self, prop: PropertyNode, markers: tuple[Marker, ...], place: Place) -> SchemaNode:
        node = self._settled(_cut_by_markers(prop.schema, markers))
        if node.reference is not None and any(marker.definition.effect is Whole.OPENS for marker in markers):
            node = merge(without_validation(self._schema(node.reference)), node, self.diagnostics)
        return apply_markers(Draft(node, self.resolve(node), place, self.diagnostics), markers)

    def _is_frozen(self, owner: type, prop: PropertyNode) -> bool:
        info = owner.__pydantic_fields__.get(prop.attribute) if issubclass(owner, BaseModel) else None
        if info is None or (issubclass(owner, Object) and prop.attribute in {"api_version", "kind", "metadata"}):
            return False
        frozen = bool(info.frozen) or bool(getattr(owner, "model_config", {}).get("frozen"))
        return frozen or any(isinstance(item, api.Immutable) for item in info.metadata)


def _cut_by_markers(node: SchemaNode, markers: tuple[Marker, ...]) -> SchemaNode:
    """End the schema at a recursive type with a marker that keeps unknown fields."""
    if empties(markers):
        return emptied(node)
    for marker in markers:
        effect = marker.definition.effect
        if isinstance(effect, Sets) and effect.keyword == PRESERVE:
            node = _preserve(node, marker, marker.definition.items_depth)
    return node


def _preserve(node: SchemaNode, marker: Marker, depth: int) -> SchemaNode:
    if depth == 0:
        return node.put(PRESERVE, value=True, span=marker.span, spelling=marker.text)
    return node if node.items is None else replace(node, items=_preserve(node.items, marker, depth - 1))


def _outwards(python: type) -> dict[type, None]:
    """A class and all its bases, each once and the last base first. CRDs have their rules in this order."""
    return dict.fromkeys((python, *(cls for base in reversed(python.__bases__) for cls in _outwards(base))))


def _has_own(base: type) -> bool:
    # `Box[int]` has the declaration of its base `Box`.
    return issubclass(base, BaseModel) and base not in _BASES and generic_origin(base) is base


def _presence(prop: PropertyNode, markers: Iterable[Marker], package: Iterable[Marker]) -> PropertyNode:
    """The field with ``required`` decided.

    Args:
        prop: The field, required if Python has no default.
        markers: Its markers.
        package: The markers of its package.
    """
    for marker in markers:  # contradictions were reported when the markers were read
        required = marker.definition.required
        if required is not None:
            return replace(prop, required=required)
    for marker in package:
        if marker.definition.required is False:
            return replace(prop, required=False)
    return prop
