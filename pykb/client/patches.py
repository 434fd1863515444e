"""Patches, in Kubernetes' four patch types.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pykb.client.codec import AnyObject, AnyObjectT, snapshot, to_wire
from pykb.client.json_text import encode
from pykb.meta.json_diff import MISSING, Parts, Path, changes, fields_of


class Patch(Protocol):
    """A change to an object."""

    @property
    def content_type(self) -> str:
        """The media type, which says how the body is read."""

    def body_for(self, obj: AnyObject) -> bytes | None:
        """Return the body. ``None`` means that there is nothing to change and no request is needed."""


@dataclass(frozen=True, slots=True)
class MergePatch:
    """A JSON merge patch (RFC 7386). ``None`` removes a field, lists are replaced whole. Works for every kind.

    ::

        await client.patch(machine, MergePatch({"metadata": {"labels": {"tier": "web", "old": None}}}))
        assert machine.metadata.labels == {"tier": "web"}
    """

    change: Mapping[str, Any]
    content_type: str = "application/merge-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:  # noqa: ARG002 - the change stands by itself
        """The change."""
        return encode(self.change)


@dataclass(frozen=True, slots=True)
class StrategicMergePatch:
    """A merge by the keys of built-in lists (containers by name). Custom resources do not support it.

    ::

        image = {"name": "app", "image": "app:2"}  # of the container `app`; others stay as they are
        patch = StrategicMergePatch({"spec": {"template": {"spec": {"containers": [image]}}}})
        await client.patch(deployment_of(machine), patch)
    """

    change: Mapping[str, Any]
    content_type: str = "application/strategic-merge-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:  # noqa: ARG002
        """The change."""
        return encode(self.change)


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """A JSON patch (RFC 6902): a list of operations, applied all or none. ``test`` makes it conditional.

    ::

        grow = JsonPatch([
            {"op": "test", "path": "/spec/cpu", "value": 1},
            {"op": "replace", "path": "/spec/cpu", "value": 2},
        ])
        await client.patch(machine, grow)
        assert machine.spec.cpu == 2
    """

    operations: Sequence[Mapping[str, Any]]
    content_type: str = "application/json-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:  # noqa: ARG002
        """The operations."""
        return encode(list(self.operations))


@dataclass(frozen=True, slots=True)
class MergeFrom:
    """The changes since an object was read, as a merge patch; see :func:`merge_from`."""

    original: Mapping[str, Any]
    modified: Mapping[str, Any] | None
    optimistic_lock: bool
    content_type: str = "application/merge-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:
        """Return the changes, or ``None`` if there are none."""
        modified = to_wire(obj) if self.modified is None else self.modified
        change = merge_diff(self.original, modified)
        if not change:
            return None
        if self.optimistic_lock:
            version = (self.original.get("metadata") or {}).get("resourceVersion")
            if not version:
                raise ValueError("an optimistic lock needs the `resourceVersion` that the object was read with")
            change["metadata"] = {**change.get("metadata", {}), "resourceVersion": version}
        return encode(change)


def merge_from(original: AnyObjectT, modified: AnyObjectT | None = None, *, optimistic_lock: bool = False) -> MergeFrom:
    """Make a patch of the differences from ``original``. This is the usual way to change another controller's object.

    ::

        patch = merge_from(machine)          # copies its present state
        machine.metadata.labels = {"a": "b"}
        await client.patch(machine, patch)   # sends only the labels

    Args:
        original: The object before the changes. It is copied now.
        modified: The object after the changes. Defaults to the object passed to ``patch``.
        optimistic_lock: Whether the server refuses the patch (Conflict) if the object has changed
            since it was read. Use it when a list changes, since a merge patch replaces lists whole.
    """
    return MergeFrom(snapshot(original), None if modified is None else snapshot(modified), optimistic_lock)


def merge_diff(original: Mapping[str, Any], modified: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch (RFC 7386) that turns one JSON object into the other. Empty if they are equal."""
    patch: dict[str, Any] = {}
    for (*above, name), _, value in changes(original, modified, _parts):
        inner: dict[Any, Any] = patch
        for step in above:
            inner = inner.setdefault(step, {})
        inner[name] = None if value is MISSING else value
    return patch


def _parts(_path: Path, before: Any, after: Any) -> Parts | None:
    """The fields of two objects. A merge patch replaces all else as a whole."""
    is_object = isinstance(before, dict) and isinstance(after, dict)
    return fields_of(before, after, _is_same) if is_object else None


def _is_same(before: Any, after: Any) -> bool:
    """Whether two values are equal. In JSON, ``true`` is not 1, neither here nor in the fields of an object."""
    if isinstance(before, dict) or before != after:
        return False
    return isinstance(before, bool) == isinstance(after, bool)
