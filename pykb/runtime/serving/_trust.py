"""Tells the API server which authority to trust: in webhook configurations and in the conversions of CRDs.

Only entries that call this manager's own Services are changed, by a JSON patch. ``kubectl apply`` leaves the field
alone, on the client as on the server, since its manifests do not have it.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from pykb.runtime.errors import ApiError
from pykb.runtime.serving._objects import Objects, Wire

logger = logging.getLogger(__name__)

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


class Trust:
    """The objects that say whom the API server trusts when it calls this manager."""

    def __init__(
        self,
        objects: Objects,
        configurations: Iterable[str],
        services: Iterable[str],
        converted: Callable[[], Awaitable[Iterable[str]]],
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            objects: Reads and changes them.
            configurations: The names of the webhook configurations, of either kind.
            services: The Services of this manager: ``<namespace>/<name>``.
            converted: Finds the names of the CRDs that this manager converts.
        """
        self._objects = objects
        self._paths = [f"{_ADMISSION}/{kind}/{name}" for name in configurations for kind in _KINDS]
        self._services = frozenset(services)
        self._converted = converted
        self._seen: dict[str, tuple[str, str]] = {}
        self._trusted: dict[str, bool] = {}

    @property
    def is_lost(self) -> bool:
        """Whether there are places that call this manager, and none of them trusts it."""
        return bool(self._trusted) and not any(self._trusted.values())

    async def publish(self, authorities: str) -> bool:
        """Make sure that each of them trusts these authorities (PEM). Return whether one was changed.

        An object that cannot be changed does not keep the others from it.

        Raises:
            ApiError: The API server refused, or an object changed meanwhile.
            ServerUnreachable: There was no answer.
        """
        bundle = base64.b64encode(authorities.encode()).decode()
        changed = False
        problem: ApiError | None = None
        for path in (*self._paths, *(f"{_CRDS}/{name}" for name in await self._converted())):
            try:
                if (await self._objects.version(path), bundle) == self._seen.get(path):
                    continue
                changed = await self._make_sure(path, bundle) or changed
            except ApiError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return changed

    async def _make_sure(self, path: str, bundle: str) -> bool:
        found = await self._objects.find(path)
        if found is None:
            self._seen.pop(path, None)
            self._trusted.pop(path, None)
            return False
        version = found["metadata"]["resourceVersion"]
        entries = [(where, entry) for where, entry in _client_configs(found) if self._is_ours(entry)]
        wrong = [where for where, entry in entries if entry.get("caBundle") != bundle]
        if entries:
            self._trusted[path] = len(wrong) < len(entries)
        if wrong:
            # The version makes it a conflict if the object has changed since.
            unchanged = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
            trusted = [{"op": "add", "path": f"{where}/caBundle", "value": bundle} for where in wrong]
            found = await self._objects.change(path, [unchanged, *trusted])
            version = found["metadata"]["resourceVersion"]
            shown = {"object": "/".join(path.split("/")[-2:]), "entries": len(wrong)}
            had = any(entry.get("caBundle") for _, entry in entries)
            logger.info("authority replaced in caBundle" if had else "authority set in caBundle", extra=shown)
            self._trusted[path] = True
        self._seen[path] = (str(version), bundle)
        return bool(wrong)

    def _is_ours(self, entry: Wire) -> bool:
        service = entry.get("service") or {}
        return f"{service.get('namespace')}/{service.get('name')}" in self._services


def _client_configs(found: Wire) -> Iterator[tuple[str, Wire]]:
    """The places that name a server to call, and what they say."""
    for number, each in enumerate(found.get("webhooks") or ()):
        yield f"/webhooks/{number}/clientConfig", each.get("clientConfig") or {}
    conversion: dict[str, Any] = (found.get("spec") or {}).get("conversion") or {}
    config = (conversion.get("webhook") or {}).get("clientConfig")
    if config:
        yield "/spec/conversion/webhook/clientConfig", config
