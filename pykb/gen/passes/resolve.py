"""Turns named types into finished schemas: applies field markers, replaces references, applies type markers last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from pykb.api import annotations as api
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import CustomResource, Object
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import BARE_METADATA, RECURSION
from pykb.gen.declare import Declarations, NamedType, generic_origin
from pykb.gen.draft import Draft
from pykb.gen.ir import Place, PropertyNode, Rule, SchemaNode, StructUnion
from pykb.gen.lower.annotation import PRESERVE, Lowering
from pykb.gen.lower.constraints import IMMUTABLE_RULE, constrain
from pykb.gen.lower.models import lower_named
from pykb.gen.lower.scalars import node_of
from pykb.gen.options import SchemaOptions
from pykb.gen.passes._combine import merge, unite, without_validation
from pykb.gen.passes._markers import ANNOTATIONS, Members, apply_markers, emptied, empties, one_of_rule
from pykb.markers.effect import Sets, Whole
from pykb.markers.model import Marker, unwrap

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
        node = self._settled(node)
        items = None if node.items is None else self.resolve(node.items)
        values = None if node.values is None else self.resolve(node.values)
        if items is not node.items or values is not node.values:
            node = replace(node, items=items, values=values)
        if node.reference is None:
            return node
        named = node.reference
        if named in self._open:
            return self._recursive(node, named)
        return merge(self._schema(named), node, self.diagnostics)

    def _settled(self, node: SchemaNode) -> SchemaNode:
        """Complete the parts of a schema that waited for referenced types. References stay, for markers to refine."""
        items = None if node.items is None else self._settled(node.items)
        values = None if node.values is None else self._settled(node.values)
        if items is not node.items or values is not node.values:
            node = replace(node, items=items, values=values)
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
