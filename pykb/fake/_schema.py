"""Applies the schema of a CRD: sets defaults and validates values. Checks applied configurations before the merge.

It validates types, required fields, enumerations, bounds, lengths, patterns and the keys of lists.
It does not check CEL rules and formats. Those need a real API server (``pykb.envtest``).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from pykb.client.errors import ApiError
from pykb.client.structure import Shape, Structure, structure_of_schema
from pykb.fake._http import cause, refuse
from pykb.fake._ownership import display, item_key
from pykb.fake._resources import Resource

Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_IDENTITY = ("apiVersion", "kind", "metadata")


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


def check_applied(resource: Resource, config: Mapping[str, Any]) -> None:
    """Check the fields, the keys and the types of an applied configuration.

    Raises:
        ApiError: 500, with the server's message.
    """
    problem = _problem(config, resource.structure, "") or _misfit(resource, config)
    if problem:
        raise untyped(resource, config, problem)


def without_nulls(value: Any) -> Any:
    """Return a configuration without its null fields, which are not checked."""
    if isinstance(value, Mapping):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _problem(value: Any, structure: Structure, path: str) -> str:
    if structure.shape in (Shape.STRUCT, Shape.MAP):
        if not isinstance(value, Mapping):
            return f"{path}: expected map, got {value!r}"
        for name, inner in value.items():
            if structure.shape is Shape.STRUCT and not structure.open and name not in structure.fields:
                return f"{path}.{name}: field not declared in schema"
            if found := _problem(inner, structure.child(name), f"{path}.{name}"):
                return found
    elif structure.shape in (Shape.LIST_MAP, Shape.LIST_SET) and structure.element is not None:
        return _list_problem(value, structure, structure.element, path)
    return ""


def _list_problem(value: Any, structure: Structure, element: Structure, path: str) -> str:
    if not isinstance(value, list):
        return f"{path}: expected list, got {value!r}"
    seen: set[str] = set()
    for index, item in enumerate(value):
        keys = [name for name in structure.keys if isinstance(item, Mapping) and name in item]
        if structure.keys and not keys and all(element.child(name).default is None for name in structure.keys):
            names = " ".join(f'"{name}"' for name in structure.keys)
            return (
                f"{path}: element {index}: associative list with keys has an element that omits all key fields "
                f"[{names}] (and doesn't have default values for any key fields)"
            )
        key = item_key(item, structure)
        if key in seen:
            return f"{path}: duplicate entries for key {display((key,))}"
        seen.add(key)
        if found := _problem(item, element, f"{path}{display((key,))}"):
            return found
    return ""


def _misfit(resource: Resource, config: Mapping[str, Any]) -> str:
    content = {name: value for name, value in config.items() if name not in _IDENTITY}
    if resource.schema is not None:
        for mistake in find_mistakes(content, resource.schema, ""):
            if mistake["reason"] == "FieldValueTypeInvalid":
                return f".{mistake['field']}: {mistake['message'].partition(' in body ')[2]}"
    elif resource.cls is not None:
        import pydantic

        try:
            resource.cls.from_wire(config)
        except pydantic.ValidationError as error:
            # Another manager may have applied missing fields.
            for problem in error.errors():
                if problem["type"] != "missing":
                    return f".{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
    return ""


def untyped(resource: Resource, config: Mapping[str, Any], problem: str) -> ApiError:
    """The error of an applied configuration that does not fit the schema."""
    gvk = resource.gvk
    metadata = config["metadata"] if isinstance(config["metadata"], Mapping) else {}
    where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    what = f"{where}; {gvk.group}/{gvk.version}, Kind={gvk.kind}"
    return refuse(500, "InternalError", f"failed to create typed patch object ({what}): {problem}")
