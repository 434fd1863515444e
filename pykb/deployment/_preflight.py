"""Finds out what the API server would refuse, before anything is applied."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, Object, as_list, of_kind, title_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cluster import DEPLOY_REFUSED, KIND_UNSERVED
from pykb.tools.kubectl import APPLY
from pykb.tools.process import quote

_QUIET = ("--ignore-not-found", "--output=name")
_PROVIDERS = {
    "cert-manager.io": (
        "cert-manager, which issues the certificates of the webhooks",
        "https://cert-manager.io/docs/installation/",
    ),
    "monitoring.coreos.com": (
        "the Prometheus operator, which reads ServiceMonitors",
        "https://prometheus-operator.dev/docs/getting-started/installation/",
    ),
}


def served_versions(cluster: Cluster) -> set[str]:
    """The groups and versions that the API server serves."""
    return set(cluster.kubectl("api-versions").split())


def check_served(cluster: Cluster, objects: Sequence[Object]) -> None:
    """Make sure that the API server serves the group and version of each object.

    Raises:
        EnvironmentProblem: It does not serve one.
    """
    served = served_versions(cluster)
    for crd in of_kind(objects, CRD):
        served |= {f"{crd['spec']['group']}/{version['name']}" for version in crd["spec"]["versions"]}
    unserved = [each for each in objects if each["apiVersion"] not in served]
    if not unserved:
        return
    version = unserved[0]["apiVersion"]
    what, where = _PROVIDERS.get(version.partition("/")[0], ("", ""))
    titles = ", ".join(f"`{title_of(each)}`" for each in unserved if each["apiVersion"] == version)
    raise EnvironmentProblem(
        KIND_UNSERVED.at(
            None,
            f"the cluster does not serve `{version}`",
            notes=(*((f"it has no {what}",) if what else ()), f"needed for {titles}", "nothing was applied"),
            help=(
                *((f"install it: {where}",) if where else ()),
                "pykb dev     # tries the operator without a deployment",
            ),
        )
    )


def split(cluster: Cluster, objects: Sequence[Object]) -> tuple[list[Object], list[Object]]:
    """The objects that can be tried in a dry run, and those in namespaces that do not exist yet."""
    namespaces = {str(each["metadata"].get("namespace") or "") for each in objects} - {""}
    missing = {name for name in namespaces if not cluster.kubectl("get", "namespace", name, *_QUIET).strip()}
    tried = [each for each in objects if each["metadata"].get("namespace") not in missing]
    return tried, [each for each in objects if each["metadata"].get("namespace") in missing]


def check_accepted(cluster: Cluster, objects: Sequence[Object]) -> None:
    """Make sure that the API server accepts the objects, by a dry run.

    Raises:
        EnvironmentProblem: It refuses one.
    """
    answer = cluster.kubectl.attempt("apply", *APPLY, "--dry-run=server", stdin=as_list(objects))
    if not answer.ok:
        raise EnvironmentProblem(
            DEPLOY_REFUSED.at(
                None,
                "the API server would refuse an object",
                notes=(*quote(answer.stderr, source="it says"), "nothing was applied"),
            )
        )
