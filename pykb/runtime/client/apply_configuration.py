"""Partial objects for server-side apply, typed as their kind: client-go's apply configurations.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.unset import blank, of_wire
from pykb.runtime.client.codec import AnyObject, Key, gvk_of, key_of, to_wire
from pykb.runtime.objects.fieldset import own_entry, owned_part
from pykb.runtime.objects.structure import Shape, Structure, structure_of_class

StructT = TypeVar("StructT", bound=Struct)
ObjectT = TypeVar("ObjectT", bound=Object)


@overload
def partial(cls: type[ObjectT], key: Key, /, *, namespace: str | None = None) -> ObjectT: ...
@overload
def partial(cls: type[StructT], /) -> StructT: ...
def partial(cls: type[Any], key: Key | None = None, /, *, namespace: str | None = None) -> Any:
    """An object of a kind with nothing but its name, or a part of one with nothing: for applying just what one owns.

    ::

        web = partial(Deployment, "default/web")
        web.spec = partial(DeploymentSpec)
        web.spec.replicas = 3
        await client.apply(web)

    Fields are set by assignment, are judged as those of a whole object, and only these are sent; ``del`` takes one
    away. Reading a field that was not set raises ``AttributeError``. What is said of several fields at once
    (``model_validator``) is left to the server. A part on which nothing was set is not sent;
    ``EmptyDirVolumeSource()`` is an empty one that is.

    Args:
        cls: The kind; or the class of a part, whose required fields then need not be given.
        key: Which object, where ``cls`` is a kind.
        namespace: The namespace, where the key has none.

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
    """What a manager has applied of an object and still owns, as a partial object (client-go's ``ExtractDeployment``).

    Change it and apply it as the same manager: nothing else is touched. What was removed from it, by ``del``, is
    given up. ``"spec" in extracted.model_fields_set`` tells whether the manager owns something there. As in Go, what
    it has written by create, update or patch is not among it; so ``ensure_applied`` writes what is to have a
    controller the first time.

    Args:
        obj: The object as it was read from the server; a cache does not keep who owns what.
        field_manager: The manager.
        subresource: What was applied to, if not the object itself: ``status``.

    Raises:
        ValueError: It has no ``managedFields``; or it was applied in another version than it was read in.
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


def to_configuration(obj: AnyObject) -> dict[str, Any]:
    """The object as it is applied.

    Raises:
        ValueError: A typed object with an element of a list that does not say which one it is.
    """
    wire = to_wire(obj)
    if isinstance(obj, Object) and (found := _keyless(wire, structure_of_class(type(obj)))):
        place, missing = found
        raise ValueError(
            f"{obj.gvk.kind} `{key_of(obj)}` cannot be applied: `{place[1:]}` has no {missing}, "
            "which tells the elements of the list apart"
        )
    return wire


def refuse_partial(obj: AnyObject) -> None:
    """Keep a partial object from replacing a whole one.

    Raises:
        ValueError: The object is partial.
    """
    # A field of the server's own: an object of any other origin has it, set or not.
    if isinstance(obj, Object) and not hasattr(obj.metadata, "creation_timestamp"):
        raise ValueError(
            f"{obj.gvk.kind} `{key_of(obj)}` is partial: `update` would remove all that is not set; use `apply`"
        )


def _keyless(value: Any, structure: Structure) -> tuple[str, str] | None:
    """The first element of a list that has not the keys of its list: where it is, and which keys."""
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
    """The keys without which nobody knows which element is meant; a server has defaults for others."""
    element = structure.element
    if structure.shape is not Shape.LIST_MAP or element is None:
        return ""
    absent = [name for name in structure.keys if item.get(name) is None]
    needed = [name for name in absent if not element.child(name).optional]
    if not needed and len(absent) == len(structure.keys):
        needed = [name for name in absent if element.child(name).default is None]
    return " and ".join(f"`{name}`" for name in needed)
