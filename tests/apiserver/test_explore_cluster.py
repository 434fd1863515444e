"""`pykb explore --from-cluster` reads a real API server, and takes over what is there."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.envtest.rest import Rest

APP = Path(__file__).parents[2] / "testdata" / "app"
IMAGE = "nginx:1.29"
PASSWORD = "hunter2"

pytestmark = pytest.mark.apiserver


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the sample App, whose role has no Secrets."""
    root = tmp_path / "app"
    shutil.copytree(APP, root, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    role = root / "config/rbac/role.yaml"
    rules = yaml.safe_load(role.read_text())
    rules["rules"].append({"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list"]})
    role.write_text(yaml.safe_dump(rules))
    return root


def created(rest: Rest, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The new object."""
    answer = rest.call("POST", path, body)
    assert answer.ok, answer.message
    return answer.body


def explored(project: Path, kubeconfig: Path, namespace: str, *words: str) -> tuple[str, int]:
    """What the command says with a context in a namespace."""
    config = yaml.safe_load(kubeconfig.read_text())
    for context in config["contexts"]:
        context["context"]["namespace"] = namespace
    own = project.parent / "kubeconfig"
    own.write_text(yaml.safe_dump(config))
    argv = [sys.executable, "-P", "-m", "pykb", "explore", "--from-cluster", "--workers", "1", *words]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "KUBECONFIG": str(own)}
    done = subprocess.run(argv, cwd=project, env=environment, capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr, done.returncode


def test_a_namespace_is_read_and_explored(project, control_plane, namespace):
    """A right operator takes over. One that keeps what it finds does not."""
    control_plane.install_crds(project / "config/crd/bases")
    rest = control_plane.rest()
    app = {
        "apiVersion": "appcontroller.k8s.io/v1",
        "kind": "App",
        "metadata": {"name": "shop"},
        "spec": {"deployment": {"name": "shop", "image": IMAGE, "replicas": 2}, "service": {"name": "shop"}},
    }
    made = created(rest, f"/apis/appcontroller.k8s.io/v1/namespaces/{namespace}/apps", app)
    labels = {"app.kubernetes.io/name": "shop", "app.kubernetes.io/instance": "shop"}
    owner = {"apiVersion": app["apiVersion"], "kind": "App", "name": "shop", "uid": made["metadata"]["uid"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "shop", "image": IMAGE}]},
            },
        },
    }
    created(rest, f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment)
    value = base64.b64encode(PASSWORD.encode()).decode()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"password": value}}
    created(rest, f"/api/v1/namespaces/{namespace}/secrets", secret)

    said, code = explored(project, control_plane.kubeconfig, namespace, "--only", "explore-upgrade,explore-leak")
    assert f"read from the namespace {namespace}: 1 App, 1 Deployment, 1 Secret" in said
    assert "no findings" in said, said
    assert code == 0

    controller = project / "app_operator/controllers/app_controller.py"
    text = controller.read_text()
    line = "        found, result = await ensure_applied(self.client, wanted, owner=app)\n"
    assert line in text
    once = "        if (kept := await self.client.find(type(wanted), wanted)) is not None:\n            return kept\n"
    controller.write_text(text.replace(line, once + line))
    said, code = explored(project, control_plane.kubeconfig, namespace, "--only", "explore-upgrade")
    assert code == 1
    assert "error[explore-upgrade]: Deployment shop: spec.replicas is 1 instead of 2" in said, said
    assert f"after taking over the objects of the namespace {namespace}" in said
    for file in (project / ".pykb").rglob("*"):
        assert not file.is_file() or value not in file.read_text(errors="replace")
    assert value not in said
    assert PASSWORD not in said


def test_what_access_control_forbids_is_said(project, control_plane, namespace):
    """A user who may only read the Apps, of which there are none."""
    control_plane.install_crds(project / "config/crd/bases")
    rest = control_plane.rest()
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": ["appcontroller.k8s.io"], "resources": ["apps"], "verbs": ["list"]}]
    created(rest, f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]
    created(rest, f"{rbac}/rolebindings", {"metadata": {"name": "reader"}, "roleRef": reference, "subjects": subjects})
    said, code = explored(project, control_plane.user("ann"), namespace)
    assert code == 1
    assert "note: deployments not read: deployments.apps is forbidden" in said
    assert "note: secrets not read: secrets is forbidden" in said
    assert f"the namespace {namespace} has no App to explore" in said
