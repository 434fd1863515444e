"""Where Kubernetes documents its own types."""

from __future__ import annotations

_PAGE = "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/"


def documentation_of(module: str, name: str) -> str:
    """The address of a built-in type's documentation.

    >>> documentation_of("pykb.api.core.v1", "PodSpec")[-22:]
    'v1.36/#podspec-v1-core'
    """
    parts = module.split(".")
    if len(parts) < 4:
        return _PAGE
    return f"{_PAGE}#{name.lower()}-{parts[-1]}-{parts[-2]}"
