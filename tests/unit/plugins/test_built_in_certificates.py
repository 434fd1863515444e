"""Webhooks whose certificate the manager makes: what kustomize makes of the manifests, and what they permit."""

from __future__ import annotations

import asyncio
import base64
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.client.clock import SystemClock
from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.envtest import ControlPlane
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Client, Forbidden, ManagerOptions
from pykb.serving.managed_certificates import ManagedCertificates
from pykb.tools.kubectl import APPLY
from tests.unit.plugins.conftest import Grow, kubectl, pykb, run

NAMESPACE = "quay-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:quay-controller-manager"
CRDS = ["piers.fleet.quay.example.com", "ships.fleet.quay.example.com"]
CONFIGURATIONS = ["quay-mutating-webhook-configuration", "quay-validating-webhook-configuration"]
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SECRET = GroupVersionKind("", "v1", "Secret")
Objects = dict[tuple[str, str], Any]

pytestmark = pytest.mark.apiserver


@pytest.fixture(scope="module")
def root(grow: Grow) -> Path:
    """A project with two converted kinds, one that is not, and webhooks of each type."""
    kinds = [
        NewApi("fleet", "v1", "Ship"),
        NewApi("fleet", "v1beta1", "Ship", controller=False),
        NewApi("fleet", "v1", "Pier"),
        NewApi("fleet", "v2", "Pier", controller=False),
        NewApi("fleet", "v1", "Crew"),
    ]
    webhooks = [
        NewWebhook("fleet", "v1", "Ship", defaulting=True, conversion=True),
        NewWebhook("fleet", "v2", "Pier", conversion=True),
        NewWebhook("fleet", "v1", "Crew", validation=True),
    ]
    made = grow(NewProject("quay.example.com", "quay"), *kinds, *webhooks)
    pykb(made, "generate")
    return made


@pytest.fixture(scope="module")
def objects(root: Path) -> dict[tuple[str, str], Any]:
    """The objects of config/default by kind and name."""
    built = yaml.safe_load_all(run(root, kubectl(), "kustomize", "config/default"))
    return {(each["kind"], each["metadata"]["name"]): each for each in built}


def arguments(objects: Objects) -> list[str]:
    """The arguments of the manager."""
    (container,) = objects["Deployment", "quay-controller-manager"]["spec"]["template"]["spec"]["containers"]
    return [str(each) for each in container["args"]]


def test_the_arguments_name_objects_of_the_operator(objects: Objects) -> None:
    """Kustomize adds the prefix to each of them."""
    options = ManagerOptions.from_args(arguments(objects)).managed_certificate
    assert ("Secret", options.secret) in objects
    assert ("ConfigMap", options.secret) in objects
    assert options.services == ("quay-webhook-service", "quay-controller-manager-metrics-service")
    assert all(("Service", name) in objects for name in options.services)
    assert list(options.configurations) == CONFIGURATIONS
    for name in options.configurations:
        assert any((kind, name) in objects for kind in KINDS)


def test_the_permissions_name_each_object(objects: Objects) -> None:
    """Those of the certificate, and no others."""
    rules = {
        f"{kind} {name}": [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in each["rules"]]
        for (kind, name), each in objects.items()
        if "certificates" in name and kind.endswith("Role")
    }
    assert rules == {
        "Role quay-certificates-role": [
            (["secrets", "configmaps"], ["quay-serving-certificate"], ["get", "patch", "create"])
        ],
        "ClusterRole quay-certificates-role": [
            (["mutatingwebhookconfigurations", "validatingwebhookconfigurations"], CONFIGURATIONS, ["get", "patch"])
        ],
        "ClusterRole quay-certificates-conversion-role": [
            (["customresourcedefinitions"], sorted(CRDS, reverse=True), ["get", "patch"])
        ],
    }


