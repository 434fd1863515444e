"""Partial objects, which have only the fields that were set.

A field that was not set is not an attribute and has no default. Only fields that were set are
therefore sent (:mod:`pykb.api.wire`). Each value is validated as in a whole object. Pydantic's
``model_validator`` does not run, since it expects a whole object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import CoreSchema, PydanticUndefined, SchemaValidator, core_schema

from pykb.api.partial import ABSENT, PartialMaker, partial_validator
from pykb.api.wire import is_whole

StructT = TypeVar("StructT", bound=BaseModel)


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
