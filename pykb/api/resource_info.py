"""Where objects of a kind are served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """What discovery says about a kind.

    Args:
        plural: The name in URLs and RBAC rules.
        namespaced: Whether its objects live in namespaces.
        subresources: Names such as ``status`` and ``scale``.
    """

    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
