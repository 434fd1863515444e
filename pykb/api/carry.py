"""`carry_over`: what two versions of a type have in common."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from pykb.api.object import Object
from pykb.api.stored import ObjectMaker, loosened
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
    made: StructT = _partial_validator(target).validate_python(wire, by_alias=True, by_name=False)
    return made


class _Unknown:
    """A value that the source has no field for."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Absent:
    """Stands for a value that is not there, or does not fit."""


_ABSENT = _Absent()


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


def _opened(value: Any) -> Any:
    return value.value if isinstance(value, _Unknown) else value


@lru_cache(maxsize=256)
def _partial_validator(cls: type[Struct]) -> SchemaValidator:
    """A validator that leaves out what does not fit, and misses nothing."""
    config = core_schema.CoreConfig(extra_fields_behavior="allow", allow_inf_nan=False)
    return SchemaValidator(cast("CoreSchema", _partial(loosened(cls))), config)


def _partial(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_partial(item) for item in schema]
    if isinstance(schema, tuple):
        return tuple(_partial(item) for item in schema)
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind == "function-after":
        function = schema["function"]["function"]
        if isinstance(function, ObjectMaker):
            maker = core_schema.no_info_after_validator_function(_PartialMaker(function), _partial(schema["schema"]))
            return {**maker, "ref": schema["ref"]} if "ref" in schema else maker
        inner = _partial(schema["schema"])
        if _makes_objects(inner):  # a validator of the user's, which expects a whole object
            return inner
    if kind == "model-field":
        opened = core_schema.no_info_before_validator_function(_opened, _partial(schema["schema"]))
        return {**schema, "schema": core_schema.with_default_schema(opened, default=_ABSENT, on_error="default")}
    return {key: _part(key, value) for key, value in schema.items()}


def _part(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if key in ("fields", "choices") and isinstance(value, dict):  # names, not keywords
        return {name: _partial(item) for name, item in value.items()}
    return _partial(value)


_OPAQUE = frozenset(
    {"function", "cls", "config", "default", "default_factory", "expected", "metadata", "serialization"}
)


def _makes_objects(schema: Any) -> bool:
    function = schema.get("function") if isinstance(schema, dict) else None
    return isinstance(function, dict) and isinstance(function.get("function"), _PartialMaker)


class _PartialMaker:
    """Makes an object of whatever fields there are."""

    def __init__(self, maker: ObjectMaker) -> None:
        self._maker = maker

    def __call__(self, parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> Struct:
        found, extra, assigned = parts
        fields: dict[str, Any] = {}
        for name, info in self._maker.cls.__pydantic_fields__.items():
            value = found.get(name, _ABSENT)
            if value is not _ABSENT:
                fields[name] = _unmarked(value)
                continue
            assigned.discard(name)
            if not info.is_required():
                fields[name] = info.get_default(call_default_factory=True, validated_data=fields)
        kept = {name: value.value for name, value in (extra or {}).items() if isinstance(value, _Unknown)}
        return self._maker((fields, kept, assigned))
