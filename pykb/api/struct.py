"""`Struct`: the base of every type of an API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from pykb.api._schema import as_api_server
from pykb.api.names import to_camel
from pykb.api.wire import FieldPlan, clone_struct, encode_struct, is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping


class Struct(BaseModel):
    """A JSON object with known fields: snake_case in Python, camelCase on the wire.

    * Fields that this class does not know are kept when an object is read (`from_wire`) and written again (`to_wire`),
      so an older program never erases a newer field. They are not attributes: a misspelt name is an error.
    * Assignments are validated. A list or dict assigned is copied; change it through the attribute.
    * Scalars are judged as the API server does: ``int`` takes neither ``"5"`` nor ``True``, ``str`` no ``5``.
    * ``X | None = None`` is an optional field; ``None`` means absent and never goes out, unless it is `Nullable`.
    * Deep copies are cheap; equality is by value.
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
    else:  # type checkers synthesise __init__ from the fields, and must not see these
        # Without annotations: Pydantic evaluates those of each base for every class, which tripled the cost of one.
        __wire_plan__ = None
        __wire_always__ = frozenset()

        def __init__(self, /, **fields: Any) -> None:
            self.__pydantic_validator__.validate_python(fields, self_instance=self)
            if self.__pydantic_extra__:
                raise TypeError(_unknown(type(self), next(iter(self.__pydantic_extra__)), "keyword argument"))

        __init__.__pydantic_base_init__ = True  # validation of wire data need not go through it

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
            # Pydantic would look into the unknown fields; they are in `model_extra`, attributes are what is declared.
            if name[:1] == "_":
                return super().__getattr__(name)
            cls = type(self)
            if name in cls.__pydantic_fields__:  # the object is partial, or was carried over from another version
                raise AttributeError(f"{cls.__name__} has no {name!r} yet: set it first", name=name, obj=self)
            raise AttributeError(_unknown(type(self), name, "attribute"), name=name, obj=self)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.__wire_plan__ = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        made = as_api_server(handler(source), cls, handler)
        if cls.__pydantic_decorators__.model_validators:
            from pykb.api.unset import sparing_parts

            return sparing_parts(made, cls)
        return made

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Read an object of the wire (names in camelCase, unknown fields kept).

        Raises:
            pydantic.ValidationError: A value is not what its field allows.
        """
        return cls.model_validate(data, by_alias=True, by_name=False)

    @classmethod
    def from_stored(cls, data: Mapping[str, Any]) -> Self:
        """Read an object that a server holds: as `from_wire`, but constraints need not be met.

        A server keeps objects that break what was demanded later, and hands them out; they must be readable. Their
        types still have to be right.

        Raises:
            pydantic.ValidationError: A value is of another type than its field.
        """
        try:
            return cls.model_validate(data, by_alias=True, by_name=False)
        except ValidationError:
            from pykb.api._stored import lenient_validator

            made: Self = lenient_validator(cls).validate_python(data, by_alias=True, by_name=False)
            return made

    def to_wire(self) -> dict[str, Any]:
        """The object as JSON-ready plain values: what was set, or differs from a fresh default.

        Changes in place (``status.conditions.append(...)``, ``metadata.labels["a"] = "b"``) are seen. Nothing in the
        result is shared with the object.
        """
        return encode_struct(self)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return clone_struct(self)  # type: ignore[return-value]

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        # Built-in types have dozens of fields, most of them empty.
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
