"""Stand-ins for the controllers of a cluster: the garbage collector, and what makes workloads ready.

They act on the API server in memory, a moment after each change. Sources:
https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and the status of each kind in the API reference.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from pykb.explore._history import Identity, Manifest
from pykb.runtime import ApiError, Client, MergePatch
from pykb.runtime.fake import FakeApiServer

PAUSE = 1.0
"""Virtual seconds between a change and the acts of the cluster's controllers."""

_FOREGROUND = "foregroundDeletion"


class Actors:
    """Acts on changes until it is cancelled."""

    def __init__(self, server: FakeApiServer, client: Client) -> None:
        self._server = server
        self._client = client
        self._changed = asyncio.Event()
        server.storage.observers.append(lambda _: self._changed.set())

    async def run(self) -> None:
        """Act until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE)
            self._changed.clear()
            objects = list(self._server.storage.everything())
            await self._collect(objects)
            for found in objects:
                status = _STATUS.get(found["kind"])
                if status is not None and not found["metadata"].get("deletionTimestamp"):
                    await self._report(found, status(found))

    async def _report(self, found: Manifest, status: dict[str, Any]) -> None:
        before = found.get("status") or {}
        if any(before.get(name) != value for name, value in status.items()):
            with contextlib.suppress(ApiError):  # it has changed or gone meanwhile
                await self._client.status.patch(Identity.of(found).manifest, MergePatch({"status": status}))

    async def _collect(self, objects: list[Manifest]) -> None:
        """Delete what no owner is left of, and hold back owners that wait for their dependents."""
        alive = {found["metadata"]["uid"]: found for found in objects}
        for found in objects:
            references = found["metadata"].get("ownerReferences") or ()
            if references and not any(reference["uid"] in alive for reference in references):
                await self._delete(found)
        for owner in objects:
            if _FOREGROUND in (owner["metadata"].get("finalizers") or ()):
                await self._delete_in_foreground(owner, objects)

    async def _delete_in_foreground(self, owner: Manifest, objects: list[Manifest]) -> None:
        blocking = False
        for found in objects:
            for reference in found["metadata"].get("ownerReferences") or ():
                if reference["uid"] == owner["metadata"]["uid"]:
                    blocking = blocking or bool(reference.get("blockOwnerDeletion"))
                    await self._delete(found)
        if not blocking:
            left = [name for name in owner["metadata"]["finalizers"] if name != _FOREGROUND]
            with contextlib.suppress(ApiError):
                await self._client.patch(
                    Identity.of(owner).manifest, MergePatch({"metadata": {"finalizers": left or None}})
                )

    async def _delete(self, found: Manifest) -> None:
        if not found["metadata"].get("deletionTimestamp"):
            with contextlib.suppress(ApiError):
                await self._client.delete(Identity.of(found).manifest)


def _condition(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True"}


def _deployment(found: Mapping[str, Any]) -> dict[str, Any]:
    replicas = found["spec"].get("replicas", 1)
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas)
    conditions = [_condition("Available"), _condition("Progressing")]
    return {"observedGeneration": found["metadata"].get("generation", 1), **counts, "conditions": conditions}


def _stateful_set(found: Mapping[str, Any]) -> dict[str, Any]:
    replicas = found["spec"].get("replicas", 1)
    counts = dict.fromkeys(
        ("replicas", "currentReplicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas
    )
    return {"observedGeneration": found["metadata"].get("generation", 1), **counts}


def _daemon_set(found: Mapping[str, Any]) -> dict[str, Any]:
    names = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady")
    counts = dict.fromkeys((*names, "numberAvailable"), 1)
    return {"observedGeneration": found["metadata"].get("generation", 1), **counts, "numberMisscheduled": 0}


def _job(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"succeeded": found["spec"].get("completions", 1), "conditions": [_condition("Complete")]}


def _pod(found: Mapping[str, Any]) -> dict[str, Any]:
    containers = [{"name": each["name"], "ready": True} for each in found["spec"].get("containers", ())]
    return {"phase": "Running", "conditions": [_condition("Ready")], "containerStatuses": containers}


def _claim(found: Mapping[str, Any]) -> dict[str, Any]:
    asked = (found["spec"].get("resources") or {}).get("requests")
    return {"phase": "Bound", **({"capacity": asked} if asked else {})}


_STATUS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "Pod": _pod,
    "PersistentVolumeClaim": _claim,
}
