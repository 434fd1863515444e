"""`Struct`, the base class of every API type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from pykb.api._core_schema import as_api_server
from pykb.api.wire import FieldPlan, clone_struct, encode_struct, is_whole, usual
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
                    from pykb.api.partial import assign

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
        made = as_api_server(handler(source), cls, handler)
        if cls.__pydantic_decorators__.model_validators:
            from pykb.api.partial import sparing_parts

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

    @usual
    def to_wire(self) -> dict[str, Any]:
        """Return the set and the non-default fields as JSON-ready values.

        ::

            assert VirtulMachineSpec(deployment_name="web").to_wire() == {"deploymentName": "web"}

        Changes in place (``status.conditions.append(...)``, ``metadata.labels["a"] = "b"``) are
        included. The result shares nothing with the object.
        """
        return encode_struct(self)

    @usual
    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return clone_struct(self)

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