def test_cert_manager_is_not_needed_and_nothing_is_mounted(objects: Objects) -> None:
    """The Secret is empty, and the pod has no volume and no right that it did not have before."""
    text = yaml.safe_dump(list(objects.values()))
    assert "cert-manager" not in text
    assert "data" not in objects["Secret", "quay-serving-certificate"]
    pod = objects["Deployment", "quay-controller-manager"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (pod["volumes"], container["volumeMounts"]) == ([], [])
    assert {"containerPort": 9443, "name": "webhook-server", "protocol": "TCP"} in container["ports"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_prometheus_verifies_the_metrics_once_it_is_told_to(root: Path, objects: Objects) -> None:
    """By the name of their Service, and the authority in the ConfigMap."""
    changes = (("default", "#- ../prometheus", "- ../prometheus"), ("prometheus", "_tls_", "_authority_"))
    files = {root / "config" / folder / "kustomization.yaml": change for folder, *change in changes}
    before = {file: file.read_text(encoding="utf-8") for file in files}
    try:
        for file, (old, new) in files.items():
            text = before[file].replace(old, new)
            file.write_text(re.sub(r"^#(?=- path: monitor|patches:|  )", "", text, flags=re.MULTILINE), "utf-8")
        built = yaml.safe_load_all(run(root, kubectl(), "kustomize", "config/default"))
        (monitor,) = [each for each in built if each["kind"] == "ServiceMonitor"]
    finally:
        for file, text in before.items():
            file.write_text(text, encoding="utf-8")
    tls = monitor["spec"]["endpoints"][0]["tlsConfig"]
    assert ("ConfigMap", tls["ca"]["configMap"]["name"]) in objects
    name, namespace, _ = tls["serverName"].split(".")
    assert (("Service", name) in objects, namespace) == (True, NAMESPACE)
    assert tls["insecureSkipVerify"] is False


async def test_with_these_permissions_the_manager_makes_its_certificate(
    root: Path, objects: Objects, control_plane: ControlPlane
) -> None:
    """As the ServiceAccount of the manifests. Another deployment leaves what it has set."""
    text = run(root, kubectl(), "kustomize", "config/default")
    base = [str(kubectl()), f"--kubeconfig={control_plane.kubeconfig}"]

    async def told(*words: str, stdin: str = text) -> None:
        await asyncio.to_thread(
            subprocess.run, [*base, *words], input=stdin, text=True, check=True, capture_output=True
        )

    namespace = yaml.safe_dump(objects["Namespace", NAMESPACE])
    await told("apply", *APPLY, stdin=namespace)
    await told("apply", *APPLY)
    options = ManagerOptions.from_args(arguments(objects)).managed_certificate
    try:
        async with Client.from_kubeconfig(control_plane.kubeconfig) as admin:
            limited = admin.impersonate(ACCOUNT, groups=("system:serviceaccounts", "system:authenticated"))
            managed = ManagedCertificates(limited, options, namespace=_namespace, converted=_crds, clock=SystemClock())
            running = asyncio.create_task(managed.run())
            pair = await asyncio.wait_for(managed.pair(), 60)
            running.cancel()
            bundle = base64.b64encode(pair.authorities).decode()
            assert await bundles(base) == {bundle}
            await told("apply", *APPLY)
            assert await bundles(base) == {bundle}
            secret = await admin.get(SECRET, options.secret, namespace=NAMESPACE)
            assert base64.b64decode(secret.data["data"]["tls.crt"]) == pair.certificate
            secret.data["metadata"] = {"name": "other", "namespace": NAMESPACE}
            with pytest.raises(Forbidden):
                await limited.create(secret)
    finally:
        await told("delete", "--wait=false", "-f", "-")


async def bundles(base: list[str]) -> set[str]:
    """Whom the API server trusts, in each place where it calls the operator."""
    names = [f"mutatingwebhookconfiguration/{CONFIGURATIONS[0]}", f"validatingwebhookconfiguration/{CONFIGURATIONS[1]}"]
    names += [f"crd/{each}" for each in CRDS]
    path = "{.webhooks[*].clientConfig.caBundle}{.spec.conversion.webhook.clientConfig.caBundle}"
    commands = [[*base, "get", name, f"--output=jsonpath={path}"] for name in names]
    done = [
        await asyncio.to_thread(subprocess.run, each, text=True, check=True, capture_output=True) for each in commands
    ]
    return {each.stdout for each in done}


async def _namespace() -> str:
    return NAMESPACE


async def _crds() -> list[str]:
    return CRDS
