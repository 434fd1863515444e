"""Turns any annotation into a schema. Dispatches to the modules for each shape."""

from __future__ import annotations

import enum
import typing
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pykb.api.annotations import PreserveUnknown, SchemaPatch
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.types import FLOAT, PLAIN_MODEL, UNRESOLVED, UNSUPPORTED_TYPE
from pykb.gen._draft import Draft
from pykb.gen.declare import Declarations
from pykb.gen.ir import Constrained, Place, SchemaNode, StructUnion
from pykb.gen.lower._collections import Collection, collection_of, list_node
from pykb.gen.lower._unions import (
    int_or_string_of,
    is_int_or_string,
    is_union,
    lower_literal,
    no_union,
    split_optional,
    structs_of,
    values_of,
)
from pykb.gen.lower.constraints import constrain
from pykb.gen.lower.scalars import ANYTHING, lower_scalar

PRESERVE = "x-kubernetes-preserve-unknown-fields"


@dataclass(slots=True)
class Lowering:
    """Turns annotations into schemas, named types into references.

    Attributes:
        declarations: The source behind the types.
        diagnostics: Gets types that a schema cannot express.
        allow_dangerous_types: Whether floats are allowed.
    """

    declarations: Declarations
    diagnostics: Diagnostics
    allow_dangerous_types: bool = False
    _applications: dict[object, object] = field(default_factory=dict)

    def lower(self, annotation: object, place: Place) -> SchemaNode:
        """The schema of an annotation, with references to named types."""
        if typing.get_origin(annotation) is typing.Annotated:
            base, *metadata = typing.get_args(annotation)
            return self.constrain(self.lower(base, place), tuple(metadata), place)
        annotation, optional = split_optional(annotation)
        node = self._lower(annotation, place)
        return node.put("nullable", value=True, span=place.span, spelling="None") if optional else node

    def constrain(self, node: SchemaNode, metadata: tuple[object, ...], place: Place) -> SchemaNode:
        """Add the constraints of ``Annotated`` or ``Field`` to a schema, now or when its type is known."""
        if not metadata:
            return node
        if node.reference is not None and any(isinstance(item, PreserveUnknown) for item in metadata):
            node = node.put(PRESERVE, value=True, span=place.span, spelling="PreserveUnknown()")  # may cut a recursion
        of_parts = node.items is not None or node.values is not None
        patches_parts = of_parts and any(isinstance(item, SchemaPatch) for item in metadata)
        if node.reference is not None or node.waiting is not None or patches_parts:
            return SchemaNode(span=node.span, waiting=Constrained(node, metadata, place))
        return constrain(Draft(node, node, place, self.diagnostics), metadata)

    def _lower(self, annotation: object, place: Place) -> SchemaNode:  # noqa: C901, PLR0912 - the dispatcher
        if isinstance(annotation, str | typing.ForwardRef):
            return self._forward(annotation, place)
        if isinstance(annotation, typing.NewType) or is_type_alias(annotation):
            return self._reference(annotation, place)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self.lower(annotation, place)
        if is_type_alias(origin):  # `Pair[int]` is a new object each time
            return self._reference(self._applications.setdefault(annotation, annotation), place)
        if is_union(origin):
            return self._union(arguments, place)
        if origin is typing.Literal:
            return lower_literal(arguments, place, self.diagnostics)
        if isinstance(annotation, typing.TypeVar):
            return self.lower(annotation.__bound__ or Any, place)
        found = collection_of(origin or annotation, arguments, place, self.diagnostics)
        if found is not None:
            return self._collection(found, place)
        if isinstance(annotation, type):
            if issubclass(annotation, enum.Enum) or issubclass(annotation, Struct):
                return self._reference(annotation, place)
            if issubclass(annotation, BaseModel):
                self._plain_model(annotation, place)
                return self._reference(annotation, place)
        scalar = lower_scalar(annotation)
        if scalar is None:
            return self._unsupported(annotation, place)
        if scalar.type == "number" and not self.allow_dangerous_types:
            self._float(place)
        return scalar

    def _collection(self, found: Collection, place: Place) -> SchemaNode:
        if found.elements:
            elements = [self.lower(element, place) for element in found.elements]
            return list_node(found, elements, place, self.diagnostics)
        return SchemaNode(found.keywords, values=None if found.value is None else self.lower(found.value, place))

    def _union(self, members: tuple[object, ...], place: Place) -> SchemaNode:
        if is_int_or_string(members):
            refined = [member for member in members if typing.get_origin(member) is typing.Annotated]
            return int_or_string_of(members, [self.lower(member, place) for member in refined])
        classes = structs_of(members)
        if classes:
            references = tuple(self._reference(cls, place) for cls in classes)
            names = tuple(cls.__name__ for cls in classes)
            return SchemaNode(span=place.span, waiting=StructUnion(references, names, place))
        values = values_of(members)
        if values:
            return lower_literal(values, place, self.diagnostics)
        self.diagnostics.add(no_union(members, place))
        return ANYTHING

    def _reference(self, python: object, place: Place) -> SchemaNode:
        return SchemaNode(span=place.span, reference=self.declarations.named(python))

    def _forward(self, annotation: str | typing.ForwardRef, place: Place) -> SchemaNode:
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        namespace = vars(place.module) if place.module else {}
        try:
            found = eval(text, {**vars(typing), **namespace})  # noqa: S307 - an annotation of imported user code
        except Exception as error:  # noqa: BLE001 - whatever the user's expression raises
            self.diagnostics.add(
                UNRESOLVED.at(
                    place.span,
                    f"the annotation `{text}` of {place.what} cannot be evaluated: {error}",
                    help=("import the name in this module, not only under `if TYPE_CHECKING:`",),
                ),
            )
            return ANYTHING
        return self.lower(found, place)

    def _unsupported(self, annotation: object, place: Place) -> SchemaNode:
        name = getattr(annotation, "__name__", None) or str(annotation)
        self.diagnostics.add(
            UNSUPPORTED_TYPE.at(
                place.span,
                f"{place.what} has the type `{name}`, which has no counterpart in a CRD",
                help=("derive it from `pykb.api.Struct`, use one of the supported types, or `Any` for arbitrary JSON",),
            ),
        )
        return ANYTHING

    def _plain_model(self, annotation: type, place: Place) -> None:
        self.diagnostics.add(
            PLAIN_MODEL.at(
                place.span,
                f"`{annotation.__name__}`, used by {place.what}, is a Pydantic model that is not derived from `Struct`",
                notes=("only a `Struct` uses wire names and keeps fields that it does not know",),
                help=(f"class {annotation.__name__}(Struct): ...",),
            ),
        )

    def _float(self, place: Place) -> None:
        self.diagnostics.add(
            FLOAT.at(
                place.span,
                f"{place.what} is a float, whose value differs between clients and languages",
                help=(
                    "use `Quantity`, an integer of a smaller unit, or a string",
                    "or pass `--allow-dangerous-types`",
                ),
            ),
        )


def is_type_alias(annotation: object) -> bool:
    """Whether it is a ``type`` statement or the stand-in of an alias."""
    return type(annotation).__name__ == "TypeAliasType" and hasattr(annotation, "__value__")


def applied(alias: Any, arguments: tuple[object, ...]) -> object:
    """The value of a generic alias with these arguments."""
    given = dict(zip(alias.__type_params__, arguments, strict=False))
    value = alias.__value__
    if isinstance(value, typing.TypeVar):
        return given.get(value, value)
    wanted = tuple(given.get(parameter, parameter) for parameter in getattr(value, "__parameters__", ()))
    return value[wanted] if wanted else value
