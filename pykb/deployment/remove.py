"""Deletes CRDs or the operator, custom objects first: while the manager runs, it can remove its finalizers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from pykb.deployment._preflight import served_versions
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, Object, as_list, counted, names_of, of_kind
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cluster import DELETE_STUCK
from pykb.envtest.reporter import Reporter
from pykb.tools.process import quote

_MARKED = "custom-columns=:kind,:metadata.namespace,:metadata.name,:metadata.deletionTimestamp"
_CALLERS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_HELD = "custom-columns=KIND:kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"


def custom_objects(cluster: Cluster, crds: Iterable[Object]) -> dict[str, int]:
    """How many objects there are of each kind that a CRD defines. Kinds without objects are left out."""
    names = names_of(of_kind(crds, CRD))
    if not names:
        return {}
    found = cluster.kubectl("get", "customresourcedefinitions", *names, "--ignore-not-found", "--output=name")
    kinds = [line.partition("/")[2] for line in found.split()]
    counts = {kind: len(cluster.kubectl("get", kind, "--all-namespaces", "--output=name").split()) for kind in kinds}
    return {kind: count for kind, count in counts.items() if count}


def undeploy(
    cluster: Cluster,
    operator: Sequence[Object],
    held: Mapping[str, int],
    reporter: Reporter,
    *,
    timeout: timedelta,
    force: bool,
) -> list[str]:
    """Delete the custom objects, then the operator with its CRDs. Return what kubectl says of each object.

    Args:
        cluster: The cluster.
        operator: The operator.
        held: The number of custom objects by kind, as of :func:`custom_objects`.
        reporter: Gets the progress.
        timeout: How long to wait for each object.
        force: Whether to delete the manager even if objects still wait for it.

    Raises:
        EnvironmentProblem: Objects are still there after the time.
    """
    said: list[str] = []
    left: list[str] = []
    for kind, count in held.items():
        step = reporter.step(f"deleting {count} {kind}")
        answer = cluster.kubectl.attempt("delete", kind, "--all", "--all-namespaces", _seconds(timeout))
        said += answer.stdout.splitlines()
        if answer.ok:
            step.done()
        else:
            step.failed("some are still there")
            left.append(kind)
    if left and not force:
        raise EnvironmentProblem(
            DELETE_STUCK.at(
                None,
                "these objects are still there, so the manager, which cleans up after them, was not deleted",
                notes=(cluster.kubectl("get", ",".join(left), "--all-namespaces", f"--output={_HELD}").rstrip(),),
                help=(
                    "see the log of the manager",
                    "--timeout 600     # waits longer",
                    "--force           # deletes the manager anyway",
                ),
            )
        )
    said += _stop(cluster, operator, reporter, timeout)
    return [*said, *delete(cluster, operator, reporter, timeout=timeout)]


def _stop(cluster: Cluster, operator: Sequence[Object], reporter: Reporter, timeout: timedelta) -> list[str]:
    """Delete what calls the manager, then the manager, and wait for its pods: to end, they need their permissions."""
    callers = [each for each in operator if each["kind"] in _CALLERS]
    managers = of_kind(operator, "Deployment")
    said = delete(cluster, [*callers, *managers], reporter, timeout=timeout)
    step = reporter.step("stopping the manager")
    for manager in managers:
        labels = ",".join(f"{key}={value}" for key, value in manager["spec"]["selector"]["matchLabels"].items())
        place = f"--namespace={manager['metadata']['namespace']}"
        cluster.kubectl.attempt("wait", "pods", "--for=delete", f"--selector={labels}", place, _seconds(timeout))
    step.done()
    return said


def delete(cluster: Cluster, objects: Sequence[Object], reporter: Reporter, *, timeout: timedelta) -> list[str]:
    """Delete objects, if they are there. Return what kubectl says of each.

    Raises:
        EnvironmentProblem: Some are still there after the time, or the API server refuses.
    """
    step = reporter.step(f"deleting {counted(len(objects))}")
    served = served_versions(cluster)
    known = [each for each in objects if each["apiVersion"] in served]
    answer = cluster.kubectl.attempt(
        "delete", "--ignore-not-found", _seconds(timeout), "--filename=-", stdin=as_list(known)
    )
    if answer.ok:
        step.done()
        return answer.stdout.splitlines()
    step.failed("some are still there")
    raise EnvironmentProblem(
        DELETE_STUCK.at(
            None,
            f"some objects are still there after {timeout.total_seconds():g} s",
            notes=(*_marked(cluster, known), *quote(answer.stderr, source="kubectl wrote")),
            help=(
                "a CRD waits until the finalizers of its objects are removed: is the manager running?",
                "a namespace waits for kube-controller-manager",
            ),
        )
    )


def _marked(cluster: Cluster, objects: Sequence[Object]) -> tuple[str, ...]:
    """The objects that are marked for deletion, as a table."""
    words = ("get", "--filename=-", "--ignore-not-found", "--no-headers", f"--output={_MARKED}")
    lines = cluster.kubectl.attempt(*words, stdin=as_list(objects)).stdout.splitlines()
    marked = [line for line in lines if line.strip() and not line.rstrip().endswith("<none>")]
    return ("\n".join(("marked for deletion:", *marked)),) if marked else ()


def _seconds(timeout: timedelta) -> str:
    return f"--timeout={max(1, round(timeout.total_seconds()))}s"
