"""The identities of API types: group and version, kind, resource.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ (resource URIs, API groups).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering


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
    """The full identity of a type of object."""

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
