"""Converts between objects and JSON: typed kinds, :class:`Unstructured` and plain dicts.

Objects that do not fit their type are reported. They do not hide the others.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import partial
from typing import Any, Protocol, cast

from pydantic import ValidationError
from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.api.object import Object, Unstructured, object_key
from pykb.api.partial import fitting
from pykb.api.unreadable import DEEPEST, UnreadableObject
from pykb.api.wire import clone, encode_struct
from pykb.client.json_text import CUT
from pykb.meta.gvk import GroupVersionKind, NamespacedName, ResourceInfo, gvk_named

logger = logging.getLogger(__name__)

REMEMBERED = 1024
"""How many versions of objects are remembered as logged. Older ones may be logged again."""


class HasKey(Protocol):
    """Anything with a namespace and a name: a ``Request``, a ``NamespacedName``."""

    @property
    def namespace(self) -> str:
        """The namespace; empty for cluster-scoped kinds."""

    @property
    def name(self) -> str:
        """The name."""


Key = str | HasKey | Object | Unstructured
"""The key of an object: "name", "namespace/name", something with both, or the object itself."""

AnyObject = Object | Unstructured | MutableMapping[str, Any]
"""An object that can be sent."""

Kind = type[Object] | GroupVersionKind
"""A kind that can be requested."""

ObjectT = TypeVar("ObjectT")
AnyObjectT = TypeVar("AnyObjectT", bound=Object | Unstructured | MutableMapping[str, Any])

ReadT = TypeVar("ReadT", bound=Object | Unstructured, default=Unstructured)
"""What is read of a kind: objects of the class, or :class:`Unstructured` for a group, version and kind."""

ReadKind = type[ReadT] | GroupVersionKind
"""A :data:`Kind` whose objects are :data:`ReadT`."""


def kind_of(kind: ReadKind[Any]) -> Kind:
    """Return the same kind. A type checker takes no bound of a type variable for the classes in it."""
    return kind


def gvk_of(what: Kind | AnyObject) -> GroupVersionKind:
    """Return the group, version and kind of a class or an object.

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
        return gvk_named(api_version, kind)
    cls = what if isinstance(what, type) else type(what)
    gvk: GroupVersionKind | None = getattr(cls, "gvk", None)
    if gvk is None:
        raise TypeError(
            f"`{cls.__name__}` is not a kind: `class {cls.__name__}(CustomResource, group_version=...)` makes one"
        )
    return gvk


def resource_of(what: Kind | AnyObject) -> ResourceInfo | None:
    """Return where a built-in kind is served. ``None`` means that discovery is needed."""
    if isinstance(what, (GroupVersionKind, Unstructured, Mapping)):
        return None
    return what.resource


