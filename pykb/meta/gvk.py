"""The identities of API types: group and version, kind, resource, and the paths of a kind's webhooks.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ (resource URIs, API groups).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Any

from pykb.meta.names import is_subdomain


@dataclass(frozen=True, slots=True, order=True)
class GroupVersion:
    """An API group and one of its versions; the core group is the empty string.

    >>> GroupVersion("infra.sealyun.com", "v1").api_version
    'infra.sealyun.com/v1'
    >>> GroupVersion("", "v1").api_version
    'v1'
    """

    group: str
    version: str

    def __post_init__(self) -> None:
        for name in (self.group, self.version):
            if not isinstance(name, str):  # reported where the value is used
                raise TypeError(f"a group and a version are strings, found {name!r}")

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read an ``apiVersion`` field: ``v1`` or ``group/version``."""
        group, slash, version = api_version.rpartition("/")
        return cls(group if slash else "", version)

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` field of objects of this group and version."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The root of its URLs, without a trailing slash."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def with_kind(self, kind: str) -> GroupVersionKind:
        """The full identity of a kind."""
        if not isinstance(kind, str):
            raise TypeError(f"a kind is a string, found {kind!r}")
        return GroupVersionKind(self.group, self.version, kind)

    def __str__(self) -> str:
        return self.api_version


@dataclass(frozen=True, slots=True, order=True)
class GroupKind:
    """A kind regardless of its version."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@dataclass(frozen=True, slots=True, order=True)
class GroupVersionKind:
    """The full identity of a type of object.

    >>> GroupVersionKind("cert-manager.io", "v1", "Certificate").api_version
    'cert-manager.io/v1'
    """

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        """Its group and version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        """Its group and kind."""
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` field of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


@lru_cache(maxsize=1024)
def gvk_named(api_version: str, kind: str) -> GroupVersionKind:
    """The identity in the fields ``apiVersion`` and ``kind`` of an object."""
    return GroupVersion.parse(api_version).with_kind(kind)


@dataclass(frozen=True, slots=True, order=True)
class GroupVersionResource:
    """A resource as in URLs and RBAC rules, with its plural name in lower case."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        """Its group and version."""
        return GroupVersion(self.group, self.version)

    def __str__(self) -> str:
        return f"{self.group_version.api_version} {self.resource}"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class NamespacedName:
    """The namespace of an object (empty for cluster-scoped kinds) and its name.

    >>> NamespacedName.parse("default/web") == NamespacedName("default", "web")
    True

    Two with the same values are equal, even if one is of a subclass (a reconciler's ``Request``).
    """

    namespace: str
    name: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamespacedName):
            return NotImplemented
        return self.name == other.name and self.namespace == other.namespace

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, NamespacedName):
            return NotImplemented
        return (self.namespace, self.name) < (other.namespace, other.name)

    def __hash__(self) -> int:
        return hash((self.namespace, self.name))

    @classmethod
    def parse(cls, text: str) -> NamespacedName:
        """Read ``namespace/name`` or ``name``."""
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


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


def namespaced(plural: str, *subresources: str) -> ResourceInfo:
    """What discovery reports about a kind whose objects live in namespaces."""
    return ResourceInfo(plural, namespaced=True, subresources=subresources)


def cluster_scoped(plural: str, *subresources: str) -> ResourceInfo:
    """What discovery reports about a kind whose objects live outside of namespaces."""
    return ResourceInfo(plural, namespaced=False, subresources=subresources)


WORKLOADS = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
"""The kinds of Kubernetes that make pods of a template, and select them."""

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


def rule_concerns(rule: Mapping[str, Any], group: str, plural: str, subresource: str = "") -> bool:
    """Whether a rule of a webhook configuration is about a resource, whatever the version and the operation.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
    #matching-requests-rules

    >>> rule_concerns({"apiGroups": ["apps"], "resources": ["*"]}, "apps", "deployments")
    True
    >>> rule_concerns({"apiGroups": ["apps"], "resources": ["*"]}, "apps", "deployments", "scale")
    False
    """
    resources = (name.partition("/") for name in rule.get("resources") or ())
    is_named = any(name in ("*", plural) and part in ("*", subresource) for name, _, part in resources)
    return is_named and bool({"*", group} & {*(rule.get("apiGroups") or ())})
