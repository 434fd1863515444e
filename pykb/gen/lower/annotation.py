"""Turns any annotation into a schema. Dispatches to the modules for each shape."""

from __future__ import annotations

import enum
import typing
from collections import abc
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pykb.api.annotations import PreserveUnknown, SchemaPatch
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import FLOAT, MAP_KEY, PLAIN_MODEL, UNRESOLVED, UNSUPPORTED_TYPE
from pykb.gen.declare import Declarations
from pykb.gen.draft import Draft
from pykb.gen.ir import Constrained, Keyword, Place, SchemaNode, StructUnion
from pykb.gen.lower.constraints import constrain
from pykb.gen.lower.scalars import (
    ANYTHING,
    int_or_string_of,
    is_int_or_string,
    is_union,
    lower_literal,
    lower_scalar,
    no_union,
    split_optional,
    structs_of,
    values_of,
)


def shape(node: SchemaNode) -> object:
    """The content of a schema, without places and description. Equal for schemas that accept the same values."""
    return (
        tuple(sorted((k, repr(v.value)) for k, v in node.keywords.items() if k != "description")),
        node.rules,
        tuple(sorted((n, shape(p.schema)) for n, p in (node.properties or {}).items())),
        shape(node.items) if node.items else None,
        shape(node.values) if node.values else None,
        id(node.reference) if node.reference else None,
        _waiting(node.waiting),
    )


def _waiting(waiting: Constrained | StructUnion | None) -> object:
    if isinstance(waiting, Constrained):
        return shape(waiting.node), repr(waiting.metadata)
    return tuple(shape(member) for member in waiting.members) if waiting else None


