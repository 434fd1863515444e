"""Installs CRDs, deploys the operator, shows what either would change, and deletes them again.

What the API server would refuse is found before anything is applied. Custom objects are deleted
first: while the manager runs, it can remove its finalizers.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from pykb.deployment._rollout import await_webhooks, follow
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import (
    CRD,
    POLICY_KINDS,
    POLICY_VERSION,
    WEBHOOK_KINDS,
    Object,
    as_list,
    counted,
    names_of,
    of_kind,
    title_of,
)
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import (
    COMMAND_FAILED,
    DELETE_STUCK,
    DEPLOY_REFUSED,
    KIND_UNSERVED,
    NAMESPACE_MISSING,
)
from pykb.envtest.crds import DELETION_NUDGED, nudging
from pykb.envtest.reporter import Reporter
from pykb.tools.kubectl import APPLY, Kubectl
from pykb.tools.process import quote, succeeded

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
_CRDS = "customresourcedefinitions"
_UNCONVERTED = "conversion webhook for"
_CRD_TIMEOUT = timedelta(seconds=60)
_NO_CONDITIONS = ".status.conditions accessor error"
"""kubectl does not wait for a CRD that the API server has stored and not looked at yet: its conditions are null."""
_PAUSE = 0.1
_NO_NAMESPACE = re.compile(r'namespaces "([^"]+)" not found')
_NO_RIGHT_TO_NAMESPACE = re.compile(r'namespaces "[^"]+" is forbidden: User')
_ENDING_NAMESPACE = re.compile(r"new content in namespace (\S+) because it is being terminated")
_COMMAND = re.compile(r"^diff -.*\n", re.MULTILINE)
_TEMPORARY = re.compile(r"^(---|\+\+\+) \S*/(?:LIVE|MERGED)-\d+/(\S+)\t.*\n", re.MULTILINE)
"""kubectl compares files in temporary folders. Their names say what is compared, their times nothing."""
_MARKED = "custom-columns=:kind,:metadata.namespace,:metadata.name,:metadata.deletionTimestamp"
_HELD = "custom-columns=KIND:kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"


def _unserved(cluster: Cluster, objects: Sequence[Object]) -> list[Object]:
    """The objects that the API server has no API for, by group and version.

    Policies are younger than the version of their group, so the server is asked for their kinds.
    """
    versions = set(cluster.kubectl("api-versions").split())
    missing: frozenset[str] = frozenset()
    if any(each["kind"] in POLICY_KINDS for each in objects):
        group = json.loads(cluster.kubectl("get", f"--raw=/apis/{POLICY_VERSION}"))
        missing = POLICY_KINDS - {each["kind"] for each in group["resources"]}
    return [each for each in objects if each["apiVersion"] not in versions or each["kind"] in missing]


def _check_served(cluster: Cluster, objects: Sequence[Object]) -> None:
    """Make sure that the API server has an API for each object.

    Raises:
        EnvironmentProblem: It has none for one of them.
    """
    coming = {
        f"{crd['spec']['group']}/{version['name']}"
        for crd in of_kind(objects, CRD)
        for version in crd["spec"]["versions"]
    }
    unserved = [each for each in _unserved(cluster, objects) if each["apiVersion"] not in coming]
    if not unserved:
        return
    if unserved[0]["kind"] in POLICY_KINDS:
        raise EnvironmentProblem(_without_policies(unserved))
    version = unserved[0]["apiVersion"]
    what, where = _PROVIDERS.get(version.partition("/")[0], ("", ""))
    titles = ", ".join(f"`{title_of(each)}`" for each in unserved if each["apiVersion"] == version)
    raise KIND_UNSERVED.problem(
        f"the cluster does not serve `{version}`",
        f"install it: {where}" if where else "",
        "pykb dev     # tries the operator without a deployment",
        notes=(f"it has no {what}" if what else "", f"needed for {titles}", "nothing was applied"),
    )


def _without_policies(unserved: Sequence[Object]) -> Diagnostic:
    """What follows if nothing limits the manager's account."""
    return KIND_UNSERVED.at(
        None,
        f"the cluster does not serve `{unserved[0]['kind']}` of `{POLICY_VERSION}`, which Kubernetes has since 1.30",
        "pykb edit --certificates cert-manager     # the manager needs no such permissions",
        "or accept it: take the policies out of config/certificates/kustomization.yaml",
        notes=(
            f"needed for {', '.join(f'`{title_of(each)}`' for each in unserved)}",
            "without it, whoever owns the manager's pod can have every write of the cluster sent to a server of theirs",
            "nothing was applied",
        ),
    )


