"""What can be said about a type inside ``Annotated[...]``, beyond Pydantic's own ``Field(...)``.

Frozen values that the generator turns into a schema. Those that constrain a value also make Pydantic check it.
Each has a marker of the same meaning (``+listType=map``, ``+kubebuilder:validation:XValidation``, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_T = TypeVar("_T", bound=type)


def Wire(name: str) -> Any:  # noqa: N802 - reads as the annotation it is
    """Give a field a wire name that camelCase does not lead to.

    ``host_ip: Annotated[str | None, Wire("hostIP")] = None``.

    Not ``Field(alias=...)`` as a default: a type checker would then ask for the alias as the keyword argument.
    """
    return Field(alias=name)


@dataclass(frozen=True, slots=True)
class CEL:
    """A validation rule in the Common Expression Language (``x-kubernetes-validations``).

    Args:
        rule: The expression; ``self`` is the value, ``oldSelf`` the one before an update.
        message: What the user reads when it fails.
        message_expression: A CEL expression that makes the message.
        reason: FieldValueInvalid (default), FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.
        field_path: The JSON path of the field that the failure is reported at.
        optional_old_self: Evaluate also when there is no old value; ``oldSelf`` is then an optional.
    """

    rule: str
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None
    field_path: str | None = None
    optional_old_self: bool | None = None


@dataclass(frozen=True, slots=True, init=False)
class ListMap:
    """A list whose items are told apart by keys: ``Annotated[list[Port], ListMap("name")]``."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let the struct that has the list check it, wherever in a type it stands."""
        return _tell(self, handler(source))


@dataclass(frozen=True, slots=True)
class ListSet:
    """A list without duplicates, merged item by item."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let the struct that has the list check it, wherever in a type it stands."""
        return _tell(self, handler(source))


LIST_TYPE = "pykb_list"
"""Where a core schema's metadata has the list type."""


def _tell(annotation: ListMap | ListSet, schema: CoreSchema) -> CoreSchema:
    metadata = {**(schema.get("metadata") or {}), LIST_TYPE: annotation}
    return cast("CoreSchema", {**schema, "metadata": metadata})


@dataclass(frozen=True, slots=True)
class ListAtomic:
    """A list that is replaced as a whole."""


@dataclass(frozen=True, slots=True)
class MapAtomic:
    """A map or struct that is replaced as a whole."""


@dataclass(frozen=True, slots=True)
class MapGranular:
    """A map or struct that is merged entry by entry, which is the default."""


@dataclass(frozen=True, slots=True)
class PreserveUnknown:
    """Fields that the schema does not know are kept by the server."""


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """An object of its own, with apiVersion, kind and metadata."""


@dataclass(frozen=True, slots=True)
class Nullable:
    """``null`` is a value of its own: ``None`` goes out as such when it was set."""


@dataclass(frozen=True, slots=True)
class Immutable:
    """Cannot be changed once it was set; ``Field(frozen=True)`` says the same and holds in Python as well."""


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a scalar, one that the API server knows: ``Annotated[str, Format("ipv4")]``."""

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
    """Refuses texts that are not of a format."""

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
    """Where more is written."""

    url: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Type:
    """The JSON type in the schema, instead of the one that follows from the Python type."""

    name: Literal["array", "boolean", "integer", "number", "object", "string"]


@dataclass(frozen=True, slots=True)
class Schemaless:
    """The schema does not follow from the type; only what is said explicitly counts."""


@dataclass(frozen=True, slots=True)
class RawSchema:
    """The schema of the value, word for word (``oneOf``, ``not`` and whatever else has no other spelling)."""

    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class SchemaPatch:
    """What a schema says beyond, or other than, what follows from the type; not checked in Python.

    A merge patch (RFC 7386): keywords are added or replaced, ``None`` takes one away, and ``properties``, ``items`` and
    ``additionalProperties`` reach into the parts. ``required`` names all required fields.

    ``@annotate(SchemaPatch({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}))`` on a class,
    ``Annotated[PodSpec, SchemaPatch({"properties": {"hostUsers": None}})]`` on a field.
    """

    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a kind's versions are converted, ``spec.conversion`` of its CRD word for word; for `annotate`.

    Not needed in a project with a conversion webhook, whose stanza is generated.
    """

    spec: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class XIntOrString:
    """Either an integer or a string (``x-kubernetes-int-or-string``)."""


@dataclass(frozen=True, slots=True)
class ServerDefault:
    """A default that the API server fills in, while the Python attribute stays empty until then."""

    value: Any = field(hash=False)


@dataclass(frozen=True, slots=True)
class KnownValues:
    """The values a server of this version knows. Not enforced: a newer server may send another one."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PatchStrategy:
    """How a strategic merge patch treats a field of a built-in type."""

    strategy: str
    merge_key: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaRequired:
    """The schema requires a field that Python lets be left out: built-in ones that servers send without a value."""


@dataclass(frozen=True, slots=True, init=False)
class SchemaOnly:
    """Constraints that stand in the schema and are not checked in Python: ``SchemaOnly(Field(min_length=1))``.

    For built-in types, since the server itself writes values that break them (ServiceCIDR has conditions without a
    reason), and reading an object must not fail for that.
    """

    constraints: tuple[Any, ...]

    def __init__(self, *constraints: Any) -> None:
        object.__setattr__(self, "constraints", constraints)


@dataclass(frozen=True, slots=True)
class NullIsEmpty:
    """For built-in lists and maps that are required, yet sent as ``null`` by the server when empty."""

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
    """Of these fields (Python names) exactly one is set; for `annotate`."""


@dataclass(frozen=True, slots=True, init=False)
class AtMostOneOf(_Members):
    """Of these fields (Python names) at most one is set; for `annotate`."""


@dataclass(frozen=True, slots=True, init=False)
class AtLeastOneOf(_Members):
    """Of these fields (Python names) at least one is set; for `annotate`."""


def annotate(*annotations: object) -> Callable[[_T], _T]:
    """Say something about a whole class: ``@annotate(CEL("self.min <= self.max"), ExactlyOneOf("a", "b"))``."""

    def attach(cls: _T) -> _T:
        earlier = cls.__dict__.get("__schema_annotations__", ())  # of a decorator below this one
        cls.__schema_annotations__ = (*annotations, *earlier)  # type: ignore[attr-defined]
        return cls

    return attach


def annotations_of(cls: type) -> tuple[object, ...]:
    """What `annotate` said about a class and, before that, about its bases."""
    return tuple(item for base in reversed(cls.__mro__) for item in base.__dict__.get("__schema_annotations__", ()))
