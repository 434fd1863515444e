"""Maps a kind to its resource: plural, scope, subresources, verbs.

The answers come from discovery and are cached. A missing kind is looked up again.

Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from pykb.client.connection import Call, Connection
from pykb.client.errors import NoKindMatch, NotFound
from pykb.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource, ResourceInfo

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class ResourceMapping:
    """Where a kind is served.

    Attributes:
        gvk: The kind.
        plural: The name in URLs and RBAC rules.
        namespaced: Whether its objects live in namespaces.
        subresources: ``status``, ``scale`` and so on.
        verbs: The supported verbs. Empty for a built-in kind that was not looked up by discovery.
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
    """Caches the resources of one API server, and requests those that it does not know.

    A kind that was not found is requested each time: its CRD may have just been installed.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        remedy: str = "check that its CRD is installed; `make install` installs those of this project",
    ) -> None:
        """Make an empty cache.

        Args:
            connection: The API server.
            remedy: What the user can do about a kind that is not served.
        """
        self._connection = connection
        self._remedy = remedy
        self._known: dict[GroupVersionKind, ResourceMapping] = {}

    async def mapping(self, gvk: GroupVersionKind, *, static: ResourceInfo | None = None) -> ResourceMapping:
        """Where a kind is served.

        Args:
            gvk: The kind.
            static: The resource of a built-in kind, known without discovery.

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
            f"the API server does not know the kind `{gvk.kind}` in `{gvk.api_version}`",
            self._remedy,
        )

    def known(self, gvk: GroupVersionKind) -> ResourceMapping | None:
        """Return where a kind is served, if it is cached."""
        return self._known.get(gvk)

    def forget(self, gvk: GroupVersionKind) -> None:
        """Remove a kind from the cache, because the resource was not found where it used to be."""
        self._known.pop(gvk, None)

    async def all(self) -> tuple[ResourceMapping, ...]:
        """Return every resource of the server, in its order, by aggregated discovery (two requests).

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
