"""Rollouts as an API server tells of them; what nodes would do is written into the status of real objects."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from pykb.deployment._rollout import follow
from pykb.deployment.apply import await_deleted, delete, deploy, diff, install, undeploy
from pykb.deployment.cluster import Cluster, has_nodes
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane, crds, get_assets
from pykb.envtest.crds import DELETION_NUDGED
from pykb.envtest.reporter import Silent
from pykb.envtest.rest import Rest
from pykb.tools.kubectl import Kubectl

NAMESPACE = "rollout-system"
NAMESPACES = "/api/v1/namespaces"
TEMPLATE = {
    "metadata": {"labels": {"app": "wharf"}},
    "spec": {"containers": [{"name": "manager", "image": "reg/wharf:1"}]},
}
SPEC: dict[str, Any] = {"replicas": 1, "selector": {"matchLabels": {"app": "wharf"}}, "template": TEMPLATE}
WHARF = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "wharf", "namespace": NAMESPACE},
    "spec": SPEC,
}


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """A cluster with a namespace."""
    program = get_assets(kubectl=True).kubectl
    assert program is not None
    rest = control_plane.rest()
    assert rest.call("POST", NAMESPACES, {"metadata": {"name": NAMESPACE}}).ok
    yield Cluster(Kubectl(program, control_plane.kubeconfig))
    for kind in ("apis/apps/v1/deployments", "apis/apps/v1/replicasets", "api/v1/pods", "api/v1/serviceaccounts"):
        version, _, resource = kind.rpartition("/")
        every = f"/{version}/namespaces/{NAMESPACE}/{resource}"
        assert rest.call("DELETE", f"{every}?gracePeriodSeconds=0&propagationPolicy=Background").ok
    end(rest, NAMESPACE)


def end(rest: Rest, namespace: str) -> None:
    """Delete an empty namespace. Without kube-controller-manager, nobody else finalizes it."""
    if rest.call("DELETE", f"{NAMESPACES}/{namespace}").ok:
        ended = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "spec": {"finalizers": []}}
        assert rest.call("PUT", f"{NAMESPACES}/{namespace}/finalize", ended).ok


def create(cluster: Cluster, obj: dict[str, Any], owner: str, **status: Any) -> str:
    """Create an object as a controller would, with its status. Return its uid."""
    metadata = {**obj["metadata"], "namespace": NAMESPACE}
    kind = "ReplicaSet" if obj["kind"] == "Pod" else "Deployment"
    metadata["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": kind, "name": "wharf", "uid": owner, "controller": True}
    ]
    made = cluster.kubectl("create", "--filename=-", "--output=json", stdin=json.dumps({**obj, "metadata": metadata}))
    patch(cluster, f"{obj['kind']}/{metadata['name']}", status)
    return str(json.loads(made)["metadata"]["uid"])


def patch(cluster: Cluster, name: str, status: dict[str, Any]) -> None:
    """Write a status."""
    words = ("--subresource=status", "--type=merge", f"--namespace={NAMESPACE}")
    cluster.kubectl("patch", name, *words, "--patch", json.dumps({"status": status}))


def test_a_manager_that_cannot_start_is_explained(cluster: Cluster) -> None:
    """At once, if waiting does not help: the image cannot be pulled."""
    cluster.kubectl.apply(json.dumps(WHARF))
    uid = json.loads(cluster.kubectl("get", "deployment/wharf", f"--namespace={NAMESPACE}", "--output=json"))[
        "metadata"
    ]["uid"]
    annotations = {"deployment.kubernetes.io/revision": "1"}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "wharf", "annotations": annotations},
    }
    owner = create(cluster, {**replica_set, "spec": SPEC}, uid, replicas=1)
    cluster.kubectl("create", "serviceaccount", "default", f"--namespace={NAMESPACE}")
    state = {
        "name": "manager",
        "image": "reg/wharf:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wharf-1", "labels": {"app": "wharf"}}}
    create(cluster, {**pod, "spec": TEMPLATE["spec"]}, owner, containerStatuses=[state])
    with pytest.raises(EnvironmentProblem) as problem:
        follow(cluster, WHARF, Silent(), timeout=timedelta(minutes=1))
    found = problem.value.diagnostic
    assert found.code.slug == "rollout-failed"
    assert found.message == f"Deployment {NAMESPACE}/wharf does not start: the image `reg/wharf:1` cannot be pulled"
    assert "no such host" in found.notes


def test_a_rollout_is_followed_to_its_end(cluster: Cluster) -> None:
    """Or until the time is over."""
    with pytest.raises(EnvironmentProblem, match=r"not all replicas are available after 0\.1 s"):
        deploy(cluster, [WHARF], Silent(), timeout=timedelta(seconds=0.1))
    done = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    later = threading.Timer(1, patch, (cluster, "deployment/wharf", done))
    later.start()
    said = deploy(cluster, [WHARF], Silent(), timeout=timedelta(minutes=1))
    later.join()
    assert said == ["deployment.apps/wharf serverside-applied"]


def test_what_the_api_server_would_refuse_is_known_before(cluster: Cluster) -> None:
    """Nothing of it is applied."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "wharf", "namespace": NAMESPACE}}
    wrong = {**WHARF, "spec": {**SPEC, "replicas": -1}}
    with pytest.raises(EnvironmentProblem) as problem:
        deploy(cluster, [account, wrong], Silent(), timeout=None)
    assert problem.value.diagnostic.code.slug == "deploy-refused"
    assert "spec.replicas" in problem.value.diagnostic.notes[0]
    words = ("get", "serviceaccounts", f"--namespace={NAMESPACE}", "--output=name")
    assert "serviceaccount/wharf" not in cluster.kubectl(*words)


