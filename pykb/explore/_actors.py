"""Stand-ins for the controllers of a cluster: owners, namespaces, what makes workloads ready, and what follows them.

They act on the API server in memory, a moment after each change. What they claim was seen in a real
cluster: tests/explorer/actors holds them against a record of kube-controller-manager. Sources:
https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and the status of each kind in the API reference.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any
from zlib import adler32

import orjson

from pykb.api import Unstructured
from pykb.client.codec import gvk_of
from pykb.client.guard import is_end
from pykb.client.patches import merge_diff
from pykb.explore._history import Fault, FaultKind, Identity, Manifest
from pykb.explore._state import look_at
from pykb.explore._variants import leaves
from pykb.fake import FakeApiServer
from pykb.meta.gvk import GroupVersion
from pykb.runtime import AlreadyExists, ApiError, Client, MergePatch, NoKindMatch

PAUSE = 1.0
"""Virtual seconds between a change and the acts of the cluster's controllers."""

_GROWS = 60.0
"""Virtual seconds after which the load of an autoscaler's workload needs one replica more than the least."""

_DEADLINE = 120.0
"""Virtual seconds after which a Deployment that cannot work is said not to progress. In a cluster, 600 by default."""

NO_SUCH = "-no-such"
"""The end of the name of an image, a path or a class that is nowhere: nobody can pull, answer or provide it."""

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
        self._due: dict[tuple[str, float], float] = {}
        self._old = {look_at(content)["metadata"]["uid"] for content in server.storage.everything()}
        self.worked: set[int] = set()
        """The further actors of which a call did not fail, by their place in the list."""
        self.failed: dict[int, BaseException] = {}
        """The last errors of the further actors."""
        self.made: set[str] = set()
        """The uids of the pods and claims of StatefulSets. Claims stay for ever, and pods keep the name of an earlier
        service: an operator is judged by its StatefulSet."""
        self._changed = asyncio.Event()
        server.storage.observers.append(lambda _: self._changed.set())

    @property
    def is_waiting(self) -> bool:
        """Whether a workload is still to become ready."""
        now = asyncio.get_running_loop().time()
        return any(now < due for due in self._due.values())

    def take_over(self, made: Collection[str]) -> None:
        """Act on what is there already. ``made`` are the uids of what these controllers made of it."""
        self.made.update(made)
        self._changed.set()

    async def run(self) -> None:
        """Act until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE)
            self._changed.clear()
            objects = [look_at(content) for content in self._server.storage.everything()]
            await _Collector(self._server, self._client, objects).run()
            for found in objects:
                if not found["metadata"].get("deletionTimestamp"):
                    await self._act_on(found, objects)
            for number, act in enumerate(self._others):
                try:
                    await act(self._client)
                except BaseException as error:
                    if is_end(error) or _is_cancelled(error):
                        raise
                    self.failed[number] = error  # it is called again after the next change
                else:
                    self.worked.add(number)

    async def _act_on(self, obj: Manifest, objects: Sequence[Manifest]) -> None:
        kind = obj["kind"]
        if kind not in _STATUS or GroupVersion.parse(obj["apiVersion"]).group not in _GROUPS:
            return
        health = self._health_of(obj, objects)
        with contextlib.suppress(ApiError):  # it has changed or gone meanwhile
            if health is Health.REFUSED:
                await _say_refused(self._client, obj)
            if kind == "StatefulSet":
                self.made |= await _Members(self._client, obj, objects, health).run()
            elif kind == "HorizontalPodAutoscaler":
                await _scale(self._client, obj, grows=self._is_over(obj, _GROWS))
            before = obj.get("status") or {}
            now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            status = status_of(obj, health, now, objects)
            if status != before:
                patch = MergePatch({"status": merge_diff(before, status)})
                await self._client.status.patch(Identity.of(obj).manifest, patch)

    def _health_of(self, obj: Manifest, objects: Sequence[Manifest]) -> Health:
        if obj["kind"] in MAKES_PODS and any(_refuses_pods(found, obj) for found in objects):
            return Health.REFUSED
        if is_broken(obj):
            return Health.FAILED if self._is_over(obj, _DEADLINE) and obj["kind"] in _GIVES_UP else Health.STARTING
        if self._delay and self._uid_of(obj) in self._old:
            return Health.READY
        return self._end if not self._delay or self._is_over(obj, self._delay) else Health.STARTING

    def _is_over(self, obj: Manifest, delay: float) -> bool:
        """Whether a time is over that begins with the creation of a workload, or with a spec that cannot work."""
        loop, uid = asyncio.get_running_loop(), self._uid_of(obj)
        if (uid, delay) not in self._due:
            self._due[uid, delay] = loop.time() + delay
            loop.call_at(self._due[uid, delay], self._changed.set)
        return loop.time() >= self._due[uid, delay]

    def _uid_of(self, obj: Manifest) -> str:
        """The uid of the object whose health it has: that of its StatefulSet, or its own."""
        owner = _controller_of(obj)
        uid: str = owner["uid"] if owner.get("kind") == "StatefulSet" else obj["metadata"]["uid"]
        return uid


def needs(obj: Mapping[str, Any]) -> Iterator[str]:
    """What a workload or a claim must find to become ready: images, what its probes call, storage classes."""
    spec = obj.get("spec") or {}
    pod = _pod_of(obj)
    for container in [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]:
        yield container.get("image") or ""
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            yield from (value for _, value in leaves(container.get(probe)) if isinstance(value, str))
    for claim in [obj] if obj.get("kind") == "PersistentVolumeClaim" else spec.get("volumeClaimTemplates") or ():
        yield (claim.get("spec") or {}).get("storageClassName") or ""


def is_broken(obj: Mapping[str, Any]) -> bool:
    """Whether a workload or a claim can never become ready, as its spec is."""
    return any(NO_SUCH in each for each in needs(obj))


def _pod_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of the pods of a workload; empty for other kinds."""
    spec = obj.get("spec") or {}
    if obj.get("kind") == "Pod":
        return spec
    if obj.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    return (spec.get("template") or {}).get("spec") or {} if obj.get("kind") in MAKES_PODS else {}