def key_of(key: Key | AnyObject) -> NamespacedName:
    """Return the namespace (empty if not given) and the name.

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
    """``metadata.name``; empty until the server generates one."""
    return _text_of(obj, "name", "name")


def uid_of(obj: AnyObject) -> str:
    """``metadata.uid``; empty when the object was never stored."""
    return _text_of(obj, "uid", "uid")


def resource_version_of(obj: AnyObject) -> str:
    """``metadata.resourceVersion``; empty when the object was never stored."""
    return _text_of(obj, "resource_version", "resourceVersion")


def untyped_metadata(obj: Unstructured | MutableMapping[str, Any]) -> Mapping[str, Any]:
    """``metadata`` of an untyped object; empty when it has none."""
    return obj.metadata if isinstance(obj, Unstructured) else obj.get("metadata") or {}


def metadata_list(obj: AnyObject, attribute: str, wire_name: str) -> list[Any]:
    """A copy of a list in ``metadata``; empty when it is not set."""
    if isinstance(obj, Object):
        return list(getattr(obj.metadata, attribute, None) or ())
    return list(untyped_metadata(obj).get(wire_name) or ())


def set_metadata_list(obj: AnyObject, attribute: str, wire_name: str, values: list[Any]) -> None:
    """Replace a list in ``metadata``. An empty one is left out."""
    if isinstance(obj, Object):
        setattr(obj.metadata, attribute, values or None)
        return
    metadata = obj.metadata if isinstance(obj, Unstructured) else obj.setdefault("metadata", {})
    if values:
        metadata[wire_name] = values
    else:
        metadata.pop(wire_name, None)


def _text_of(obj: AnyObject, attribute: str, wire_name: str) -> str:
    if isinstance(obj, Object):
        return obj.metadata.__dict__.get(attribute) or ""  # a partial object lacks some of these attributes
    return str(untyped_metadata(obj).get(wire_name) or "")


def to_wire(obj: AnyObject) -> dict[str, Any]:
    """Return the object as JSON-ready values. The caller may change the top level and ``metadata`` of the result.

    Raises:
        ValueError: It is nested too deeply.
    """
    if isinstance(obj, Object):
        return _encoded(obj)
    wire = dict(obj.data) if isinstance(obj, Unstructured) else dict(obj)
    if isinstance(wire.get("metadata"), Mapping):
        wire["metadata"] = dict(wire["metadata"])
    return wire


def snapshot(obj: AnyObject) -> dict[str, Any]:
    """Return an independent copy of the object as JSON-ready values.

    Raises:
        ValueError: It is nested too deeply.
    """
    if isinstance(obj, Object):
        return _encoded(obj)
    try:
        copied: dict[str, Any] = clone(to_wire(obj))
    except RecursionError:
        raise _not_encoded(obj) from None
    return copied


def _encoded(obj: Object) -> dict[str, Any]:
    try:
        return obj.to_wire()
    except RecursionError:
        raise _not_encoded(obj) from None


def _not_encoded(obj: AnyObject) -> ValueError:
    why = f"it is nested deeper than {DEEPEST} levels, or contains itself"
    return ValueError(f"`{gvk_of(obj).kind}` {name_of(obj)} cannot be sent: {why}")


def member_to_wire(obj: AnyObject, name: str) -> Any:
    """Return one member of an object, by its wire name, as JSON-ready values, or ``None``.

    Reading a small status this way does not convert a large spec.
    """
    if isinstance(obj, Object) and type(obj).to_wire is Object.to_wire:
        return encode_struct(obj, only=name).get(name)
    return to_wire(obj).get(name)


def from_wire(kind: Kind, wire: dict[str, Any]) -> Object | Unstructured:
    """Read an object of a kind from an answer.

    Constraints are not checked here. The server also returns objects that it stored before a
    constraint existed, and one such object must not hide the others.

    Raises:
        UnreadableObject: The answer does not fit the type: a value does not have the type of its
            field, or it is nested too deeply.
    """
    if CUT in wire:
        raise _too_deep(kind, wire)
    if isinstance(kind, GroupVersionKind):
        return Unstructured(wire)
    return _stored(kind, wire)


def _stored(kind: type[Object], wire: dict[str, Any]) -> Object:
    try:
        return kind.from_stored(wire)
    except ValidationError as error:
        rest = _what_fits(kind, wire) if is_deleted(wire) else None
        # Without the cause: its text contains the values, which may be secrets.
        raise UnreadableObject.of(kind.gvk, wire, error, rest) from None


def _too_deep(kind: Kind, wire: dict[str, Any]) -> UnreadableObject:
    rest = {name: value for name, value in wire.items() if name != CUT}
    partial: Object | Unstructured | None = None
    if is_deleted(wire):
        partial = Unstructured(rest) if isinstance(kind, GroupVersionKind) else _what_fits(kind, rest)
    return UnreadableObject.too_deep(gvk_of(kind), wire, str(wire[CUT]), partial)


def _what_fits(kind: type[Object], wire: dict[str, Any]) -> Object | None:
    try:
        return fitting(kind, wire)
    except Exception:  # noqa: BLE001 - the user's validators and `model_post_init` expect a whole object
        return None


def alone(parse: Callable[[dict[str, Any]], ObjectT], wire: dict[str, Any]) -> ObjectT:
    """Read a single object. An object being deleted is read as far as it fits its class, so that finalizers can run.

    Raises:
        UnreadableObject: The object does not fit its class and is not being deleted.
    """
    try:
        return parse(wire)
    except UnreadableObject as error:
        if error.partial is None:
            raise
        return cast("ObjectT", error.partial)


def is_deleted(obj: AnyObject) -> bool:
    """Whether the object is being deleted. It exists until its finalizers are gone."""
    if isinstance(obj, Object):
        return getattr(obj.metadata, "deletion_timestamp", None) is not None
    metadata: object = untyped_metadata(obj)
    return isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))


def complete(item: dict[str, Any], gvk: GroupVersionKind) -> dict[str, Any]:
    """Add the ``apiVersion`` and ``kind`` that the server leaves out of list items of built-in kinds."""
    return item if "kind" in item else {"apiVersion": gvk.api_version, "kind": gvk.kind, **item}


def replace_content(obj: AnyObject, wire: dict[str, Any]) -> None:
    """Replace an object's content with the server's answer, in place.

    Raises:
        UnreadableObject: The answer does not fit the type and is not being deleted. The object is
            unchanged.
    """
    if isinstance(obj, Object):
        fresh = cast("Object", alone(partial(from_wire, type(obj)), wire))
        # Not field by field: that would validate each field and keep those that the server removed.
        object.__setattr__(obj, "__dict__", fresh.__dict__)
        object.__setattr__(obj, "__pydantic_fields_set__", fresh.__pydantic_fields_set__)
        object.__setattr__(obj, "__pydantic_extra__", fresh.__pydantic_extra__)
        return
    if CUT in wire:
        wire = cast("Unstructured", alone(partial(from_wire, gvk_of(wire)), wire)).data
    if isinstance(obj, Unstructured):
        obj.data = wire
    else:
        obj.clear()
        obj.update(wire)


class UnreadableObjects:
    """Reports objects that do not fit their type: to the log once per version, to observers each time."""

    def __init__(self) -> None:
        self.observers: list[Callable[[GroupVersionKind], None]] = []
        self._told: OrderedDict[tuple[GroupVersionKind, object, str], None] = OrderedDict()

    def report(self, error: UnreadableObject) -> None:
        """Report an object that does not fit its type."""
        for observe in self.observers:
            observe(error.gvk)
        version = (error.gvk, error.key, error.resource_version)
        if version in self._told:
            self._told.move_to_end(version)
            return
        self._told[version] = None
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        fields = {"kind": str(error.gvk), "object": str(error.key), "error": str(error), "help": error.remedy}
        if error.partial is None:
            logger.error("object does not fit its type, lists leave it out", extra=fields)
        else:
            logger.warning("object is being deleted and does not fit its type: read without these fields", extra=fields)

    def parser(self, kind: Kind) -> Callable[[dict[str, Any]], Any]:
        """Return a function that reads objects of a kind and reports those that cannot be read.

        The function raises :class:`~pykb.api.unreadable.UnreadableObject`.
        """

        def parse(wire: dict[str, Any]) -> Any:
            try:
                return from_wire(kind, wire)
            except UnreadableObject as error:
                self.report(error)
                raise

        return parse


def readable(
    parse: Callable[[dict[str, Any]], Any], wires: Iterable[dict[str, Any]]
) -> tuple[list[Any], list[UnreadableObject]]:
    """Return the objects that fit, and the errors of the others."""
    items: list[Any] = []
    unreadable: list[UnreadableObject] = []
    for wire in wires:
        try:
            items.append(parse(wire))
        except UnreadableObject as error:
            unreadable.append(error)
    return items, unreadable
