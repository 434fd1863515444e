"""What a deletion makes of an object: its policy, the finalizers that hold it, and its mark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pykb.runtime.fake import _http as refusal
from pykb.runtime.fake._admission import now
from pykb.runtime.fake._resources import Resource

# The finalizer that each policy adds.
_POLICIES = {"Foreground": "foregroundDeletion", "Background": None, "Orphan": "orphan"}


def policy_of(options: Mapping[str, Any]) -> str | None:
    """The policy of a deletion.

    Raises:
        ApiError: There is no such policy.
    """
    policy: str | None = options.get("propagationPolicy")
    if policy not in (None, *_POLICIES):
        known = ", ".join(f'"{name}"' for name in (*_POLICIES, "nil"))
        message = f'Unsupported value: "{policy}": supported values: {known}'
        causes = [refusal.cause("propagationPolicy", "FieldValueNotSupported", message)]
        raise refusal.invalid("DeleteOptions", "meta.k8s.io", "", causes)
    return policy


def finalizers_left(old: Mapping[str, Any], policy: str | None) -> list[str]:
    """The finalizers of an object after its deletion with a policy."""
    present = list(old["metadata"].get("finalizers") or ())
    if policy is None:
        return present
    own = _POLICIES[policy]
    return [*(name for name in present if name not in _POLICIES.values()), *([own] if own else [])]


def marked(resource: Resource, old: Mapping[str, Any], finalizers: list[str]) -> dict[str, Any]:
    """The object, marked as deleted."""
    metadata = dict(old["metadata"])
    found = {**old, "metadata": metadata}
    if finalizers:
        metadata["finalizers"] = finalizers
    metadata.setdefault("deletionTimestamp", now())
    metadata.setdefault("deletionGracePeriodSeconds", 0)
    if resource.counted:
        metadata["generation"] = metadata.get("generation", 0) + 1
    if resource.gvk.kind == "Namespace":
        found["status"] = {**(found.get("status") or {}), "phase": "Terminating"}
    return found


def is_released(resource: Resource, obj: Mapping[str, Any]) -> bool:
    """Whether nothing holds an object any more that is being deleted."""
    metadata = obj["metadata"]
    held = metadata.get("finalizers") or resource.gvk.kind == "Namespace"
    return bool(metadata.get("deletionTimestamp")) and not held
