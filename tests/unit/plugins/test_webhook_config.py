"""What kustomize makes of a project with webhooks, and what a real API server says to it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.envtest import ControlPlane
from pykb.project import Certificates
from tests.unit.plugins.conftest import Grow, kubectl, pykb, run

CERT_MANAGER = Certificates.CERT_MANAGER
KINDS_OF_CERT_MANAGER = "certificates", "issuers"
IMAGE = "controller:latest"
INJECT = "cert-manager.io/inject-ca-from"
PROJECT = NewProject("example.com", "harbour", multigroup=True)
KINDS = [
    NewApi("fleet", "v1", "Ship"),
    NewApi("fleet", "v1beta1", "Ship", controller=False),
    NewApi("fleet", "v1", "Pier"),
    NewApi("fleet", "v2", "Pier", controller=False),
    NewApi("crew", "v1", "Ship"),
]
WEBHOOKS = [
    NewWebhook("fleet", "v1", "Ship", defaulting=True, validation=True, conversion=True, certificates=CERT_MANAGER),
    NewWebhook("fleet", "v2", "Pier", conversion=True),
    NewWebhook("crew", "v1", "Ship", defaulting=True, defaulting_path="/crew/ship"),
    NewWebhook("fleet", "v1beta1", "Ship", validation=True),
]


@pytest.fixture(scope="module")
def root(grow: Grow) -> Path:
    """A project whose kinds have webhooks of each type, generated."""
    made = grow(PROJECT, *KINDS, *WEBHOOKS)
    pykb(made, "generate")
    return made


def build(root: Path) -> dict[tuple[str, str], Any]:
    """The objects of config/default by kind and name."""
    built = yaml.safe_load_all(run(root, kubectl(), "kustomize", "config/default"))
    return {(each["kind"], each["metadata"]["name"]): each for each in built}


@pytest.mark.apiserver
def test_the_authority_is_injected_wherever_the_api_server_calls(root: Path) -> None:
    """Both configurations and every converted CRD, the second one too; a CRD without conversion stays as it is."""
    objects = build(root)
    injected = {key for key, each in objects.items() if INJECT in each["metadata"].get("annotations", {})}
    assert injected == {
        ("MutatingWebhookConfiguration", "harbour-mutating-webhook-configuration"),
        ("ValidatingWebhookConfiguration", "harbour-validating-webhook-configuration"),
        ("CustomResourceDefinition", "ships.fleet.example.com"),
        ("CustomResourceDefinition", "piers.fleet.example.com"),
    }
    values = {objects[key]["metadata"]["annotations"][INJECT] for key in injected}
    assert values == {"harbour-system/harbour-serving-cert"}
    assert ("Certificate", "harbour-serving-cert") in objects


@pytest.mark.apiserver
def test_every_call_goes_to_the_service_that_the_certificate_is_for(root: Path) -> None:
    """Name, namespace and path, in configurations and CRDs; the certificate's names are the Service's."""
    objects = build(root)
    service = objects["Service", "harbour-webhook-service"]
    assert service["spec"]["ports"] == [{"port": 443, "protocol": "TCP", "targetPort": 9443}]
    clients = [
        webhook["clientConfig"]["service"]
        for kind in ("Mutating", "Validating")
        for webhook in objects[f"{kind}WebhookConfiguration", f"harbour-{kind.lower()}-webhook-configuration"][
            "webhooks"
        ]
    ]
    converted = [each["spec"].get("conversion") for (kind, _), each in objects.items() if kind.startswith("Custom")]
    clients += [each["webhook"]["clientConfig"]["service"] for each in converted if each]
    assert {(each["name"], each["namespace"]) for each in clients} == {("harbour-webhook-service", "harbour-system")}
    assert sorted(each["path"] for each in clients) == [
        "/convert",
        "/convert",
        "/crew/ship",
        "/mutate-fleet-example-com-v1-ship",
        "/validate-fleet-example-com-v1-ship",
        "/validate-fleet-example-com-v1beta1-ship",
    ]
    certificate = objects["Certificate", "harbour-serving-cert"]["spec"]
    name = "harbour-webhook-service.harbour-system.svc"
    assert certificate["dnsNames"] == [name, f"{name}.cluster.local"]
    assert certificate["issuerRef"]["name"] == "harbour-selfsigned-issuer"
    # cert-manager takes no longer one; without one the issuer has no name.
    assert 0 < len(certificate["commonName"]) <= 64


@pytest.mark.apiserver
def test_the_manager_has_the_certificate_and_stays_restricted(root: Path) -> None:
    """The Secret is mounted, the port is open, the root file system is read-only still."""
    pod = build(root)["Deployment", "harbour-controller-manager"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (path,) = [a.partition("=")[2] for a in container["args"] if a.startswith("--webhook-cert-path=")]
    (mount,) = [m for m in container["volumeMounts"] if m["mountPath"] == path]
    (volume,) = [v for v in pod["volumes"] if v["name"] == mount["name"]]
    assert mount["readOnly"] is True
    assert volume["secret"]["secretName"] == "webhook-server-cert"
    assert {"containerPort": 9443, "name": "webhook-server", "protocol": "TCP"} in container["ports"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["securityContext"]["runAsNonRoot"] is True


@pytest.mark.apiserver
def test_policies_and_the_metrics_certificate_can_be_switched_on(grow: Grow) -> None:
    """The pod's port is what a policy is about; certificate and ServiceMonitor get the name of the metrics' Service.

    It follows the prefix and the namespace that the user chooses.
    """
    root = grow(PROJECT, *KINDS, *WEBHOOKS)
    pykb(root, "generate")
    for folder in ("default", "certmanager", "prometheus"):
        path = root / "config" / folder / "kustomization.yaml"
        text = path.read_text(encoding="utf-8")
        text = text.replace("namespace: harbour-system", "namespace: team").replace(
            "namePrefix: harbour-", "namePrefix: my-"
        )
        path.write_text(re.sub(r"^#(?=- |  |patches:|components:)", "", text, flags=re.MULTILINE), encoding="utf-8")
    objects = build(root)
    policy = objects["NetworkPolicy", "my-allow-webhook-traffic"]["spec"]
    assert policy["ingress"] == [{"ports": [{"port": 9443, "protocol": "TCP"}]}]
    name = "my-controller-manager-metrics-service.team.svc"
    (endpoint,) = objects["ServiceMonitor", "my-controller-manager-metrics-monitor"]["spec"]["endpoints"]
    assert endpoint["tlsConfig"]["serverName"] == name
    certificate = objects["Certificate", "my-metrics-certs"]["spec"]
    assert certificate["dnsNames"] == [name, f"{name}.cluster.local"]
    assert 0 < len(certificate["commonName"]) <= 64


def test_names_of_webhooks_are_unique_in_their_configuration(root: Path) -> None:
    """Two groups have the kind: the second one's webhook has the group in its name."""
    documents = list(yaml.safe_load_all((root / "config/webhook/manifests.yaml").read_text(encoding="utf-8")))
    names = [[webhook["name"] for webhook in each["webhooks"]] for each in documents]
    assert names == [["mship-v1.crew.example.com.kb.io", "mship-v1.kb.io"], ["vship-v1.kb.io", "vship-v1beta1.kb.io"]]


