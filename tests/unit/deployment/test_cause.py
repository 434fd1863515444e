"""Why a rollout does not end, from objects as clusters have them."""

from __future__ import annotations

from typing import Any

import pytest

from pykb.deployment._rollout import Progress, State, find_cause

_Object = dict[str, Any]


def deployment(**status: Any) -> _Object:
    """The manager, with two replicas."""
    metadata = {"name": "op", "namespace": "op-system", "uid": "d", "generation": 3}
    return {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}, "status": status}


def replica_set(uid: str = "r2", revision: int = 10, **status: Any) -> _Object:
    """One version of it."""
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    metadata = {"name": uid, "uid": uid, "annotations": annotations, "ownerReferences": [{"uid": "d"}]}
    return {"kind": "ReplicaSet", "metadata": metadata, "status": status}


def pod(*containers: _Object, of: str = "r2", **status: Any) -> _Object:
    """One replica."""
    metadata = {"name": "op-1", "uid": "p", "ownerReferences": [{"uid": of}]}
    spec = {"containers": [{"name": "manager", "resources": {"limits": {"memory": "256Mi"}}}]}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"containerStatuses": [*containers], **status}}


def container(state: _Object, *, last: _Object | None = None, restarts: int = 0, ready: bool = False) -> _Object:
    """The state of the manager's container."""
    found = {"name": "manager", "image": "reg/op:1", "state": state, "restartCount": restarts, "ready": ready}
    return {**found, "lastState": last} if last else found


def event(reason: str, message: str, uid: str = "p") -> _Object:
    """What a kubelet says."""
    return {"kind": "Event", "metadata": {}, "reason": reason, "message": message, "involvedObject": {"uid": uid}}


def waiting(reason: str, message: str = "") -> _Object:
    """A container that is not made yet."""
    return container({"waiting": {"reason": reason, "message": message}})


REFUSED = {
    "type": "ReplicaFailure",
    "status": "True",
    "message": 'pods "op" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
}
ENDED = {"terminated": {"exitCode": 3, "reason": "Error"}}
KILLED = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
STOPPED = {"terminated": {"exitCode": 137, "reason": "Error"}}
NO_PROGRAM = {"terminated": {"exitCode": 128, "reason": "StartError", "message": "exec: no such file or directory"}}
PRESSURE = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi."
OVER_QUOTA = {
    "type": "ReplicaFailure",
    "status": "True",
    "message": 'pods "op-1" is forbidden: exceeded quota: team, requested: limits.memory=256Mi, used: limits.memory=0',
}


def unschedulable(reason: str) -> _Object:
    """What the scheduler says of a pod."""
    message = f"0/3 nodes are available: {reason}."
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


