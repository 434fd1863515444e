"""Builds objects from the values that fit. Skips each value that does not, and requires none.

Like :mod:`pykb.api._stored`, this module rewrites the core schemas of the types, without their
constraints.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, NewType, TypeVar, cast

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from pykb.api._stored import ObjectMaker, loosened
from pykb.api.struct import Struct

StructT = TypeVar("StructT", bound=Struct)


class Absent:
    """Stands for a value that is missing or does not fit."""


ABSENT = Absent()


class PartialMaker:
    """Builds an object from the fields that exist.

    A missing required field gets an empty value, as in Go.
    """

    def __init__(self, maker: ObjectMaker) -> None:
        self._maker = maker

    def __call__(self, parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> Struct:
        """Build the object from its fields, unknown fields, and the names of set fields."""
        found, extra, assigned = parts
        fields: dict[str, Any] = {}
        for name, info in self._maker.cls.__pydantic_fields__.items():
            value = found.get(name, ABSENT)
            if value is not ABSENT:
                fields[name] = self.value(value)
                continue
            assigned.discard(name)
            if not info.is_required():
                fields[name] = info.get_default(call_default_factory=True, validated_data=fields)
            else:
                self.miss(name, info.annotation, fields)
        return self._maker((fields, self.unknown(extra or {}), assigned))

    @staticmethod
    def opened(value: Any) -> Any:
        """Return the value to validate."""
        return value

    def value(self, value: Any) -> Any:
        """Return the value to store in a field."""
        return value

    def miss(self, name: str, annotation: Any, fields: dict[str, Any]) -> None:
        """Fill in a required field that is missing."""
        fields[name] = _empty(annotation)

    def unknown(self, extra: dict[str, Any]) -> dict[str, Any]:
        """Return the fields to keep that the class does not know."""
        return extra


def fitting(cls: type[StructT], wire: Mapping[str, Any]) -> StructT:
    """Build an object from all values that fit, at every depth.

    A missing required field gets an empty value: ``""``, ``0``, ``False``, an empty collection, or
    a struct of empty fields. It is ``None`` where the type has no such value. Programs in Go see
    the object the same way, since Go has no required fields.
    """
    made: StructT = partial_validator(cls, PartialMaker).validate_python(wire, by_alias=True, by_name=False)
    return made


@lru_cache(maxsize=256)
def partial_validator(cls: type[Struct], make: type[PartialMaker]) -> SchemaValidator:
    """Return a validator that skips values that do not fit, and accepts missing fields."""
    config = core_schema.CoreConfig(extra_fields_behavior="allow", allow_inf_nan=False)
    return SchemaValidator(cast("CoreSchema", _partial(loosened(cls), make)), config)


def _partial(schema: Any, make: type[PartialMaker]) -> Any:
    if isinstance(schema, list):
        return [_partial(item, make) for item in schema]
    if isinstance(schema, tuple):
        return tuple(_partial(item, make) for item in schema)
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind == "function-after":
        function = schema["function"]["function"]
        if isinstance(function, ObjectMaker):
            maker = core_schema.no_info_after_validator_function(make(function), _partial(schema["schema"], make))
            return {**maker, "ref": schema["ref"]} if "ref" in schema else maker
        inner = _partial(schema["schema"], make)
        if _makes_objects(inner):  # a user's validator expects a whole object: leave it out
            return {**inner, "ref": schema["ref"]} if "ref" in schema else inner
    if kind == "model-field":
        opened = core_schema.no_info_before_validator_function(make.opened, _partial(schema["schema"], make))
        return {**schema, "schema": core_schema.with_default_schema(opened, default=ABSENT, on_error="default")}
    return {key: _part(key, value, make) for key, value in schema.items()}


def _part(key: str, value: Any, make: type[PartialMaker]) -> Any:
    if key in _OPAQUE:
        return value
    if key in ("fields", "choices") and isinstance(value, dict):  # the keys are names, not entries of a schema
        return {name: _partial(item, make) for name, item in value.items()}
    return _partial(value, make)


_OPAQUE = frozenset(
    {"function", "cls", "config", "default", "default_factory", "expected", "metadata", "serialization"}
)


def _makes_objects(schema: Any) -> bool:
    function = schema.get("function") if isinstance(schema, dict) else None
    return isinstance(function, dict) and isinstance(function.get("function"), PartialMaker)


def _empty(annotation: Any) -> Any:
    while True:
        if isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":  # of typing or of typing_extensions
            annotation = annotation.__value__
        elif typing.get_origin(annotation) is Annotated:
            annotation = typing.get_args(annotation)[0]
        else:
            break
    cls = typing.get_origin(annotation) or annotation
    if isinstance(cls, type) and issubclass(cls, Struct):
        return fitting(cls, {})
    return cls() if cls in _EMPTY else None


_EMPTY = (str, int, float, bool, bytes, list, dict, set)
