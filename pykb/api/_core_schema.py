"""Makes Pydantic judge as the API server does: rewrites the core schema that it derives from a class.

Scalars are strict (:mod:`pykb.api._accept`), lists that are sets or maps have no duplicates, and a collection reports
its first wrong item only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pykb.api import _accept as accept
from pykb.api.annotations import LIST_TYPE, ListMap, ListSet
from pykb.meta.names import to_camel

Schema = dict[str, Any]

# The entries of a core schema that hold other schemas. `keys_schema` is left out: JSON keys are
# always strings.
_ONE = ("schema", "items_schema", "values_schema", "json_schema", "python_schema")
_MANY = ("steps", "definitions")
_COLLECTIONS = ("list", "dict", "set", "frozenset", "tuple")
"""Only the first item that does not fit is reported. Each error takes a kilobyte, and a list can have a million."""

_DONE = "pykb"  # marks rewritten schemas, in their metadata

_SCALARS = {
    "bool": accept.boolean,
    "bytes": accept.octets,
    "date": accept.day,
    "datetime": accept.moment,
    "decimal": accept.decimal,
    "enum": accept.enum,
    "float": accept.number,
    "int": accept.integer,
    "lax-or-strict": accept.address_or_path,
    "literal": accept.literal,
    "str": accept.text,
    "time": accept.time_of_day,
    "timedelta": accept.duration,
    "uuid": accept.uuid,
}


def as_api_server(schema: CoreSchema, owner: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
    """Rewrite Pydantic's schema of a struct to follow the API server's rules.

    Nested structs are left unchanged.
    """
    return cast("CoreSchema", _Walk(owner, handler).visit(cast("Schema", schema)))


class _Walk:
    """Rewrites the core schema of one struct."""

    def __init__(self, owner: type[BaseModel], handler: GetCoreSchemaHandler) -> None:
        self.owner = owner
        self.handler = handler
        self.seen: set[str] = set()
        # Go code validates the built-in types. It is more lenient than an OpenAPI schema in places.
        self.custom = not owner.__module__.startswith("pykb.api.")

    def visit(self, schema: Schema) -> Schema:
        """Return the schema to use instead of this one."""
        kind, metadata = schema["type"], schema.get("metadata") or {}
        if _DONE in metadata:
            return schema
        list_type = metadata.get(LIST_TYPE)
        if list_type is not None and self.custom:
            return self._without_duplicates(list_type, schema)
        if kind in _SCALARS:
            replace = accept.nonempty_octets if kind == "bytes" and self.custom else _SCALARS[kind]
            made = replace(schema)
            if made is not schema:
                made["metadata"] = {**(made.get("metadata") or {}), _DONE: True}
            return made
        if kind == "definition-ref":
            self._definition(schema)
        elif kind != "model" or schema["cls"] is self.owner:
            self._parts(schema)
        return schema

    def _without_duplicates(self, list_type: ListMap | ListSet, schema: Schema) -> Schema:
        """Add the check for duplicates to a list that is a set, or a map by keys."""
        check = _KeysUnique(list_type.keys) if isinstance(list_type, ListMap) else _check_unique
        rest = {key: value for key, value in schema["metadata"].items() if key != LIST_TYPE}
        inner = cast("CoreSchema", self.visit({**schema, "metadata": rest}))
        made = core_schema.no_info_after_validator_function(check, inner, metadata={_DONE: True})
        return cast("Schema", made)

    def _definition(self, reference: Schema) -> None:
        """Rewrite a named alias or enum in place.

        Pydantic stores it apart from the schemas that refer to it.
        """
        name = reference["schema_ref"]
        if name in self.seen:
            return
        self.seen.add(name)
        try:
            target = cast("Schema", self.handler.resolve_ref_schema(cast("CoreSchema", reference)))
        except LookupError:  # the struct is still being built
            return
        made = self.visit(target)
        if made is not target:
            made = dict(made)
            target.clear()
            target.update(made, ref=name)

    def _parts(self, schema: Schema) -> None:
        if schema["type"] in _COLLECTIONS:
            schema["fail_fast"] = True
        for key in _ONE:
            inner = schema.get(key)
            if isinstance(inner, dict):
                schema[key] = self.visit(inner)
            elif isinstance(inner, list):  # the items of a tuple
                schema[key] = [self.visit(item) for item in inner]
        for key in _MANY:
            if key in schema:
                schema[key] = [self.visit(inner) for inner in schema[key]]
        if "choices" in schema:
            schema["choices"] = self._choices(schema["choices"])
        if isinstance(schema.get("fields"), dict):
            for field in schema["fields"].values():
                field["schema"] = self.visit(field["schema"])
        if schema["type"] in ("set", "frozenset"):
            self._no_duplicates_in(schema)

    def _choices(self, choices: Any) -> Any:
        """Rewrite the members of a union: schemas, (schema, label) pairs, or schemas by tag."""
        if isinstance(choices, dict):
            return {tag: self.visit(each) if isinstance(each, dict) else each for tag, each in choices.items()}
        return [(self.visit(c[0]), *c[1:]) if isinstance(c, tuple) else self.visit(c) for c in choices]

    def _no_duplicates_in(self, schema: Schema) -> None:
        inner = {key: value for key, value in schema.items() if key != "ref"}
        schema.clear()
        schema.update(core_schema.no_info_before_validator_function(_check_unique, cast("CoreSchema", inner)))
        schema["metadata"] = {_DONE: True}


def _check_unique(value: Any) -> Any:
    if isinstance(value, list | tuple):
        index = _first_again(map(_frozen, value))
        if index is not None:
            raise PydanticCustomError("duplicate", "{item} is in the list twice", {"item": repr(value[index])})
    return value


_check_unique.is_constraint = True  # type: ignore[attr-defined] # known to `stored`


def _first_again(values: Iterable[Hashable]) -> int | None:
    """The index of the first value that was there before."""
    seen: set[Hashable] = set()
    for index, value in enumerate(values):
        if value in seen:
            return index
        seen.add(value)
    return None


def _frozen(value: Any) -> Hashable:
    """What is equal for equal values, and has a hash: to compare each with each would take minutes."""
    if type(value) is str:
        return value
    if isinstance(value, Mapping):
        return (dict, frozenset((key, _frozen(each)) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return (list, tuple(map(_frozen, value)))
    if isinstance(value, set | frozenset):
        return frozenset(map(_frozen, value))
    if isinstance(value, BaseModel):
        return (type(value), _frozen(value.__dict__), _frozen(value.__pydantic_extra__ or {}))
    return cast("Hashable", value if getattr(value, "__hash__", None) is not None else repr(value))


class _KeysUnique:
    """Checks that no two items of a list have the same keys."""

    is_constraint = True

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys

    def __call__(self, value: Any) -> Any:
        items = list(value or ())
        index = _first_again(tuple(_frozen(_field(item, name)) for name in self.keys) for item in items)
        if index is not None:
            shown = ", ".join(f"{name}: {_field(items[index], name)}" for name in self.keys)
            raise PydanticCustomError("duplicate", "{keys} is in the list twice", {"keys": shown})
        return value


def _field(item: Any, wire_name: str) -> Any:
    if isinstance(item, dict):
        return item.get(wire_name)
    for name, field in type(item).__pydantic_fields__.items():
        if (field.alias or to_camel(name)) == wire_name:
            return getattr(item, name, None)  # a partial object may get its keys later
    return None
