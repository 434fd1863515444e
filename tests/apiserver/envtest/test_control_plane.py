"""A control plane of pykb's own, for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pykb.client.login import Credentials, KubeconfigSource
from pykb.client.login.credentials import StaticCredentials
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import Assets, ControlPlane, get_assets
from pykb.envtest.cache import KUBERNETES
from pykb.envtest.rest import Rest
from pykb.tools.kubectl import Kubectl

pytestmark = pytest.mark.apiserver

NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"

PARENT = """
import json, sys, time
from pykb.envtest import ControlPlane
control_plane = ControlPlane().start()
print(json.dumps([control_plane.pids, str(control_plane.layout.folder)]), flush=True)
time.sleep(300)
"""


@pytest.fixture(scope="module")
def own() -> Iterator[ControlPlane]:
    """A control plane that the tests of this module may hurt, with kube-controller-manager."""
    with ControlPlane(controller_manager=True) as running:
        if not running.has_controller_manager:
            pytest.fail("kube-controller-manager cannot be obtained: `pykb envtest use`", pytrace=False)
        yield running


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.default_kubernetes
def test_it_is_the_version_that_was_asked_for(control_plane: ControlPlane) -> None:
    """The binaries say so themselves."""
    assert control_plane.rest().call("GET", "/version").body["gitVersion"] == f"v{KUBERNETES}"


def test_everything_it_writes_is_private(control_plane: ControlPlane) -> None:
    """Keys, kubeconfigs and the store's socket are for this user only."""
    folder = control_plane.layout.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    secrets = [*folder.glob("*kubeconfig"), *folder.glob("pki/*")]
    assert len(secrets) > 6
    assert all(path.stat().st_mode & 0o077 == 0 for path in secrets)


def test_a_user_may_do_what_rbac_gives_and_nothing_else(control_plane: ControlPlane) -> None:
    """Authorization is on, by name and by group."""
    rest = control_plane.rest()
    jane = Rest.from_kubeconfig(control_plane.user("jane", ["readers"]))
    assert jane.call("GET", NAMESPACES).status == 403
    assert "jane" in jane.call("GET", NAMESPACES).message
    # A role of our own: the built-in ones are empty until kube-controller-manager has put them together.
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "readers"},
        "rules": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]}],
    }
    assert rest.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).ok
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "readers"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}],
    }
    assert rest.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).ok
    deadline = time.monotonic() + 60
    while not jane.call("GET", NAMESPACES).ok:  # the authorizer watches bindings, so it is a moment behind
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert jane.call("DELETE", f"{NAMESPACES}/default").status == 403


