"""Where webhooks are served: kubebuilder's paths, which generated manifests name."""

from __future__ import annotations

from pykb.meta.gvk import GroupVersionKind

CONVERT = "/convert"
"""Where conversions of all kinds are served."""


def mutate_path(gvk: GroupVersionKind) -> str:
    """Where a kind is defaulted.

    >>> mutate_path(GroupVersionKind("infra.sealyun.com", "v1", "VirtulMachine"))
    '/mutate-infra-sealyun-com-v1-virtulmachine'
    >>> mutate_path(GroupVersionKind("", "v1", "Pod"))
    '/mutate--v1-pod'
    """
    return _path("mutate", gvk)


def validate_path(gvk: GroupVersionKind) -> str:
    """Where a kind is validated."""
    return _path("validate", gvk)


def _path(verb: str, gvk: GroupVersionKind) -> str:
    return f"/{verb}-{gvk.group.replace('.', '-')}-{gvk.version}-{gvk.kind.lower()}"
