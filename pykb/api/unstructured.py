"""Objects of kinds that have no class."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pykb.meta.gvk import GroupVersionKind, NamespacedName, gvk_named


class Unstructured:
    """A top-level object of any kind, backed by a dict in wire form.

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
    def of(cls, gvk: GroupVersionKind, name: str = "", namespace: str = "") -> Unstructured:
        """Create an empty object of a kind."""
        metadata = {key: value for key, value in (("name", name), ("namespace", namespace)) if value}
        return cls({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata})

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Unstructured:
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
