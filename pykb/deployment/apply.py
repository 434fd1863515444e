"""Installs CRDs, deploys the operator, and shows what either would change."""

from __future__ import annotations

import re
from datetime import timedelta

from pykb.deployment._preflight import as_list, check_accepted, check_served, split
from pykb.deployment._rollout import follow
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, Manifests, names_of, title_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import COMMAND_FAILED
from pykb.envtest.reporter import Reporter
from pykb.tools.kubectl import APPLY
from pykb.tools.process import quote

_ESTABLISHED = "--for=condition=Established"
_CRD_TIMEOUT = timedelta(seconds=60)
_COMMAND = re.compile(r"^diff -.*\n", re.MULTILINE)
_TEMPORARY = re.compile(r"^(---|\+\+\+) \S*/(?:LIVE|MERGED)-\d+/(\S+)\t.*\n", re.MULTILINE)
"""kubectl compares files in temporary folders. Their names say what is compared, their times nothing."""


def install(cluster: Cluster, crds: Manifests, reporter: Reporter) -> list[str]:
    """Apply CRDs and wait until they are served. Return what kubectl says of each.

    Raises:
        EnvironmentProblem: The API server refuses one.
    """
    check_accepted(cluster, crds.objects)
    return _apply(cluster, crds, reporter)


def deploy(cluster: Cluster, operator: Manifests, reporter: Reporter, *, timeout: timedelta | None) -> list[str]:
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
    for deployment in operator.of_kind("Deployment") if timeout is not None else ():
        follow(cluster, deployment, reporter, timeout=timeout or timedelta())
    return said


def diff(cluster: Cluster, manifests: Manifests) -> str:
    """Show what an apply would change in the cluster, as a diff. Objects in new namespaces are listed.

    Raises:
        EnvironmentProblem: The API server refuses an object.
    """
    check_served(cluster, manifests)
    tried, new = split(cluster, manifests)
    answer = cluster.kubectl.attempt("diff", *APPLY, stdin=as_list(tried))
    if answer.code > 1:
        raise EnvironmentProblem(
            COMMAND_FAILED.at(None, "`kubectl diff` failed", notes=quote(answer.stderr, source="it wrote"))
        )
    changes = _TEMPORARY.sub(r"\1 \2\n", _COMMAND.sub("", answer.stdout))
    return changes + "".join(f"+ {title_of(each)}\n" for each in new)


def _apply(cluster: Cluster, manifests: Manifests, reporter: Reporter) -> list[str]:
    step = reporter.step("applying")
    said = cluster.kubectl.apply(manifests.text).splitlines()
    crds = [f"customresourcedefinition/{name}" for name in names_of(manifests.of_kind(CRD))]
    if crds:
        step.update("waiting until the CRDs are served")
        cluster.kubectl("wait", _ESTABLISHED, f"--timeout={_CRD_TIMEOUT.total_seconds():g}s", *crds)
    step.done(f"{len(said)} object{'s' * (len(said) != 1)}")
    return said
