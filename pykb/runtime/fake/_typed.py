"""Checks an applied configuration against its kind before the merge. The server reports mistakes as 500.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pykb.runtime.errors import ApiError
from pykb.runtime.fake._fields import display, item_key
from pykb.runtime.fake._refusal import refuse
from pykb.runtime.fake._resources import Resource
from pykb.runtime.fake._schema import find_mistakes
from pykb.runtime.objects.structure import Shape, Structure

_IDENTITY = ("apiVersion", "kind", "metadata")


def check_applied(resource: Resource, config: Mapping[str, Any]) -> None:
    """Check the fields, the keys and the types of an applied configuration.

    Raises:
        ApiError: 500, with the server's message.
    """
    problem = _problem(config, resource.structure, "") or _wrong_type(resource, config)
    if problem:
        raise _untyped(resource, config, problem)


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


def _wrong_type(resource: Resource, config: Mapping[str, Any]) -> str:
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


def _untyped(resource: Resource, config: Mapping[str, Any], problem: str) -> ApiError:
    metadata, gvk = config["metadata"], resource.gvk
    where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    what = f"{where}; {gvk.group}/{gvk.version}, Kind={gvk.kind}"
    return refuse(500, "InternalError", f"failed to create typed patch object ({what}): {problem}")
