"""From a kind to where it is served: plural, scope, subresources, verbs.

Asked of discovery, kept, and asked again on a miss.

Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from pykb.api.resource_info import ResourceInfo
from pykb.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from pykb.runtime.client.connection import Call, Connection
from pykb.runtime.errors import NoKindMatch, NotFound

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class ResourceMapping:
    """Where a kind is served.

    Attributes:
        gvk: The kind.
        plural: The name in URLs and RBAC rules.
        namespaced: Whether its objects live in namespaces.
        subresources: ``status``, ``scale`` and so on.
        verbs: What can be done; empty for a built-in kind that discovery was not asked about.
    """

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()

    @property
    def gvr(self) -> GroupVersionResource:
        """The resource."""
        return GroupVersionResource(self.gvk.group, self.gvk.version, self.plural)


class ResourceMapper:
    """Knows the resources of one API server, and asks it about those it does not know.

    A kind that is not found is asked for again each time: its CRD may have been installed a moment ago.
    """

    def __init__(self, connection: Connection, *, remedy: str = "is its CRD installed? `make install` does it") -> None:
        """Ask through ``connection``.

        Args:
            connection: The API server.
            remedy: What to do about a kind that it does not serve.
        """
        self._connection = connection
        self._remedy = remedy
        self._known: dict[GroupVersionKind, ResourceMapping] = {}

    async def mapping(self, gvk: GroupVersionKind, *, static: ResourceInfo | None = None) -> ResourceMapping:
        """Where a kind is served.

        Args:
            gvk: The kind.
            static: What is known without asking (built-in kinds).

        Raises:
            NoKindMatch: The server does not serve it.
        """
        if found := self._known.get(gvk):
            return found
        if static is not None:
            found = ResourceMapping(gvk, static.plural, static.namespaced, static.subresources)
            self._known[gvk] = found
            return found
        for mapping in await self._group_version(gvk.group_version):
            self._known[mapping.gvk] = mapping
        if found := self._known.get(gvk):
            return found
        raise NoKindMatch(
            gvk.kind,
            f"the API server knows no kind `{gvk.kind}` in `{gvk.api_version}`",
            self._remedy,
        )

    def known(self, gvk: GroupVersionKind) -> ResourceMapping | None:
        """Where a kind is served, as far as it is known already."""
        return self._known.get(gvk)

    def forget(self, gvk: GroupVersionKind) -> None:
        """Ask again next time: the resource was not where it used to be."""
        self._known.pop(gvk, None)

    async def all(self) -> tuple[ResourceMapping, ...]:
        """Every resource that the server serves, in the server's order, from aggregated discovery (two requests).

        A group whose own API server is down is left out.
        """
        found: list[ResourceMapping] = []
        for root in ("/api", "/apis"):
            answer = orjson.loads(
                await self._connection.request(Call("GET", root, accept=_AGGREGATED, repeatable=True))
            )
            for group in answer.get("items") or ():
                found.extend(_aggregated(group))
        self._known.update((mapping.gvk, mapping) for mapping in found)
        return tuple(found)

    async def _group_version(self, group_version: GroupVersion) -> list[ResourceMapping]:
        try:
            body = await self._connection.request(Call("GET", group_version.path, repeatable=True))
        except NotFound:
            return []
        resources: list[dict[str, Any]] = orjson.loads(body).get("resources") or []
        subresources: dict[str, list[str]] = {}
        for resource in resources:
            plural, slash, subresource = resource["name"].partition("/")
            if slash:
                subresources.setdefault(plural, []).append(subresource)
        return [
            ResourceMapping(
                gvk=group_version.with_kind(resource["kind"]),
                plural=resource["name"],
                namespaced=resource["namespaced"],
                subresources=tuple(subresources.get(resource["name"], ())),
                verbs=tuple(resource["verbs"]),
            )
            for resource in resources
            if "/" not in resource["name"]
        ]


def _aggregated(group: dict[str, Any]) -> list[ResourceMapping]:
    name = (group.get("metadata") or {}).get("name", "")
    return [
        ResourceMapping(
            gvk=GroupVersion(name, version["version"]).with_kind(resource["responseKind"]["kind"]),
            plural=resource["resource"],
            namespaced=resource["scope"] == "Namespaced",
            subresources=tuple(sub["subresource"] for sub in resource.get("subresources") or ()),
            verbs=tuple(resource.get("verbs") or ()),
        )
        for version in group.get("versions") or ()
        for resource in version.get("resources") or ()
        if (resource.get("responseKind") or {}).get("kind")
    ]
