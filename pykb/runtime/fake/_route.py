"""Parses the path and the query of a request."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from pykb.meta.gvk import GroupVersion
from pykb.runtime.client.connection import Call


@dataclass(frozen=True, slots=True)
class Route:
    """A resource path (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris)."""

    group_version: GroupVersion
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The query of a request."""

    values: dict[str, str]

    @classmethod
    def of(cls, call: Call) -> Parameters:
        """Parse the query of a call."""
        return cls(dict(call.query))

    def get(self, name: str) -> str:
        """Return a parameter. Empty if it is missing."""
        return self.values.get(name, "")

    @property
    def is_watch(self) -> bool:
        """Whether the request is a watch."""
        return self.get("watch") in ("true", "1")

    @property
    def dry_run(self) -> bool:
        """Whether the request must not store anything."""
        return self.get("dryRun") == "All"


def parse_path(path: str) -> Route | None:
    """Parse a path. ``None`` if it is not the path of a resource."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest]:
            group_version = GroupVersion("", version)
        case ["apis", group, version, *rest]:
            group_version = GroupVersion(group, version)
        case _:
            return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    match rest:
        case [plural]:
            return Route(group_version, plural, namespace)
        case [plural, name]:
            return Route(group_version, plural, namespace, name)
        case [plural, name, subresource]:
            return Route(group_version, plural, namespace, name, subresource)
    return None
