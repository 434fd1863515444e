"""What the development loop puts into a control plane for the project's webhooks, and takes back."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from pykb.dev.loop import LocalWebhooks
from pykb.dev.project import DevProject
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import installed_with

pytestmark = pytest.mark.apiserver

PROJECT = """\
cliVersion: 0.1.0
domain: example.com
layout:
- python.pykb.dev/v1
projectName: turns
repo: turns
resources:
- api:
    crdVersion: v1
    namespaced: true
  domain: example.com
  group: dev
  kind: Turn
  path: turns.api.v2
  version: v2
  webhooks:
    conversion: true
    spoke:
    - v1
    webhookVersion: v1
version: "3"
"""
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "turns.dev.example.com"},
    "spec": {
        "group": "dev.example.com",
        "names": {"kind": "Turn", "plural": "turns"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == "v2",
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
            for version in ("v1", "v2")
        ],
    },
}


def manifest(*paths: str) -> str:
    """A manifest with a validating webhook at each path."""
    webhooks = [
        {
            "name": f"v{number}.kb.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": path}},
            "rules": [{"apiGroups": ["dev.example.com"], "apiVersions": ["v2"], "operations": ["CREATE"]}],
            "sideEffects": "None",
        }
        for number, path in enumerate(paths)
    ]
    for webhook in webhooks:
        webhook["rules"][0]["resources"] = ["turns"]  # type: ignore[index]
    return json.dumps(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validating-webhook-configuration"},
            "webhooks": webhooks,
        }
    )


@pytest.fixture
def rest(control_plane: ControlPlane) -> Rest:
    """The control plane as its administrator."""
    return control_plane.rest()


@pytest.fixture
def project(tmp_path: Path, control_plane: ControlPlane) -> DevProject:
    """A project with a conversion and an admission webhook, its definition installed."""
    project = DevProject(tmp_path, "turns")
    (tmp_path / "PROJECT").write_text(PROJECT)
    project.crds.mkdir(parents=True)
    (project.crds / "turns.yaml").write_text(json.dumps(CRD))
    project.webhook_manifest.parent.mkdir(parents=True)
    project.webhook_manifest.write_text(manifest("/a"))
    control_plane.install_crds(project.crds)
    return project


def conversion(rest: Rest) -> dict[str, Any]:
    """How the definition is converted."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/turns.dev.example.com"
    found: dict[str, Any] = rest.call("GET", path).body["spec"]["conversion"]
    return found


def test_the_control_plane_is_kept_in_step_and_left_as_it_was(
    project: DevProject, control_plane: ControlPlane, rest: Rest
) -> None:
    """Installed once, renewed when something has changed, removed when it is gone, taken back at the end."""
    webhooks = LocalWebhooks(project, control_plane.kubeconfig)
    name = "validatingwebhookconfigurations/pykb-dev-validating-webhook-configuration"
    assert list(webhooks.renew("1")) == [f"installed {name}", "installed the conversion of turns.dev.example.com"]
    assert conversion(rest)["webhook"]["clientConfig"]["url"] == f"{webhooks.url}/convert"
    assert list(webhooks.renew("1")) == []

    control_plane.install_crds(project.crds)  # nobody listens: no manager runs
    assert list(webhooks.renew("1 again")) == []
    assert conversion(rest)["webhook"]["clientConfig"]["url"] == f"{webhooks.url}/convert"
    project.webhook_manifest.write_text(manifest("/a", "/b"))
    assert f"installed {name}" in list(webhooks.renew("1 again"))
    (project.root / "PROJECT").write_text(PROJECT.replace("conversion: true", "defaulting: true"))
    assert "removed the conversion of turns.dev.example.com" in list(webhooks.renew("1 again"))
    assert conversion(rest)["strategy"] == "None"
    (project.root / "PROJECT").write_text(PROJECT)
    project.webhook_manifest.unlink()
    assert list(webhooks.renew("1 again")) == [f"removed {name}", "installed the conversion of turns.dev.example.com"]
    project.webhook_manifest.write_text(manifest("/a"))
    assert list(webhooks.renew("2")) == [f"installed {name}"]

    webhooks.close(stays=True)
    assert conversion(rest) == {"strategy": "None"}
    assert installed_with(rest, "pykb-dev-") == []


def test_what_a_killed_loop_left_is_replaced_or_removed(
    project: DevProject, control_plane: ControlPlane, rest: Rest
) -> None:
    """Also where the project has no webhooks any more."""
    killed = LocalWebhooks(project, control_plane.kubeconfig)
    list(killed.renew("1"))
    project.webhook_manifest.unlink()
    (project.root / "PROJECT").write_text(PROJECT.partition("  webhooks:")[0] + 'version: "3"\n')
    after = LocalWebhooks(project, control_plane.kubeconfig)
    assert after.flags() == ()
    assert list(after.renew("1")) == [
        "removed validatingwebhookconfigurations/pykb-dev-validating-webhook-configuration",
        "removed the conversion of turns.dev.example.com",
    ]
    assert conversion(rest) == {"strategy": "None"}
    killed.close(stays=False)


