"""Where webhooks are served: kubebuilder's paths, which manifests name and the manager answers at."""

from __future__ import annotations

from pykb.meta.gvk import GroupVersionKind
from pykb.meta.names import is_subdomain

CONVERT = "/convert"
"""Where conversions of all kinds are served."""

MUTATE, VALIDATE = "/mutate-", "/validate-"
"""How the paths of the two types of admission webhooks begin."""


def mutate_path(gvk: GroupVersionKind) -> str:
    """Where a kind is defaulted, unless another path was asked for.

    >>> mutate_path(GroupVersionKind("infra.sealyun.com", "v1", "VirtulMachine"))
    '/mutate-infra-sealyun-com-v1-virtulmachine'
    >>> mutate_path(GroupVersionKind("", "v1", "Pod"))
    '/mutate--v1-pod'
    """
    return MUTATE + _end(gvk)


def validate_path(gvk: GroupVersionKind) -> str:
    """Where a kind is validated, unless another path was asked for."""
    return VALIDATE + _end(gvk)


def _end(gvk: GroupVersionKind) -> str:
    return f"{gvk.group.replace('.', '-')}-{gvk.version}-{gvk.kind.lower()}"


def is_served_path(text: str) -> bool:
    """Whether the API server calls a webhook at a path: its parts are DNS names.

    >>> [is_served_path(text) for text in ("/mutate--v1-pod", "/a/b.c", "a", "/", "/A", "/a/")]
    [True, True, False, False, False, False]
    """
    return text.startswith("/") and all(is_subdomain(part) for part in text[1:].split("/"))
