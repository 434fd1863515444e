"""Follows the rollout of a Deployment, and says why it does not end."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pykb.deployment._cause import Cause, State, find_cause
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import title_of
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.cluster import ROLLOUT_FAILED
from pykb.envtest.reporter import Reporter, Step

_INTERVAL = 1.0
_LOG_LINES = 12


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rollout is.

    Attributes:
        wanted: The desired number of replicas.
        available: How many of the new version are available.
        complete: Whether all are, and no replica of an earlier version is left.
    """

    wanted: int
    available: int
    complete: bool

    @classmethod
    def of(cls, deployment: dict[str, Any]) -> Progress:
        """The progress of a Deployment, by the rules of ``kubectl rollout status``."""
        wanted = deployment["spec"].get("replicas", 1)
        status = deployment.get("status") or {}
        updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
        seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        complete = seen and updated == available == wanted == status.get("replicas", 0)
        return cls(wanted, min(updated, available), complete)


def follow(cluster: Cluster, deployment: dict[str, Any], reporter: Reporter, *, timeout: timedelta) -> None:
    """Wait until all replicas of a Deployment are available.

    Args:
        cluster: The cluster.
        deployment: The Deployment that was applied.
        reporter: Gets the progress.
        timeout: The maximum time to wait. A cause that does not go away by itself ends the wait earlier.

    Raises:
        EnvironmentProblem: The rollout failed. The diagnostic says why.
    """
    step = reporter.step(f"starting {title_of(deployment)}")
    try:
        _follow(cluster, deployment, step, timeout)
    except KeyboardInterrupt:
        step.failed("everything was applied, and the rollout continues")
        raise


def _follow(cluster: Cluster, deployment: dict[str, Any], step: Step, timeout: timedelta) -> None:
    end = time.monotonic() + timeout.total_seconds()
    while True:
        state = _state(cluster, deployment)
        progress = Progress.of(state.deployment)
        if progress.complete:
            step.done(f"{progress.available} of {progress.wanted} replicas")
            return
        cause = find_cause(state)
        step.update(f"{progress.available} of {progress.wanted} replicas{f': {cause.title}' if cause else ''}")
        is_over = time.monotonic() >= end
        if is_over or (cause is not None and cause.is_final):
            step.failed(cause.title if cause else f"not available after {timeout.total_seconds():g} s")
            raise EnvironmentProblem(_diagnostic(cluster, deployment, cause, timeout))
        time.sleep(min(_INTERVAL, max(0.0, end - time.monotonic())))


def _state(cluster: Cluster, deployment: dict[str, Any]) -> State:
    """Read everything about a rollout in one request of kubectl."""
    kinds = "deployments.apps,replicasets.apps,pods,events"
    answer = cluster.kubectl("get", kinds, f"--namespace={_namespace(deployment)}", "--output=json")
    return State.of(deployment["metadata"]["name"], json.loads(answer)["items"])


def _namespace(deployment: dict[str, Any]) -> str:
    return str(deployment["metadata"].get("namespace", "default"))


def _diagnostic(cluster: Cluster, deployment: dict[str, Any], cause: Cause | None, timeout: timedelta) -> Diagnostic:
    namespace = _namespace(deployment)
    if cause is None:
        cause = Cause(f"not all replicas are available after {timeout.total_seconds():g} s")
    notes = [*cause.notes]
    if cause.pod and (log := _log(cluster, cause, namespace)):
        notes.append(log)
    notes.append("everything was applied; the earlier version of the manager keeps running, if there was one")
    return ROLLOUT_FAILED.at(
        None,
        f"{title_of(deployment)} does not start: {cause.title}",
        notes=tuple(notes),
        help=(*cause.remedies, f"kubectl get pods,events --namespace {namespace}"),
    )


def _log(cluster: Cluster, cause: Cause, namespace: str) -> str:
    """The last lines of the container that crashed, or that is not ready."""
    words = ("logs", cause.pod, f"--namespace={namespace}", f"--container={cause.container}", f"--tail={_LOG_LINES}")
    for previous in (("--previous",), ()) if cause.has_ended else ((),):
        answer = cluster.kubectl.attempt(*words, *previous)
        if answer.ok and answer.stdout.strip():
            return "\n".join(("its last lines:", *answer.stdout.rstrip().splitlines()))
    return ""
