"""Where Kubernetes documents its own types."""

from __future__ import annotations

from pykb.api.builtin_table import TABLE

_PAGE = "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/"
_GROUPS = {module: group for (group, _), (module, _) in TABLE.items()}


def documentation_of(module: str, name: str) -> str:
    """The URL of a built-in type's documentation.

    >>> documentation_of("pykb.api.core.v1", "PodSpec")[-22:]
    'v1.36/#podspec-v1-core'
    >>> documentation_of("pykb.api.networking.v1", "IngressRule")[-33:]
    '#ingressrule-v1-networking-k8s-io'
    """
    parts = module.split(".")
    if len(parts) < 4:
        return _PAGE
    group = _GROUPS.get(module) or parts[-2]
    return f"{_PAGE}#{name.lower()}-{parts[-1]}-{group.replace('.', '-')}"
