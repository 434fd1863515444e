"""Between Python's objects and JSON: typed kinds, :class:`Unstructured` and plain dicts, all by the same functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from pydantic import ValidationError

from pykb.api.object import Object, object_key
from pykb.api.partial import fitting
from pykb.api.resource_info import ResourceInfo
from pykb.api.unreadable import UnreadableObject
from pykb.api.unstructured import Unstructured
from pykb.api.wire import clone, encode_struct
from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName


class HasKey(Protocol):
    """Anything that says where an object is: a ``Request``, a ``NamespacedName``."""

    @property
    def namespace(self) -> str:
        """The namespace; empty for cluster-scoped kinds."""
        ...

    @property
    def name(self) -> str:
        """The name."""
        ...


Key = str | HasKey | Object | Unstructured
"""What names an object: "name", "namespace/name", something with both, or the object itself."""

AnyObject = Object | Unstructured | MutableMapping[str, Any]
"""What can be sent."""

Kind = type[Object] | GroupVersionKind
"""What can be asked for."""

ObjectT = TypeVar("ObjectT")
AnyObjectT = TypeVar("AnyObjectT", bound=Object | Unstructured | MutableMapping[str, Any])


def gvk_of(what: Kind | AnyObject) -> GroupVersionKind:
    """The identity of a kind or of an object.

    Raises:
        TypeError: A class without a group and version.
        ValueError: A mapping without ``apiVersion`` or ``kind``.
    """
    if isinstance(what, GroupVersionKind):
        return what
    if isinstance(what, Unstructured):
        return what.gvk
    if not isinstance(what, (type, Object)) and isinstance(what, Mapping):
        api_version, kind = str(what.get("apiVersion") or ""), str(what.get("kind") or "")
        if not api_version or not kind:
            raise ValueError(f"an untyped object needs `apiVersion` and `kind`, found {sorted(map(str, what))}")
        return GroupVersion.parse(api_version).with_kind(kind)
    cls = what if isinstance(what, type) else type(what)
    gvk: GroupVersionKind | None = getattr(cls, "gvk", None)
    if gvk is None:
        raise TypeError(
            f"`{cls.__name__}` is no kind: `class {cls.__name__}(CustomResource, group_version=...)` makes one"
        )
    return gvk


def resource_of(what: Kind | AnyObject) -> ResourceInfo | None:
    """Where a built-in kind is served; ``None`` where discovery must tell."""
    if isinstance(what, (GroupVersionKind, Unstructured, Mapping)):
        return None
    return what.resource


def key_of(key: Key | AnyObject) -> NamespacedName:
    """The namespace (empty when not said) and the name.

    Raises:
        ValueError: There is no name.
    """
    match key:
        case str():
            found = NamespacedName.parse(key)
        case Object():
            found = object_key(key)
        case Unstructured() | Mapping():
            found = NamespacedName(namespace_of(key), name_of(key))
        case _:
            found = NamespacedName(key.namespace, key.name)
    if not found.name:
        raise ValueError(f"a name is needed, found {key!r}")
    return found


def namespace_of(obj: AnyObject) -> str:
    """``metadata.namespace``; empty when it is not set."""
    return _text_of(obj, "namespace", "namespace")


def name_of(obj: AnyObject) -> str:
    """``metadata.name``; empty when the server is still to make one."""
    return _text_of(obj, "name", "name")


def uid_of(obj: AnyObject) -> str:
    """``metadata.uid``; empty when the object was never stored."""
    return _text_of(obj, "uid", "uid")


def resource_version_of(obj: AnyObject) -> str:
    """``metadata.resourceVersion``; empty when the object was never stored."""
    return _text_of(obj, "resource_version", "resourceVersion")


def untyped_metadata(obj: Unstructured | MutableMapping[str, Any]) -> Mapping[str, Any]:
    """``metadata`` of an object without a class; empty when it has none."""
    return obj.metadata if isinstance(obj, Unstructured) else obj.get("metadata") or {}


def _text_of(obj: AnyObject, attribute: str, wire_name: str) -> str:
    if isinstance(obj, Object):
        return obj.metadata.__dict__.get(attribute) or ""  # not all of them are attributes of a partial object
    return str(untyped_metadata(obj).get(wire_name) or "")


def to_wire(obj: AnyObject) -> dict[str, Any]:
    """The object as JSON-ready values; the top level and ``metadata`` of the result may be changed."""
    if isinstance(obj, Object):
        return obj.to_wire()
    wire = dict(obj.data) if isinstance(obj, Unstructured) else dict(obj)
    if isinstance(wire.get("metadata"), Mapping):
        wire["metadata"] = dict(wire["metadata"])
    return wire


def snapshot(obj: AnyObject) -> dict[str, Any]:
    """The object as JSON-ready values that are its own: later changes of the object do not show in them."""
    return obj.to_wire() if isinstance(obj, Object) else clone(to_wire(obj))


def member_to_wire(obj: AnyObject, name: str) -> Any:
    """One member of an object, by its wire name, as JSON-ready values; ``None`` where there is none.

    A large spec need not be written out to look at a small status.
    """
    if isinstance(obj, Object) and type(obj).to_wire is Object.to_wire:
        return encode_struct(obj, only=name).get(name)
    return to_wire(obj).get(name)


def from_wire(kind: Kind, wire: dict[str, Any]) -> Object | Unstructured:
    """An object of a kind, read from an answer.

    A server also hands out what it stored before a constraint was made; one such object must not hide the others, so
    constraints are not judged here.

    Raises:
        UnreadableObject: The answer does not fit the type: a value is of another type than its field.
    """
    if isinstance(kind, GroupVersionKind):
        return Unstructured(wire)
    return _stored(kind, wire)


def _stored(kind: type[Object], wire: dict[str, Any]) -> Object:
    try:
        return kind.from_stored(wire)
    except ValidationError as error:
        rest = _what_fits(kind, wire) if is_deleted(wire) else None
        # Without the cause: its text has the values, and they may be secrets.
        raise UnreadableObject.of(kind.gvk, wire, error, rest) from None


def _what_fits(kind: type[Object], wire: dict[str, Any]) -> Object | None:
    try:
        return fitting(kind, wire)
    except Exception:  # noqa: BLE001 - the author's own validators and `model_post_init` expect a whole object
        return None


def alone(parse: Callable[[dict[str, Any]], ObjectT], wire: dict[str, Any]) -> ObjectT:
    """An object that is read by itself: of one that is being deleted, what fits, so that it can be let go.

    Raises:
        UnreadableObject: It does not fit, and is not being deleted.
    """
    try:
        return parse(wire)
    except UnreadableObject as error:
        if error.partial is None:
            raise
        return cast("ObjectT", error.partial)


def is_deleted(obj: AnyObject) -> bool:
    """Whether the object is being deleted: it is there until its finalizers are gone."""
    if isinstance(obj, Object):
        return getattr(obj.metadata, "deletion_timestamp", None) is not None
    metadata: object = untyped_metadata(obj)
    return isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))


def complete(item: dict[str, Any], gvk: GroupVersionKind) -> dict[str, Any]:
    """An item of a list with its identity, which the server leaves out for built-in kinds."""
    return item if "kind" in item else {"apiVersion": gvk.api_version, "kind": gvk.kind, **item}


def replace_content(obj: AnyObject, wire: dict[str, Any]) -> None:
    """Make an object what the server answered, in place.

    Raises:
        UnreadableObject: The answer does not fit the type, and is not being deleted; the object is as before.
    """
    if isinstance(obj, Object):
        fresh = alone(partial(_stored, type(obj)), wire)
        # Not field by field: that would validate each, and would leave fields that the server removed.
        object.__setattr__(obj, "__dict__", fresh.__dict__)
        object.__setattr__(obj, "__pydantic_fields_set__", fresh.__pydantic_fields_set__)
        object.__setattr__(obj, "__pydantic_extra__", fresh.__pydantic_extra__)
    elif isinstance(obj, Unstructured):
        obj.data = wire
    else:
        obj.clear()
        obj.update(wire)
