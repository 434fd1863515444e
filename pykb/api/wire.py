"""Encodes objects as JSON-ready values (`Struct.to_wire`), and copies them.

Pydantic's serialisation is not used here. It knows which fields were *assigned*, but not which were
changed in place. It cannot leave out fields that equal their default without dumping twice. The
code here is about as fast.
"""

from __future__ import annotations

import copy
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel, PlainSerializer, WrapSerializer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from pykb.api._core_schema import to_base64
from pykb.api.annotations import Nullable
from pykb.api.quantity import Quantity
from pykb.api.time import MicroDatetime, format_duration, format_micro_time, format_time
from pykb.meta.names import to_camel

ModelT = TypeVar("ModelT", bound=BaseModel)
MethodT = TypeVar("MethodT", bound=Callable[..., Any])


class FieldPlan(NamedTuple):
    """How one field is encoded."""

    attribute: str
    wire_name: str
    always: bool
    nullable: bool
    custom: bool  # the field has a user's serialiser, which Pydantic calls
    fresh: Callable[[Mapping[str, Any]], Any] | None  # makes a new default; None if `default` is a constant
    default: Any


def wire_name(attribute: str, field: FieldInfo) -> str:
    """Return the wire name of a field."""
    return field.serialization_alias or field.alias or to_camel(attribute)


def is_struct(kind: type) -> bool:
    """Whether a class is a :class:`~pykb.api.Struct`. That one uses this module, which therefore does not import it."""
    return hasattr(kind, "__wire_plan__")


def usual(method: MethodT) -> MethodT:
    """Mark a method of ``Struct``. A subclass that replaces it is encoded or copied by its own."""
    method.is_usual = True  # type: ignore[attr-defined]
    return method


def _is_usual(kind: type, method: str) -> bool:
    return getattr(getattr(kind, method), "is_usual", False)


def plan(cls: type[Any]) -> tuple[FieldPlan, ...]:
    """Return how each field of a class is encoded, in the order of declaration."""
    if not cls.__pydantic_complete__:
        cls.model_rebuild()  # resolves forward references, which hide annotations
    with_own = {name for d in cls.__pydantic_decorators__.field_serializers.values() for name in d.info.fields}
    return tuple(
        FieldPlan(
            attribute=name,
            wire_name=wire_name(name, field),
            always=name in cls.__wire_always__,
            # A required field that is None must be meant as null: the API server refuses an object
            # without it.
            nullable=field.is_required() or any(isinstance(item, Nullable) for item in field.metadata),
            custom=bool(with_own & {name, "*"}) or _has_serializer(field),
            fresh=_fresh(field),
            default=field.default,
        )
        for name, field in cls.__pydantic_fields__.items()
        if not field.exclude
    )


def _fresh(field: FieldInfo) -> Callable[[Mapping[str, Any]], Any] | None:
    factory = cast("Callable[..., Any] | None", field.default_factory)
    if factory is None:
        return None
    # Decided once here. `FieldInfo.get_default` would inspect the factory's signature on each call.
    if field.default_factory_takes_validated_data:
        return lambda values: factory(dict(values))
    return lambda _: factory()


def _has_serializer(field: FieldInfo) -> bool:
    kinds = PlainSerializer | WrapSerializer
    return any(isinstance(item, kinds) for item in field.metadata) or _mentions(field.annotation, kinds)


def _mentions(annotation: Any, kinds: Any) -> bool:
    if any(isinstance(item, kinds) for item in getattr(annotation, "__metadata__", ())):
        return True
    return any(_mentions(argument, kinds) for argument in typing.get_args(annotation) if argument is not annotation)


def encode_struct(obj: BaseModel, *, only: str | None = None) -> dict[str, Any]:
    """Return the wire form of a struct: fields that were set, or that differ from their default.

    Args:
        obj: The struct.
        only: The wire name of the one field to encode. Other fields may then be left out.
    """
    cls: Any = type(obj)
    fields = cls.__wire_plan__
    if fields is None:
        fields = cls.__wire_plan__ = plan(cls)
    if cls.__pydantic_decorators__.model_serializers:
        return cls.__pydantic_serializer__.to_python(obj, mode="json", by_alias=True)  # type: ignore[no-any-return]
    if only is not None:
        fields = tuple(field for field in fields if field.wire_name == only)
    values = obj.__dict__
    assigned = obj.__pydantic_fields_set__
    out: dict[str, Any] = {}
    for attribute, name, always, nullable, custom, fresh, default in fields:
        value = values.get(attribute)
        if value is None:
            if nullable and attribute in assigned:
                out[name] = None
            continue
        is_set = always or attribute in assigned
        if not is_set and fresh is None and value == default:
            continue
        encoded = _encode_custom(obj, attribute) if custom else value if type(value) in _PLAIN else encode(value)
        if not is_set and fresh is not None and encoded == encode(fresh(values)):
            continue
        if not encoded and _is_blank(value):
            continue
        out[name] = encoded
    extra = obj.__pydantic_extra__
    if extra:
        for name, value in extra.items():
            out.setdefault(name, encode(value))
    return out


