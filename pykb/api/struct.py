"""`Struct`, the base class of every API type."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pykb.api import _accept as accept
from pykb.api.annotations import LIST_TYPE, ListMap, ListSet
from pykb.api.wire import FieldPlan, clone_struct, encode_struct, is_whole
from pykb.meta.names import to_camel


class Struct(BaseModel):
    """A JSON object with known fields: snake_case in Python, camelCase on the wire.

    ::

        class DiskSpec(Struct):
            size: Quantity
            storage_class: str | None = None  # `storageClass` on the wire

        disk = DiskSpec.from_wire({"size": "10Gi", "newer": 1})
        disk.storage_class = "fast"
        assert disk.to_wire() == {"size": "10Gi", "storageClass": "fast", "newer": 1}

    * `from_wire` and `to_wire` keep the fields that this class does not know. An older program
      therefore never erases a newer field. Unknown fields are not attributes: a misspelt name
      raises an error.
    * Assignments are validated. An assigned list or dict is copied. To change it, go through the
      attribute.
    * Scalars are validated as the API server does it: an ``int`` refuses ``"5"`` and ``True``, a
      ``str`` refuses ``5``.
    * ``X | None = None`` is an optional field. ``None`` means absent and is not sent, unless the
      field is `Nullable`.
    * Deep copies are cheap. Equality is by value.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        allow_inf_nan=False,
        defer_build=True,
        extra="allow",
        protected_namespaces=(),
        validate_assignment=True,
        validate_by_alias=True,
        validate_by_name=True,
    )

    if TYPE_CHECKING:
        __wire_plan__: ClassVar[tuple[FieldPlan, ...] | None]
        __wire_always__: ClassVar[frozenset[str]]
    else:  # hidden from type checkers, which derive __init__ from the fields
        # Not annotated: Pydantic would evaluate the annotations again for every class, which takes
        # three times as long.
        __wire_plan__ = None
        __wire_always__ = frozenset()

        def __init__(self, /, **fields: Any) -> None:
            self.__pydantic_validator__.validate_python(fields, self_instance=self)
            if self.__pydantic_extra__:
                raise TypeError(_unknown(type(self), next(iter(self.__pydantic_extra__)), "keyword argument"))

        __init__.__pydantic_base_init__ = True  # lets the validation of wire data bypass it

        def __setattr__(self, name: str, value: Any) -> None:
            cls = type(self)
            if name in cls.__pydantic_fields__:
                if not is_whole(self):
                    from pykb.api.unset import assign

                    return assign(self, name, value, super().__setattr__)
            elif name[:1] != "_" and not hasattr(cls, name):
                raise AttributeError(_unknown(cls, name, "attribute"), name=name, obj=self)
            return super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            super().__delattr__(name)
            self.__pydantic_fields_set__.discard(name)

        def __getattr__(self, name: str) -> Any:
            # Pydantic would return unknown fields too. Here only declared fields are attributes;
            # see `model_extra`.
            if name[:1] == "_":
                return super().__getattr__(name)
            cls = type(self)
            if name in cls.__pydantic_fields__:  # the object is partial, or `carry_over` made it
                raise AttributeError(f"{cls.__name__} has no {name!r} yet: set it first", name=name, obj=self)
            raise AttributeError(_unknown(type(self), name, "attribute"), name=name, obj=self)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.__wire_plan__ = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        made = _as_api_server(handler(source), cls, handler)
        if cls.__pydantic_decorators__.model_validators:
            from pykb.api.unset import sparing_parts

            return sparing_parts(made, cls)
        return made

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Read an object from its wire form (camelCase names). Unknown fields are kept.

        Raises:
            pydantic.ValidationError: A field does not allow its value.
        """
        return cls.model_validate(data, by_alias=True, by_name=False)

    @classmethod
    def from_stored(cls, data: Mapping[str, Any]) -> Self:
        """Read an object that the API server returned, even if it violates constraints.

        The server keeps objects that violate constraints added later, and returns them. They must
        be readable. The types of the values are still checked.

        Raises:
            pydantic.ValidationError: A value does not have the type of its field.
        """
        try:
            return cls.model_validate(data, by_alias=True, by_name=False)
        except ValidationError:
            from pykb.api.partial import lenient_validator

            made: Self = lenient_validator(cls).validate_python(data, by_alias=True, by_name=False)
            return made

    def to_wire(self) -> dict[str, Any]:
        """Return the set and the non-default fields as JSON-ready values.

        ::

            assert VirtulMachineSpec(deployment_name="web").to_wire() == {"deploymentName": "web"}

        Changes in place (``status.conditions.append(...)``, ``metadata.labels["a"] = "b"``) are
        included. The result shares nothing with the object.
        """
        return encode_struct(self)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return clone_struct(self)  # type: ignore[return-value]

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        # Show only fields with a value: built-in types have dozens of fields, most of them empty.
        for name, field in type(self).__pydantic_fields__.items():
            value = self.__dict__.get(name)
            if field.repr and value is not None and (name in self.__pydantic_fields_set__ or value != _default(field)):
                yield name, value
        yield from (self.__pydantic_extra__ or {}).items()


def _default(field: FieldInfo) -> Any:
    if field.default_factory_takes_validated_data:
        return None
    return field.get_default(call_default_factory=True)


def _unknown(cls: type[Struct], name: str, what: str) -> str:
    from pykb.diagnostics.suggest import closest

    near = closest(name, cls.__pydantic_fields__)
    return f"{cls.__name__} has no field {name!r} ({what})" + (f"; did you mean {near!r}?" if near else "")


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


def _as_api_server(schema: CoreSchema, owner: type[Struct], handler: GetCoreSchemaHandler) -> CoreSchema:
    """Rewrite the schema of a struct to follow the API server's rules.

    Nested structs are left unchanged.
    """
    return cast("CoreSchema", _Walk(owner, handler).visit(cast("Schema", schema)))


class _Walk:
    """Rewrites the core schema of one struct."""

    def __init__(self, owner: type[Struct], handler: GetCoreSchemaHandler) -> None:
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
    if isinstance(value, Struct):
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
