"""Makes Pydantic judge values as the API server does.

Pydantic is lenient by default (``"5"`` and ``True`` pass as ``int``); a schema is not. The scalars inside a ``Struct``
are therefore strict, times must have a zone, and ``bytes``, ``datetime``, ``timedelta`` are read from their wire forms.
Works on Pydantic's core schema, so every way of writing a type (alias, generic, inheritance) is covered.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, cast

from pydantic_core import CoreSchema, core_schema

from pykb.api.time import format_duration, format_time, validate_duration, validate_time

# Where a core schema holds other ones. Keys of mappings are left out: JSON's are always strings.
_ONE = ("schema", "items_schema", "values_schema", "lax_schema", "strict_schema", "json_schema", "python_schema")
_MANY = ("steps", "definitions")
_INT64 = {"ge": -(2**63), "le": 2**63 - 1}


def as_api_server(schema: CoreSchema, owner: type) -> CoreSchema:
    """The same schema with the API server's view of scalars; other models inside are left as they are."""
    return cast("CoreSchema", _visit(cast("dict[str, Any]", schema), owner))


def _visit(schema: dict[str, Any], owner: type) -> dict[str, Any]:
    kind = schema["type"]
    replace = _SCALARS.get(kind)
    if replace is not None:
        return replace(schema)
    if kind == "model" and schema["cls"] is not owner:
        return schema
    for key in _ONE:
        if isinstance(inner := schema.get(key), dict):
            schema[key] = _visit(inner, owner)
    for key in _MANY:
        if key in schema:
            schema[key] = [_visit(inner, owner) for inner in schema[key]]
    choices = schema.get("choices")
    if isinstance(choices, list):
        schema["choices"] = [
            (_visit(c[0], owner), *c[1:]) if isinstance(c, tuple) else _visit(c, owner) for c in choices
        ]
    elif isinstance(choices, dict):
        schema["choices"] = {key: _visit(c, owner) if isinstance(c, dict) else c for key, c in choices.items()}
    fields = schema.get("fields")
    if isinstance(fields, dict):
        for field in fields.values():
            field["schema"] = _visit(field["schema"], owner)
    if kind == "tuple":
        schema["items_schema"] = [_visit(inner, owner) for inner in schema["items_schema"]]
    return schema


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    schema.setdefault("strict", True)
    return schema


def _integer(schema: dict[str, Any]) -> dict[str, Any]:
    # The server keeps integers in 64 bits.
    for bound, other in (("ge", "gt"), ("le", "lt")):
        if other not in schema:
            schema.setdefault(bound, _INT64[bound])
    return _strict(schema)


def _time(schema: dict[str, Any]) -> dict[str, Any]:
    constraints = {key: schema[key] for key in ("ge", "gt", "le", "lt") if key in schema}
    inner = core_schema.datetime_schema(strict=True, **constraints)
    return cast(
        "dict[str, Any]",
        core_schema.no_info_before_validator_function(
            validate_time,
            inner,
            serialization=core_schema.plain_serializer_function_ser_schema(format_time, when_used="json"),
        ),
    )


def _duration(schema: dict[str, Any]) -> dict[str, Any]:
    constraints = {key: schema[key] for key in ("ge", "gt", "le", "lt") if key in schema}
    inner = core_schema.timedelta_schema(strict=True, **constraints)
    return cast(
        "dict[str, Any]",
        core_schema.no_info_before_validator_function(
            validate_duration,
            inner,
            serialization=core_schema.plain_serializer_function_ser_schema(format_duration, when_used="json"),
        ),
    )


def _bytes(schema: dict[str, Any]) -> dict[str, Any]:
    return cast(
        "dict[str, Any]",
        core_schema.no_info_before_validator_function(
            _from_base64,
            cast("CoreSchema", {**schema, "strict": True}),
            serialization=core_schema.plain_serializer_function_ser_schema(to_base64, when_used="json"),
        ),
    )


def _from_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError("expected bytes, or a text in base64 as on the wire") from error


def to_base64(value: bytes) -> str:
    """The wire form of bytes."""
    return base64.b64encode(value).decode("ascii")


_SCALARS = {
    "bool": _strict,
    "bytes": _bytes,
    "datetime": _time,
    "float": _strict,
    "int": _integer,
    "str": _strict,
    "timedelta": _duration,
}