def is_whole(obj: BaseModel) -> bool:
    """Report whether every field has a value or a default. A partial object lacks some."""
    fields, values = type(obj).__pydantic_fields__, obj.__dict__
    return len(fields) == len(values) or fields.keys() <= values.keys()  # `values` may hold cached properties too


def _is_blank(value: Any) -> bool:
    """Report whether a value is part of a partial object, and has no fields set."""
    return is_struct(type(value)) and not is_whole(value) and value.__dict__.keys() <= value.__pydantic_fields_set__


def _encode_custom(obj: BaseModel, attribute: str) -> Any:
    """Encode one field with the user's serialiser."""
    dumped = obj.__pydantic_serializer__.to_python(obj, mode="json", include={attribute}, by_alias=False)
    return dumped.get(attribute)


def encode(value: Any) -> Any:
    """Return the JSON-ready form of any value that a field can hold."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        encoder = _ENCODERS[kind] = _encoder_for(kind)
    return encoder(value)


def _encode_list(value: Any) -> list[Any]:
    return [item if type(item) in _PLAIN else encode(item) for item in value]


def _encode_set(value: Any) -> list[Any]:
    # Sets are unordered, but the same object must always give the same bytes.
    return sorted(_encode_list(value), key=lambda item: (type(item).__name__, item))


def _encode_dict(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        key if type(key) is str else _key(key): item if type(item) in _PLAIN else encode(item)
        for key, item in value.items()
    }


def _key(key: object) -> str:
    encoded = encode(key)
    return encoded if isinstance(encoded, str) else str(encoded)


_PLAIN = frozenset({str, int, float, bool, type(None)})
_ENCODERS: dict[type, Callable[[Any], Any]] = {
    dict: _encode_dict,
    list: _encode_list,
    tuple: _encode_list,
    set: _encode_set,
    frozenset: _encode_set,
    Quantity: lambda value: value.wire,
    datetime: format_time,
    MicroDatetime: format_micro_time,
    timedelta: format_duration,
    date: date.isoformat,
    time: time.isoformat,
    bytes: to_base64,
    Decimal: str,
}
_BY_BASE: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (Enum, lambda value: encode(value.value)),
    (Quantity, lambda value: value.wire),
    (MicroDatetime, format_micro_time),
    (datetime, format_time),
    (timedelta, format_duration),
    (bool, bool),
    (int, int),
    (float, float),
    (str, str.__str__),
    (bytes, to_base64),
    (Mapping, _encode_dict),
    ((list, tuple), _encode_list),
    ((set, frozenset), _encode_set),
    (
        (UUID, PurePath, IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network),
        str,
    ),
)


def _encoder_for(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, BaseModel):
        if is_struct(kind):
            return encode_struct if _is_usual(kind, "to_wire") else lambda value: value.to_wire()
        return lambda value: value.model_dump(mode="json", by_alias=True, exclude_none=True)
    for base, encoder in _BY_BASE:
        if issubclass(kind, base):
            return encoder
    if hasattr(kind, "get_secret_value"):  # Pydantic's secrets serialise to stars, which would be stored
        return lambda value: encode(value.get_secret_value())
    return to_jsonable_python


def clone(value: Any) -> Any:
    """Return a deep copy.

    API objects are trees, which makes it several times faster than `copy.deepcopy`.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in _ATOMS else clone(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else clone(item) for item in value]
    cloner = _CLONERS.get(kind)
    if cloner is None:
        cloner = _CLONERS[kind] = _cloner_for(kind)
    return cloner(value)


def clone_struct(obj: ModelT) -> ModelT:
    """Return a deep copy of a struct. The copy keeps the record of which fields were set."""
    new: ModelT = object.__new__(type(obj))
    values = obj.__dict__.copy()
    for name, value in values.items():
        if type(value) not in _ATOMS:
            values[name] = clone(value)
    _set_values(new, values)
    _set_fields_set(new, obj.__pydantic_fields_set__.copy())
    extra, private = obj.__pydantic_extra__, obj.__pydantic_private__
    _set_extra(new, None if extra is None else {name: clone(value) for name, value in extra.items()})
    _set_private(new, None if private is None else _clone_private(private))
    return new


def _clone_private(values: dict[str, Any]) -> dict[str, Any]:
    return {name: copy.deepcopy(value) for name, value in values.items() if value is not PydanticUndefined}


def _cloner_for(kind: type) -> Callable[[Any], Any]:
    if not is_struct(kind):
        return copy.deepcopy
    return clone_struct if _is_usual(kind, "__deepcopy__") else lambda value: value.__deepcopy__()


def _setter(slot: str) -> Callable[[BaseModel, Any], None]:
    """Return the setter of a model's slot.

    The look-up by name would be most of the cost of a copy.
    """
    setter: Callable[[BaseModel, Any], None] = BaseModel.__dict__[slot].__set__
    return setter


_set_values = _setter("__dict__")
_set_extra = _setter("__pydantic_extra__")
_set_fields_set = _setter("__pydantic_fields_set__")
_set_private = _setter("__pydantic_private__")
_CLONERS: dict[type, Callable[[Any], Any]] = {}
_ATOMS = _PLAIN | {Quantity, datetime, MicroDatetime, timedelta, date, time, bytes, Decimal}
