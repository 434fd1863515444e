"""Any annotation into a schema: the dispatcher over the shapes."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pykb.api.annotations import PreserveUnknown, SchemaPatch
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.types import FLOAT, PLAIN_MODEL, UNRESOLVED, UNSUPPORTED_TYPE
from pykb.gen.declare import Declarations, NamedType
from pykb.gen.draft import Draft
from pykb.gen.ir import SchemaNode
from pykb.gen.lower.collections import lower_collection
from pykb.gen.lower.constraints import constrain
from pykb.gen.lower.models import lower_model
from pykb.gen.lower.scalars import lower_scalar
from pykb.gen.lower.unions import is_union, lower_enum, lower_literal, lower_union, split_optional
from pykb.gen.place import Place

PRESERVE = "x-kubernetes-preserve-unknown-fields"


@dataclass(slots=True)
class Lowering:
    """Turns annotations into schemas, named types into references.

    Attributes:
        declarations: The source behind the types.
        diagnostics: Gets what cannot be expressed.
        resolve: A schema with its references replaced, where a decision needs to see through them.
        allow_dangerous_types: Whether floats are let through.
        embedded_metadata: Whether an embedded ObjectMeta has its known fields.
    """

    declarations: Declarations
    diagnostics: Diagnostics
    resolve: Callable[[SchemaNode], SchemaNode]
    allow_dangerous_types: bool = False
    embedded_metadata: bool = True
    _applications: dict[object, object] = field(default_factory=dict)

    def lower(self, annotation: object, place: Place) -> SchemaNode:
        """The schema of an annotation; named types are references in it."""
        if typing.get_origin(annotation) is typing.Annotated:
            base, *metadata = typing.get_args(annotation)
            return self.constrain(self.lower(base, place), tuple(metadata), place)
        annotation, optional = split_optional(annotation)
        node = self._lower(annotation, place)
        return node.put("nullable", value=True, span=place.span, spelling="None") if optional else node

    def constrain(self, node: SchemaNode, metadata: tuple[object, ...], place: Place) -> SchemaNode:
        """The schema with the constraints of ``Annotated`` or ``Field`` added."""
        if not metadata:
            return node
        if node.reference is not None and any(isinstance(item, PreserveUnknown) for item in metadata):
            node = node.put(PRESERVE, value=True, span=place.span, spelling="PreserveUnknown()")  # may cut a recursion
        seen_through = node.reference is not None or any(isinstance(item, SchemaPatch) for item in metadata)
        effective = self.resolve(node) if seen_through else node
        return constrain(Draft(node, effective, place, self.diagnostics), metadata)

    def lower_named(self, named: NamedType) -> SchemaNode:
        """The own schema of a named type."""
        python = named.python
        place = Place(named.span, f"`{named.name}`", _module_of(python))
        if isinstance(python, typing.NewType):
            return self.lower(python.__supertype__, place)
        if is_type_alias(python):
            return self.lower(python.__value__, place)  # type: ignore[attr-defined]
        if is_type_alias(typing.get_origin(python)):
            return self.lower(applied(typing.get_origin(python), typing.get_args(python)), place)
        if isinstance(python, type) and issubclass(python, enum.Enum):
            return lower_enum(python, place, self)
        if isinstance(python, type) and issubclass(python, BaseModel):
            return lower_model(python, named, self)
        return self.lower(python, place)

    def _lower(self, annotation: object, place: Place) -> SchemaNode:  # noqa: C901, PLR0912 - the dispatcher
        if isinstance(annotation, str | typing.ForwardRef):
            return self._forward(annotation, place)
        if isinstance(annotation, typing.NewType) or is_type_alias(annotation):
            return self._reference(annotation, place)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self.lower(annotation, place)
        if is_type_alias(origin):  # `Pair[int]`, each time another object
            return self._reference(self._applications.setdefault(annotation, annotation), place)
        if is_union(origin):
            return lower_union(arguments, place, self)
        if origin is typing.Literal:
            return lower_literal(arguments, place, self)
        if isinstance(annotation, typing.TypeVar):
            return self.lower(annotation.__bound__ or Any, place)
        found = lower_collection(origin or annotation, arguments, place, self)
        if found is not None:
            return found
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
            return self.lower(Any, place)
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
        return self.lower(Any, place)

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
    """Whether it is a ``type X = ...``, or the stand-in of an alias in the source."""
    return type(annotation).__name__ == "TypeAliasType" and hasattr(annotation, "__value__")


def applied(alias: Any, arguments: tuple[object, ...]) -> object:
    """What a generic alias stands for with these arguments."""
    given = dict(zip(alias.__type_params__, arguments, strict=False))
    value = alias.__value__
    if isinstance(value, typing.TypeVar):
        return given.get(value, value)
    wanted = tuple(given.get(parameter, parameter) for parameter in getattr(value, "__parameters__", ()))
    return value[wanted] if wanted else value


def _module_of(python: object) -> types.ModuleType | None:
    import sys

    return sys.modules.get(getattr(python, "__module__", ""))
