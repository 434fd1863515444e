"""Objects that are not as their types say: they do not fit, or have only the fields that were set.

`lenient_validator` reads objects that violate constraints added after they were stored. The API
server keeps such objects and returns them. Only an update must satisfy the new schema. A program
that could not read one would fail on it, and on each list that contains it. The types of the values
are still checked.

`fitting` builds objects from the values that fit. It skips each value that does not, and requires
none.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, NewType, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import CoreSchema, PydanticUndefined, SchemaValidator, core_schema

from pykb.api.wire import is_struct, is_whole

StructT = TypeVar("StructT", bound=BaseModel)
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
def lenient_validator(cls: type[BaseModel]) -> SchemaValidator:
    """Return a validator for a struct that checks types only. It is built on first use."""
    config = core_schema.CoreConfig(extra_fields_behavior="allow", allow_inf_nan=False)
    return SchemaValidator(cast("CoreSchema", _loosened(cls)), config)


def _loosened(cls: type[BaseModel]) -> Any:
    """Return the core schema of a struct without constraints.

    An `ObjectMaker` builds each object in it.
    """
    if not cls.__pydantic_complete__:
        cls.model_rebuild()  # the first object of this class
    return _each(cls.__pydantic_core_schema__, _loosen)


def _each(schema: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """Apply a change to a schema, or to each schema in a list."""
    if isinstance(schema, list):
        return [_each(item, change) for item in schema]
    if isinstance(schema, tuple):
        return tuple(_each(item, change) for item in schema)
    return change(schema) if isinstance(schema, dict) else schema


def _inside(key: str, value: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """Apply a change to the schemas in one entry of a schema."""
    if key in _OPAQUE:
        return value
    if key in ("fields", "choices") and isinstance(value, dict):  # the keys are names, not entries of a schema
        return {name: _each(item, change) for name, item in value.items()}
    return _each(value, change)


def _loosen(schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if _is_constraint(schema):
        inner = _each(schema["schema"], _loosen)
        return {**inner, "ref": schema["ref"]} if "ref" in schema else inner
    if kind == "literal" and _is_text_enum(schema["expected"]):
        return {"type": "str", "strict": True}
    if kind == "model":
        return _model(schema)
    dropped = _CONSTRAINTS if kind in _LENGTHS | _NUMBERS else frozenset()
    return {key: _inside(key, value, _loosen) for key, value in schema.items() if key not in dropped}


def _is_text_enum(expected: list[Any]) -> bool:
    """Whether a literal type is an enum of strings. A single string is a constant, such as a kind."""
    return len(expected) > 1 and all(isinstance(item, str) for item in expected)


def _is_constraint(schema: dict[str, Any]) -> bool:
    is_call = schema.get("type") in ("function-after", "function-before", "function-wrap")
    return is_call and getattr(schema["function"]["function"], "is_constraint", False)


def _model(schema: dict[str, Any]) -> dict[str, Any]:
    # pydantic-core prefers the validator of the class to this schema. An `ObjectMaker` avoids that.
    maker = core_schema.no_info_after_validator_function(ObjectMaker(schema), _each(schema["schema"], _loosen))
    return cast("dict[str, Any]", {**maker, "ref": schema["ref"]} if "ref" in schema else maker)


class ObjectMaker:
    """Builds an object of a class from validated fields."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.cls: type[BaseModel] = schema["cls"]
        self.post_init: str | None = schema.get("post_init")

    def __call__(self, parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> BaseModel:
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


class Absent:
    """Stands for a value that is missing or does not fit."""


ABSENT = Absent()


class PartialMaker:
    """Builds an object from the fields that exist.

    A missing required field gets an empty value, as in Go.
    """

    def __init__(self, maker: ObjectMaker) -> None:
        self._maker = maker

    def __call__(self, parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> BaseModel:
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
def partial_validator(cls: type[BaseModel], make: type[PartialMaker]) -> SchemaValidator:
    """Return a validator that skips values that do not fit, and accepts missing fields."""
    config = core_schema.CoreConfig(extra_fields_behavior="allow", allow_inf_nan=False)
    return SchemaValidator(cast("CoreSchema", _partial(_loosened(cls), make)), config)


def _partial(schema: dict[str, Any], make: type[PartialMaker]) -> Any:
    def change(inner: dict[str, Any]) -> Any:
        return _partial(inner, make)

    kind = schema.get("type")
    if kind == "function-after":
        function = schema["function"]["function"]
        if isinstance(function, ObjectMaker):
            maker = core_schema.no_info_after_validator_function(make(function), _each(schema["schema"], change))
            return {**maker, "ref": schema["ref"]} if "ref" in schema else maker
        inner = _each(schema["schema"], change)
        if _makes_objects(inner):  # a user's validator expects a whole object: leave it out
            return {**inner, "ref": schema["ref"]} if "ref" in schema else inner
    if kind == "model-field":
        opened = core_schema.no_info_before_validator_function(make.opened, _each(schema["schema"], change))
        return {**schema, "schema": core_schema.with_default_schema(opened, default=ABSENT, on_error="default")}
    return {key: _inside(key, value, change) for key, value in schema.items()}


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
    if isinstance(cls, type) and is_struct(cls):
        return fitting(cls, {})
    return cls() if cls in _EMPTY else None


_EMPTY = (str, int, float, bool, bytes, list, dict, set)
# Partial objects, which have only the fields that were set.
#
# A field that was not set is not an attribute and has no default. Only fields that were set are
# therefore sent (`wire`). Each value is validated as in a whole object. Pydantic's
# `model_validator` does not run, since it expects a whole object.


def blank(cls: type[StructT]) -> StructT:
    """Create an object with no fields set."""
    made = cls.__new__(cls)
    private = {name: attribute.get_default() for name, attribute in cls.__private_attributes__.items()}
    private = {name: value for name, value in private.items() if value is not PydanticUndefined}
    object.__setattr__(made, "__dict__", {})
    object.__setattr__(made, "__pydantic_extra__", {})
    object.__setattr__(made, "__pydantic_fields_set__", set())
    object.__setattr__(made, "__pydantic_private__", private or None)
    return made


def assign(obj: BaseModel, name: str, value: Any, usual: Callable[[str, Any], None]) -> None:
    """Set a field of a partial object. A frozen field can be set once.

    Raises:
        pydantic.ValidationError: The field does not allow the value.
    """
    values = obj.__dict__
    if name in values and type(obj).__pydantic_fields__[name].frozen:
        usual(name, value)  # raises an error
    try:
        made: Any = _field_validator(type(obj)).validate_assignment(dict(values), name, value)
    except AttributeError as error:
        error.add_note(
            f"A validator of `{type(obj).__name__}.{name}` reads it: set it on the part first, then the part."
        )
        raise
    values[name] = made[0][name]
    obj.__pydantic_fields_set__.add(name)


def of_wire(cls: type[StructT], wire: Mapping[str, Any]) -> StructT:
    """Create a partial object with the fields in ``wire``, at every depth.

    Raises:
        ValueError: A value does not have the type of its field.
    """
    made: StructT = partial_validator(cls, _SetMaker).validate_python(wire, by_alias=True, by_name=False)
    return made


class _SetMaker(PartialMaker):
    """Builds an object that has exactly the fields that were given."""

    def __call__(self, parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> BaseModel:
        """Build the object from its fields, unknown fields, and the names of set fields."""
        found, extra, assigned = parts
        cls = self._maker.cls
        made = blank(cls)
        for name in assigned & found.keys():
            if found[name] is ABSENT:
                raise ValueError(f"{name!r} of {cls.__name__} is not what its type says")
            made.__dict__[name] = found[name]
        made.__pydantic_fields_set__.update(assigned)
        cast("dict[str, Any]", made.__pydantic_extra__).update(extra or {})
        if not assigned and not extra:
            _fill(made)
        return made


def _fill(obj: BaseModel) -> None:
    """Give an empty struct its defaults, unless it has required fields.

    Its presence alone has a meaning, as in ``emptyDir: {}``.
    """
    fields = type(obj).__pydantic_fields__
    if not any(info.is_required() for info in fields.values()):
        for name, info in fields.items():
            obj.__dict__[name] = info.get_default(call_default_factory=True, validated_data=obj.__dict__)


def sparing_parts(schema: CoreSchema, cls: type[BaseModel]) -> CoreSchema:
    """Return the schema of a class, changed so that its model validators skip partial objects."""
    if schema["type"] not in ("function-after", "function-wrap"):
        return schema

    def judge(value: Any, handler: core_schema.ValidatorFunctionWrapHandler) -> Any:
        return value if isinstance(value, cls) and not is_whole(value) else handler(value)

    judge.is_constraint = True  # type: ignore[attr-defined] # known to `stored`, which has no partial objects
    inner = cast("CoreSchema", {key: value for key, value in schema.items() if key != "ref"})
    return core_schema.no_info_wrap_validator_function(judge, inner, ref=schema.get("ref"))


@lru_cache(maxsize=256)
def _field_validator(cls: type[BaseModel]) -> SchemaValidator:
    """Return a validator for single fields of a class."""
    if not cls.__pydantic_complete__:
        cls.model_rebuild()
    schema = cast("dict[str, Any]", cls.__pydantic_core_schema__)
    definitions = schema["definitions"] if schema["type"] == "definitions" else []
    config: Any = {}
    while schema["type"] != "model-fields":
        config = schema.get("config", config)
        if schema["type"] == "definition-ref":
            schema = next(item for item in definitions if item["ref"] == schema["schema_ref"])
        else:
            schema = schema["schema"]
    fields = {name: {**field, "frozen": False} for name, field in schema["fields"].items()}
    whole = core_schema.definitions_schema(cast("CoreSchema", {**schema, "fields": fields}), definitions)
    return SchemaValidator(whole, cast("core_schema.CoreConfig", {**config, "title": cls.__name__}))
