"""Deletes CRDs or the operator, custom objects first: while the manager runs, it can remove its finalizers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from pykb.deployment._preflight import as_list
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, Manifests, names_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.deployment import DELETE_STUCK
from pykb.envtest.reporter import Reporter
from pykb.tools.process import quote

_MARKED = "custom-columns=:kind,:metadata.namespace,:metadata.name,:metadata.deletionTimestamp"
_HELD = "custom-columns=KIND:kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"


def custom_objects(cluster: Cluster, crds: Manifests) -> dict[str, int]:
    """How many objects there are of each kind that a CRD defines. Kinds that are not installed are left out."""
    names = names_of(crds.of_kind(CRD))
    if not names:
        return {}
    found = cluster.kubectl("get", "customresourcedefinitions", *names, "--ignore-not-found", "--output=name")
    kinds = [line.partition("/")[2] for line in found.split()]
    return {kind: len(cluster.kubectl("get", kind, "--all-namespaces", "--output=name").split()) for kind in kinds}


def undeploy(
    cluster: Cluster, operator: Manifests, crds: Manifests, reporter: Reporter, *, timeout: timedelta, force: bool
) -> list[str]:
    """Delete the custom objects, then the operator with its CRDs. Return what kubectl says of each object.

    Args:
        cluster: The cluster.
        operator: The operator.
        crds: Its CRDs.
        reporter: Gets the progress.
        timeout: How long to wait for each object.
        force: Whether to delete the manager even if objects still wait for it.

    Raises:
        EnvironmentProblem: Objects are still there after the time.
    """
    kinds = custom_objects(cluster, crds)
    said: list[str] = []
    left: list[str] = []
    for kind, count in kinds.items():
        if not count:
            continue
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
    return [*said, *delete(cluster, operator, reporter, timeout=timeout)]


def delete(cluster: Cluster, manifests: Manifests, reporter: Reporter, *, timeout: timedelta) -> list[str]:
    """Delete objects, if they are there. Return what kubectl says of each.

    Raises:
        EnvironmentProblem: Some are still there after the time, or the API server refuses.
    """
    count = len(manifests.objects)
    step = reporter.step(f"deleting {count} object{'s' * (count != 1)}")
    served = set(cluster.kubectl("api-versions").split())
    known = [each for each in manifests.objects if each["apiVersion"] in served]
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


def _marked(cluster: Cluster, objects: Sequence[dict[str, object]]) -> tuple[str, ...]:
    """The objects that are marked for deletion, as a table."""
    words = ("get", "--filename=-", "--ignore-not-found", "--no-headers", f"--output={_MARKED}")
    lines = cluster.kubectl.attempt(*words, stdin=as_list(objects)).stdout.splitlines()
    marked = [line for line in lines if line.strip() and not line.rstrip().endswith("<none>")]
    return ("\n".join(("marked for deletion:", *marked)),) if marked else ()


def _seconds(timeout: timedelta) -> str:
    return f"--timeout={max(1, round(timeout.total_seconds()))}s"
