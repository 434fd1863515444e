"""Annotations for ``Annotated[...]``, for the schema keywords that Pydantic's ``Field`` lacks, and scalars with them.

The generator writes these frozen values into the CRD's schema. Pydantic checks those that constrain
a value. Each has an equivalent marker (``+listType=map``, ``+kubebuilder:validation:XValidation``,
...).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_T = TypeVar("_T", bound=type)


def Wire(name: str) -> Any:  # noqa: N802 - reads as the annotation it is
    """Set the wire name of a field when it differs from the camelCase of the attribute.

    ``host_ip: Annotated[str | None, Wire("hostIP")] = None``.

    Do not write ``Field(alias=...)`` as the default value instead. A type checker would then
    require the alias as the keyword argument.
    """
    return Field(alias=name)


@dataclass(frozen=True, slots=True)
class CEL:
    """A validation rule in the Common Expression Language (``x-kubernetes-validations``).

    ::

        class DiskSpec(Struct):
            size: Annotated[int, CEL("self >= oldSelf", message="a disk cannot shrink")] = 1

    Args:
        rule: The expression. ``self`` is the value, ``oldSelf`` the value before an update.
        message: The message that the user sees when the rule fails.
        message_expression: A CEL expression that returns the message.
        reason: FieldValueInvalid (default), FieldValueForbidden, FieldValueRequired or
            FieldValueDuplicate.
        field_path: The JSON path of the field that the failure is reported for.
        optional_old_self: Evaluate the rule also when there is no old value. ``oldSelf`` is then an
            optional.
    """

    rule: str
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None
    field_path: str | None = None
    optional_old_self: bool | None = None


@dataclass(frozen=True, slots=True, init=False)
class ListMap:
    """A list whose items are identified by keys. The server merges it item by item.

    ::

        class Port(Struct):
            name: str
            number: Int32

        class ListenerSpec(Struct):
            ports: Annotated[list[Port], ListMap("name")] = []
    """

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Mark the schema, at any depth of a type, for the struct that adds the check."""
        return _tell(self, handler(source))


@dataclass(frozen=True, slots=True)
class ListSet:
    """A list without duplicates, ``Annotated[list[str], ListSet()]``. The server merges it item by item."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Mark the schema, at any depth of a type, for the struct that adds the check."""
        return _tell(self, handler(source))


LIST_TYPE = "pykb_list"
"""The key of the list type in a core schema's metadata."""


def _tell(annotation: ListMap | ListSet, schema: CoreSchema) -> CoreSchema:
    metadata = {**(schema.get("metadata") or {}), LIST_TYPE: annotation}
    return cast("CoreSchema", {**schema, "metadata": metadata})


@dataclass(frozen=True, slots=True)
class ListAtomic:
    """A list that the server replaces as a whole: ``Annotated[list[str], ListAtomic()]``."""


@dataclass(frozen=True, slots=True)
class MapAtomic:
    """A map or struct that the server replaces as a whole: ``Annotated[dict[str, str], MapAtomic()]``."""


@dataclass(frozen=True, slots=True)
class MapGranular:
    """A map or struct that the server merges entry by entry, which is the default."""


@dataclass(frozen=True, slots=True)
class PreserveUnknown:
    """Makes the server keep fields that the schema does not have: ``Annotated[dict[str, Any], PreserveUnknown()]``."""


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """A complete object with apiVersion, kind and metadata, as the value of a field.

    ``Annotated[dict[str, Any], EmbeddedResource()]``.
    """


@dataclass(frozen=True, slots=True)
class Nullable:
    """Allows ``null`` as a value: ``Annotated[str | None, Nullable()]``.

    ``None`` is sent as ``null`` if it was set explicitly.
    """


@dataclass(frozen=True, slots=True)
class Immutable:
    """A field that cannot change once it is set: ``Annotated[str, Immutable()]``.

    ``Field(frozen=True)`` also forbids it in Python.
    """


@dataclass(frozen=True, slots=True)
class Format:
    """A scalar's format, one that the API server knows: ``Annotated[str, Format("ipv4")]``."""

    name: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return cast("CoreSchema", self._checked(cast("dict[str, Any]", handler(source))))

    def _checked(self, schema: dict[str, Any]) -> dict[str, Any]:
        if schema["type"] == "nullable":
            schema["schema"] = self._checked(schema["schema"])
        elif schema["type"] == "int" and self.name in _INTEGERS:
            low, high = _INTEGERS[self.name]
            schema.setdefault("ge", low)
            schema.setdefault("le", high)
        elif schema["type"] == "str":
            from pykb.api.formats import checker

            check = checker(self.name)
            if check is not None:
                judge = _FormatCheck(self.name, check)
                checked = core_schema.no_info_after_validator_function(judge, cast("CoreSchema", schema))
                return cast("dict[str, Any]", checked)
        return schema


class _FormatCheck:
    """Refuses strings that do not match a format."""

    is_constraint = True

    def __init__(self, name: str, check: Callable[[str], bool]) -> None:
        self.name = name
        self.check = check

    def __call__(self, value: str) -> str:
        if not self.check(value):
            raise PydanticCustomError("format", "expected a string of the format {name}", {"name": self.name})
        return value


_INTEGERS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


@dataclass(frozen=True, slots=True)
class ExternalDocs:
    """A link to more documentation: ``Annotated[str, ExternalDocs("https://example.com/gadgets")]``."""

    url: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Type:
    """Sets the JSON type in the schema, ``Annotated[int, Type("number")]``. Replaces that of the Python type."""

    name: Literal["array", "boolean", "integer", "number", "object", "string"]


@dataclass(frozen=True, slots=True)
class Schemaless:
    """Derives no schema from the Python type: ``Annotated[Any, Schemaless(), PreserveUnknown()]``.

    Only explicit markers and annotations count.
    """


