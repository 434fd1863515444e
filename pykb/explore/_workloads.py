"""The status of workloads and volume claims while they start, when they are ready, and when they fail.

tests/explorer/actors compares it with what kube-controller-manager wrote in a real cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

Status = dict[str, Any]


class Health(Enum):
    """How a workload is."""

    STARTING = auto()
    READY = auto()
    FAILED = auto()


def status_of(found: Mapping[str, Any], health: Health, now: str) -> Status | None:
    """The status that an object should have; ``None`` for kinds without one.

    Args:
        found: The object.
        health: How it is.
        now: The time of what becomes true.
    """
    of_kind = _STATUS.get(found["kind"])
    if of_kind is None or found["apiVersion"].partition("/")[0] not in ("v1", "apps", "batch"):
        return None
    before = found.get("status") or {}
    status = {name: value for name, value in of_kind(found, health).items() if value is not None}
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


def _deployment(found: Mapping[str, Any], health: Health) -> Status:
    replicas = found["spec"].get("replicas", 1)
    available = replicas if health is Health.READY else 0
    is_available = available == replicas
    progress = "ReplicaSetUpdated"
    if health is Health.FAILED and not is_available:
        progress = "ProgressDeadlineExceeded"
    elif is_available:
        progress = "NewReplicaSetAvailable"
    return {
        "observedGeneration": found["metadata"].get("generation", 1),
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


def _stateful_set(found: Mapping[str, Any], health: Health) -> Status:
    replicas = found["spec"].get("replicas", 1)
    available = replicas if health is Health.READY else 0
    return {
        "observedGeneration": found["metadata"].get("generation", 1),
        "replicas": replicas,
        "currentReplicas": replicas or None,
        "updatedReplicas": replicas or None,
        "readyReplicas": available or None,
        "availableReplicas": available,
    }


def _daemon_set(found: Mapping[str, Any], health: Health) -> Status:
    """On one node."""
    available = 1 if health is Health.READY else 0
    return {
        "observedGeneration": found["metadata"].get("generation", 1),
        "desiredNumberScheduled": 1,
        "currentNumberScheduled": 1,
        "updatedNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": available,
        "numberAvailable": available or None,
        "numberUnavailable": 1 - available or None,
    }


def _job(found: Mapping[str, Any], health: Health) -> Status:
    status: Status = {"startTime": "", "ready": 0, "terminating": 0}
    if health is Health.STARTING:
        return {**status, "active": found["spec"].get("parallelism", 1)}
    if health is Health.READY:
        reason = (True, "CompletionsReached")
        done = {"succeeded": found["spec"].get("completions", 1), "completionTime": ""}
        return {**status, **done, "conditions": _conditions(SuccessCriteriaMet=reason, Complete=reason)}
    reason = (True, "BackoffLimitExceeded")
    failed = found["spec"].get("backoffLimit", 6) + 1
    return {**status, "failed": failed, "conditions": _conditions(FailureTarget=reason, Failed=reason)}


def _pod(found: Mapping[str, Any], health: Health) -> Status:
    ready = health is Health.READY
    phase = {Health.STARTING: "Pending", Health.READY: "Running", Health.FAILED: "Failed"}[health]
    containers = [{"name": each["name"], "ready": ready} for each in found["spec"].get("containers", ())]
    condition = {"type": "Ready", "status": str(ready)}
    return {"phase": phase, "conditions": [condition], "containerStatuses": containers if ready else None}


def _claim(found: Mapping[str, Any], health: Health) -> Status:
    if health is not Health.READY:
        return {"phase": "Pending"}
    asked = (found["spec"].get("resources") or {}).get("requests")
    return {
        "phase": "Bound",
        "accessModes": found["spec"].get("accessModes"),
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
