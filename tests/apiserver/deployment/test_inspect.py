"""`pykb inspect` for a manager in a cluster, with a real manager and a real API server.

No node runs here. A program in place of kubectl forwards ports of "pods" to this machine, where the manager of the test
runs, and gives all else to the real one.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.dev.page.recording import read_recording
from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.rest import APPLY, Rest
from tests.apiserver.envtest.test_dev import Browser, Dev
from tests.conftest import ROOT

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(300)]

KUBECTL = """\
#!{python}
import os, socket, sys, threading

def pump(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)

if "port-forward" not in sys.argv:
    os.execv({kubectl!r}, ["kubectl", *sys.argv[1:]])
port = int(sys.argv[-1].removeprefix(":"))
with socket.create_server(("127.0.0.1", 0)) as server:
    print(f"Forwarding from 127.0.0.1:{{server.getsockname()[1]}} -> {{port}}", flush=True)
    while True:
        ours, _ = server.accept()
        print("Handling connection for", port, flush=True)
        try:
            theirs = socket.create_connection(("127.0.0.1", port))
        except OSError:
            ours.close()
            continue
        for pair in ((ours, theirs), (theirs, ours)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
"""

MANAGER = """
import logging
from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ControllerBuilder, Manager, ManagerOptions, Reconciler

class Logs(Reconciler):
    async def reconcile(self, request):
        logging.getLogger("shop").warning("sees %s", request.name)

manager = Manager(ManagerOptions.from_args())
ControllerBuilder(manager).for_(ConfigMap).complete(Logs(manager.client))
manager.run()
"""

GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"
LABELS = {"app.kubernetes.io/name": "shop", "control-plane": "controller-manager"}


def add(rest: Rest, path: str, *objects: Any) -> None:
    """Create objects."""
    for obj in objects:
        answer = rest.call("POST", path, obj)
        assert answer.ok, answer.message


def scaffold(rest: Rest, namespace: str, port: int) -> None:
    """What a deployed project with config/records has in a cluster, with two pods, of which the second one leads."""
    container = {"name": "manager", "image": "shop", "ports": [{"name": "records", "containerPort": port}]}
    spec = {"serviceAccountName": "shop", "containers": [container]}
    template = {"metadata": {"labels": LABELS}, "spec": spec}
    text = (ROOT / "testdata/app/config/records/reader.yaml").read_text(encoding="utf-8")
    text = text.replace("namespace: system", f"namespace: {namespace}").replace("app-operator", "shop")
    account, role, binding = yaml.safe_load_all(text.replace("name: records-reader", "name: shop-records-reader"))
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    add(rest, f"{core}/serviceaccounts", account, {"metadata": {"name": "shop"}})
    add(rest, f"{RBAC}/clusterroles", role)
    add(rest, f"{RBAC}/clusterrolebindings", binding)
    deployment = {"selector": {"matchLabels": LABELS}, "template": template}
    add(rest, f"{apps}/deployments", {"metadata": {"name": "shop", "labels": LABELS}, "spec": deployment})
    lease = {"metadata": {"name": "shop.example.com"}, "spec": {"holderIdentity": "shop-b_1"}}
    add(rest, f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases", lease)
    for name in ("shop-a", "shop-b"):
        add(rest, f"{core}/pods", {"metadata": {"name": name, "labels": LABELS}, "spec": spec})
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"phase": "Running"}}
        status = f"{core}/pods/{name}/status?fieldManager=tests"
        assert rest.call("PATCH", status, pod, content_type=APPLY).ok


def user_with_role(plane: ControlPlane, rest: Rest, namespace: str) -> Path:
    """The kubeconfig of somebody who has the Role of the page, and may list ConfigMaps."""
    text = (ROOT / "docs/how-to/inspect.md").read_text(encoding="utf-8")
    block = next(block for block in text.split("```yaml\n") if "kind: Role" in block).partition("```")[0]
    role = yaml.safe_load(block.replace("sealvm-system", namespace).replace("sealvm", "shop"))
    subjects = [{"kind": "User", "name": "inspector"}]
    within, name = f"{RBAC}/namespaces/{namespace}", f"reads-{namespace}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    inspector, reads = (
        {"apiGroup": GROUP, "kind": kind, "name": of} for kind, of in (("Role", "inspector"), ("ClusterRole", name))
    )
    add(rest, f"{within}/roles", role)
    add(rest, f"{within}/rolebindings", {"metadata": {"name": "inspector"}, "roleRef": inspector, "subjects": subjects})
    add(rest, f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    add(rest, f"{RBAC}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": reads, "subjects": subjects})
    return plane.user("inspector")


def create(rest: Rest, namespace: str, name: str) -> None:
    """Make something to reconcile."""
    add(rest, f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": name}, "data": {"password": "hush"}})


@pytest.fixture
def path(tmp_path: Path) -> str:
    """PATH with the program in place of kubectl."""
    real = get_assets(kubectl=True).kubectl
    program = tmp_path / "bin/kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL.format(python=sys.executable, kubectl=str(real)), encoding="utf-8")
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


@contextmanager
def manager(plane: ControlPlane, namespace: str, port: int) -> Iterator[subprocess.Popen[str]]:
    """A manager that serves records."""
    flags = (
        f"--records-bind-address=127.0.0.1:{port}",
        f"--watch-namespace={namespace}",
        "--health-probe-bind-address=0",
    )
    words = [sys.executable, "-c", MANAGER, "--kubeconfig", str(plane.kubeconfig), *flags]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()


def inspect(tmp_path: Path, kubeconfig: Path, namespace: str, path: str, *more: str) -> Dev:
    """Run the command."""
    words = ("deployment/shop", "--namespace", namespace, "--kubeconfig", str(kubeconfig), *more)
    return Dev(tmp_path, *words, command="inspect", PATH=path)


def test_a_manager_in_a_cluster_is_seen_until_ctrl_c(
    tmp_path: Path, control_plane: ControlPlane, namespace: str, path: str
) -> None:
    """Its leader, with objects that the user may read; also after it has ended. Without permission, it is refused."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rest = Rest.from_kubeconfig(control_plane.kubeconfig)
    scaffold(rest, namespace, port)
    recording = tmp_path / "bug.jsonl"
    with manager(control_plane, namespace, port) as first:
        refused = inspect(tmp_path, control_plane.kubeconfig, namespace, path, "--service-account", "shop")
        refused.says(f"`system:serviceaccount:{namespace}:shop` may not get `/records`")
        refused.process.wait(60)
        assert refused.end(signal.SIGTERM) == 1
        running = inspect(
            tmp_path, user_with_role(control_plane, rest, namespace), namespace, path, "--record", str(recording)
        )
        running.says(f"shows pod {namespace}/shop-b, the leader, one of 2 replicas")
        page = Browser(running.says("page: ").rpartition(" ")[2].strip())
        create(rest, namespace, "apple")
        seen = page.waits_for("ended", lambda told: told["request"] == f"{namespace}/apple")
        assert [each["message"] for each in seen["logs"]] == ["sees apple"]
        assert page.waits_for("object", lambda told: told["name"] == "apple")["kind"] == "ConfigMap"
        first.terminate()
        running.says("the connection has ended; connecting again")
        assert page.waits_for("manager", lambda told: told["state"] == "lost")
    with manager(control_plane, namespace, port):
        running.says(f"shows pod {namespace}/shop-b, the leader")
        create(rest, namespace, "pear")
        page.waits_for("ended", lambda told: told["request"] == f"{namespace}/pear")
        assert running.end(signal.SIGINT) == 0
    history, notes = read_recording(recording)
    kept: list[dict[str, Any]] = [json.loads(each.data) for each in history.snapshot() if each.event == "ended"]
    assert {each["request"] for each in kept} >= {f"{namespace}/apple", f"{namespace}/pear"}
    assert notes == []
    assert "hush" not in recording.read_text(encoding="utf-8")
    assert not [line for line in running.lines if "eyJ" in line]  # a token
