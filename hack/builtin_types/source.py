"""Reads the types of an API server from OpenAPI v3 and discovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pykb.envtest.rest import Rest

JSON = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """One served resource and its subresources."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    subresources: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Everything needed to write the package."""

    version: str
    schemas: dict[str, JSON]
    resources: tuple[Resource, ...]


def read(rest: Rest) -> Source:
    """Read from an API server."""

    def get(path: str) -> JSON:
        answer = rest.call("GET", path)
        if not answer.ok:
            raise SystemExit(f"{path}: {answer.message}")
        return answer.body

    schemas: dict[str, JSON] = {}
    resources: list[Resource] = []
    for path, entry in sorted(get("/openapi/v3")["paths"].items()):
        if path == "api/v1" or (path.startswith("apis/") and path.count("/") == 2):
            document = get(entry["serverRelativeURL"])
            # DeleteOptions and WatchEvent of different groups differ only in their list of kinds.
            for name, schema in document.get("components", {}).get("schemas", {}).items():
                if name.startswith("io.k8s."):  # not the definitions of CRDs on this server
                    schemas.setdefault(name, schema)
            resources += _resources(get("/" + path))
    return Source(get("/version")["gitVersion"], dict(sorted(schemas.items())), tuple(resources))


def _resources(answer: JSON) -> list[Resource]:
    group, _, version = answer["groupVersion"].rpartition("/")
    found = {r["name"]: r for r in answer["resources"]}
    return [
        Resource(
            group,
            version,
            r["kind"],
            name,
            r["namespaced"],
            tuple(sorted(other.split("/", 1)[1] for other in found if other.startswith(name + "/"))),
        )
        for name, r in sorted(found.items())
        if "/" not in name
    ]
