"""Patches: what to change, in one of Kubernetes' four ways of saying it.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from pykb.runtime.client.codec import AnyObject, AnyObjectT, snapshot, to_wire


class Patch(Protocol):
    """A change to be made to an object."""

    @property
    def content_type(self) -> str:
        """The media type, which says how the body is read."""
        ...

    def body_for(self, obj: AnyObject) -> bytes | None:
        """The body; ``None`` when there is nothing to change, so that no request is needed."""
        ...


@dataclass(frozen=True, slots=True)
class MergePatch:
    """RFC 7386: what is given replaces, ``None`` removes, lists are replaced whole. Works for every kind."""

    change: Mapping[str, Any]
    content_type: str = "application/merge-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:  # noqa: ARG002 - the change stands by itself
        """The change."""
        return orjson.dumps(self.change)


@dataclass(frozen=True, slots=True)
class StrategicMergePatch:
    """A merge that knows the keys of built-in lists (containers by name). Custom resources do not take it."""

    change: Mapping[str, Any]
    content_type: str = "application/strategic-merge-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:  # noqa: ARG002
        """The change."""
        return orjson.dumps(self.change)


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """RFC 6902: a list of operations, all or none; ``test`` makes it conditional."""

    operations: Sequence[Mapping[str, Any]]
    content_type: str = "application/json-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:  # noqa: ARG002
        """The operations."""
        return orjson.dumps(list(self.operations))


@dataclass(frozen=True, slots=True)
class MergeFrom:
    """The difference between an object as it was and as it is, as a merge patch; see :func:`merge_from`."""

    original: Mapping[str, Any]
    modified: Mapping[str, Any] | None
    optimistic_lock: bool
    content_type: str = "application/merge-patch+json"

    def body_for(self, obj: AnyObject) -> bytes | None:
        """What changed; ``None`` when nothing did."""
        modified = to_wire(obj) if self.modified is None else self.modified
        change = merge_diff(self.original, modified)
        if not change:
            return None
        if self.optimistic_lock:
            version = (self.original.get("metadata") or {}).get("resourceVersion")
            if not version:
                raise ValueError("an optimistic lock needs the `resourceVersion` that the object was read with")
            change["metadata"] = {**change.get("metadata", {}), "resourceVersion": version}
        return orjson.dumps(change)


def merge_from(original: AnyObjectT, modified: AnyObjectT | None = None, *, optimistic_lock: bool = False) -> MergeFrom:
    """A patch with what differs from ``original``; the usual way to change an object of someone else.

    ::

        patch = merge_from(machine)          # remembers it as it is now
        machine.metadata.labels = {"a": "b"}
        await client.patch(machine, patch)   # sends the labels only

    Args:
        original: The object before; remembered as it is at this moment.
        modified: The object after; the one given to ``patch`` when ``None``.
        optimistic_lock: Whether the server refuses (Conflict) when the object has changed since it was read. Needed
            when a list changes, since a merge patch replaces lists whole.
    """
    return MergeFrom(snapshot(original), None if modified is None else snapshot(modified), optimistic_lock)


def merge_diff(original: Mapping[str, Any], modified: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) that turns one JSON object into the other; empty when they are equal."""
    change: dict[str, Any] = {key: None for key in original if key not in modified}
    for key, value in modified.items():
        if key not in original:
            change[key] = value
            continue
        before = original[key]
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if inner := merge_diff(before, value):
                change[key] = inner
        elif before != value or isinstance(before, bool) != isinstance(value, bool):
            change[key] = value
    return change
