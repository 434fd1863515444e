"""What Kubernetes' own controllers do, as scenarios for a cluster and for the explorer's actors.

Each returns facts without names, times and words. Against a cluster, :func:`kubelet` makes its pods ready or
lets them fail: a control plane without nodes is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pykb.api import Unstructured
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Client, Forbidden, MergePatch

Facts = Any
Until = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
"""Waits until something holds."""


def polling(pause: float) -> Until:
    """Look again and again."""

    async def until(holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(300 * pause):
            while not await holds():  # noqa: ASYNC110 - a cluster tells no event of ours
                await asyncio.sleep(pause)

    return until


POD = GroupVersionKind("", "v1", "Pod")
EVENT = GroupVersionKind("", "v1", "Event")
CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
_LABELS = {"app": "it"}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": {"containers": [{"name": "c", "image": "example.com/it:v1"}]}}
_ONCE = {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}
_SELECTED = {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
_CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "by-hand",
}
WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "Deployment": ("apps/v1", {"replicas": 2, **_SELECTED}),
    "StatefulSet": ("apps/v1", {"replicas": 2, "serviceName": "it", "podManagementPolicy": "Parallel", **_SELECTED}),
    "Deployment without progress": ("apps/v1", {"replicas": 2, "progressDeadlineSeconds": 2, **_SELECTED}),
    "DaemonSet": ("apps/v1", _SELECTED),
    "Job": ("batch/v1", {"backoffLimit": 0, "template": _ONCE}),
    "PersistentVolumeClaim": ("v1", _CLAIM),
}

CASES = {
    "Deployment": ("Deployment", "Running"),
    "Deployment that fails": ("Deployment without progress", ""),
    "StatefulSet": ("StatefulSet", "Running"),
    "DaemonSet": ("DaemonSet", "Running"),
    "Job": ("Job", "Succeeded"),
    "Job that fails": ("Job", "Failed"),
    "PersistentVolumeClaim": ("PersistentVolumeClaim", ""),
}
"""A workload, and the phase that its pods reach."""


def manifest(api_version: str, kind: str, namespace: str, **content: Any) -> dict[str, Any]:
    """An object with the name `it`."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it", "namespace": namespace}, **content}


def reduced(status: dict[str, Any]) -> Facts:
    """A status without times, words, and what follows from them."""
    kept = {name: value for name, value in status.items() if not name.endswith("Time") and name not in _COUNTED}
    for condition in kept.get("conditions") or ():
        for name in [name for name in condition if name not in ("type", "status", "reason")]:
            del condition[name]
    if "conditions" in kept:
        kept["conditions"] = sorted(kept["conditions"], key=lambda each: str(each["type"]))
    return {name: value for name, value in sorted(kept.items()) if value not in ({}, [], None)}


_REVISION = "controller-revision-hash"
_COUNTED = ("collisionCount", "currentRevision", "updateRevision", "uncountedTerminatedPods", "terminatingReplicas")


async def workload(
    client: Client, until: Until, namespace: str, kind: str, act: Callable[[], Awaitable[None]]
) -> Facts:
    """The status of a workload before and after its pods become ready, or fail.

    Args:
        client: Of the cluster.
        until: Waits.
        namespace: Where the workload is.
        kind: Its kind.
        act: Does what a node or a volume does.
    """
    api_version, spec = WORKLOADS[kind]
    made = await client.create(Unstructured(manifest(api_version, kind.partition(" ")[0], namespace, spec=spec)))
    facts = [await settled(client, until, made)]
    await act()
    facts.append(await settled(client, until, made, other_than=facts[0]))
    await client.delete(made, propagation="Background", missing_ok=True)
    return facts


async def settled(client: Client, until: Until, obj: Any, other_than: Facts = None) -> Facts:
    """The status, as soon as it is there (or another one) and does not change any more."""
    seen: list[Facts] = []

    async def is_stable() -> bool:
        seen.append(reduced((await client.get(obj.gvk, obj)).data.get("status") or {}))
        last = seen[-6:]
        return len(last) == 6 and last[0] != other_than and all(each == last[0] for each in last)

    await until(is_stable)
    return seen[-1]