def new_namespaces(cluster: Cluster, objects: Sequence[Object]) -> set[str]:
    """The namespaces of some objects that are not there yet, but are among the objects.

    A user who may not read namespaces counts each as there: the dry run finds out.

    Raises:
        EnvironmentProblem: A namespace is neither there nor among the objects.
    """
    needed = {str(each["metadata"].get("namespace") or "") for each in objects} - {""}
    answers = {name: cluster.kubectl.attempt("get", "namespace", name, *_QUIET) for name in needed}
    missing = {name for name, answer in answers.items() if answer.ok and not answer.stdout.strip()}
    made = set(names_of(of_kind(objects, "Namespace")))
    if nobodys := sorted(missing - made):
        raise _namespace_missing(nobodys[0])
    return missing


def _namespace_missing(name: str) -> EnvironmentProblem:
    return NAMESPACE_MISSING.problem(
        f"the namespace `{name}` does not exist, and config/default does not make it",
        f"kubectl create namespace {name}     # or ask the team that owns the cluster's namespaces",
        "`namespace` in config/default/kustomization.yaml names another one",
        notes="nothing was applied",
    )


def _check_accepted(cluster: Cluster, objects: Sequence[Object], *, before: str = "nothing was applied") -> None:
    """Make sure that the API server accepts the objects, by a dry run.

    Args:
        cluster: The cluster.
        objects: The objects. Their namespaces exist.
        before: What was applied before.

    Raises:
        EnvironmentProblem: It refuses one.
    """
    answer = cluster.kubectl.attempt("apply", *APPLY, "--dry-run=server", stdin=as_list(objects))
    if answer.ok:
        return
    helps: tuple[str, ...] = ()
    if _NO_RIGHT_TO_NAMESPACE.search(answer.stderr):
        helps = ("another team owns the namespace? Take the Namespace out of config/manager/manager.yaml",)
    elif absent := _NO_NAMESPACE.search(answer.stderr):
        raise _namespace_missing(absent[1])
    elif ending := _ENDING_NAMESPACE.search(answer.stderr):
        helps = (f"kubectl wait --for=delete namespace/{ending[1]} --timeout=5m     # then deploy again",)
    said = "\n".join(dict.fromkeys(answer.stderr.splitlines()))  # kubectl says the same of each object
    raise DEPLOY_REFUSED.problem(
        "the API server would refuse an object", *helps, notes=(*quote(said, source="it says"), before)
    )


def install(cluster: Cluster, crds: Sequence[Object], reporter: Reporter) -> list[str]:
    """Apply CRDs and wait until they are served. Return what kubectl says of each.

    Raises:
        EnvironmentProblem: The API server refuses one.
    """
    _check_accepted(cluster, crds)
    return apply_all(cluster.kubectl, crds, reporter)


def deploy(
    cluster: Cluster,
    operator: Sequence[Object],
    reporter: Reporter,
    *,
    timeout: timedelta | None,
    samples: Sequence[Object] = (),
) -> list[str]:
    """Apply the operator, and wait until its replicas are available and the API server reaches its webhooks.

    Args:
        cluster: The cluster.
        operator: The operator.
        reporter: Gets the progress.
        timeout: How long to wait for the replicas, and then for the webhooks. ``None`` means not at all.
        samples: Objects of its kinds, to ask the webhooks about.

    Returns:
        What kubectl says of each object.

    Raises:
        EnvironmentProblem: The API server refuses an object or does not reach a webhook, or the manager does not start.
    """
    _check_served(cluster, operator)
    new = new_namespaces(cluster, operator)
    _check_accepted(cluster, _outside(new, operator))
    if new:
        made = [each for each in of_kind(operator, "Namespace") if each["metadata"]["name"] in new]
        apply_all(cluster.kubectl, made, reporter)
        names = "`, `".join(sorted(new))
        _check_accepted(cluster, _inside(new, operator), before=f"only the namespace `{names}` was made")
    # If an apply breaks off, no webhook may be left that refuses objects because nobody answers.
    callers = [each for each in operator if each["kind"] in WEBHOOK_KINDS]
    said = apply_all(cluster.kubectl, [each for each in operator if each["kind"] not in WEBHOOK_KINDS], reporter)
    if callers:
        said += apply_all(cluster.kubectl, callers, reporter)
    if timeout is not None:
        for deployment in of_kind(operator, "Deployment"):
            follow(cluster, deployment, reporter, timeout=timeout)
        await_webhooks(cluster, operator, samples, reporter, timeout=timeout)
    return said


