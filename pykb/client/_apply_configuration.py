"""Partial objects for server-side apply, typed as their kind, and what a manager owns by ``managedFields``.

client-go calls them apply configurations.

Sources: https://kubernetes.io/docs/reference/using-api/server-side-apply/ and its section on field management
(``FieldsV1``: ``f:`` a field, ``k:`` an element of a list by its keys, ``v:`` an element of a set, ``.`` the thing
itself).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

import orjson

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Object
from pykb.api.partial import blank, of_wire
from pykb.api.struct import Struct
from pykb.client.codec import AnyObject, Key, gvk_of, key_of
from pykb.client.structure import UNKNOWN, Shape, Structure, structure_of_class

StructT = TypeVar("StructT", bound=Struct)
ObjectT = TypeVar("ObjectT", bound=Object)


@overload
def partial(cls: type[ObjectT], key: Key, /, *, namespace: str | None = None) -> ObjectT: ...
@overload
def partial(cls: type[StructT], /) -> StructT: ...
def partial(cls: type[Any], key: Key | None = None, /, *, namespace: str | None = None) -> Any:
    """Make an object with only a name, or an empty part of an object, to apply only the fields you own.

    ::

        web = partial(Deployment, "default/web")
        web.spec = partial(DeploymentSpec)
        web.spec.replicas = 3
        await client.apply(web)

    Set fields by assignment and unset them by ``del``. Only fields that were set are sent. Each is
    validated as in a whole object; rules for several fields (``model_validator``) are left to the
    server. Reading a field that was not set raises ``AttributeError``. A partial object without any
    field is not sent. To send an empty one, use its class: ``EmptyDirVolumeSource()``.

    Args:
        cls: The kind, or the class of a part. Required fields may be left unset.
        key: The key of the object, if ``cls`` is a kind.
        namespace: The namespace, if the key has none.

    Raises:
        TypeError: A kind without a key, a part with one, or a class without a group and version.
        ValueError: The key has no name.
    """
    made = blank(cls)
    if not issubclass(cls, Object):
        if key is not None:
            raise TypeError(f"`{cls.__name__}` is a part of an object, and has no key: `partial({cls.__name__})`")
        return made
    if key is None:
        raise TypeError(f'`{cls.__name__}` is a kind, and needs a key: `partial({cls.__name__}, "namespace/name")`')
    kind, where = gvk_of(cls), key_of(key)
    metadata = blank(ObjectMeta)
    metadata.name = where.name
    if found := where.namespace or namespace:
        metadata.namespace = found
    made.api_version, made.kind, made.metadata = kind.api_version, kind.kind, metadata
    return made


def extract_applied(obj: ObjectT, field_manager: str, *, subresource: str = "") -> ObjectT:
    """Return the fields that a manager applied and still owns, as a partial object (client-go's ``ExtractDeployment``).

    ::

        web = extract_applied(await client.live.get(Deployment, "default/web"), "rollout")
        if web.spec is not None and "replicas" in web.spec.model_fields_set:
            del web.spec.replicas  # an autoscaler sets them from now on
            await client.apply(web, field_manager="rollout")

    Change it and apply it as the same manager. Other fields stay unchanged. The manager releases a
    field that was removed by ``del``. ``"spec" in extracted.model_fields_set`` says whether the
    manager owns fields of ``spec``. As in Go, fields written by create, update or patch are not
    included. ``ensure_applied`` makes an object with a controller by such a create.

    Args:
        obj: The object as read from the server. Objects from a cache have no ``managedFields``.
        field_manager: The name of the manager.
        subresource: The subresource that was applied, such as ``status``. Defaults to the object
            itself.

    Raises:
        ValueError: The object has no ``managedFields``, or it was applied and read in different
            versions.
    """
    wire = obj.to_wire()
    kind, key, metadata = obj.gvk, key_of(obj), wire["metadata"]
    if not metadata.get("managedFields"):
        raise ValueError(f"{kind.kind} `{key}` has no `managedFields`, as from a cache: read it by `client.live.get`")
    entry = own_entry(wire, field_manager, "Apply", subresource) or {}
    version = entry.get("apiVersion", kind.api_version)
    if version != kind.api_version:
        raise ValueError(
            f"{kind.kind} `{key}` was applied by `{field_manager}` in {version}, and read in {kind.api_version}: "
            f"read it in {version}, or apply a new `partial` object"
        )
    owned = owned_part(wire, entry.get("fieldsV1") or {}, structure_of_class(type(obj)))
    identity = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    owned["metadata"] = {**owned.get("metadata", {}), **identity}
    return of_wire(type(obj), {**owned, "apiVersion": kind.api_version, "kind": kind.kind})


def check_keys(obj: AnyObject, wire: dict[str, Any]) -> None:
    """Check that a typed object can be applied. The server has no schema for elements without keys.

    Args:
        obj: The object.
        wire: The object on the wire.

    Raises:
        ValueError: An element of a list lacks the keys of its list.
    """
    if isinstance(obj, Object) and (found := _keyless(wire, structure_of_class(type(obj)))):
        place, missing = found
        raise ValueError(
            f"{obj.gvk.kind} `{key_of(obj)}` cannot be applied: `{place[1:]}` has no {missing}, "
            "which tells the elements of the list apart"
        )


def refuse_partial(obj: AnyObject) -> None:
    """Keep a partial object from replacing a whole one.

    Raises:
        ValueError: The object is partial.
    """
    # A whole object has this field, set or not: only the server sets it.
    if isinstance(obj, Object) and not hasattr(obj.metadata, "creation_timestamp"):
        raise ValueError(
            f"{obj.gvk.kind} `{key_of(obj)}` is partial: `update` would remove all that is not set; use `apply`"
        )


def _keyless(value: Any, structure: Structure) -> tuple[str, str] | None:
    """The path of the first list element without the keys of its list, and the missing keys."""
    if isinstance(value, dict) and structure.shape in (Shape.STRUCT, Shape.MAP):
        for name, inner in value.items():
            if isinstance(inner, (dict, list)) and (found := _keyless(inner, structure.child(name))):
                return f".{name}{found[0]}", found[1]
    elif isinstance(value, list) and structure.element is not None:
        for index, inner in enumerate(value):
            if isinstance(inner, dict) and (missing := _missing_keys(inner, structure)):
                return f"[{index}]", missing
            if isinstance(inner, (dict, list)) and (found := _keyless(inner, structure.element)):
                return f"[{index}]{found[0]}", found[1]
    return None


def _missing_keys(item: Mapping[str, Any], structure: Structure) -> str:
    """The missing keys that are needed to identify an element. The server has defaults for the others."""
    element = structure.element
    if structure.shape is not Shape.LIST_MAP or element is None:
        return ""
    absent = [name for name in structure.keys if item.get(name) is None]
    needed = [name for name in absent if not element.child(name).optional]
    if not needed and len(absent) == len(structure.keys):
        needed = [name for name in absent if element.child(name).default is None]
    return " and ".join(f"`{name}`" for name in needed)


def holds_exactly(stored: Mapping[str, Any], desired: Mapping[str, Any], manager: str) -> bool:
    """Whether applying ``desired`` as ``manager`` would change neither a value nor an owner.

    If in doubt, the answer is no: the object is then applied, and the server decides.
    """
    entry = own_entry(stored, manager, "Apply")
    if entry is None or entry.get("apiVersion") != desired.get("apiVersion"):
        return False
    return _holds(stored, _owned_part(desired), entry.get("fieldsV1") or {})


def own_entry(
    stored: Mapping[str, Any], manager: str, operation: str, subresource: str = ""
) -> Mapping[str, Any] | None:
    """Return the ``managedFields`` entry of a manager, for an operation on an object or a subresource."""
    wanted = (manager, operation, subresource)
    for entry in (stored.get("metadata") or {}).get("managedFields") or ():
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
    stored: Mapping[str, Any], desired: Mapping[str, Any], fields: Mapping[str, Any], owned: set[str]
) -> bool:
    if owned != {f"f:{name}" for name in desired}:
        return False
    return all(name in stored and _holds(stored[name], value, fields[f"f:{name}"]) for name, value in desired.items())


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
