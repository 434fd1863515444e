"""The resource through which a kind is served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """What the API server's discovery reports about a kind.

    Args:
        plural: The name in URLs and RBAC rules.
        namespaced: Whether its objects live in namespaces.
        subresources: Names such as ``status`` and ``scale``.
    """

    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
