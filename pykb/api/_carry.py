"""`carry_over`: what two versions of a type have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pykb.api.object import Object
from pykb.api.partial import PartialMaker, partial_validator
from pykb.api.struct import Struct
from pykb.api.wire import encode_struct

StructT = TypeVar("StructT", bound=Struct)


def carry_over(source: Struct, target: type[StructT]) -> StructT:
    """An object of another type with the fields that both have by the same name on the wire.

    What both types know is taken where the value fits, at every depth, and metadata and status too. What only the
    source knows, and what has another type in the target, is left out: the converter sets it. A field that the target
    requires may thus be missing; it can be set, and reading it before is an error. Fields that the source does not know
    either (the object has more than its class) are kept where they are, so that they go the whole way. Nothing is
    shared with the source.
    """
    wire = _marked(source) if _has_unknown(source) else source.to_wire()
    if issubclass(target, Object):
        wire |= {"apiVersion": target.gvk.api_version, "kind": target.gvk.kind}
    made: StructT = partial_validator(target, _CarriedMaker).validate_python(wire, by_alias=True, by_name=False)
    return made


class _Unknown:
    """A value that the source has no field for."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _has_unknown(value: object) -> bool:
    if isinstance(value, Struct):
        return bool(value.__pydantic_extra__) or any(map(_has_unknown, value.__dict__.values()))
    if isinstance(value, Mapping):
        return any(map(_has_unknown, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_unknown, value))


def _marked(source: Struct) -> dict[str, Any]:
    wire = encode_struct(source)
    plan = type(source).__wire_plan__ or ()
    known = {field.wire_name: field for field in plan}
    for name in wire:
        if name not in known:
            wire[name] = _Unknown(wire[name])
        elif not known[name].custom:
            wire[name] = _marked_within(source.__dict__.get(known[name].attribute), wire[name])
    return wire


def _marked_within(value: object, wire: Any) -> Any:
    if not _has_unknown(value):
        return wire
    if isinstance(value, Struct):
        return _marked(value)
    if isinstance(value, Mapping):
        return {key: _marked_within(item, wire[key]) for key, item in value.items() if key in wire}
    return [_marked_within(item, encoded) for item, encoded in zip(cast("list[Any]", value), wire, strict=True)]


def _unmarked(value: Any) -> Any:
    if isinstance(value, _Unknown):
        return value.value
    if type(value) is dict:
        return {key: _unmarked(item) for key, item in value.items()}
    if type(value) is list:
        return [_unmarked(item) for item in value]
    return value


class _CarriedMaker(PartialMaker):
    """Makes an object that misses what is required until the converter sets it."""

    @staticmethod
    def opened(value: Any) -> Any:
        return value.value if isinstance(value, _Unknown) else value

    def value(self, value: Any) -> Any:
        return _unmarked(value)

    def miss(self, name: str, annotation: Any, fields: dict[str, Any]) -> None:
        """Reading the attribute is an error, which says what to do."""

    def unknown(self, extra: dict[str, Any]) -> dict[str, Any]:
        return {name: value.value for name, value in extra.items() if isinstance(value, _Unknown)}