def _refuses_pods(quota: Manifest, obj: Manifest) -> bool:
    """Whether a quota lets nobody make the pods of a workload."""
    is_near = quota["kind"] == "ResourceQuota" and quota["metadata"]["namespace"] == obj["metadata"].get("namespace")
    return is_near and str((quota["spec"].get("hard") or {}).get("pods")) == "0"


async def _say_refused(client: Client, obj: Manifest) -> None:
    """Say that a quota refuses the pods. The controllers of Deployments and CronJobs say it of objects between."""
    if obj["kind"] not in ("DaemonSet", "Job", "StatefulSet"):
        return
    name = obj["metadata"]["name"]
    event = _warning(
        obj, f"{name}.{obj['metadata']['uid']}", "FailedCreate", f'pods "{name}-0" is forbidden: exceeded quota'
    )
    with contextlib.suppress(AlreadyExists):
        await client.create(event)


def _warning(obj: Manifest, name: str, reason: str, message: str) -> Manifest:
    """An event about an object."""
    metadata = obj["metadata"]
    namespace = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    about = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata.get("namespace") or "default"},
        "involvedObject": about | namespace,
        "type": "Warning",
        "reason": reason,
        "message": message,
    }


def _is_cancelled(error: BaseException) -> bool:
    """Whether the task of the actors ends, rather than a call."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


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
        """Delete what no owner is left of, or take the references out that lead nowhere.

        An object with a reference that nobody can follow stays as it is.
        """
        references = obj["metadata"].get("ownerReferences") or []
        left = [reference for reference in references if self._is_owner(reference, obj)]
        if left == references:
            return
        for reference in references:
            if reference not in left and not await self._can_look_up(reference, obj):
                return
        if left:
            await self._change(obj, {"ownerReferences": left})
        else:
            await self._delete(obj)

    def _is_owner(self, reference: Manifest, obj: Manifest) -> bool:
        """Whether the owner is there, in the namespace of the object or in none."""
        owner = self._alive.get(reference["uid"])
        if owner is None or gvk_of(owner).group_kind != gvk_of(reference).group_kind:
            return False
        return owner["metadata"].get("namespace") in (None, obj["metadata"].get("namespace"))

    async def _can_look_up(self, reference: Manifest, obj: Manifest) -> bool:
        """Whether the garbage collector can find out if an owner is there. It warns of one in another namespace."""
        try:
            mapping = await self._client.mapper.mapping(gvk_of(reference))
        except NoKindMatch:
            return False
        namespace = obj["metadata"].get("namespace")
        if mapping.namespaced and (namespace is None or reference["uid"] in self._alive):
            await self._warn(obj, reference)
        return namespace is not None or not mapping.namespaced

    async def _warn(self, obj: Manifest, reference: Manifest) -> None:
        namespace = obj["metadata"].get("namespace") or "default"
        message = f"ownerRef {reference['kind']}/{reference['name']} does not exist in namespace {namespace!r}"
        name = f"{obj['metadata']['name']}.{reference['uid']}"
        event = _warning(obj, name, "OwnerRefInvalidNamespace", message)
        with contextlib.suppress(ApiError):  # it was said before
            await self._client.create(event)

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
            is_decided = not {_FOREGROUND, _ORPHAN}.isdisjoint(obj["metadata"].get("finalizers") or ())
            with contextlib.suppress(ApiError):
                await self._client.delete(Identity.of(obj).manifest, propagation=None if is_decided else "Background")


class _Members:
    """The pods and the claims of a StatefulSet.

    Source: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
    """

    def __init__(self, client: Client, obj: Manifest, objects: Sequence[Manifest], health: Health) -> None:
        self._client = client
        self._set = obj
        self._objects = objects
        self._health = health
        self._revision = f"{obj['metadata']['name']}-{adler32(orjson.dumps(obj['spec']['template'])):08x}"

    async def run(self) -> set[str]:
        """Make what is missing, and delete what is too many or of an old template. An old pod is made again later.

        Returns:
            The uids of what was made.
        """
        spec = self._set["spec"]
        left, made = set(), set()
        for pod in self._orphans():
            await self._client.patch(
                Identity.of(pod).manifest, MergePatch({"metadata": {"ownerReferences": [_reference_to(self._set)]}})
            )
        for pod in _pods_of(self._set, self._objects):
            labels = pod["metadata"].get("labels") or {}
            ordinal = int(labels.get(_INDEX, 0))
            is_old = labels.get(_REVISION) != self._revision and _strategy_of(spec) == "RollingUpdate"
            left.add(ordinal)
            if not pod["metadata"].get("deletionTimestamp") and (is_old or ordinal >= spec.get("replicas", 1)):
                await self._client.delete(Identity.of(pod).manifest)
        is_parallel = spec.get("podManagementPolicy") == "Parallel"
        for ordinal in range(0 if self._health is Health.REFUSED else spec.get("replicas", 1)):
            if ordinal not in left:
                made |= await self._make(ordinal)
            if self._health is not Health.READY and not is_parallel:
                break  # the next one waits until it is ready
        return made

    def _orphans(self) -> Iterator[Manifest]:
        """Pods without a controller that have a name and the labels of this set."""
        wanted = (self._set["spec"]["selector"].get("matchLabels") or {}).items()
        for found in self._objects:
            metadata = found["metadata"]
            is_near = found["kind"] == "Pod" and metadata["namespace"] == self._set["metadata"]["namespace"]
            if is_near and not _controller_of(found) and wanted <= (metadata.get("labels") or {}).items():
                name, _, ordinal = metadata["name"].rpartition("-")
                if name == self._set["metadata"]["name"] and ordinal.isdecimal():
                    yield found

    async def _make(self, ordinal: int) -> set[str]:
        metadata, spec = self._set["metadata"], self._set["spec"]
        name = f"{metadata['name']}-{ordinal}"
        volumes, made = [], set()
        for template in spec.get("volumeClaimTemplates") or ():
            claim = f"{template['metadata']['name']}-{name}"
            volumes.append({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim}})
            labels = (template["metadata"].get("labels") or {}) | (spec["selector"].get("matchLabels") or {})
            about = {"name": claim, "namespace": metadata["namespace"], "labels": labels}
            with contextlib.suppress(AlreadyExists):  # it stayed from a pod of this name
                created = await self._client.create(
                    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about, "spec": template["spec"]}
                )
                made.add(created["metadata"]["uid"])
        template = spec["template"]
        own = {_REVISION: self._revision, _INDEX: str(ordinal), "statefulset.kubernetes.io/pod-name": name}
        named = {each["name"] for each in volumes}
        kept = [each for each in template["spec"].get("volumes") or () if each["name"] not in named]
        pod: Manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **(template.get("metadata") or {}),
                "name": name,
                "namespace": metadata["namespace"],
                "labels": ((template.get("metadata") or {}).get("labels") or {}) | own,
                "ownerReferences": [_reference_to(self._set)],
            },
            "spec": {
                **template["spec"],
                "hostname": name,
                "subdomain": spec.get("serviceName") or "",
                "volumes": [*kept, *volumes],
            },
        }
        with contextlib.suppress(AlreadyExists):  # somebody else's
            made.add((await self._client.create(pod))["metadata"]["uid"])
        return made


async def _scale(client: Client, autoscaler: Manifest, *, grows: bool) -> None:
    """Bring the replicas of a workload into the limits of its autoscaler.

    If load grows, it needs one more than the least, whatever the limits were before.
    """
    reference = autoscaler["spec"]["scaleTargetRef"]
    metadata = {"name": reference["name"], "namespace": autoscaler["metadata"]["namespace"]}
    target = {"apiVersion": reference.get("apiVersion", "v1"), "kind": reference["kind"], "metadata": metadata}
    spec = (await client.scale.get(gvk_of(target), Unstructured(target))).spec
    replicas = (spec.replicas if spec is not None else None) or 0
    needed = autoscaler["spec"].get("minReplicas", 1) + 1 if replicas and grows else replicas
    wanted = _within_limits(needed, autoscaler)
    if replicas != wanted:
        await client.scale.set_replicas(target, wanted)


def _within_limits(replicas: int, autoscaler: Mapping[str, Any]) -> int:
    spec = autoscaler["spec"]
    return max(spec.get("minReplicas", 1), min(replicas, spec["maxReplicas"])) if replicas else 0


_INDEX = "apps.kubernetes.io/pod-index"
_REVISION = "controller-revision-hash"


def _strategy_of(spec: Manifest) -> str:
    kind: str = (spec.get("updateStrategy") or {}).get("type") or "RollingUpdate"
    return kind


def _controller_of(obj: Manifest) -> Manifest:
    references = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), {})


def _pods_of(owner: Manifest, objects: Iterable[Manifest]) -> Iterator[Manifest]:
    uid = owner["metadata"]["uid"]
    return (found for found in objects if found["kind"] == "Pod" and _controller_of(found).get("uid") == uid)


def _reference_to(owner: Manifest) -> Manifest:
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    blocks = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": uid, **blocks}


Status = dict[str, Any]


class Health(Enum):
    """How a workload is."""

    STARTING = auto()
    READY = auto()
    FAILED = auto()
    REFUSED = auto()
    """A quota lets nobody make its pods."""


def status_of(manifest: Mapping[str, Any], health: Health, now: str, objects: Sequence[Manifest] = ()) -> Status:
    """The status that an object of one of these kinds should have.

    Args:
        manifest: The object.
        health: How it is.
        now: The time of what becomes true.
        objects: All objects of the cluster.
    """
    before = manifest.get("status") or {}
    every = _STATUS[manifest["kind"]](manifest, health, objects)
    status = {name: value for name, value in every.items() if value is not None}
    known = {each["type"]: each for each in before.get("conditions") or ()}
    for condition in status.get("conditions") or ():
        same = known.get(condition["type"], {})
        is_same = same.get("status") == condition["status"]
        condition["lastTransitionTime"] = same.get("lastTransitionTime", now) if is_same else now
    for name in ("startTime", "completionTime", "lastScheduleTime", "lastSuccessfulTime"):
        if name in status:
            status[name] = before.get(name) or now
    return status


def _conditions(**every: tuple[bool, str]) -> list[dict[str, str]]:
    return [{"type": kind, "status": str(holds), "reason": reason} for kind, (holds, reason) in every.items()]


def _deployment(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    replicas = manifest["spec"].get("replicas", 1)
    available = replicas if health is Health.READY else 0
    made = 0 if health is Health.REFUSED else replicas
    is_available = available == replicas
    progress = "NewReplicaSetCreated" if health is Health.REFUSED else "ReplicaSetUpdated"
    if health is Health.FAILED and not is_available:
        progress = "ProgressDeadlineExceeded"
    elif is_available:
        progress = "NewReplicaSetAvailable"
    return {
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "replicas": made or None,
        "updatedReplicas": made or None,
        "readyReplicas": available or None,
        "availableReplicas": available or None,
        "unavailableReplicas": replicas - available or None,
        "conditions": _conditions(
            Available=(is_available, f"MinimumReplicas{'Available' if is_available else 'Unavailable'}"),
            Progressing=(progress != "ProgressDeadlineExceeded", progress),
            **({"ReplicaFailure": (True, "FailedCreate")} if made < replicas else {}),
        ),
    }


def _stateful_set(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    replicas = manifest["spec"].get("replicas", 1)
    is_parallel = manifest["spec"].get("podManagementPolicy") == "Parallel"
    started = replicas if health is Health.READY or is_parallel else min(replicas, 1)
    started = 0 if health is Health.REFUSED else started
    available = replicas if health is Health.READY else 0
    return {
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "replicas": started,
        "currentReplicas": started or None,
        "updatedReplicas": started or None,
        "readyReplicas": available or None,
        "availableReplicas": available,
    }


def _daemon_set(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    """On one node."""
    available = 1 if health is Health.READY else 0
    made = 0 if health is Health.REFUSED else 1
    return {
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "desiredNumberScheduled": 1,
        "currentNumberScheduled": made,
        "updatedNumberScheduled": made or None,
        "numberMisscheduled": 0,
        "numberReady": available,
        "numberAvailable": available or None,
        "numberUnavailable": 1 - available or None,
    }


def _job(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    status: Status = {"startTime": "", "ready": 0, "terminating": 0}
    if health is Health.REFUSED:
        return status
    if health is Health.STARTING:
        return {**status, "active": manifest["spec"].get("parallelism", 1)}
    if health is Health.READY:
        reason = (True, "CompletionsReached")
        done = {"succeeded": manifest["spec"].get("completions", 1), "completionTime": ""}
        return {**status, **done, "conditions": _conditions(SuccessCriteriaMet=reason, Complete=reason)}
    reason = (True, "BackoffLimitExceeded")
    failed = manifest["spec"].get("backoffLimit", 6) + 1
    return {**status, "failed": failed, "conditions": _conditions(FailureTarget=reason, Failed=reason)}


def _pod(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    ready = health is Health.READY
    phase = {Health.READY: "Running", Health.FAILED: "Failed"}.get(health, "Pending")
    containers = [
        {"name": each["name"], "image": each.get("image", ""), "imageID": "", "ready": ready, "restartCount": 0}
        for each in manifest["spec"].get("containers", ())
    ]
    condition = {"type": "Ready", "status": str(ready)}
    return {"phase": phase, "conditions": [condition], "containerStatuses": containers if ready else None}


def _claim(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    if health is not Health.READY:
        return {"phase": "Pending"}
    asked = (manifest["spec"].get("resources") or {}).get("requests")
    return {
        "phase": "Bound",
        "accessModes": manifest["spec"].get("accessModes"),
        "capacity": asked or None,
        "conditions": _conditions(Unused=(True, "NoPodsUsingPVC")),  # since Kubernetes 1.37
    }


def _cron_job(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    """After its first Job, which is over: schedules are not followed."""
    if manifest["spec"].get("suspend") or health in (Health.STARTING, Health.REFUSED):
        return {}
    return {"lastScheduleTime": "", "lastSuccessfulTime": "" if health is Health.READY else None}


def _ingress(_manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    return {"loadBalancer": {"ingress": [{"ip": _ADDRESS}]} if health is Health.READY else {}}


def _service(manifest: Mapping[str, Any], health: Health, _objects: Sequence[Manifest]) -> Status:
    is_balanced = manifest["spec"].get("type") == "LoadBalancer" and health is Health.READY
    return {"loadBalancer": {"ingress": [{"ip": _ADDRESS, "ipMode": "VIP"}]} if is_balanced else {}}


def _budget(manifest: Mapping[str, Any], _health: Health, objects: Sequence[Manifest]) -> Status:
    """Of the workloads that it selects by ``matchLabels``.

    Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/
    """
    spec, namespace = manifest["spec"], manifest["metadata"]["namespace"]
    wanted = ((spec.get("selector") or {}).get("matchLabels") or {}).items()
    expected = healthy = 0
    for found in objects:
        if found["kind"] not in ("Deployment", "StatefulSet") or found["metadata"].get("namespace") != namespace:
            continue
        if wanted <= ((found["spec"]["template"].get("metadata") or {}).get("labels") or {}).items():
            expected += found["spec"].get("replicas", 1)
            healthy += (found.get("status") or {}).get("readyReplicas", 0)
    if "maxUnavailable" in spec:
        desired = max(0, expected - _share(spec["maxUnavailable"], expected))
    else:
        desired = _share(spec.get("minAvailable", 1), expected)
    allowed = max(0, healthy - desired) if expected else 0
    reason = f"{'Sufficient' if allowed else 'Insufficient'}Pods"
    return {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": manifest["metadata"].get("generation", 1),
        "conditions": [{**each, "message": ""} for each in _conditions(DisruptionAllowed=(allowed > 0, reason))],
    }


def _share(value: int | str, total: int) -> int:
    """A number of pods, given as such or as a percentage."""
    return math.ceil(total * int(value.removesuffix("%")) / 100) if isinstance(value, str) else value


def _autoscaler(manifest: Mapping[str, Any], _health: Health, objects: Sequence[Manifest]) -> Status:
    reference, namespace = manifest["spec"]["scaleTargetRef"], manifest["metadata"]["namespace"]
    target = Identity(reference.get("apiVersion", "v1"), reference["kind"], namespace, reference["name"])
    spec = next((found.get("spec") or {} for found in objects if Identity.of(found) == target), {})
    replicas = spec.get("replicas", 1)
    return {"currentReplicas": replicas, "desiredReplicas": _within_limits(replicas, manifest)}


_ADDRESS = "192.0.2.1"
"""What a load balancer has. The address is reserved for documentation (RFC 5737)."""

MAKES_PODS = ("CronJob", "DaemonSet", "Deployment", "Job", "StatefulSet")
"""The kinds that have pods made for them."""

_GIVES_UP = ("Deployment", "CronJob")
"""Kinds that say in the end that they are not ready. The others are never ready, and wait."""

_GROUPS = ("", "apps", "autoscaling", "batch", "networking.k8s.io", "policy")

_STATUS: dict[str, Callable[[Mapping[str, Any], Health, Sequence[Manifest]], Status]] = {
    "CronJob": _cron_job,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "HorizontalPodAutoscaler": _autoscaler,
    "Ingress": _ingress,
    "Job": _job,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod,
    "PodDisruptionBudget": _budget,
    "Service": _service,
    "StatefulSet": _stateful_set,
}

KINDS = tuple(sorted({*_STATUS} - {"HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"}))
"""The kinds that become ready, late, or never."""