async def stateful_set(client: Client, until: Until, namespace: str) -> Facts:
    """The pods and claims of a StatefulSet that grows, shrinks and goes. Something else makes its pods ready."""
    claims = [{"metadata": {"name": "data"}, "spec": _CLAIM}]
    spec = {"replicas": 2, "serviceName": "it", **_SELECTED, "volumeClaimTemplates": claims}
    made = await client.create(Unstructured(manifest("apps/v1", "StatefulSet", namespace, spec=spec)))
    facts = {}
    for replicas in (2, 1, 3):
        await client.patch(made, MergePatch({"spec": {"replicas": replicas}}))
        facts[f"{replicas} replicas"] = await _members(client, until, namespace, replicas)
    await client.delete(made, propagation="Background")
    facts["deleted"] = await _members(client, until, namespace, 0)
    return facts


async def _members(client: Client, until: Until, namespace: str, replicas: int) -> Facts:
    found: dict[str, Any] = {}

    async def are_there() -> bool:
        for kind in (POD, CLAIM):
            found[kind.kind] = [_member(each.data) for each in await client.list(kind, namespace=namespace)]
        return len(found["Pod"]) == replicas

    await until(are_there)
    return dict(found)


def _member(obj: dict[str, Any]) -> Facts:
    metadata, spec = obj["metadata"], obj["spec"]
    return {
        "name": metadata["name"],
        "labels": {key: value for key, value in (metadata.get("labels") or {}).items() if key != _REVISION},
        "owners": [
            {name: value for name, value in each.items() if name != "uid"}
            for each in metadata.get("ownerReferences") or ()
        ],
        "host": [spec.get("hostname"), spec.get("subdomain")],
        "claims": [
            each["persistentVolumeClaim"] for each in spec.get("volumes") or () if "persistentVolumeClaim" in each
        ],
    }


async def disruption_budget(client: Client, until: Until, namespace: str, act: Callable[[], Awaitable[None]]) -> Facts:
    """What a PodDisruptionBudget says of a workload, before and after its pods are ready."""
    await client.create(Unstructured(manifest("apps/v1", "StatefulSet", namespace, spec=WORKLOADS["StatefulSet"][1])))
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}}
    made = await client.create(Unstructured(manifest("policy/v1", "PodDisruptionBudget", namespace, spec=spec)))
    facts = [await settled(client, until, made)]
    await act()
    return [*facts, await settled(client, until, made, other_than=facts[0])]


async def autoscaler(client: Client, until: Until, namespace: str) -> Facts:
    """What a HorizontalPodAutoscaler makes of the replicas of its workload, without any metrics."""
    target = await client.create(
        Unstructured(manifest("apps/v1", "Deployment", namespace, spec={**_SELECTED, "replicas": 1}))
    )
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "it"}
    facts: dict[str, Any] = {}
    spec = {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 4}
    made = await client.create(
        Unstructured(manifest("autoscaling/v2", "HorizontalPodAutoscaler", namespace, spec=spec))
    )
    for before, expected in ((1, 2), (9, 4)):

        async def is_scaled(expected: int = expected) -> bool:
            scaled = (await client.get(target.gvk, target)).data["spec"]["replicas"]
            said = ((await client.get(made.gvk, made)).data.get("status") or {}).get("desiredReplicas")
            return bool(scaled == said == expected)

        if before > 1:
            await client.patch(target, MergePatch({"spec": {"replicas": before}}))
        await until(is_scaled)
        facts[f"{before} replicas"] = expected
    return facts


async def cron_job(client: Client, until: Until, namespace: str) -> Facts:
    """What a CronJob says after its first Job."""
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _ONCE}}}
    made = await client.create(Unstructured(manifest("batch/v1", "CronJob", namespace, spec=spec)))

    async def has_run() -> bool:
        return "lastSuccessfulTime" in ((await client.get(made.gvk, made)).data.get("status") or {})

    await until(has_run)
    return sorted((await client.get(made.gvk, made)).data["status"])


