"""Top-level objects: the base classes of kinds, and objects of kinds that have no class."""

# No `from __future__ import annotations` here. Pydantic would evaluate the strings again for each
# kind.

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, Unpack

from pydantic import ConfigDict, Field

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName, ResourceInfo, gvk_named


class Object(Struct):
    """A top-level object of the API, with a kind and metadata.

    A subclass declares its group and version::

        class Pod(Object, group_version=GroupVersion("", "v1")): ...

    The kind defaults to the name of the class; ``kind=`` overrides it. A subclass without
    ``group_version=`` keeps the kind of its base.
    """

    gvk: ClassVar[GroupVersionKind]
    resource: ClassVar[ResourceInfo | None] = None

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)

    __wire_always__ = frozenset({"api_version", "kind"})

    def __init_subclass__(
        cls,
        *,
        group_version: GroupVersion | None = None,
        kind: str | None = None,
        resource: ResourceInfo | None = None,
        **config: Unpack[ConfigDict],
    ) -> None:
        super().__init_subclass__(**config)
        if group_version is not None:
            cls.gvk = group_version.with_kind(kind or cls.__name__)
            cls.resource = resource

    @classmethod
    def __pydantic_init_subclass__(cls, *, group_version: GroupVersion | None = None, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__()
        if group_version is not None:
            # Both are constants of the class. Reading an object of another kind raises an error.
            for name, value in (("api_version", cls.gvk.api_version), ("kind", cls.gvk.kind)):
                info = cls.__pydantic_fields__[name]
                info.annotation = Literal[value]  # type: ignore[assignment]
                info.default = value


class CustomResource(Object):
    """The base class of custom resources.

    ``class VirtulMachine(CustomResource, group_version=GROUP_VERSION)`` declares the kind
    VirtulMachine. Markers set the plural, the scope and the rest. A running operator takes them
    from discovery.

    ::

        class VirtulMachineSpec(Struct):
            cpu: Annotated[int, Field(ge=1)] = 1

        # +kubebuilder:resource:shortName=vm
        class VirtulMachine(CustomResource, group_version=GroupVersion("infra.example.com", "v1")):
            spec: VirtulMachineSpec
    """


def object_key(obj: Object) -> NamespacedName:
    """Return the namespace (empty for cluster-scoped kinds) and the name of an object.

    ::

        assert object_key(machine) == NamespacedName("default", "vm")
    """
    metadata = obj.metadata.__dict__  # a partial object may lack either attribute
    return NamespacedName(metadata.get("namespace") or "", metadata.get("name") or "")


class Unstructured:
    """A top-level object of any kind, backed by a dict in wire form.

    ::

        issuer = Unstructured.of(GroupVersionKind("cert-manager.io", "v1", "Issuer"), "ca", "default")
        issuer.data["spec"] = {"selfSigned": {}}
        await ensure_applied(client, issuer, owner=machine)

    ``data`` is the dict with all fields. Properties give access to the parts that all objects
    share.

    Args:
        data: The object. It is kept, not copied.

    Raises:
        ValueError: ``apiVersion`` or ``kind`` is missing.
    """

    __slots__ = ("data",)

    def __init__(self, data: dict[str, Any]) -> None:
        if not data.get("apiVersion") or not data.get("kind"):
            raise ValueError("an object needs `apiVersion` and `kind`")
        self.data = data

    @classmethod
    def of(cls, gvk: GroupVersionKind, name: str = "", namespace: str = "") -> Self:
        """Create an empty object of a kind."""
        metadata = {key: value for key, value in (("name", name), ("namespace", namespace)) if value}
        return cls({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata})

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Create an object from a copy of its wire form."""
        return cls(copy.deepcopy(dict(data)))

    def to_wire(self) -> dict[str, Any]:
        """Return a copy of the wire form."""
        return copy.deepcopy(self.data)

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind."""
        return gvk_named(self.data["apiVersion"], self.data["kind"])

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata in wire form. Created if missing."""
        metadata: dict[str, Any] = self.data.setdefault("metadata", {})
        return metadata

    @property
    def key(self) -> NamespacedName:
        """The namespace and name."""
        return NamespacedName(self.metadata.get("namespace") or "", self.metadata.get("name") or "")

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, Unstructured) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Unstructured({self.gvk}, {self.key})"
