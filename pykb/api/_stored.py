"""Reads objects that violate constraints added after they were stored.

The API server keeps such objects and returns them. Only an update must satisfy the new schema. A
program that could not read one would fail on it, and on each list that contains it. The types of
the values are still checked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import CoreSchema, SchemaValidator, core_schema

if TYPE_CHECKING:
    from pykb.api.struct import Struct

_CONSTRAINTS = frozenset(
    {"ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "pattern_has_lookaround"}
)
_LENGTHS = {"str", "bytes", "list", "dict", "set", "frozenset", "tuple"}
_NUMBERS = {"int", "float", "decimal", "date", "datetime", "time", "timedelta"}
# The entries of a core schema that hold no schemas. The walk skips them.
_OPAQUE = frozenset(
    {"cls", "config", "default", "default_factory", "expected", "function", "members", "metadata", "serialization"}
)


@lru_cache(maxsize=256)
def lenient_validator(cls: type[Struct]) -> SchemaValidator:
    """Return a validator for a struct that checks types only. It is built on first use."""
    config = core_schema.CoreConfig(extra_fields_behavior="allow", allow_inf_nan=False)
    return SchemaValidator(cast("CoreSchema", loosened(cls)), config)


def loosened(cls: type[Struct]) -> Any:
    """Return the core schema of a struct without constraints.

    An `ObjectMaker` builds each object in it.
    """
    if not cls.__pydantic_complete__:
        cls.model_rebuild()  # the first object of this class
    return _loosen(cls.__pydantic_core_schema__)


def _loosen(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_loosen(item) for item in schema]
    if isinstance(schema, tuple):
        return tuple(_loosen(item) for item in schema)
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if _is_constraint(schema):
        inner = _loosen(schema["schema"])
        return {**inner, "ref": schema["ref"]} if "ref" in schema else inner
    if kind == "literal" and _is_text_enum(schema["expected"]):
        return {"type": "str", "strict": True}
    if kind == "model":
        return _model(schema)
    dropped = _CONSTRAINTS if kind in _LENGTHS | _NUMBERS else frozenset()
    return {key: _part(key, value) for key, value in schema.items() if key not in dropped}


def _is_text_enum(expected: list[Any]) -> bool:
    """Whether a literal type is an enum of strings. A single string is a constant, such as a kind."""
    return len(expected) > 1 and all(isinstance(item, str) for item in expected)


def _is_constraint(schema: dict[str, Any]) -> bool:
    is_call = schema.get("type") in ("function-after", "function-before", "function-wrap")
    return is_call and getattr(schema["function"]["function"], "is_constraint", False)


def _model(schema: dict[str, Any]) -> dict[str, Any]:
    # pydantic-core prefers the validator of the class to this schema. An `ObjectMaker` avoids that.
    maker = core_schema.no_info_after_validator_function(ObjectMaker(schema), _loosen(schema["schema"]))
    return cast("dict[str, Any]", {**maker, "ref": schema["ref"]} if "ref" in schema else maker)


class ObjectMaker:
    """Builds an object of a class from validated fields."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.cls: type[Struct] = schema["cls"]
        self.post_init: str | None = schema.get("post_init")

    def __call__(self, parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> Struct:
        """Build the object from its fields, unknown fields, and the names of set fields."""
        made = self.cls.__new__(self.cls)
        fields, extra, assigned = parts
        object.__setattr__(made, "__dict__", fields)
        object.__setattr__(made, "__pydantic_extra__", extra)
        object.__setattr__(made, "__pydantic_fields_set__", assigned)
        object.__setattr__(made, "__pydantic_private__", None)
        if self.post_init:
            getattr(made, self.post_init)(None)
        return made


def _part(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if key in ("fields", "choices") and isinstance(value, dict):  # the keys are names, not entries of a schema
        return {name: _loosen(item) for name, item in value.items()}
    return _loosen(value)