PIER = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pier", "namespace": "piers"}}
PIERS = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "piers"}}
REFUSES_ALL: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "piers"},
    "webhooks": [
        {
            "name": "piers.example.com",
            "clientConfig": {"service": {"name": "pier", "namespace": "piers"}},
            "rules": [
                {"apiGroups": ["pier.test"], "apiVersions": ["v1"], "resources": ["piers"], "operations": ["CREATE"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}


@pytest.fixture
def remains(cluster: Cluster, control_plane: ControlPlane) -> Iterator[Callable[[], set[str]]]:
    """Says what a deployment to the namespace `piers` has left in the cluster, and removes it."""
    rest = control_plane.rest()
    places = {
        "namespace": f"{NAMESPACES}/piers",
        "validatingwebhookconfiguration": (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/piers"
        ),
    }

    def left() -> set[str]:
        return {kind for kind, path in places.items() if rest.call("GET", path).status != 404}

    yield left
    rest.call("DELETE", places["validatingwebhookconfiguration"])
    end(rest, "piers")


@pytest.mark.parametrize("call", [diff, partial(deploy, reporter=Silent(), timeout=None)], ids=["diff", "deploy"])
def test_a_namespace_that_nobody_makes_is_named_before(
    cluster: Cluster, remains: Callable[[], set[str]], call: Callable[[Cluster, list[dict[str, Any]]], object]
) -> None:
    """Teams that own the namespaces of a cluster make them themselves. Nothing is applied."""
    with pytest.raises(EnvironmentProblem) as problem:
        call(cluster, [PIER, REFUSES_ALL])
    found = problem.value.diagnostic
    assert found.code.slug == "namespace-missing"
    assert found.message == "the namespace `piers` does not exist, and config/default does not make it"
    assert remains() == set()


def test_a_tenant_who_may_not_read_namespaces_learns_the_same(
    cluster: Cluster, control_plane: ControlPlane, remains: Callable[[], set[str]]
) -> None:
    """The dry run says it, once and not for each object."""
    role = ("--verb=create,patch,get", "--resource=serviceaccounts")
    cluster.kubectl("create", "clusterrole", "pier-tenant", *role)
    cluster.kubectl("create", "clusterrolebinding", "pier-tenant", "--clusterrole=pier-tenant", "--user=tenant")
    try:
        tenant = Cluster(Kubectl(cluster.kubectl.program, control_plane.user("tenant")))
        with pytest.raises(EnvironmentProblem) as problem:
            deploy(tenant, [PIER, {**PIER, "metadata": {**PIER["metadata"], "name": "b"}}], Silent(), timeout=None)
        assert problem.value.diagnostic.code.slug == "namespace-missing"
        with pytest.raises(EnvironmentProblem) as problem:
            deploy(tenant, [PIERS, PIER], Silent(), timeout=None)
        found = problem.value.diagnostic
        assert found.code.slug == "deploy-refused"
        assert "nothing was applied" in found.notes
        assert "Take the Namespace out" in found.help[0]
    finally:
        cluster.kubectl("delete", "clusterrolebinding,clusterrole", "pier-tenant")
    assert remains() == set()


def test_a_new_namespace_is_made_before_the_rest_is_tried(cluster: Cluster, remains: Callable[[], set[str]]) -> None:
    """If the API server refuses an object in it, there is only the namespace. No webhook is left that refuses all."""
    wrong = {**WHARF, "metadata": {"name": "wharf", "namespace": "piers"}, "spec": {**SPEC, "replicas": -1}}
    with pytest.raises(EnvironmentProblem) as problem:
        deploy(cluster, [PIERS, PIER, wrong, REFUSES_ALL], Silent(), timeout=None)
    assert problem.value.diagnostic.code.slug == "deploy-refused"
    assert "only the namespace `piers` was made" in problem.value.diagnostic.notes
    assert remains() == {"namespace"}
    said = deploy(cluster, [PIERS, PIER, REFUSES_ALL], Silent(), timeout=None)
    assert [line.partition("/")[0] for line in said] == [
        "namespace",
        "serviceaccount",
        "validatingwebhookconfiguration.admissionregistration.k8s.io",
    ]


def test_changes_are_shown_and_not_made(cluster: Cluster) -> None:
    """With the names of objects in place of temporary files; what would be in a new namespace is listed."""
    cluster.kubectl.apply(json.dumps(WHARF))
    more = {**WHARF, "spec": {**SPEC, "replicas": 2}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "wharf", "namespace": "elsewhere"}}
    shown = diff(cluster, [more, space, account])
    assert f"--- apps.v1.Deployment.{NAMESPACE}.wharf\n+++ apps.v1.Deployment.{NAMESPACE}.wharf\n" in shown
    assert "-  replicas: 1\n+  replicas: 2\n" in shown
    assert shown.endswith("+ ServiceAccount elsewhere/wharf\n")
    assert "/tmp" not in shown
    assert diff(cluster, [WHARF]) == ""
    assert not has_nodes(cluster)


def test_a_manager_keeps_its_permissions_until_it_has_ended(cluster: Cluster) -> None:
    """It releases its lease while it ends. Its roles go after its last pod."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []}
    role |= {"metadata": {"name": "wharf", "namespace": NAMESPACE}}
    cluster.kubectl.apply(json.dumps(WHARF))
    cluster.kubectl.apply(json.dumps(role))
    uid = json.loads(cluster.kubectl("get", "deployment/wharf", "-n", NAMESPACE, "--output=json"))["metadata"]["uid"]
    labels = {"app": "wharf"}
    metadata = {"name": "wharf-1", "labels": labels, "finalizers": ["example.com/still-running"]}
    cluster.kubectl("create", "serviceaccount", "default", f"--namespace={NAMESPACE}")
    create(cluster, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": TEMPLATE["spec"]}, uid)
    cluster.kubectl("delete", "pod/wharf-1", f"--namespace={NAMESPACE}", "--wait=false")
    minute = timedelta(minutes=1)
    ending = threading.Thread(
        target=undeploy, args=(cluster, [role, WHARF], {}, Silent()), kwargs={"timeout": minute, "force": False}
    )
    ending.start()

    def left() -> set[str]:
        words = ("get", "deployments,roles,pods", f"--namespace={NAMESPACE}", "--output=name")
        return {line.partition("/")[0].partition(".")[0] for line in cluster.kubectl(*words).split()}

    cluster.kubectl("wait", "deployment/wharf", "--for=delete", f"--namespace={NAMESPACE}", "--timeout=60s")
    assert left() == {"role", "pod"}
    ended = ("--type=merge", "--patch", '{"metadata": {"finalizers": null}}')
    cluster.kubectl("patch", "pod/wharf-1", f"--namespace={NAMESPACE}", *ended)
    ending.join()
    assert left() == set()


WHARVES: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "wharves.rollout.test"},
    "spec": {
        "group": "rollout.test",
        "names": {"kind": "Wharf", "plural": "wharves", "singular": "wharf", "listKind": "WharfList"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


@pytest.fixture
def held(cluster: Cluster) -> Iterator[Callable[[], None]]:
    """A CRD with an object that a finalizer keeps. Gives what removes the finalizer."""
    install(cluster, [WHARVES], Silent())
    metadata = {"name": "held", "namespace": NAMESPACE, "finalizers": ["rollout.test/hold"]}
    wharf = {"apiVersion": "rollout.test/v1", "kind": "Wharf", "metadata": metadata}
    cluster.kubectl("create", "--filename=-", stdin=json.dumps(wharf))
    words = ("--type=merge", "--patch", '{"metadata": {"finalizers": null}}')

    def release() -> None:
        cluster.kubectl.attempt("patch", "wharves.rollout.test/held", f"--namespace={NAMESPACE}", *words)

    yield release
    release()
    cluster.kubectl("delete", "crd/wharves.rollout.test", "--ignore-not-found", "--wait=false")
    await_deleted(cluster.kubectl, ["wharves.rollout.test"])


def annotations_of(cluster: Cluster) -> str:
    """The annotations of the CRD."""
    return cluster.kubectl("get", "crd/wharves.rollout.test", "--output=jsonpath={.metadata.annotations}")


def test_a_crd_that_is_being_deleted_is_waited_for(
    cluster: Cluster, held: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `make undeploy` with `--wait=false`, or while objects of its kind have finalizers."""
    monkeypatch.setattr(crds, "NUDGE_AFTER", 0.1)
    cluster.kubectl("delete", "crd/wharves.rollout.test", "--wait=false")
    with pytest.raises(EnvironmentProblem, match="still being deleted") as problem:
        await_deleted(cluster.kubectl, ["wharves.rollout.test"], timeout=timedelta(seconds=1))
    assert problem.value.diagnostic.code.slug == "delete-stuck"
    assert DELETION_NUDGED in annotations_of(cluster)  # an API server that has given up tries again
    later = threading.Timer(1, held)
    later.start()
    try:
        assert install(cluster, [WHARVES], Silent()) == [
            "customresourcedefinition.apiextensions.k8s.io/wharves.rollout.test serverside-applied"
        ]
        assert cluster.kubectl("get", "wharves.rollout.test", "--all-namespaces", "--output=name") == ""
        assert DELETION_NUDGED not in annotations_of(cluster)
    finally:
        later.join()


def test_a_crd_that_is_uninstalled_is_nudged(
    cluster: Cluster, held: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API server that has given up its deletion tries again. Nothing else is changed."""
    monkeypatch.setattr(crds, "NUDGE_AFTER", 0.1)
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pier", "namespace": NAMESPACE}}
    cluster.kubectl.apply(json.dumps(other))
    with pytest.raises(EnvironmentProblem, match="still there after 1 s") as problem:
        delete(cluster, [WHARVES, other], Silent(), timeout=timedelta(seconds=1))
    assert "wharves.rollout.test" in problem.value.diagnostic.notes[0]
    assert DELETION_NUDGED in annotations_of(cluster)
    later = threading.Timer(1, held)
    later.start()
    said = delete(cluster, [WHARVES], Silent(), timeout=timedelta(minutes=1))
    later.join()
    assert len(said) == 1