def diff(cluster: Cluster, objects: Sequence[Object]) -> str:
    """Show what an apply would change in the cluster, as a diff. Objects in new namespaces are listed.

    Raises:
        EnvironmentProblem: The API server refuses an object.
    """
    _check_served(cluster, objects)
    new = new_namespaces(cluster, objects)
    answer = cluster.kubectl.attempt("diff", *APPLY, stdin=as_list(_outside(new, objects)))
    if answer.code > 1:
        raise COMMAND_FAILED.problem("`kubectl diff` failed", notes=quote(answer.stderr, source="it wrote"))
    changes = _TEMPORARY.sub(r"\1 \2\n", _COMMAND.sub("", answer.stdout))
    return changes + "".join(f"+ {title_of(each)}\n" for each in _inside(new, objects))


def _inside(namespaces: set[str], objects: Sequence[Object]) -> list[Object]:
    return [each for each in objects if each["metadata"].get("namespace") in namespaces]


def _outside(namespaces: set[str], objects: Sequence[Object]) -> list[Object]:
    return [each for each in objects if each["metadata"].get("namespace") not in namespaces]


def apply_all(kubectl: Kubectl, objects: Sequence[Object], reporter: Reporter) -> list[str]:
    """Apply objects when earlier CRDs of these names are gone, and wait until the CRDs are served.

    Returns:
        What kubectl says of each object.

    Raises:
        EnvironmentProblem: A CRD is still being deleted or is not served in time, or the API server refuses an object.
    """
    step = reporter.step("applying")
    crds = names_of(of_kind(objects, CRD))
    await_deleted(kubectl, crds)
    said = kubectl.apply(as_list(objects)).splitlines()
    if crds:
        step.update("waiting until the CRDs are served")
        wait_established(kubectl, crds)
    step.done(counted(len(said)))
    return said


def await_deleted(kubectl: Kubectl, crds: Sequence[str], *, timeout: timedelta = _CRD_TIMEOUT) -> None:
    """Wait until those of the CRDs that are being deleted are gone. An apply would change the old ones, which then go.

    Raises:
        EnvironmentProblem: Some are still there after the time.
    """
    going = _going(kubectl, crds)
    if not going:
        return
    with nudging(_nudge(kubectl, going)):
        answer = kubectl.attempt("wait", "--for=delete", _seconds(timeout), *(f"{_CRDS}/{name}" for name in going))
    if not answer.ok:
        raise DELETE_STUCK.problem(
            f"`{'`, `'.join(going)}` {'is' if len(going) == 1 else 'are'} still being deleted",
            f"kubectl get {going[0]} --all-namespaces     # the objects whose finalizers keep it",
            notes=("nothing was applied", *quote(answer.stderr, source="kubectl wrote")),
        )


def _nudge(kubectl: Kubectl, crds: Sequence[str]) -> Callable[[str], None]:
    """What nudges those of the CRDs that are being deleted."""

    def nudge(mark: str) -> None:
        if places := [f"{_CRDS}/{name}" for name in _going(kubectl, crds)]:
            kubectl.attempt("annotate", "--overwrite", *places, f"{DELETION_NUDGED}={mark}")

    return nudge


