"""Stand-ins for the controllers of a cluster: owners, namespaces, and what makes workloads ready.

They act on the API server in memory, a moment after each change. What they claim was seen in a real
cluster: tests/explorer/actors holds them against a record of kube-controller-manager. Sources:
https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and the status of each kind in the API reference.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

from pykb.explore._history import Fault, FaultKind, Identity, Manifest
from pykb.explore._state import read
from pykb.fake import FakeApiServer
from pykb.runtime import ApiError, Client, MergePatch

PAUSE = 1.0
"""Virtual seconds between a change and the acts of the cluster's controllers."""

Actor = Callable[[Client], Awaitable[None]]
"""Stands for another controller or for people. It is called a moment after each change, and takes the next step."""

_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"
_NAMESPACES = ("", "namespaces")


class Actors:
    """Acts on changes until it is cancelled.

    Args:
        server: The API server.
        client: Of somebody other than the operator.
        others: Further actors.
        fault: Lets workloads be late or fail.
    """

    def __init__(
        self, server: FakeApiServer, client: Client, others: Sequence[Actor] = (), fault: Fault | None = None
    ) -> None:
        self._server = server
        self._client = client
        self._others = others
        self._delay = fault.seconds if fault is not None and fault.kind in (FaultKind.LATE, FaultKind.FAIL) else 0.0
        self._end = Health.FAILED if fault is not None and fault.kind is FaultKind.FAIL else Health.READY
        self._due: dict[str, float] = {}
        self._changed = asyncio.Event()
        server.storage.observers.append(lambda _: self._changed.set())

    @property
    def is_waiting(self) -> bool:
        """Whether a workload is still to become ready."""
        now = asyncio.get_running_loop().time()
        return any(now < due for due in self._due.values())

    async def run(self) -> None:
        """Act until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE)
            self._changed.clear()
            objects = [read(content) for content in self._server.storage.everything()]
            await _Collector(self._server, self._client, objects).run()
            for found in objects:
                if not found["metadata"].get("deletionTimestamp"):
                    await self._report(found)
            for act in self._others:
                with contextlib.suppress(ApiError):  # it is called again after the next change
                    await act(self._client)

    async def _report(self, obj: Manifest) -> None:
        if obj["kind"] not in KINDS:
            return
        before = obj.get("status") or {}
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        status = status_of(obj, self._health_of(obj), now)
        if status is not None and status != before:
            gone = dict.fromkeys(set(before) - set(status))
            with contextlib.suppress(ApiError):  # it has changed or gone meanwhile
                await self._client.status.patch(Identity.of(obj).manifest, MergePatch({"status": status | gone}))

    def _health_of(self, obj: Manifest) -> Health:
        if not self._delay:
            return Health.READY
        loop = asyncio.get_running_loop()
        uid = obj["metadata"]["uid"]
        if uid not in self._due:
            self._due[uid] = loop.time() + self._delay
            loop.call_at(self._due[uid], self._changed.set)
        return self._end if loop.time() >= self._due[uid] else Health.STARTING


class _Collector:
    """One pass of the garbage collector and of the controller of namespaces."""

    def __init__(self, server: FakeApiServer, client: Client, objects: list[Manifest]) -> None:
        self._server = server
        self._client = client
        self._objects = objects
        self._alive = {found["metadata"]["uid"]: found for found in objects}

    async def run(self) -> None:
        for found in self._objects:
            await self._collect(found)
        for owner in self._objects:
            finalizers = owner["metadata"].get("finalizers") or ()
            if _FOREGROUND in finalizers:
                await self._delete_in_foreground(owner)
            elif _ORPHAN in finalizers and owner["metadata"].get("deletionTimestamp"):
                await self._orphan(owner)
            elif owner["kind"] == "Namespace" and owner["metadata"].get("deletionTimestamp"):
                await self._empty(owner)

    async def _collect(self, obj: Manifest) -> None:
        """Delete what no owner is left of, or take the references out that lead nowhere."""
        references = obj["metadata"].get("ownerReferences") or []
        left = [reference for reference in references if self._is_owner(reference, obj)]
        if references and not left:
            await self._delete(obj)
        elif left != references:
            await self._change(obj, {"ownerReferences": left})

    def _is_owner(self, reference: Manifest, obj: Manifest) -> bool:
        """Whether the owner is there. One in another namespace does not count."""
        owner = self._alive.get(reference["uid"])
        return owner is not None and owner["metadata"].get("namespace") in (None, obj["metadata"].get("namespace"))

    async def _delete_in_foreground(self, owner: Manifest) -> None:
        blocking = False
        for found, reference in self._dependents(owner):
            blocking = blocking or bool(reference.get("blockOwnerDeletion"))
            await self._delete(found)
        if not blocking:
            await self._let_go(owner, _FOREGROUND)

    async def _orphan(self, owner: Manifest) -> None:
        for found, own in self._dependents(owner):
            left = [reference for reference in found["metadata"]["ownerReferences"] if reference != own]
            await self._change(found, {"ownerReferences": left or None})
        await self._let_go(owner, _ORPHAN)

    async def _empty(self, namespace: Manifest) -> None:
        name = namespace["metadata"]["name"]
        inside = [found for found in self._objects if found["metadata"].get("namespace") == name]
        for found in inside:
            await self._delete(found)
        if not inside:
            await self._server.storage.remove(_NAMESPACES, {**namespace, "metadata": dict(namespace["metadata"])})

    def _dependents(self, owner: Manifest) -> list[tuple[Manifest, Manifest]]:
        uid = owner["metadata"]["uid"]
        return [
            (found, reference)
            for found in self._objects
            for reference in found["metadata"].get("ownerReferences") or ()
            if reference["uid"] == uid
        ]

    async def _let_go(self, owner: Manifest, finalizer: str) -> None:
        left = [name for name in owner["metadata"]["finalizers"] if name != finalizer]
        await self._change(owner, {"finalizers": left or None})

    async def _change(self, obj: Manifest, metadata: dict[str, Any]) -> None:
        with contextlib.suppress(ApiError):
            await self._client.patch(Identity.of(obj).manifest, MergePatch({"metadata": metadata}))

    async def _delete(self, obj: Manifest) -> None:
        if not obj["metadata"].get("deletionTimestamp"):
            with contextlib.suppress(ApiError):
                await self._client.delete(Identity.of(obj).manifest)


Status = dict[str, Any]


class Health(Enum):
    """How a workload is."""

    STARTING = auto()
    READY = auto()
    FAILED = auto()


def status_of(manifest: Mapping[str, Any], health: Health, now: str) -> Status | None:
    """The status that an object should have; ``None`` for kinds without one.

    Args:
        manifest: The object.
        health: How it is.
        now: The time of what becomes true.
    """
    of_kind = _STATUS.get(manifest["kind"])
    if of_kind is None or manifest["apiVersion"].partition("/")[0] not in ("v1", "apps", "batch"):
        return None
    before = manifest.get("status") or {}
    status = {name: value for name, value in of_kind(manifest, health).items() if value is not None}
    known = {each["type"]: each for each in before.get("conditions") or ()}
    for condition in status.get("conditions") or ():
        same = known.get(condition["type"], {})
        is_same = same.get("status") == condition["status"]
        condition["lastTransitionTime"] = same.get("lastTransitionTime", now) if is_same else now
    for name in ("startTime", "completionTime"):
        if name in status:
            status[name] = before.get(name) or now
    return status


def _conditions(**every: tuple[bool, str]) -> list[dict[str, str]]:
    return [{"type": kind, "status": str(holds), "reason": reason} for kind, (holds, reason) in every.items()]


def _deployment(manifest: Mapping[str, Any], health: Health) -> Status:
    replicas = manifest["spec"].get("replicas", 1)
    available = replicas if health is Health.READY else 0
    is_available = available == replicas
    progress = "ReplicaSetUpdated"
    if health is Health.FAILED and not is_available:
        progress = "ProgressDeadlineExceeded"
    elif is_available:
        progress = "NewReplicaSetAvailable"
    return {
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "replicas": replicas or None,
        "updatedReplicas": replicas or None,
        "readyReplicas": available or None,
        "availableReplicas": available or None,
        "unavailableReplicas": replicas - available or None,
        "conditions": _conditions(
            Available=(is_available, f"MinimumReplicas{'Available' if is_available else 'Unavailable'}"),
            Progressing=(progress != "ProgressDeadlineExceeded", progress),
        ),
    }


def _stateful_set(manifest: Mapping[str, Any], health: Health) -> Status:
    replicas = manifest["spec"].get("replicas", 1)
    available = replicas if health is Health.READY else 0
    return {
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "replicas": replicas,
        "currentReplicas": replicas or None,
        "updatedReplicas": replicas or None,
        "readyReplicas": available or None,
        "availableReplicas": available,
    }


def _daemon_set(manifest: Mapping[str, Any], health: Health) -> Status:
    """On one node."""
    available = 1 if health is Health.READY else 0
    return {
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "desiredNumberScheduled": 1,
        "currentNumberScheduled": 1,
        "updatedNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": available,
        "numberAvailable": available or None,
        "numberUnavailable": 1 - available or None,
    }


def _job(manifest: Mapping[str, Any], health: Health) -> Status:
    status: Status = {"startTime": "", "ready": 0, "terminating": 0}
    if health is Health.STARTING:
        return {**status, "active": manifest["spec"].get("parallelism", 1)}
    if health is Health.READY:
        reason = (True, "CompletionsReached")
        done = {"succeeded": manifest["spec"].get("completions", 1), "completionTime": ""}
        return {**status, **done, "conditions": _conditions(SuccessCriteriaMet=reason, Complete=reason)}
    reason = (True, "BackoffLimitExceeded")
    failed = manifest["spec"].get("backoffLimit", 6) + 1
    return {**status, "failed": failed, "conditions": _conditions(FailureTarget=reason, Failed=reason)}


def _pod(manifest: Mapping[str, Any], health: Health) -> Status:
    ready = health is Health.READY
    phase = {Health.STARTING: "Pending", Health.READY: "Running", Health.FAILED: "Failed"}[health]
    containers = [{"name": each["name"], "ready": ready} for each in manifest["spec"].get("containers", ())]
    condition = {"type": "Ready", "status": str(ready)}
    return {"phase": phase, "conditions": [condition], "containerStatuses": containers if ready else None}


def _claim(manifest: Mapping[str, Any], health: Health) -> Status:
    if health is not Health.READY:
        return {"phase": "Pending"}
    asked = (manifest["spec"].get("resources") or {}).get("requests")
    return {
        "phase": "Bound",
        "accessModes": manifest["spec"].get("accessModes"),
        "capacity": asked or None,
        "conditions": _conditions(Unused=(True, "NoPodsUsingPVC")),  # since Kubernetes 1.37
    }


_STATUS: dict[str, Callable[[Mapping[str, Any], Health], Status]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "Pod": _pod,
    "PersistentVolumeClaim": _claim,
}

KINDS = tuple(_STATUS)
"""The kinds that have such a status."""
