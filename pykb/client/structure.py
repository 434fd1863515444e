"""The structure of values for merging and ownership: which maps and lists are atomic, and which have parts.

It is derived from a Python type (built-in kinds, classes of the user) or from the schema of a CRD.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache, cached_property
from typing import Annotated, Any, Union

from pykb.api.annotations import (
    ListMap,
    ListSet,
    MapAtomic,
    PatchStrategy,
    PreserveUnknown,
    annotations_of,
)
from pykb.api.struct import Struct
from pykb.api.wire import wire_name


class Shape(Enum):
    """The shape of a value."""

    SCALAR = auto()
    ATOMIC = auto()
    STRUCT = auto()
    MAP = auto()
    LIST_MAP = auto()
    LIST_SET = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class Structure:
    """The structure of a value.

    Attributes:
        shape: The shape of the value.
        load: Returns the fields of a struct, by wire name. Called on first use, since types may
            refer to themselves.
        element: The structure of the elements of a map or list.
        keys: The keys that identify the items of a LIST_MAP.
        open: Whether a struct keeps fields that it does not declare.
        patch_key: The key by which a strategic merge patch merges the items of a list. ``None`` if
            it replaces the list.
        default: The assumed value of a missing key of a list.
        optional: Whether this scalar is an optional field of a class.
    """

    shape: Shape
    load: Callable[[], Mapping[str, Structure]] = field(default=dict, compare=False)
    element: Structure | None = None
    keys: tuple[str, ...] = ()
    open: bool = False
    patch_key: str | None = None
    default: Any = None
    optional: bool = False

    def child(self, name: str) -> Structure:
        """Return the structure of a field of a struct, or of an entry of a map."""
        if self.shape is Shape.STRUCT:
            return self.fields.get(name, UNKNOWN)
        return self.element or UNKNOWN

    @cached_property
    def fields(self) -> Mapping[str, Structure]:
        """The declared fields of a struct."""
        return self.load()


UNKNOWN = Structure(Shape.UNKNOWN, open=True)
SCALAR = Structure(Shape.SCALAR)
ATOMIC = Structure(Shape.ATOMIC, open=True)

OBJECT_META = "metadata"


@cache
def structure_of_class(cls: type[Struct]) -> Structure:
    """The structure of objects of a class."""
    if any(isinstance(note, MapAtomic) for note in annotations_of(cls)):
        return ATOMIC
    preserve = any(isinstance(note, PreserveUnknown) for note in annotations_of(cls))
    return Structure(Shape.STRUCT, load=lambda: _fields_of_class(cls), open=preserve)


def _fields_of_class(cls: type[Struct]) -> Mapping[str, Structure]:
    if not cls.__pydantic_complete__:
        cls.model_rebuild()
    found: dict[str, Structure] = {}
    for name, info in cls.__pydantic_fields__.items():
        optional = not info.is_required()
        default = info.get_default() if optional else None
        scalar = Structure(Shape.SCALAR, default=default, optional=optional)
        found[wire_name(name, info)] = _of_type(info.annotation, tuple(info.metadata), scalar)
    return found


def _of_type(annotation: Any, notes: tuple[object, ...], scalar: Structure = SCALAR) -> Structure:
    annotation, notes = _plain(annotation, notes)
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return ATOMIC if _has(notes, MapAtomic) else structure_of_class(annotation)
    if origin is list:
        return _of_list(_of_type(arguments[0], ()), notes)
    if origin is dict:
        return ATOMIC if _has(notes, MapAtomic) else Structure(Shape.MAP, element=_of_type(arguments[1], ()))
    if annotation is Any or annotation is dict:
        return UNKNOWN
    return scalar


def _of_list(element: Structure, notes: tuple[object, ...]) -> Structure:
    strategy = next((note for note in notes if isinstance(note, PatchStrategy)), None)
    keys = next((note.keys for note in notes if isinstance(note, ListMap)), None)
    patch_key = None
    if strategy is not None and "merge" in strategy.strategy:
        # A list of plain values with the strategy `merge` is merged as a set, which an empty key marks.
        patch_key = strategy.merge_key or (keys[0] if keys else "")
    if keys is not None:
        return Structure(Shape.LIST_MAP, element=element, keys=keys, patch_key=patch_key)
    shape = Shape.LIST_SET if _has(notes, ListSet) else Shape.ATOMIC
    return Structure(shape, element=element, patch_key=patch_key)


def _plain(annotation: Any, notes: tuple[object, ...]) -> tuple[Any, tuple[object, ...]]:
    """Resolve `Annotated`, `None`, aliases and new types to the plain type."""
    while True:
        origin = typing.get_origin(annotation)
        if origin is Annotated:
            annotation, *more = typing.get_args(annotation)
            notes = (*notes, *more)
        elif origin in (Union, types.UnionType):
            inner = [part for part in typing.get_args(annotation) if part is not type(None)]
            if len(inner) != 1:
                return None, notes
            annotation = inner[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation, notes


def _has(notes: tuple[object, ...], kind: type) -> bool:
    return any(isinstance(note, kind) for note in notes)


def structure_of_schema(schema: Mapping[str, Any]) -> Structure:
    """The structure of values of a CRD's schema."""
    preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    match schema.get("type"):
        case "object":
            return _of_object_schema(schema, preserve=preserve)
        case "array":
            element = structure_of_schema(schema.get("items") or {})
            match schema.get("x-kubernetes-list-type"):
                case "map":
                    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
                    return Structure(Shape.LIST_MAP, element=element, keys=keys)
                case "set":
                    return Structure(Shape.LIST_SET, element=element)
            return Structure(Shape.ATOMIC, element=element)
        case None:
            return UNKNOWN
    return Structure(Shape.SCALAR, default=schema.get("default"))


def _of_object_schema(schema: Mapping[str, Any], *, preserve: bool) -> Structure:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return Structure(Shape.ATOMIC, open=preserve)
    if schema.get("x-kubernetes-embedded-resource"):
        preserve = True
    properties = schema.get("properties")
    if properties is None:
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            return Structure(Shape.MAP, element=structure_of_schema(additional))
        return UNKNOWN if preserve or additional else Structure(Shape.STRUCT)
    return Structure(
        Shape.STRUCT,
        load=lambda: {name: structure_of_schema(inner) for name, inner in properties.items()},
        open=preserve,
    )


def of_custom_resource(schema: Mapping[str, Any]) -> Structure:
    """The structure of a custom resource: its schema, plus the metadata of every object."""
    from pykb.api.meta.v1 import ObjectMeta

    inner = structure_of_schema({"type": "object", **schema})
    metadata = structure_of_class(ObjectMeta)
    identity = {"apiVersion": SCALAR, "kind": SCALAR, OBJECT_META: metadata}
    return Structure(Shape.STRUCT, load=lambda: {**inner.fields, **identity}, open=inner.open or inner is UNKNOWN)


def prune(value: Any, structure: Structure, path: str = "") -> list[str]:
    """Remove unknown fields in place. Return their paths."""
    unknown: list[str] = []
    if isinstance(value, dict) and structure.shape in (Shape.STRUCT, Shape.MAP):
        if structure.shape is Shape.STRUCT and not structure.open:
            for name in [name for name in value if name not in structure.fields]:
                del value[name]
                unknown.append(f"{path}{name}")
        for name, inner in value.items():
            if isinstance(inner, (dict, list)):
                unknown += prune(inner, structure.child(name), f"{path}{name}.")
    elif isinstance(value, list) and structure.element is not None:
        for index, inner in enumerate(value):
            unknown += prune(inner, structure.element, f"{path.removesuffix('.')}[{index}].")
    return unknown
