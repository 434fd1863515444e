"""Reads the types of an API server from OpenAPI v3 and discovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pykb.envtest.rest import Rest

JSON = dict[str, Any]

# The API server's own groups, but the aggregator's, which has no APIService. The groups of CRDs bear the label's other
# value, and may end while they are read.
_AGGREGATOR = "apis/apiregistration.k8s.io/v1"
_BUILT_IN = f"/{_AGGREGATOR}/apiservices?labelSelector=kube-aggregator.kubernetes.io/automanaged=onstart"


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
    documents = get("/openapi/v3")["paths"]
    for path in sorted(_group_versions(get(_BUILT_IN)["items"])):
        # DeleteOptions and WatchEvent of different groups differ only in their list of kinds.
        for name, schema in get(documents[path]["serverRelativeURL"])["components"]["schemas"].items():
            schemas.setdefault(name, schema)
        resources += _resources(get("/" + path))
    return Source(get("/version")["gitVersion"], dict(sorted(schemas.items())), tuple(resources))


def _group_versions(services: list[JSON]) -> list[str]:
    specs = [service["spec"] for service in services]
    named = [f"apis/{s['group']}/{s['version']}" if s.get("group") else f"api/{s['version']}" for s in specs]
    return [_AGGREGATOR, *named]


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