async def quota(client: Client, until: Until, namespace: str) -> Facts:
    """What workloads and those who make pods learn of a quota without pods, and what comes after it."""
    made = await client.create(Unstructured(manifest("v1", "ResourceQuota", namespace, spec={"hard": {"pods": "0"}})))

    async def pod() -> str:
        try:
            await client.create(Unstructured(manifest("v1", "Pod", namespace, spec=_TEMPLATE["spec"])))
        except Forbidden as error:
            return str(error)
        return ""

    facts: dict[str, Any] = {}

    async def is_refused() -> bool:  # a cluster counts what is used first
        facts["Pod"] = await pod()
        return "exceeded" in facts["Pod"]

    await until(is_refused)
    every = {}
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        api_version, spec = WORKLOADS[kind]
        every[kind] = await client.create(Unstructured(manifest(api_version, kind, namespace, spec=spec)))
    for kind, obj in every.items():
        facts[kind] = [await settled(client, until, obj)]
        facts[f"{kind}, said"] = [why for why in await _events(client, obj) if why.startswith("Failed")]
    await client.delete(made)
    for kind, obj in every.items():
        # A cluster tries again later and later, and at once after a change.
        await client.patch(obj, MergePatch({"metadata": {"annotations": {"example.com/again": "now"}}}))
        facts[kind].append(await settled(client, until, obj, other_than=facts[kind][0]))
    return facts


# -- owners


