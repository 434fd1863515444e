"""What `pykb deploy` waits for after the rollout: the API server reaches the webhooks.

The Service is of type ExternalName, so that it leads to this machine.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pykb.deployment._rollout import await_webhooks
from pykb.deployment.apply import await_deleted, custom_objects, wait_established
from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import as_list
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.components import Authority
from pykb.envtest.reporter import Silent
from pykb.runtime import CertificateOptions, ManagerOptions, VirtualClock
from pykb.runtime._metrics import Metrics
from pykb.runtime.webhook import allowed, denied
from pykb.tools.kubectl import Kubectl
from pykb.webhook.server import WebhookServer

NAMESPACE = "moorings-system"
SERVICE = "webhook-service"
GROUP = "harbour.example.com"
SAMPLE = {"apiVersion": f"{GROUP}/v1", "kind": "Boat", "metadata": {"name": "a"}, "spec": {"length": 4}}


def boats(*versions: str, **spec: Any) -> dict[str, Any]:
    """A CRD. The first version is stored."""
    length = {"type": "object", "properties": {"length": {"type": "integer"}}, "required": ["length"]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": length}, "required": ["spec"]}}
    served = [{"name": each, "served": True, "storage": each == versions[0], "schema": schema} for each in versions]
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boats.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": served, **spec},
    }


class Harbour:
    """An operator with webhooks, whose server is started and stopped by tests."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.authority = Authority()
        self.answered: list[str] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.authority.server([f"{SERVICE}.{NAMESPACE}.svc"]).write(folder, "tls")
        self.options = ManagerOptions(
            webhook_port=self.port, webhook_bind_host="127.0.0.1", webhook_certificate=CertificateOptions(folder)
        )

    def bundle(self, authority: Authority | None = None) -> str:
        """A CA bundle as it is written in manifests."""
        return base64.b64encode((authority or self.authority).pair.certificate).decode()

    def apply(self, *objects: dict[str, Any]) -> list[dict[str, Any]]:
        """Apply an operator of these objects."""
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": self.port}]},
        }
        operator = [service, *objects]
        self.cluster.kubectl.apply(as_list(operator))
        wait_established(self.cluster.kubectl, [f"boats.{GROUP}"])
        return operator

    def client(self, path: str, bundle: str) -> dict[str, Any]:
        """How the API server calls a path."""
        service = {"name": SERVICE, "namespace": NAMESPACE, "path": path, "port": self.port}
        return {"service": service, **({"caBundle": bundle} if bundle else {})}

    def webhooks(self, kind: str, bundle: str = "") -> dict[str, Any]:
        """The configuration of a webhook for boats."""
        rule = {"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["boats"]}
        webhook = {
            "name": f"{kind.lower()}.{GROUP}",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": self.client(f"/{kind.lower()}", bundle),
            "rules": [rule],
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "harbour"},
            "webhooks": [webhook],
        }

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the webhooks in another thread."""
        over, loop = asyncio.Event(), asyncio.new_event_loop()

        async def serve() -> None:
            async with self._serving():
                await over.wait()

        thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join()
            loop.close()

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        server = WebhookServer(self.options, metrics=Metrics(), clock=VirtualClock())

        async def mutate(_: object) -> Any:
            self.answered.append("Mutating")
            return allowed()

        async def validate(_: object) -> Any:
            self.answered.append("Validating")
            return denied("the harbour is full")

        server.register("/mutating", mutate)
        server.register("/validating", validate)
        server.leave()  # closes each connection, so that the API server verifies the certificate each time
        running = asyncio.create_task(server.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait([running])


@pytest.fixture
def harbour(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Harbour]:
    """An operator with webhooks."""
    program = get_assets(kubectl=True).kubectl
    assert program is not None
    kubectl = Kubectl(program, control_plane.kubeconfig)
    if not kubectl("get", "namespace", NAMESPACE, "--ignore-not-found"):
        kubectl("create", "namespace", NAMESPACE)
    yield Harbour(Cluster(kubectl), tmp_path)
    for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
        kubectl("delete", kind, "harbour", "--ignore-not-found")
    kubectl("delete", "crd", f"boats.{GROUP}", "--ignore-not-found", "--wait=false")
    await_deleted(kubectl, [f"boats.{GROUP}"])
    kubectl("delete", "service", SERVICE, "--namespace", NAMESPACE, "--ignore-not-found")


def why(harbour: Harbour, operator: list[dict[str, Any]], *samples: dict[str, Any]) -> str:
    """What a user reads when the webhooks do not answer."""
    with pytest.raises(EnvironmentProblem) as problem:
        await_webhooks(harbour.cluster, operator, samples, Silent(), timeout=timedelta(seconds=0.1))
    found = problem.value.diagnostic
    assert found.code.slug == "webhook-unanswered"
    return "\n".join((found.message, *found.notes, *found.help))


def test_without_webhooks_there_is_nothing_to_wait_for(harbour: Harbour) -> None:
    """The cluster is not asked."""
    nobody = Cluster(Kubectl(Path("/nowhere")))
    await_webhooks(nobody, [boats("v1")], [SAMPLE], Silent(), timeout=timedelta(seconds=0.1))
    assert harbour.answered == []


def test_a_missing_bundle_is_explained(harbour: Harbour) -> None:
    """By who sets it: the manager, or cert-manager."""
    configuration = harbour.webhooks("Mutating")
    operator = harbour.apply(boats("v1"), configuration)
    said = why(harbour, operator)
    assert "`MutatingWebhookConfiguration harbour` has no caBundle after 0.1 s\nthe manager sets it" in said
    configuration["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/serving-cert"}
    said = why(harbour, harbour.apply(boats("v1"), configuration))
    assert f"kubectl describe certificate serving-cert --namespace {NAMESPACE}" in said


def test_a_server_that_does_not_listen_is_explained(harbour: Harbour) -> None:
    """With the reason of the API server."""
    operator = harbour.apply(boats("v1"), harbour.webhooks("Mutating", harbour.bundle()))
    said = why(harbour, operator)
    assert f"the API server does not reach the webhook `mutating.{GROUP}`" in said
    assert "connection refused" in said
    assert "ENABLE_WEBHOOKS=false" in said


def test_a_certificate_that_is_not_trusted_is_explained(harbour: Harbour) -> None:
    """The bundle is of another authority."""
    operator = harbour.apply(boats("v1"), harbour.webhooks("Mutating", harbour.bundle(Authority())))
    with harbour.served():
        said = why(harbour, operator)
    assert "x509: certificate signed by unknown authority" in said
    assert "its caBundle does not fit" in said
    assert harbour.answered == []


def test_the_wait_ends_when_the_webhooks_answer(harbour: Harbour) -> None:
    """Each answer counts: the smallest object lacks a field, and the sample is refused by the webhook."""
    operator = harbour.apply(
        boats("v1"), harbour.webhooks("Mutating", harbour.bundle()), harbour.webhooks("Validating", harbour.bundle())
    )
    found: list[BaseException] = []

    def wait() -> None:
        try:
            await_webhooks(harbour.cluster, operator, [SAMPLE], Silent(), timeout=timedelta(minutes=1))
        except EnvironmentProblem as problem:
            found.append(problem)

    waiting = threading.Thread(target=wait)
    waiting.start()
    with harbour.served():
        waiting.join()
        assert found == []
        assert set(harbour.answered) == {"Mutating", "Validating"}
        harbour.answered.clear()
        await_webhooks(harbour.cluster, operator, [], Silent(), timeout=timedelta(seconds=30))
        assert set(harbour.answered) == {"Mutating"}
    assert json.loads(harbour.cluster.kubectl("get", "boats", "--output=json"))["items"] == []


def test_a_converter_that_does_not_answer_is_found(harbour: Harbour) -> None:
    """A sample of a version that is not stored is converted in a dry run, too."""
    conversion = {"clientConfig": harbour.client("/convert", harbour.bundle()), "conversionReviewVersions": ["v1"]}
    operator = harbour.apply(boats("v1", "v2", conversion={"strategy": "Webhook", "webhook": conversion}))
    older = {**SAMPLE, "apiVersion": f"{GROUP}/v2"}
    said = why(harbour, operator, SAMPLE, older)
    assert f"the API server does not reach the conversion webhook of `{GROUP}/v2 Boat`" in said


def test_objects_that_only_a_missing_converter_can_read_do_not_stay_forever(harbour: Harbour) -> None:
    """Nobody can list them, and so a deleted CRD would wait for them. Without the conversion they can be read."""
    kubectl = harbour.cluster.kubectl
    harbour.apply(boats("v1"))
    kubectl.apply(json.dumps({**SAMPLE, "metadata": {"name": "a", "namespace": NAMESPACE}}))
    conversion = {"clientConfig": harbour.client("/convert", harbour.bundle()), "conversionReviewVersions": ["v1"]}
    crd = boats("v2", "v1", conversion={"strategy": "Webhook", "webhook": conversion})
    harbour.apply(crd)
    with pytest.raises(EnvironmentProblem) as problem:
        custom_objects(harbour.cluster, [crd])
    found = problem.value.diagnostic
    message = f"the objects of `boats.{GROUP}` cannot be read, since its conversion webhook does not answer"
    assert (found.code.slug, found.message) == ("delete-stuck", message)
    command, _, remark = found.help[-1].partition("     # ")
    assert remark == "reads them without it"
    kubectl(*shlex.split(command)[1:])
    assert custom_objects(harbour.cluster, [crd]) == {f"boats.{GROUP}": 1}
