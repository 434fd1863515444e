"""Checks whether an object already matches what a manager applies: its values, and its owners in ``managedFields``.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management (``FieldsV1``: ``f:`` a
field, ``k:`` an element of a list by its keys, ``v:`` an element of a set, ``.`` the thing itself).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from pykb.runtime.objects.structure import UNKNOWN, Shape, Structure


def holds_exactly(found: Mapping[str, Any], desired: Mapping[str, Any], manager: str) -> bool:
    """Whether applying ``desired`` as ``manager`` would change neither a value nor an owner.

    If in doubt, the answer is no: the object is then applied, and the server decides.
    """
    entry = own_entry(found, manager, "Apply")
    if entry is None or entry.get("apiVersion") != desired.get("apiVersion"):
        return False
    return _holds(found, _owned_part(desired), entry.get("fieldsV1") or {})


def own_entry(
    found: Mapping[str, Any], manager: str, operation: str, subresource: str = ""
) -> Mapping[str, Any] | None:
    """Return the ``managedFields`` entry of a manager, for an operation on an object or a subresource."""
    wanted = (manager, operation, subresource)
    for entry in (found.get("metadata") or {}).get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "") == wanted:
            return cast("Mapping[str, Any]", entry)
    return None


def owned_part(found: Any, fields: Mapping[str, Any], structure: Structure) -> Any:
    """Return the fields of an entry with their values in ``found``. Elements of lists keep their keys.

    A map or a struct that is owned without any of its parts is returned empty: the server filled in
    its content.
    """
    owned = {name: inner for name, inner in fields.items() if name != "."}
    if isinstance(found, Mapping):
        if owned or structure.shape in (Shape.STRUCT, Shape.MAP, Shape.UNKNOWN):
            names = {name: owned[f"f:{name}"] for name in found if f"f:{name}" in owned}
            return {name: owned_part(found[name], inner, structure.child(name)) for name, inner in names.items()}
    elif isinstance(found, list) and owned:
        return [part for item in found for part in _owned_element(item, owned, structure.element or UNKNOWN)]
    return found


def _owned_element(item: Any, owned: Mapping[str, Any], structure: Structure) -> Iterator[Any]:
    for name, inner in owned.items():
        value = orjson.loads(name[2:])
        if name.startswith("v:") and value == item:
            yield item
        elif name.startswith("k:") and _element((item,), value) is not None:
            yield {**value, **owned_part(item, inner, structure)}


def _owned_part(desired: Mapping[str, Any]) -> dict[str, Any]:
    """The object without its identity, which has no owner."""
    part = {name: value for name, value in desired.items() if name not in ("apiVersion", "kind")}
    identity = ("name", "namespace", "resourceVersion", "managedFields")
    metadata = {name: value for name, value in (part.pop("metadata", None) or {}).items() if name not in identity}
    return {**part, "metadata": metadata} if metadata else part


def _holds(found: Any, desired: Any, fields: Mapping[str, Any]) -> bool:
    owned = {name for name in fields if name != "."}
    if isinstance(desired, Mapping) and owned and all(name.startswith("f:") for name in owned):
        return isinstance(found, Mapping) and _holds_fields(found, desired, fields, owned)
    if isinstance(desired, Sequence) and not isinstance(desired, str) and owned:
        return isinstance(found, Sequence) and len(owned) == len(desired) and _holds_list(found, desired, fields)
    return bool(found == desired) and isinstance(found, bool) == isinstance(desired, bool)


def _holds_fields(
    found: Mapping[str, Any], desired: Mapping[str, Any], fields: Mapping[str, Any], owned: set[str]
) -> bool:
    if owned != {f"f:{name}" for name in desired}:
        return False
    return all(name in found and _holds(found[name], value, fields[f"f:{name}"]) for name, value in desired.items())


def _holds_list(found: Sequence[Any], desired: Sequence[Any], fields: Mapping[str, Any]) -> bool:
    for name, inner in fields.items():
        if name.startswith("v:"):
            value = orjson.loads(name[2:])
            if value not in desired or value not in found:
                return False
        elif name.startswith("k:"):
            keys = orjson.loads(name[2:])
            wanted = _element(desired, keys)
            present = _element(found, keys)
            if wanted is None or present is None or not _holds(present, wanted, inner):
                return False
        elif name != ".":
            return False
    return True


def _element(items: Sequence[Any], keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # A key that was not applied has a default on the server (the protocol of a port), but not in
    # memory.
    for item in items:
        if isinstance(item, Mapping) and all(item.get(name, value) == value for name, value in keys.items()):
            return item
    return None
