"""Lowers scalar types, and types whose schema the Kubernetes API fixes."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Mapping
from functools import cache
from typing import Any

from pykb.api.quantity import Quantity
from pykb.gen.ir import Keyword, SchemaNode

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
        found = _table().get(annotation)
    except TypeError:  # unhashable
        return None
    if found is None and isinstance(annotation, type):
        for base, node in ((Quantity, _table()[Quantity]), *_pydantic_types()):
            if issubclass(annotation, base):
                return node
        for base in (bool, str, int, bytes, dt.datetime):
            if base in annotation.__mro__ and not _has_own_schema(annotation):
                return _table()[base]
    return found


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


def _has_own_schema(python: type) -> bool:
    return hasattr(python, "__get_pydantic_core_schema__")