PRESERVE = "x-kubernetes-preserve-unknown-fields"
LIST_TYPE = "x-kubernetes-list-type"
_LISTS = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection})
_SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MAPS = frozenset({dict, abc.Mapping, abc.MutableMapping})
_ARRAY = {"type": Keyword("array")}
_OBJECT = {"type": Keyword("object")}
_ANYTHING = (Any, object)


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

    def _lower(self, annotation: object, place: Place) -> SchemaNode:
        if isinstance(annotation, str | typing.ForwardRef):
            return self._forward(annotation, place)
        if isinstance(annotation, typing.NewType) or is_type_alias(annotation):
            return self._reference(annotation, place)
        if isinstance(annotation, typing.TypeVar):
            return self.lower(annotation.__bound__ or Any, place)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self.lower(annotation, place)
        if is_type_alias(origin):  # `Pair[int]` is a new object each time
            return self._reference(self._applications.setdefault(annotation, annotation), place)
        if is_union(origin):
            return self._union(arguments, place)
        if origin is typing.Literal:
            return lower_literal(arguments, place, self.diagnostics)
        return self._collection(origin or annotation, arguments, place) or self._single(annotation, place)

    def _single(self, annotation: object, place: Place) -> SchemaNode:
        """The schema of a class or scalar."""
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum | BaseModel):
            if not issubclass(annotation, enum.Enum | Struct):
                name = annotation.__name__
                self.diagnostics.report(
                    PLAIN_MODEL,
                    place.span,
                    f"`{name}`, used by {place.what}, is a Pydantic model that is not derived from `Struct`",
                    f"class {name}(Struct): ...",
                    notes="only a `Struct` uses JSON names and keeps unknown fields",
                )
            return self._reference(annotation, place)
        scalar = lower_scalar(annotation)
        if scalar is None:
            return self._unsupported(annotation, place)
        if scalar.type == "number" and not self.allow_dangerous_types:
            self.diagnostics.report(
                FLOAT,
                place.span,
                f"{place.what} is a float, which clients and languages do not all preserve exactly",
                "use `Quantity`, an integer of a smaller unit, or a string",
                "or pass `--allow-dangerous-types`",
            )
        return scalar

    def _collection(self, origin: object, arguments: tuple[object, ...], place: Place) -> SchemaNode | None:
        """The schema of a list, set, tuple or map; ``None`` when the type is none of these."""
        try:
            is_list, is_set, is_map = origin in _LISTS, origin in _SETS, origin in _MAPS
        except TypeError:  # unhashable
            return None
        if is_list or is_set:
            kind = {LIST_TYPE: Keyword("set", place.span, "set")} if is_set else {}
            return SchemaNode({**_ARRAY, **kind}, items=self.lower(arguments[0] if arguments else Any, place))
        if origin is tuple:
            return self._tuple(arguments, place)
        return self._map(arguments, place) if is_map else None

    def _tuple(self, arguments: tuple[object, ...], place: Place) -> SchemaNode:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return SchemaNode(_ARRAY, items=self.lower(arguments[0], place))
        elements = [self.lower(element, place) for element in arguments]
        # Python does not compare two `Annotated` types with the same content as equal.
        if len({shape(element) for element in elements}) > 1:
            self.diagnostics.report(
                UNSUPPORTED_TYPE,
                place.span,
                f"{place.what} is a tuple of different types, but all elements of a list in a CRD have one type",
                "make it a `Struct` with one field for each element",
            )
            return SchemaNode(_ARRAY, items=ANYTHING)
        count = Keyword(len(arguments), place.span, "tuple")
        return SchemaNode({**_ARRAY, "minItems": count, "maxItems": count}, items=next(iter(elements), None))

    def _map(self, arguments: tuple[object, ...], place: Place) -> SchemaNode:
        key, value = arguments if len(arguments) == 2 else (str, Any)
        if not _is_text(key):
            name = getattr(key, "__name__", str(key))
            self.diagnostics.report(
                MAP_KEY,
                place.span,
                f"map keys must be strings in a CRD, but {place.what} has keys of type `{name}`",
                "use `dict[str, ...]`, or a list of objects with `+listType=map` and `+listMapKey=<field>`",
                notes="structural schemas describe maps by `additionalProperties`, which has no key type",
            )
        if value in _ANYTHING:
            return SchemaNode({**_OBJECT, PRESERVE: Keyword(value=True)})
        return SchemaNode(_OBJECT, values=self.lower(value, place))

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
            found = evaluated(text, {**vars(typing), **namespace})
        except Exception as error:  # noqa: BLE001 - whatever the user's expression raises
            self.diagnostics.report(
                UNRESOLVED,
                place.span,
                f"the annotation `{' '.join(text.split())}` of {place.what} cannot be evaluated: {error}",
                "import the name in this module, not only under `if TYPE_CHECKING:`",
            )
            return ANYTHING
        return self.lower(found, place)

    def _unsupported(self, annotation: object, place: Place) -> SchemaNode:
        name = getattr(annotation, "__name__", None) or str(annotation)
        self.diagnostics.report(
            UNSUPPORTED_TYPE,
            place.span,
            f"{place.what} has the type `{name}`, which has no counterpart in a CRD",
            "derive it from `pykb.api.Struct`, use one of the supported types, or `Any` for arbitrary JSON",
        )
        return ANYTHING


def evaluated(text: str, names: dict[str, object]) -> object:
    """The value of an annotation of imported user code. Its source can have several lines.

    Raises:
        Exception: Whatever the user's expression raises.
    """
    return eval(f"({text})" if "\n" in text else text, names)  # noqa: S307 - its module was imported before


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


def _is_text(key: object) -> bool:
    if typing.get_origin(key) is typing.Annotated:
        return _is_text(typing.get_args(key)[0])
    if typing.get_origin(key) is typing.Literal:
        return all(isinstance(value, str) for value in typing.get_args(key))
    if isinstance(key, typing.NewType):
        return _is_text(key.__supertype__)
    if isinstance(key, typing.TypeVar):
        return True
    if isinstance(key, type) and issubclass(key, str | enum.StrEnum):
        return True
    node = lower_scalar(key)
    return node is not None and node.type == "string"