def test_the_manager_tells_the_webhooks_of_two_groups_apart(root: Path) -> None:
    """By the group, or by the version where that differs within one."""
    text = (root / "harbour/__main__.py").read_text(encoding="utf-8")
    names = re.findall(r"^    (setup_\w+)\(manager\)$", text, re.MULTILINE)
    assert names == [
        "setup_ship_webhook",
        "setup_pier_webhook",
        "setup_crew_ship_webhook",
        "setup_v1beta1_ship_webhook",
    ]


@pytest.fixture(scope="module")
def cert_manager(control_plane: ControlPlane) -> Iterator[None]:
    """The CRDs that the project uses of cert-manager, with no cert-manager behind them."""
    crds = [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": {
                "group": "cert-manager.io",
                "names": {"kind": plural[:-1].title(), "plural": plural},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                ],
            },
        }
        for plural in KINDS_OF_CERT_MANAGER
    ]
    yield from applied(control_plane, crds)


def applied(control_plane: ControlPlane, objects: list[dict[str, Any]]) -> Iterator[None]:
    """The objects are in the cluster for a while."""
    text = yaml.safe_dump_all(objects)
    base = [str(kubectl()), f"--kubeconfig={control_plane.kubeconfig}"]
    subprocess.run([*base, "apply", "--server-side", "-f", "-"], input=text, text=True, check=True)
    subprocess.run([*base, "wait", "--for=condition=Established", "-f", "-"], input=text, text=True, check=True)
    yield
    subprocess.run([*base, "delete", "--timeout=60s", "-f", "-"], input=text, text=True, check=True)


def deploy(root: Path, kubeconfig: Path, code: int = 0) -> str:
    """Deploy a project, whose manifests are generated."""
    return pykb(root, "deploy", "--image", IMAGE, f"--kubeconfig={kubeconfig}", code=code)


@pytest.mark.apiserver
def test_without_cert_manager_nothing_is_deployed(root: Path, control_plane: ControlPlane) -> None:
    """Half an operator would be there before the first Certificate is refused."""
    shown = deploy(root, control_plane.kubeconfig, code=1)
    assert "error[kind-unserved]: the cluster does not serve `cert-manager.io/v1`" in shown
    assert "it has no cert-manager" in shown
    assert "https://cert-manager.io/docs/installation" in shown
    assert "serverside-applied" not in shown