def test_the_loop_that_ends_leaves_what_another_one_has_put_in_its_place(
    project: DevProject, control_plane: ControlPlane, rest: Rest
) -> None:
    """Two loops may share a control plane that stays."""
    first, second = (LocalWebhooks(project, control_plane.kubeconfig) for _ in range(2))
    list(first.renew("1"))
    list(second.renew("1"))
    first.close(stays=True)
    assert conversion(rest)["webhook"]["clientConfig"]["url"] == f"{second.url}/convert"
    assert len(installed_with(rest, "pykb-dev-", url=second.url)) == 1
    second.close(stays=True)
    assert installed_with(rest, "pykb-dev-") == []


def test_a_manifest_that_is_broken_leaves_what_was_there(
    project: DevProject, control_plane: ControlPlane, rest: Rest
) -> None:
    """It is told, and at the end everything is taken back all the same."""
    webhooks = LocalWebhooks(project, control_plane.kubeconfig)
    list(webhooks.renew("1"))
    project.webhook_manifest.write_text("a: [")
    with pytest.raises(EnvironmentProblem, match="is not YAML"):
        list(webhooks.renew("1"))
    assert len(installed_with(rest, "pykb-dev-", url=webhooks.url)) == 1
    webhooks.close(stays=True)
    assert installed_with(rest, "pykb-dev-") == []
    assert conversion(rest) == {"strategy": "None"}


def test_webhooks_that_are_switched_off_are_removed(
    project: DevProject, control_plane: ControlPlane, rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENABLE_WEBHOOKS=false is heeded by the manager, and so by the loop."""
    webhooks = LocalWebhooks(project, control_plane.kubeconfig)
    list(webhooks.renew("1"))
    monkeypatch.setenv("ENABLE_WEBHOOKS", "false")
    assert webhooks.flags() == ()
    list(webhooks.renew("1"))
    assert installed_with(rest, "pykb-dev-") == []
    assert conversion(rest)["strategy"] == "None"
    webhooks.close(stays=False)


def test_the_certificate_is_private_and_gone_at_the_end(project: DevProject, control_plane: ControlPlane) -> None:
    """Nobody else on the machine reads the key, and the manager can use it."""
    webhooks = LocalWebhooks(project, control_plane.kubeconfig)
    path, port, host = webhooks.flags()
    folder = Path(path.partition("=")[2])
    assert port == f"--webhook-port={webhooks.url.rpartition(':')[2]}"
    assert host == "--webhook-bind-host=127.0.0.1"
    assert folder.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder.iterdir())
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder / "tls.crt", folder / "tls.key")
    assert webhooks.flags() == (path, port, host)
    webhooks.close(stays=False)
    assert not folder.exists()


def test_a_definition_that_is_generated_with_a_service_is_converted_here_too(
    project: DevProject, control_plane: ControlPlane, rest: Rest
) -> None:
    """Installing it again leaves a conversion that is served; one that is not gives way to the service again."""
    client_config = {"service": {"name": "webhook-service", "namespace": "system", "path": "/convert"}}
    webhook = {"clientConfig": client_config, "conversionReviewVersions": ["v1"]}
    spec = {**CRD["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}  # type: ignore[dict-item]
    (project.crds / "turns.yaml").write_text(json.dumps({**CRD, "spec": spec}))
    control_plane.install_crds(project.crds)
    webhooks = LocalWebhooks(project, control_plane.kubeconfig)
    assert "installed the conversion of turns.dev.example.com" in list(webhooks.renew("1"))
    with socket.socket() as listening:  # a manager would
        listening.bind(("127.0.0.1", int(webhooks.url.rpartition(":")[2])))
        listening.listen()
        control_plane.install_crds(project.crds)
        assert conversion(rest)["webhook"]["clientConfig"]["url"] == f"{webhooks.url}/convert"
    webhooks.close(stays=True)
    assert conversion(rest)["webhook"]["clientConfig"]["service"]["name"] == "webhook-service"
    list(webhooks.renew("2"))
    list(webhooks.renew("2 again"))
    webhooks.close(stays=True)
    assert conversion(rest)["webhook"]["clientConfig"]["service"]["name"] == "webhook-service"
    list(webhooks.renew("2 once more"))
    control_plane.install_crds(project.crds)
    assert "url" not in conversion(rest)["webhook"]["clientConfig"]
    list(webhooks.renew("3"))
    assert conversion(rest)["webhook"]["clientConfig"]["url"] == f"{webhooks.url}/convert"
    webhooks.close(stays=True)
    assert "url" not in conversion(rest)["webhook"]["clientConfig"]

    (project.crds / "turns.yaml").write_text(json.dumps(CRD))  # the conversion was given up
    control_plane.install_crds(project.crds)
    assert conversion(rest) == {"strategy": "None"}


def test_certificates_of_killed_loops_are_removed_and_those_of_others_left(
    project: DevProject, control_plane: ControlPlane
) -> None:
    """A lock tells whether a loop lives: the system frees it, however it ends."""
    other = LocalWebhooks(project, control_plane.kubeconfig)
    other.flags()
    folders = project.root / ".pykb" / "webhooks"
    killed = folders / "1"
    killed.mkdir()
    (killed / "lock").touch()
    ours = LocalWebhooks(project, control_plane.kubeconfig)
    ours.flags()
    names = {webhooks.url.rpartition(":")[2] for webhooks in (ours, other)}
    assert {folder.name for folder in folders.iterdir()} == names
    ours.close(stays=False)
    other.close(stays=False)
    assert list(folders.iterdir()) == []