@dataclass(frozen=True, slots=True)
class RawSchema:
    """The literal schema of a value. For ``oneOf``, ``not`` and others that have no annotation.

    ``Annotated[str, RawSchema({"type": "string", "not": {"enum": ["*"]}})]``.
    """

    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class SchemaPatch:
    """A patch to the schema that is derived from the type. Not checked in Python.

    It is a merge patch (RFC 7386). It adds or replaces keywords, and ``None`` removes one.
    ``properties``, ``items`` and ``additionalProperties`` patch the nested schemas. ``required``
    replaces the whole list of required fields.

    ``@annotate(SchemaPatch({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}))`` on a class,
    ``Annotated[PodSpec, SchemaPatch({"properties": {"hostUsers": None}})]`` on a field.
    """

    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Conversion:
    """The literal ``spec.conversion`` of a kind's CRD: ``@annotate(Conversion({"strategy": "None"}))``.

    A project with a conversion webhook does not need it. There it is generated.
    """

    spec: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class XIntOrString:
    """Either an integer or a string (``x-kubernetes-int-or-string``). Fields of the type `IntOrString` have it."""


@dataclass(frozen=True, slots=True)
class ServerDefault:
    """A default that the API server sets. The Python attribute stays empty until then.

    ::

        class BackupSpec(Struct):
            keep: Annotated[int | None, ServerDefault(7)] = None

        assert BackupSpec().keep is None
    """

    value: Any = field(hash=False)


@dataclass(frozen=True, slots=True)
class KnownValues:
    """The values that a server of this version knows.

    Not enforced: a newer server may send others.
    """

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PatchStrategy:
    """How a strategic merge patch treats a field of a built-in type.

    ``merge_key`` identifies the items of a list. By default, it is the first key of its `ListMap`.
    """

    strategy: str
    merge_key: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaRequired:
    """Marks a field as required in the schema but optional in Python.

    For fields of built-in types that servers sometimes leave out.
    """


@dataclass(frozen=True, slots=True, init=False)
class SchemaOnly:
    """Constraints for the schema that Python does not check: ``SchemaOnly(Field(min_length=1))``.

    For built-in types. The server itself writes values that violate some of their constraints, such
    as the conditions without a reason of a ServiceCIDR. Reading such an object must not fail.
    """

    constraints: tuple[Any, ...]

    def __init__(self, *constraints: Any) -> None:
        object.__setattr__(self, "constraints", constraints)


@dataclass(frozen=True, slots=True)
class NullIsEmpty:
    """For required lists and maps that the server sends as ``null`` when empty.

    Built-in types only.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler(source)
        empty: Callable[[], Any] = dict if inner["type"] == "dict" else list
        return core_schema.no_info_before_validator_function(lambda value: empty() if value is None else value, inner)


@dataclass(frozen=True, slots=True, init=False)
class _Members:
    fields: tuple[str, ...]

    def __init__(self, *fields: str) -> None:
        object.__setattr__(self, "fields", fields)


@dataclass(frozen=True, slots=True, init=False)
class ExactlyOneOf(_Members):
    """Requires that exactly one of these fields (Python names) is set: ``@annotate(ExactlyOneOf("url", "file"))``."""


@dataclass(frozen=True, slots=True, init=False)
class AtMostOneOf(_Members):
    """Requires that at most one of these fields (Python names) is set: ``@annotate(AtMostOneOf("url", "file"))``."""


@dataclass(frozen=True, slots=True, init=False)
class AtLeastOneOf(_Members):
    """Requires that at least one of these fields (Python names) is set: ``@annotate(AtLeastOneOf("url", "file"))``."""


def annotate(*annotations: object) -> Callable[[_T], _T]:
    """Annotate a class.

    ::

        @annotate(ExactlyOneOf("url", "secret"), CEL("self.min <= self.max", message="min is above max"))
        class Source(Struct):
            url: str | None = None
            secret: str | None = None
            min: int = 0
            max: int = 0
    """

    def attach(cls: _T) -> _T:
        earlier = cls.__dict__.get("__schema_annotations__", ())  # from the decorators below this one
        cls.__schema_annotations__ = (*annotations, *earlier)  # type: ignore[attr-defined]
        return cls

    return attach


def annotations_of(cls: type) -> tuple[object, ...]:
    """Return the annotations that `annotate` gave to a class, after those of its base classes."""
    return tuple(item for base in reversed(cls.__mro__) for item in base.__dict__.get("__schema_annotations__", ()))


Int32 = Annotated[int, Format("int32")]
"""A 32-bit integer, ``replicas: Int32 = 1`` (``format: int32``). A plain ``int`` has no format in the schema."""

Int64 = Annotated[int, Format("int64")]
"""A 64-bit integer, ``bytes: Int64 = 0`` (``format: int64``). A plain ``int`` has no format in the schema."""

IntOrString = int | str
"""An integer, or a string such as ``50%`` or the name of a port: ``max_surge: IntOrString = "25%"``."""

Time = datetime
"""metav1.Time, ``started: Time | None = None``. On the wire: RFC 3339 in UTC with whole seconds."""

Duration = timedelta
"""metav1.Duration. On the wire: a duration in Go's form, such as ``1h30m0s``.

::

    class JobSpec(Struct):
        limit: Duration = timedelta(minutes=5)

    assert JobSpec(limit=timedelta(hours=1.5)).to_wire() == {"limit": "1h30m0s"}
"""

JSON = Any
"""Any JSON value: ``values: dict[str, JSON] = {}``."""

RawExtension = dict[str, Any]
"""A JSON object of any shape, ``config: RawExtension | None = None``. The API server keeps all of its fields."""