@pytest.mark.apiserver
def test_the_installer_says_that_it_needs_cert_manager(root: Path) -> None:
    """`kubectl apply` goes on after a kind that it does not find: webhooks without a certificate refuse every object."""
    shown = pykb(root, "build-installer", "--image", IMAGE)
    first, *_ = (root / "dist/install.yaml").read_text(encoding="utf-8").splitlines()
    assert first.startswith("# Install cert-manager in the cluster first")
    assert f"note: dist/install.yaml: {first.removeprefix('# ')}" in shown
    kinds = [each["kind"] for each in yaml.safe_load_all((root / "dist/install.yaml").read_text(encoding="utf-8"))]
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


@pytest.mark.apiserver
@pytest.mark.usefixtures("cert_manager")
def test_who_may_not_read_definitions_is_not_told_of_cert_manager(root: Path, control_plane: ControlPlane) -> None:
    """The true reason is that nothing may be applied."""
    shown = deploy(root, control_plane.user("somebody"), code=1)
    assert "no cert-manager" not in shown
    assert 'User "somebody" cannot' in shown


@pytest.mark.apiserver
@pytest.mark.usefixtures("cert_manager")
def test_a_project_with_webhooks_is_deployed(root: Path, control_plane: ControlPlane) -> None:
    """The API server takes every object."""
    try:
        shown = deploy(root, control_plane.kubeconfig)
        for name in (
            "mutatingwebhookconfiguration.admissionregistration.k8s.io/harbour-mutating-webhook-configuration",
            "certificate.cert-manager.io/harbour-serving-cert",
            "issuer.cert-manager.io/harbour-selfsigned-issuer",
            "customresourcedefinition.apiextensions.k8s.io/piers.fleet.example.com",
        ):
            assert f"{name} serverside-applied" in shown
        shown = pykb(root, "install", f"--kubeconfig={control_plane.kubeconfig}")
        assert shown.count("serverside-applied") == len(list(root.glob("config/crd/bases/*")))
        assert "note: the API server converts piers.fleet.example.com, " in shown
        service = "jsonpath={.spec.conversion.webhook.clientConfig.service.name}"
        command = [kubectl(), f"--kubeconfig={control_plane.kubeconfig}", "get", "crd", "piers.fleet.example.com"]
        assert run(root, *command, "-o", service) == "harbour-webhook-service"
    finally:
        remove(root, control_plane)


def remove(root: Path, control_plane: ControlPlane) -> None:
    """Delete the project's objects from the cluster."""
    text = run(root, kubectl(), "kustomize", "config/default")
    subprocess.run(
        [kubectl(), f"--kubeconfig={control_plane.kubeconfig}", "delete", "--wait=false", "-f", "-"],
        input=text,
        text=True,
        check=False,
        capture_output=True,
    )


@pytest.mark.apiserver
@pytest.mark.usefixtures("cert_manager")
def test_a_deployment_follows_the_switch_of_its_certificates(
    root: Path, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """To the manager's own and back: nothing of the other issuer stays in the objects, and `caBundle` is kept."""
    project = shutil.copytree(root, tmp_path / "harbour")
    default = project / "config/default/kustomization.yaml"  # the namespace of the other tests is being deleted
    default.write_text(
        re.sub("^(name.*: )harbour-", r"\1dock-", default.read_text("utf-8"), flags=re.MULTILINE), "utf-8"
    )
    base = (kubectl(), f"--kubeconfig={control_plane.kubeconfig}")
    hooks = ("mutatingwebhookconfiguration", "dock-mutating-webhook-configuration")
    bundle = base64.b64encode(b"of cert-manager").decode()
    trusted = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]

    def seen() -> tuple[bool, str, str]:
        """Whether cert-manager injects, what is trusted, and the pod."""
        found = yaml.safe_load(run(project, *base, "get", *hooks, "-o", "yaml"))
        deployment = ("get", "deployment", "-n", "dock-system", "dock-controller-manager")
        pod = run(project, *base, *deployment, "-o", "jsonpath={.spec.template.spec}")
        client = found["webhooks"][0]["clientConfig"]
        return INJECT in found["metadata"].get("annotations", {}), client.get("caBundle", ""), pod

    try:
        deploy(project, control_plane.kubeconfig)
        run(project, *base, "patch", *hooks, "--type=json", "-p", json.dumps(trusted))
        injected, trust, pod = seen()
        assert (injected, trust, "webhook-certs" in pod) == (True, bundle, True)
        pykb(project, "edit", "--certificates", "built-in")
        deploy(project, control_plane.kubeconfig)
        injected, trust, pod = seen()
        assert (injected, trust, "webhook-certs" in pod, "--cert-secret" in pod) == (False, bundle, False, True)
        pykb(project, "edit", "--certificates", "cert-manager")
        deploy(project, control_plane.kubeconfig)
        injected, trust, pod = seen()
        assert (injected, trust, "webhook-certs" in pod, "--cert-secret" in pod) == (True, bundle, True, False)
    finally:
        remove(project, control_plane)