def _child(namespace: str, name: str, *owners: tuple[Unstructured, bool | None]) -> Unstructured:
    references = []
    for owner, blocks in owners:
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner.data["metadata"]["name"],
            "uid": owner.data["metadata"]["uid"],
        }
        references.append(reference | ({"blockOwnerDeletion": blocks} if blocks is not None else {}))
    metadata = {"name": name, "namespace": namespace, "ownerReferences": references}
    return Unstructured({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def owners(client: Client, until: Until, namespace: str, other: str) -> Facts:
    """Which objects are left after the deletion of an owner, by kind of deletion."""
    facts: dict[str, Any] = {}
    for name in ("Background", "Foreground", "Orphan"):
        owner = await client.create(_child(namespace, f"{name.lower()}-owner"))
        child = await client.create(_child(namespace, f"{name.lower()}-child", (owner, True)))
        grandchild = await client.create(_child(namespace, f"{name.lower()}-grandchild", (child, None)))
        await client.delete(owner, propagation=name)  # type: ignore[arg-type] # one of its values
        facts[name] = await _left(client, until, owner, child, grandchild)
    facts |= await _held(client, until, namespace)
    first, second = [await client.create(_child(namespace, name)) for name in ("first", "second")]
    both = await client.create(_child(namespace, "both", (first, None), (second, None)))
    await client.delete(first, propagation="Background")
    facts["one of two owners"] = await _left(client, until, both)
    abroad = await client.create(_child(other, "abroad", (second, None)))
    facts["an owner in another namespace"] = await _left(client, until, abroad)
    facts["an owner in another namespace, said"] = await _events(client, abroad)
    past = await client.create(_child(namespace, "past", (first, None)))
    facts["an owner that is gone"] = await _left(client, until, past)
    return facts | await _misnamed(client, until, namespace, second)


async def _misnamed(client: Client, until: Until, namespace: str, owner: Unstructured) -> Facts:
    """References that nobody can follow, and one that leads to nothing."""
    facts = {}
    for name, api_version, kind in (("unknown", "example.com/v1", "Nothing"), ("another", "v1", "Secret")):
        child = _child(namespace, f"of-{name}", (owner, None))
        child.data["metadata"]["ownerReferences"][0] |= {"apiVersion": api_version, "kind": kind}
        facts[f"an owner of {name} kind"] = await _left(client, until, await client.create(child))
    metadata = {**_child("", namespace, (owner, None)).data["metadata"], "namespace": None}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata}
    everywhere = await client.create(Unstructured(role))
    facts["an owner in a namespace"] = await _left(client, until, everywhere)
    facts["an owner in a namespace, said"] = await _events(client, everywhere)
    await client.delete(owner, propagation="Background")
    facts["an owner in a namespace, deleted"] = await _left(client, until, everywhere)
    await client.delete(everywhere)
    return facts


async def _events(client: Client, obj: Unstructured) -> Facts:
    """The reasons of what was said about an object."""
    events = await client.list(EVENT, namespace=obj.data["metadata"].get("namespace") or "default")
    return sorted({each.data["reason"] for each in events if each.data["involvedObject"]["uid"] == obj.metadata["uid"]})


async def _held(client: Client, until: Until, namespace: str) -> Facts:
    """An owner that is deleted in the foreground waits for dependents that block it, and for no others."""
    facts = {}
    for blocks in (True, False):
        owner = await client.create(_child(namespace, f"held-owner-{blocks}".lower()))
        child = _child(namespace, f"held-child-{blocks}".lower(), (owner, blocks))
        child.data["metadata"]["finalizers"] = ["example.com/hold"]
        child = await client.create(child)
        await client.delete(owner, propagation="Foreground")
        facts[f"Foreground, held, blocks {blocks}"] = await _left(client, until, owner, child)
        await client.patch(child, MergePatch({"metadata": {"finalizers": None}}))
        facts[f"Foreground, let go, blocks {blocks}"] = await _left(client, until, owner, child)
    return facts


async def _left(client: Client, until: Until, *objects: Unstructured) -> Facts:
    """For each object whether it is there, is going, or how many owners it has left."""
    seen: list[Facts] = []

    async def is_stable() -> bool:
        found = [await client.find(each.gvk, each) for each in objects]
        seen.append([_state(each) for each in found])
        last = seen[-6:]
        return len(last) == 6 and all(each == last[0] for each in last)

    await until(is_stable)
    return seen[-1]


def _state(found: Unstructured | None) -> Facts:
    if found is None:
        return "gone"
    if "deletionTimestamp" in found.data["metadata"]:
        return "going, " + ", ".join(found.data["metadata"].get("finalizers") or ["no finalizer"])
    return f"there, owners: {len(found.metadata.get('ownerReferences') or ())}"


async def namespace_goes(client: Client, until: Until, namespace: str) -> Facts:
    """What is left of a namespace that is deleted, and its phase while an object in it is held."""
    held = _child(namespace, "held")
    held.data["metadata"]["finalizers"] = ["example.com/hold"]
    held = await client.create(held)
    free = await client.create(_child(namespace, "free"))
    space = GroupVersionKind("", "v1", "Namespace")
    await client.delete(space, namespace)

    async def is_empty() -> bool:
        return await client.find(CONFIG_MAP, free) is None

    await until(is_empty)
    facts = [_state(await client.find(CONFIG_MAP, held)), (await client.get(space, namespace)).data["status"]["phase"]]
    await client.patch(held, MergePatch({"metadata": {"finalizers": None}}))

    async def is_gone() -> bool:
        return await client.find(space, namespace) is None

    await until(is_gone)
    return [*facts, "gone"]


# -- what nodes and volumes do in a cluster


async def kubelet(client: Client, namespace: str, phase: str) -> None:
    """Let all pods of a namespace run and be ready, or end."""
    for _ in range(20):
        for pod in await client.list(POD, namespace=namespace):
            ready = "True" if phase == "Running" else "False"
            if (pod.data.get("status") or {}).get("phase") == phase:
                continue
            status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
            await client.status.patch(pod, MergePatch({"status": status}))
        await asyncio.sleep(0.2)


async def volume(client: Client, name: str) -> None:
    """Make a volume that fits the claim."""
    spec = {
        "accessModes": _CLAIM["accessModes"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/var/tmp/it"},
        "storageClassName": _CLAIM["storageClassName"],
    }
    await client.create(
        Unstructured({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
    )


async def node(client: Client, name: str) -> None:
    """Make a node that nothing runs on."""
    await client.create(Unstructured({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
