"""Applies the schema of a CRD: sets defaults and validates values.

It validates types, required fields, enumerations, bounds, lengths, patterns and the keys of lists.
It does not check CEL rules and formats. Those need a real API server (``pykb.envtest``).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from pykb.runtime.fake._fields import item_key
from pykb.runtime.fake._refusal import cause
from pykb.runtime.objects.structure import Shape, structure_of_schema

Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def fill_defaults(value: Any, schema: Schema) -> None:
    """Set the defaults of missing fields, in place. A ``null`` that is not allowed counts as missing."""
    if isinstance(value, dict):
        for name, inner in (schema.get("properties") or {}).items():
            _fill_default(value, name, inner)
            if name in value:
                fill_defaults(value[name], inner)
        additional = schema.get("additionalProperties")
        if isinstance(additional, Mapping):
            for inner_value in value.values():
                fill_defaults(inner_value, additional)
    elif isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items") or {})


def _fill_default(value: dict[str, Any], name: str, schema: Schema) -> None:
    if name in value and value[name] is None and not schema.get("nullable"):
        del value[name]
    if name not in value and "default" in schema:
        value[name] = copy.deepcopy(schema["default"])


def find_mistakes(value: Any, schema: Schema, path: str) -> list[dict[str, str]]:
    """Return how a value violates the schema, as the causes of an Invalid error."""
    if value is None and schema.get("nullable"):
        return []
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, (int, str)) and not isinstance(value, bool)
        return [] if fits else [_wrong_type(value, "integer or string", path)]
    kind: str | None = schema.get("type")
    if kind is not None and not _is(value, kind):
        return [_wrong_type(value, kind, path)]
    found = _scalar_mistakes(value, schema, path)
    if isinstance(value, dict):
        found += _object_mistakes(value, schema, path)
    elif isinstance(value, list):
        found += _list_mistakes(value, schema, path)
    return found


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _wrong_type(value: Any, expected: str, path: str) -> dict[str, str]:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    found = names.get(type(value), "null")
    message = f'Invalid value: "{found}": {path} in body must be of type {expected}: "{found}"'
    return cause(path, "FieldValueTypeInvalid", message)


def _scalar_mistakes(value: Any, schema: Schema, path: str) -> list[dict[str, str]]:
    found = []
    if schema.get("enum") is not None and value not in schema["enum"]:
        supported = ", ".join(f'"{option}"' for option in schema["enum"])
        shown = f'Unsupported value: "{value}": supported values: {supported}'
        found.append(cause(path, "FieldValueNotSupported", shown))
    if isinstance(value, str):
        found += _length(len(value), schema, "Length", "chars long", value, path)
        pattern = schema.get("pattern")
        if pattern and not re.search(pattern, value):
            found.append(_bad(value, path, f"should match '{pattern}'"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        found += _bounds(value, schema, path)
    return found


def _bounds(value: float, schema: Schema, path: str) -> list[dict[str, str]]:
    found = []
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        sign = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        found.append(_bad(value, path, f"should be {sign} {low}"))
    if high is not None and (value >= high if schema.get("exclusiveMaximum") else value > high):
        sign = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        found.append(_bad(value, path, f"should be {sign} {high}"))
    step = schema.get("multipleOf")
    if step and value % step:
        found.append(_bad(value, path, f"should be a multiple of {step}"))
    return found


def _length(length: int, schema: Schema, what: str, unit: str, value: Any, path: str) -> list[dict[str, str]]:
    low, high = schema.get(f"min{what}"), schema.get(f"max{what}")
    if low is not None and length < low:
        return [_bad(value, path, f"should be at least {low} {unit}")]
    if high is not None and length > high:
        return [cause(path, "FieldValueTooLong", f"Too long: may not be more than {high} {unit}")]
    return []


def _object_mistakes(value: dict[str, Any], schema: Schema, path: str) -> list[dict[str, str]]:
    found = [
        cause(f"{path}.{name}".lstrip("."), "FieldValueRequired", "Required value")
        for name in schema.get("required") or ()
        if name not in value
    ]
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    found += _length(len(value), schema, "Properties", "properties", "object", path)
    for name, inner in value.items():
        inner_schema = properties.get(name) or (additional if isinstance(additional, Mapping) else None)
        if inner_schema is not None:
            found += find_mistakes(inner, inner_schema, f"{path}.{name}".lstrip("."))
    return found


def _list_mistakes(value: list[Any], schema: Schema, path: str) -> list[dict[str, str]]:
    found = _length(len(value), schema, "Items", "items", "array", path)
    structure = structure_of_schema(schema)
    seen: set[str] = set()
    for index, item in enumerate(value):
        found += find_mistakes(item, schema.get("items") or {}, f"{path}[{index}]")
        if structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
            key = item_key(item, structure)
            if key in seen:
                found.append(cause(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {key[2:]}"))
            seen.add(key)
    return found


def _bad(value: Any, path: str, why: str) -> dict[str, str]:
    shown = f'"{value}"' if isinstance(value, str) else value
    return cause(path, "FieldValueInvalid", f"Invalid value: {shown}: {path} in body {why}")
