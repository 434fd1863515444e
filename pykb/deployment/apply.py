"""Installs CRDs, deploys the operator, and shows what either would change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta

from pykb.deployment._preflight import check_accepted, check_served, split
from pykb.deployment._rollout import follow
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, Object, as_list, counted, names_of, of_kind, title_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import COMMAND_FAILED
from pykb.envtest.reporter import Reporter
from pykb.tools.kubectl import APPLY, Kubectl
from pykb.tools.process import quote

_CRD_TIMEOUT = timedelta(seconds=60)
_COMMAND = re.compile(r"^diff -.*\n", re.MULTILINE)
_TEMPORARY = re.compile(r"^(---|\+\+\+) \S*/(?:LIVE|MERGED)-\d+/(\S+)\t.*\n", re.MULTILINE)
"""kubectl compares files in temporary folders. Their names say what is compared, their times nothing."""


def install(cluster: Cluster, crds: Sequence[Object], reporter: Reporter) -> list[str]:
    """Apply CRDs and wait until they are served. Return what kubectl says of each.

    Raises:
        EnvironmentProblem: The API server refuses one.
    """
    check_accepted(cluster, crds)
    return _apply(cluster, crds, reporter)


def deploy(cluster: Cluster, operator: Sequence[Object], reporter: Reporter, *, timeout: timedelta | None) -> list[str]:
    """Apply the operator, and wait until its replicas are available. Return what kubectl says of each object.

    Args:
        cluster: The cluster.
        operator: The operator.
        reporter: Gets the progress.
        timeout: How long to wait for the replicas. ``None`` means not at all.

    Raises:
        EnvironmentProblem: The API server refuses an object, or the manager does not start.
    """
    check_served(cluster, operator)
    check_accepted(cluster, split(cluster, operator)[0])
    said = _apply(cluster, operator, reporter)
    if timeout is not None:
        for deployment in of_kind(operator, "Deployment"):
            follow(cluster, deployment, reporter, timeout=timeout)
    return said


def diff(cluster: Cluster, objects: Sequence[Object]) -> str:
    """Show what an apply would change in the cluster, as a diff. Objects in new namespaces are listed.

    Raises:
        EnvironmentProblem: The API server refuses an object.
    """
    check_served(cluster, objects)
    tried, new = split(cluster, objects)
    answer = cluster.kubectl.attempt("diff", *APPLY, stdin=as_list(tried))
    if answer.code > 1:
        raise EnvironmentProblem(
            COMMAND_FAILED.at(None, "`kubectl diff` failed", notes=quote(answer.stderr, source="it wrote"))
        )
    changes = _TEMPORARY.sub(r"\1 \2\n", _COMMAND.sub("", answer.stdout))
    return changes + "".join(f"+ {title_of(each)}\n" for each in new)


def _apply(cluster: Cluster, objects: Sequence[Object], reporter: Reporter) -> list[str]:
    step = reporter.step("applying")
    said = cluster.kubectl.apply(as_list(objects)).splitlines()
    if crds := of_kind(objects, CRD):
        step.update("waiting until the CRDs are served")
        wait_established(cluster.kubectl, names_of(crds))
    step.done(counted(len(said)))
    return said


def wait_established(kubectl: Kubectl, names: Iterable[str], *, timeout: timedelta = _CRD_TIMEOUT) -> None:
    """Wait until CRDs are served.

    Raises:
        EnvironmentProblem: They are not in time.
    """
    crds = [f"customresourcedefinition/{name}" for name in names]
    kubectl("wait", "--for=condition=Established", f"--timeout={timeout.total_seconds():g}s", *crds)
