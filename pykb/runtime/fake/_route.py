"""What a request asks for: the path and the query, taken apart."""

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
        """The query of a call."""
        return cls(dict(call.query))

    def get(self, name: str) -> str:
        """A parameter; empty when it is not there."""
        return self.values.get(name, "")

    @property
    def is_watch(self) -> bool:
        """Whether a list is to be followed."""
        return self.get("watch") in ("true", "1")

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored."""
        return self.get("dryRun") == "All"


def parse_path(path: str) -> Route | None:
    """Take a path apart; None when it is that of no resource."""
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
