"""The paths of webhooks, as in kubebuilder. Manifests name them, and the manager serves them."""

from __future__ import annotations

from pykb.meta.gvk import GroupVersionKind
from pykb.meta.names import is_subdomain

CONVERT = "/convert"
"""The path of the conversion webhook for all kinds."""

MUTATE, VALIDATE = "/mutate-", "/validate-"
"""The prefixes of the paths of mutating and validating webhooks."""


def mutate_path(gvk: GroupVersionKind) -> str:
    """The default path of a kind's mutating webhook.

    >>> mutate_path(GroupVersionKind("infra.sealyun.com", "v1", "VirtulMachine"))
    '/mutate-infra-sealyun-com-v1-virtulmachine'
    >>> mutate_path(GroupVersionKind("", "v1", "Pod"))
    '/mutate--v1-pod'
    """
    return MUTATE + _end(gvk)


def validate_path(gvk: GroupVersionKind) -> str:
    """The default path of a kind's validating webhook."""
    return VALIDATE + _end(gvk)


def _end(gvk: GroupVersionKind) -> str:
    return f"{gvk.group.replace('.', '-')}-{gvk.version}-{gvk.kind.lower()}"


def is_served_path(text: str) -> bool:
    """Whether the API server accepts a webhook path: its parts are DNS names.

    >>> [is_served_path(text) for text in ("/mutate--v1-pod", "/a/b.c", "a", "/", "/A", "/a/")]
    [True, True, False, False, False, False]
    """
    return text.startswith("/") and all(is_subdomain(part) for part in text[1:].split("/"))
