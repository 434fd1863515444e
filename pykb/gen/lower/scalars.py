"""Lowers scalars, ``X | None``, int-or-string, literals and enums, and types whose schema the Kubernetes API fixes.

Unions of structs are united in ``passes.resolve``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import ipaddress
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.crd import UNION, UNSUPPORTED_TYPE
from pykb.gen.ir import Keyword, Place, PropertyNode, SchemaNode, object_node

if TYPE_CHECKING:
    from pykb.gen.declare import NamedType

# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/, as controller-gen v0.23.0 writes it.
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

_INT_OR_STRING: dict[str, object] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_SCALARS: dict[object, dict[str, object]] = {
    bool: {"type": "boolean"},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    dt.datetime: {"type": "string", "format": "date-time"},
    dt.date: {"type": "string", "format": "date"},
    dt.timedelta: {"type": "string"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    ipaddress.IPv4Address: {"type": "string", "format": "ipv4"},
    ipaddress.IPv6Address: {"type": "string", "format": "ipv6"},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
    pathlib.PurePosixPath: {"type": "string"},
    decimal.Decimal: {"type": "string", "pattern": r"^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"},
    Quantity: {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    Any: {"x-kubernetes-preserve-unknown-fields": True},
    object: {"x-kubernetes-preserve-unknown-fields": True},
}


@cache
def _table() -> Mapping[object, SchemaNode]:
    from pydantic import JsonValue

    table = {python: _spelt(python, schema) for python, schema in _SCALARS.items()}
    table[JsonValue] = table[Any]
    return table


def _spelt(python: object, schema: Mapping[str, object]) -> SchemaNode:
    """The schema of a Python type. Python also uses its format and pattern, so a marker cannot change them."""
    name = getattr(python, "__name__", "")
    return SchemaNode(
        {
            keyword: Keyword(value, spelling=name if keyword in {"format", "pattern"} or python is dt.timedelta else "")
            for keyword, value in schema.items()
        }
    )


def node_of(schema: Mapping[str, object]) -> SchemaNode:
    """A schema without sub-schemas."""
    return SchemaNode({name: Keyword(value) for name, value in schema.items()})


ANYTHING = node_of(_SCALARS[Any])
"""The schema of arbitrary JSON."""


def int_or_string() -> SchemaNode:
    """The schema of intstr.IntOrString. The apiserver requires the order integer, string."""
    return node_of(_INT_OR_STRING)


def lower_scalar(annotation: object) -> SchemaNode | None:
    """The schema of a scalar; ``None`` when the annotation is not a scalar."""
    try:
        known = _table().get(annotation)
    except TypeError:  # unhashable
        return None
    if known is None and isinstance(annotation, type):
        for base, node in ((Quantity, _table()[Quantity]), *_pydantic_types()):
            if issubclass(annotation, base):
                return node
        for base in (bool, str, int, bytes, dt.datetime):
            if base in annotation.__mro__ and not hasattr(annotation, "__get_pydantic_core_schema__"):
                return _table()[base]
    return known


@cache
def _pydantic_types() -> tuple[tuple[type, SchemaNode], ...]:
    import pydantic
    from pydantic import networks

    text = node_of({"type": "string"})
    uri = node_of({"type": "string", "format": "uri"})
    return (
        (networks._BaseUrl, uri),  # noqa: SLF001 - the base of every URL type has no public name
        (networks._BaseMultiHostUrl, text),  # noqa: SLF001
        (pydantic.EmailStr, node_of({"type": "string", "format": "email"})),
        (pydantic.SecretStr, text),
        (re.Pattern, text),
    )


# Every CRD has these two texts, word for word.
API_VERSION_TEXT = """\
APIVersion defines the versioned schema of this representation of an object.
Servers should convert recognized schemas to the latest internal value, and
may reject unrecognized values.
More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"""
KIND_TEXT = """\
Kind is a string value representing the REST resource this object represents.
Servers may infer this from the endpoint the client submits requests to.
Cannot be updated.
In CamelCase.
More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"""

_TEXT = node_of({"type": "string"})
_TEXTS = SchemaNode({"type": Keyword("object")}, values=_TEXT)


def kind_field(attribute: str, *, described: bool, embedded_metadata: bool) -> PropertyNode | None:
    """One of the three fields that every kind has; ``None`` for all others."""
    if attribute == "metadata":
        node = _embedded_metadata() if embedded_metadata else TOP_LEVEL_METADATA
        return PropertyNode("metadata", attribute, node, required=False)
    name, text = {"api_version": ("apiVersion", API_VERSION_TEXT), "kind": ("kind", KIND_TEXT)}.get(attribute, ("", ""))
    node = _TEXT.put("description", text) if described else _TEXT
    return PropertyNode(name, attribute, node, required=False) if name else None


# The apiserver has its own schema for an object's metadata and allows only the type here.
TOP_LEVEL_METADATA = node_of({"type": "object"})


def lower_builtin(named: NamedType, *, embedded_metadata: bool) -> SchemaNode | None:
    """The schema of a built-in type that is not made from its fields; ``None`` for all other types."""
    if not named.built_in:
        return None
    if named.name == "ObjectMeta":
        return _embedded_metadata() if embedded_metadata else node_of({"type": "object"})
    if named.name in {"JSONSchemaProps", "FieldsV1"}:  # one is recursive, the other allows any fields
        return node_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    return None


def _embedded_metadata() -> SchemaNode:
    """The useful fields of an embedded ObjectMeta. The server drops fields without a schema."""
    texts = SchemaNode({"type": Keyword("array")}, items=_TEXT)
    fields = {"annotations": _TEXTS, "finalizers": texts, "labels": _TEXTS, "name": _TEXT, "namespace": _TEXT}
    return object_node([PropertyNode(name, name, node, required=False) for name, node in fields.items()], None)


_NONE = type(None)


def is_union(origin: object) -> bool:
    """Whether this is the origin of a ``Union``."""
    return origin is typing.Union or origin is types.UnionType


def split_optional(annotation: object) -> tuple[object, bool]:
    """The type without ``None``, and whether it had it."""
    if annotation is None or annotation is _NONE:
        return _NONE, True
    if not is_union(typing.get_origin(annotation)):
        return annotation, False
    members = typing.get_args(annotation)
    rest = tuple(member for member in members if member is not _NONE)
    if len(rest) == len(members):
        return annotation, False
    if len(rest) == 1:
        return rest[0], True
    try:
        return typing.Union[rest], True  # noqa: UP007 - made at run time
    except TypeError:  # an unhashable member is not a type; reported when the annotation is lowered
        return annotation, False


def is_int_or_string(members: tuple[object, ...]) -> bool:
    """Whether a union consists of integers and texts."""
    return all(_bare(member) in (int, str, Quantity) for member in members)  # members may be unhashable


def int_or_string_of(members: tuple[object, ...], branches: Sequence[SchemaNode]) -> SchemaNode:
    """The schema of integers and texts. Constraints of one branch apply only to its type."""
    node = lower_scalar(Quantity) if Quantity in map(_bare, members) else None
    if node is not None:
        return node
    node = int_or_string()
    for branch in branches:
        node = node.put_all({k: v for k, v in branch.keywords.items() if k not in {"type", "format"}})
    return node


def structs_of(members: tuple[object, ...]) -> list[type[Struct]]:
    """The members of a union of structs; empty for other unions."""
    classes = [member for member in map(_bare, members) if isinstance(member, type) and issubclass(member, Struct)]
    return classes if len(classes) == len(members) else []


def values_of(members: tuple[object, ...]) -> tuple[object, ...]:
    """The values of a union of literals; empty for other unions."""
    if not all(typing.get_origin(member) is typing.Literal for member in members):
        return ()
    return tuple(value for member in members for value in typing.get_args(member))


def no_union(members: tuple[object, ...], place: Place) -> Diagnostic:
    """The finding for a union without a schema."""
    names = " | ".join(_name(member) for member in members)
    return UNION.at(
        place.span,
        f"{place.what} is the union `{names}`, which a structural schema cannot express",
        "use one type, `int | str` for int-or-string, or `Any` for arbitrary JSON",
        "for one of several objects, make a `Struct` with an optional field for each and `ExactlyOneOf(...)`",
    )


def lower_literal(values: tuple[object, ...], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of ``Literal[...]``: an enum in source order."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    nullable = None in plain
    plain = [value for value in dict.fromkeys(plain) if value is not None]
    node = _lower_values(plain, place, diagnostics)
    return node.put("nullable", value=True, span=place.span) if nullable else node


def lower_enum(cls: type[enum.Enum], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of an enum: its values in the order of definition, without aliases."""
    if issubclass(cls, enum.Flag):
        diagnostics.report(
            UNSUPPORTED_TYPE,
            place.span,
            f"{place.what} is the flag `{cls.__name__}`, whose values combine, but an enum lists every value",
            f"make `{cls.__name__}` a `StrEnum`, and the field a list: `Annotated[list[...], ListSet()]`",
        )
        return ANYTHING
    return _lower_values([member.value for member in cls], place, diagnostics)


def _lower_values(values: list[Any], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of a choice of values."""
    kinds = {type(value) for value in values}
    enum_keyword = Keyword(values, place.span, "Literal")
    if kinds == {int, str}:
        return int_or_string().put_all({"enum": enum_keyword})
    base = lower_scalar(kinds.pop()) if len(kinds) == 1 else None
    if base is None or base.type not in {"string", "integer", "boolean"} or isinstance(values[0], bytes):
        shown = ", ".join(f"`{value!r}`" for value in values)
        diagnostics.report(
            UNION,
            place.span,
            f"{place.what} allows {shown or 'no value at all'}: an enum has strings, integers or booleans",
            "use values of one type",
        )
        return ANYTHING
    return base.put_all({"enum": enum_keyword})


def _bare(annotation: object) -> object:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)