@pytest.mark.parametrize(
    ("objects", "title", "final"),
    [
        ([replica_set(conditions=[REFUSED])], "Pod Security refuses its pods", True),
        ([replica_set(), pod(waiting("ErrImagePull"))], "the image `reg/op:1` cannot be pulled", False),
        ([replica_set(), pod(waiting("ImagePullBackOff"))], "the image `reg/op:1` cannot be pulled", True),
        ([replica_set(), pod(waiting("CreateContainerConfigError"))], "the container `manager` cannot be made", True),
        ([replica_set(), pod(container(ENDED))], "the manager crashes (exit code 3)", False),
        (
            [replica_set(), pod(container({"waiting": {"reason": "CrashLoopBackOff"}}, last=ENDED, restarts=2))],
            "the manager crashes (exit code 3)",
            True,
        ),
        (
            [replica_set(), pod(container({"running": {}}, last=KILLED, restarts=1))],
            "the manager was killed at its memory limit of 256Mi",
            False,
        ),
        (
            [replica_set(), pod(container({"waiting": {"reason": "CrashLoopBackOff"}}, last=NO_PROGRAM, restarts=3))],
            "the manager's program cannot be started",
            True,
        ),
        (
            [
                replica_set(),
                pod(container({"running": {}}, last=STOPPED, restarts=1)),
                event("Killing", "Container manager failed liveness probe, will be restarted"),
            ],
            "the manager does not answer its liveness probe",
            False,
        ),
        ([replica_set(conditions=[OVER_QUOTA])], "a ResourceQuota refuses its pods", True),
        ([replica_set(), pod(phase="Failed", reason="Evicted", message=PRESSURE)], "its node evicted the pod", False),
        (
            [replica_set(), pod(phase="Failed", reason="OutOfmemory", message="Node didn't have enough resource")],
            "its node ended the pod (OutOfmemory)",
            False,
        ),
        (
            [
                replica_set(),
                pod(phase="Failed", reason="Evicted", message=PRESSURE),
                pod(waiting("ErrImagePull")),
            ],
            "the image `reg/op:1` cannot be pulled",
            False,
        ),
        (
            [
                replica_set(),
                pod(waiting("ContainerCreating")),
                event(
                    "FailedCreatePodSandBox",
                    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: "
                    'plugin type="calico" failed (add): stat /var/lib/calico/nodename: no such file or directory',
                ),
            ],
            "its node cannot set up the pod's sandbox and network",
            False,
        ),
        (
            [replica_set(), pod(conditions=[unschedulable("3 node(s) had untolerated taint(s)")])],
            "the nodes have taints that its pod does not tolerate",
            False,
        ),
        (
            [
                replica_set(),
                pod(conditions=[unschedulable("1 node(s) had untolerated taint {dedicated: db}, 2 Insufficient cpu")]),
            ],
            "no node has room for its pod",
            False,
        ),
        (
            [replica_set(), pod(conditions=[unschedulable("3 node(s) didn't match Pod's node affinity/selector")])],
            "no node has the labels that its pod asks for",
            False,
        ),
        (
            [replica_set(), pod(conditions=[unschedulable("3 node(s) had volume node conflict")])],
            "no node takes its pod",
            False,
        ),
        (
            [replica_set(), pod(conditions=[unschedulable("3 Insufficient memory")])],
            "no node has room for its pod",
            False,
        ),
        (
            [
                replica_set(),
                pod(waiting("ContainerCreating")),
                event("FailedMount", 'MountVolume.SetUp failed: secret "webhook-server-cert" not found'),
            ],
            "a Secret is missing, such as that of a certificate",
            False,
        ),
        (
            [replica_set(), pod(container({"running": {}})), event("Unhealthy", "Readiness probe failed: 500")],
            "the manager is not ready",
            False,
        ),
    ],
)
def test_the_cause_is_named(objects: list[_Object], title: str, *, final: bool) -> None:
    """And whether it is worth to wait longer."""
    cause = find_cause(State.of("op", [deployment(), *objects]))
    assert cause is not None
    assert (cause.title, cause.is_final) == (title, final)


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [replica_set()],
        [replica_set(), pod(waiting("ContainerCreating"))],
        [replica_set(), pod(container({"running": {}}, ready=True)), event("Unhealthy", "while it started")],
        [replica_set("r1", 9), pod(waiting("ImagePullBackOff"), of="r1"), replica_set("r2", 10)],
        [replica_set(), event("FailedMount", "of another pod", uid="x"), pod(waiting("ContainerCreating"))],
    ],
)
def test_what_is_on_its_way_has_no_cause(objects: list[_Object]) -> None:
    """Neither have pods of an earlier version."""
    assert find_cause(State.of("op", [deployment(), *objects])) is None


def test_a_crash_says_whose_log_to_read() -> None:
    """That of the container that ended, if it was started again."""
    crashed = pod(container({"waiting": {"reason": "CrashLoopBackOff"}}, last=ENDED, restarts=4))
    cause = find_cause(State.of("op", [deployment(), replica_set(), crashed]))
    assert cause is not None
    assert (cause.pod, cause.container, cause.has_ended) == ("op-1", "manager", True)
    assert cause.notes == ("it was started 5 times",)


@pytest.mark.parametrize(
    ("status", "complete"),
    [
        ({}, False),
        ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, True),
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, False),
        ({"observedGeneration": 3, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}, False),
        ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}, False),
    ],
)
def test_a_rollout_is_complete_when_all_are_available(status: _Object, *, complete: bool) -> None:
    """Of the version that was applied, and no earlier one is left."""
    assert Progress.of(deployment(**status)).complete is complete