def test_a_service_account_logs_in_by_token(control_plane: ControlPlane, namespace: str) -> None:
    """As a deployed operator does."""
    path = f"{NAMESPACES}/{namespace}/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator"}}
    assert control_plane.rest().call("POST", path, account).ok
    rest = Rest.from_kubeconfig(control_plane.service_account(namespace, "operator"))
    who = rest.call(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert who.body["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:operator"


def test_a_token_of_nobody_is_a_problem(control_plane: ControlPlane) -> None:
    """The account that is missing is named."""
    with pytest.raises(EnvironmentProblem, match="default/nobody"):
        control_plane.service_account_token("default", "nobody")


def test_strangers_are_refused(control_plane: ControlPlane) -> None:
    """Without a certificate, TLS lets them in, and there is nothing to see but health and version."""
    stranger = Rest(StaticCredentials(Credentials(control_plane.url, insecure=True)))
    assert stranger.call("GET", NAMESPACES).status == 403
    assert stranger.call("GET", "/version").status == 200


def test_discovery_is_aggregated(control_plane: ControlPlane) -> None:
    """Clients get all groups in one call, as from a real cluster."""
    answer = control_plane.rest().call("GET", "/apis")
    assert {group["name"] for group in answer.body["groups"]} >= {"apps", "batch", "rbac.authorization.k8s.io"}


def test_kubectl_works_with_its_kubeconfig(control_plane: ControlPlane) -> None:
    """The one that came along, with the file as it is."""
    kubectl = Kubectl.find(kubeconfig=control_plane.kubeconfig, folders=[control_plane.assets.folder])
    assert "namespace/default" in kubectl("get", "namespaces", "--output=name")


def test_pods_are_accepted_without_a_controller_manager(control_plane: ControlPlane, namespace: str) -> None:
    """Nobody makes the ServiceAccount that admission would ask for, so it does not ask."""
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert control_plane.rest().call("POST", f"{NAMESPACES}/{namespace}/pods", pod).status == 201


def test_two_side_by_side_know_nothing_of_each_other(control_plane: ControlPlane, own: ControlPlane) -> None:
    """Ports, data and authorities are each one's own."""
    assert own.url != control_plane.url
    body = {"metadata": {"name": "only-here"}}
    assert own.rest().call("POST", NAMESPACES, body).ok
    assert control_plane.rest().call("GET", f"{NAMESPACES}/only-here").status == 404
    foreign = Rest(KubeconfigSource([control_plane.kubeconfig], server=own.url))
    with pytest.raises(EnvironmentProblem):
        foreign.call("GET", NAMESPACES)


def test_the_controller_manager_collects_garbage_and_ends_namespaces(own: ControlPlane) -> None:
    """What the fixtures' control plane leaves out, this one does."""
    rest = own.rest()
    assert own.has_controller_manager
    assert rest.call("POST", NAMESPACES, {"metadata": {"name": "short-lived"}}).ok
    maps = f"{NAMESPACES}/short-lived/configmaps"
    owner = rest.call("POST", maps, {"metadata": {"name": "owner"}}).body
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    assert rest.call("POST", maps, {"metadata": {"name": "owned", "ownerReferences": [reference]}}).ok
    assert rest.call("DELETE", f"{maps}/owner").ok
    wait_until_gone(rest, f"{maps}/owned")
    assert rest.call("DELETE", f"{NAMESPACES}/short-lived").ok
    wait_until_gone(rest, f"{NAMESPACES}/short-lived")


def test_a_killed_apiserver_comes_back_with_its_data(own: ControlPlane) -> None:
    """At the same address, so that clients find it again."""
    url = own.url
    assert own.rest().call("POST", NAMESPACES, {"metadata": {"name": "kept"}}).ok
    own.kill()
    with pytest.raises(EnvironmentProblem):
        own.rest().call("GET", "/readyz")
    own.restart()
    assert own.url == url
    assert own.rest().call("GET", f"{NAMESPACES}/kept").ok


def test_a_paused_apiserver_goes_on(own: ControlPlane) -> None:
    """For tests of time-outs: connections stay, answers do not come."""
    from datetime import timedelta

    own.pause()
    with pytest.raises(EnvironmentProblem):
        own.rest().call("GET", "/readyz", timeout=timedelta(seconds=0.5))
    own.resume()
    assert own.rest().call("GET", "/readyz").ok


def test_stop_leaves_nothing(own: ControlPlane) -> None:
    """No process, no folder; and it can be started again."""
    pids, folder = list(own.pids.values()), own.layout.folder
    assert len(pids) == 3
    own.stop()
    assert not any(map(is_alive, pids))
    assert not folder.exists()
    with pytest.raises(RuntimeError, match="not started"):
        _ = own.url
    own.start()
    assert own.rest().call("GET", "/readyz").ok


def test_a_parent_killed_by_sigkill_leaves_no_process() -> None:
    """Nothing of it is alive after five seconds."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pids, _folder = json.loads(parent.stdout.readline())
        assert len(pids) == 2
        assert all(map(is_alive, pids.values()))
        os.kill(parent.pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while any(map(is_alive, pids.values())) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(map(is_alive, pids.values()))


def test_a_start_that_fails_quotes_the_log(tmp_path: Path) -> None:
    """An apiserver that dies takes its reason to the message; nothing is left running."""
    real = get_assets()
    (tmp_path / "etcd").symlink_to(real.etcd)
    broken = tmp_path / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho 'unknown flag: --secure-port' >&2\nexit 1\n")
    broken.chmod(0o755)
    control_plane = ControlPlane(assets=Assets(tmp_path))
    with pytest.raises(EnvironmentProblem, match="`kube-apiserver` ended with exit code 1 while starting") as caught:
        control_plane.start()
    assert caught.value.diagnostic.notes == ("the last lines of its log:\nunknown flag: --secure-port",)
    assert control_plane.pids == {}


def wait_until_gone(rest: Rest, path: str) -> None:
    """Wait for a 404."""
    deadline = time.monotonic() + 60
    while rest.call("GET", path).status != 404:
        assert time.monotonic() < deadline, f"{path} is still there"
        time.sleep(0.2)