def wait_established(kubectl: Kubectl, names: Iterable[str], *, timeout: timedelta = _CRD_TIMEOUT) -> None:
    """Wait until CRDs are served.

    Raises:
        EnvironmentProblem: They are not in time.
    """
    crds = [f"{_CRDS}/{name}" for name in names]
    end = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            kubectl("wait", "--for=condition=Established", f"--timeout={timeout.total_seconds():g}s", *crds)
        except EnvironmentProblem as error:
            if time.monotonic() >= end or not any(_NO_CONDITIONS in note for note in error.diagnostic.notes):
                raise
            time.sleep(_PAUSE)
        else:
            return


def custom_objects(cluster: Cluster, crds: Iterable[Object]) -> dict[str, int]:
    """How many objects there are of each kind that a CRD defines. Kinds without objects are left out."""
    names = names_of(of_kind(crds, CRD))
    if not names:
        return {}
    found = cluster.kubectl("get", _CRDS, *names, "--ignore-not-found", "--output=name")
    kinds = [line.partition("/")[2] for line in found.split()]
    counts = {kind: _count(cluster, kind) for kind in kinds}
    return {kind: count for kind, count in counts.items() if count}


def _count(cluster: Cluster, kind: str) -> int:
    answer = cluster.kubectl.attempt("get", kind, "--all-namespaces", "--output=name")
    if not answer.ok and _UNCONVERTED in answer.stderr:
        without = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'
        raise DELETE_STUCK.problem(
            f"the objects of `{kind}` cannot be read, since its conversion webhook does not answer",
            "see the log of the manager",
            f"kubectl patch crd {kind} --type=merge --patch='{without}'     # reads them without it",
            notes=("nothing was deleted", *quote(answer.stderr, source="kubectl wrote")),
        )
    return len(succeeded(answer).stdout.split())


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
        raise DELETE_STUCK.problem(
            "these objects are still there, so the manager, which cleans up after them, was not deleted",
            "see the log of the manager",
            "--timeout 600     # waits longer",
            "--force           # deletes the manager anyway",
            notes=cluster.kubectl("get", ",".join(left), "--all-namespaces", f"--output={_HELD}").rstrip(),
        )
    said += _stop(cluster, operator, reporter, timeout)
    return [*said, *delete(cluster, operator, reporter, timeout=timeout)]


def _stop(cluster: Cluster, operator: Sequence[Object], reporter: Reporter, timeout: timedelta) -> list[str]:
    """Delete what calls the manager, then the manager, and wait for its pods: to end, they need their permissions."""
    callers = [each for each in operator if each["kind"] in WEBHOOK_KINDS]
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
    unserved = _unserved(cluster, objects)
    known = [each for each in objects if each not in unserved]
    words = ("delete", "--ignore-not-found", _seconds(timeout), "--filename=-")
    crds = names_of(of_kind(known, CRD))
    with nudging(_nudge(cluster.kubectl, crds)) if crds else contextlib.nullcontext():
        answer = cluster.kubectl.attempt(*words, stdin=as_list(known))
    if answer.ok:
        step.done()
        return answer.stdout.splitlines()
    step.failed("some are still there")
    marked = _marked(cluster.kubectl, "--filename=-", stdin=as_list(known))
    raise DELETE_STUCK.problem(
        f"some objects are still there after {timeout.total_seconds():g} s",
        "a CRD waits until the finalizers of its objects are removed: is the manager running?",
        "a namespace waits for kube-controller-manager",
        notes=(
            *(["\n".join(("marked for deletion:", *marked))] if marked else ()),
            *quote(answer.stderr, source="kubectl wrote"),
        ),
    )


def _going(kubectl: Kubectl, crds: Sequence[str]) -> list[str]:
    """The names of those of the CRDs that are marked for deletion."""
    return [line.split()[2] for line in _marked(kubectl, _CRDS, *crds)] if crds else []


def _marked(kubectl: Kubectl, *which: str, stdin: str | None = None) -> list[str]:
    """Those of some objects that are marked for deletion, each a line: kind, namespace, name and time."""
    words = ("get", *which, "--ignore-not-found", "--no-headers", f"--output={_MARKED}")
    lines = kubectl.attempt(*words, stdin=stdin).stdout.splitlines()
    return [line for line in lines if line.strip() and not line.rstrip().endswith("<none>")]


def _seconds(timeout: timedelta) -> str:
    return f"--timeout={max(1, round(timeout.total_seconds()))}s"
