"""Certificates that managers make for their webhooks: a real API server calls these through Services and verifies them.

The Services are of type ExternalName, so that they lead to this machine.
"""

import asyncio
import base64
import logging
import socket
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from pykb.api import Converter, CustomResource, GroupVersion, carry_over
from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import NoKindMatch
from pykb.client.login import KubeconfigSource
from pykb.envtest.components import Authority
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import (
    ApiError,
    Client,
    Forbidden,
    JsonPatch,
    ManagedCertificateOptions,
    Manager,
    ManagerOptions,
    MergePatch,
    VirtualClock,
    WebhookBuilder,
)
from pykb.runtime._logging import TextFormatter
from pykb.runtime._metrics import Metrics
from pykb.runtime.webhook import allowed
from pykb.serving import _authority
from pykb.serving.managed_certificates import PERIOD, ManagedCertificates
from pykb.testing import eventually, running
from pykb.webhook.server import WebhookServer

from .conftest import client_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

SECRET = "serving-certificate"
PATH = "/validate"
DAY = timedelta(days=1)
LONG = timedelta(seconds=60)
CONFIGURATION = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
RBAC = "rbac.authorization.k8s.io"


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Lab:
    """A namespace with webhooks of several replicas, and managers that run with the scaffolded permissions only."""

    def __init__(self, namespace, admin, user, user_name):
        self.namespace, self.admin, self.user, self.user_name = namespace, admin, user, user_name
        self.configuration = f"{namespace}-validating"
        self.services = [f"webhook-service-{number}" for number in range(3)]
        self.ports = [free_port() for _ in self.services]
        self.clock, self.now = VirtualClock(), datetime.now(UTC)
        self.servers = []

    def manifests(self):
        """As `kubectl apply` sends them, again and again."""
        metadata = {"name": SECRET, "namespace": self.namespace}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        for name, port in zip(self.services, self.ports, strict=True):
            yield {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
            }
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.configuration},
            "webhooks": [self.webhook(*pair) for pair in zip(self.services, self.ports, strict=True)],
        }
        yield from self.roles()

    def webhook(self, service, port):
        """One that must answer."""
        config = {"service": {"name": service, "namespace": self.namespace, "path": PATH, "port": port}}
        return {
            "name": f"{service}.example.com",
            "admissionReviewVersions": ["v1"],
            "clientConfig": config,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "objectSelector": {"matchLabels": {"judged": "yes"}},
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
            ],
        }

    def roles(self):
        """The permissions: objects by name, and nothing else."""
        subjects = [{"kind": "User", "name": self.user_name, "apiGroup": RBAC}]
        own = {"apiGroups": [""], "resources": ["secrets", "configmaps"], "resourceNames": [SECRET]}
        hooks = {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "resourceNames": [self.configuration],
        }
        for kind, rule, verbs, place in (
            ("Role", own, ["get", "patch", "create"], {"namespace": self.namespace}),
            ("ClusterRole", hooks, ["get", "patch"], {}),
        ):
            metadata = {"name": f"{self.namespace}-certificates", **place}
            role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}
            yield {**role, "rules": [{**rule, "verbs": verbs}]}
            reference = {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]}
            yield {**role, "kind": f"{kind}Binding", "roleRef": reference, "subjects": subjects}

    async def deploy(self):
        """By server-side apply, which takes back what its manifests do not have any more."""
        for each in self.manifests():
            await self.admin.apply(each, field_manager="kubectl", force=True)

    def replica(self, number, **options):
        """A manager's parts: the certificate, and the server with it."""
        chosen = ManagedCertificateOptions(
            SECRET, tuple(self.services), (self.configuration,), namespace=self.namespace, **options
        )
        managed = ManagedCertificates(
            self.user,
            chosen,
            namespace=self.nothing,
            converted=self.nothing,
            clock=self.clock,
            now=lambda there: self.now or there,
        )
        bound = ManagerOptions(webhook_port=self.ports[number], webhook_bind_host="127.0.0.1")
        server = WebhookServer(bound, metrics=Metrics(), clock=self.clock, managed=managed)
        server.register(PATH, self.judge)
        server.leave()  # closes each connection, so that the API server verifies the certificate each time
        self.servers.append(server)
        return managed, server

    async def listening(self):
        """All replicas serve."""
        assert all(server.is_listening for server in self.servers)

    @staticmethod
    async def nothing():
        """Neither a namespace nor CRDs."""
        return ""

    @staticmethod
    async def judge(_):
        """Accept everything."""
        return allowed()

    @asynccontextmanager
    async def running(self, count=3, **options):
        """Several replicas, started at once."""
        self.servers.clear()
        async with asyncio.TaskGroup() as tasks:
            started = [
                tasks.create_task(part.run()) for number in range(count) for part in self.replica(number, **options)
            ]
            try:
                await self.healed(self.listening)  # the API server may need a moment for the new roles
                yield self
            finally:
                for each in started:
                    each.cancel()

    async def ask(self):
        """Create an object that every webhook judges."""
        marked = ObjectMeta(generate_name="a-", namespace=self.namespace, labels={"judged": "yes"})
        await self.admin.with_options(dry_run=True).create(ConfigMap(metadata=marked))

    async def judged(self):
        """Every webhook answers."""
        try:
            await self.ask()
        except ApiError as error:
            raise AssertionError(str(error)) from error

    async def judged_first(self):
        """The first webhook answers. The others are not served."""
        address = ("127.0.0.1", self.ports[0])
        certificate = await asyncio.to_thread(ssl.get_server_certificate, address)
        secret = await self.secret()
        assert certificate.strip() in secret.data["tls.crt"].decode()

    async def bundles(self):
        """Whom the API server trusts, by the entries of the configuration."""
        found = await self.admin.get(CONFIGURATION, self.configuration)
        return {base64.b64decode(each["clientConfig"].get("caBundle", "")) for each in found.data["webhooks"]}

    async def secret(self):
        """What the replicas share."""
        return await self.admin.get(Secret, SECRET, namespace=self.namespace)

    async def healed(self, check):
        """Let time pass until it is so."""

        async def looked():
            self.clock.advance(PERIOD)
            return await check()

        return await eventually(looked, timeout=LONG)


@pytest.fixture
async def lab(control_plane, namespace):
    """The namespace, with all manifests applied."""
    user = f"manager-of-{namespace}"
    async with client_for(control_plane) as admin, Client.from_kubeconfig(control_plane.user(user)) as limited:
        made = Lab(namespace, admin, limited, user)
        await made.deploy()
        yield made
        for each in made.manifests():
            await admin.delete(each, missing_ok=True)


async def test_three_replicas_started_at_once_agree(lab):
    """All serve one certificate, and the API server trusts each of them."""
    async with lab.running():
        (authorities,) = {server.certificate.authority for server in lab.servers}
        assert await lab.bundles() == {authorities}
        await eventually(lab.judged, timeout=LONG)
        published = await lab.admin.get(ConfigMap, SECRET, namespace=lab.namespace)
        assert published.data["ca.crt"].encode() == authorities


async def test_what_was_reviewed_is_not_reviewed_again_at_the_next_start(lab, monkeypatch):
    """The Secret says until when nothing is due. A review loads cryptography."""
    reviews = []
    review = _authority.review

    def counted(*arguments):
        reviews.append(arguments)
        return review(*arguments)

    monkeypatch.setattr(_authority, "review", counted)
    async with lab.running(1):
        await eventually(lab.judged_first, timeout=LONG)
    assert len(reviews) == 1
    async with lab.running(1):
        await eventually(lab.judged_first, timeout=LONG)
    assert len(reviews) == 1
    async with lab.running(1, life=2 * DAY):  # the record is about other options
        await eventually(lab.judged_first, timeout=LONG)
    assert len(reviews) == 2


@pytest.mark.parametrize("record", ["", "yesterday tomorrow", "2026-01-01T00:00:00 2999-01-01T00:00:00"])
async def test_a_record_that_somebody_else_wrote_counts_for_nothing(lab, monkeypatch, record):
    """Only one with the digest of what was reviewed does."""
    async with lab.running(1):
        await eventually(lab.judged_first, timeout=LONG)
    secret = await lab.secret()
    digest = secret.metadata.annotations["pykb.dev/reviewed"].split()[-1]
    for changed in (f"{record} {'0' * len(digest)}", f"{record} {digest}"):
        annotations = MergePatch({"metadata": {"annotations": {"pykb.dev/reviewed": changed}}})
        await lab.admin.patch(secret, annotations)
        async with lab.running(1):
            await eventually(lab.judged_first, timeout=LONG)


async def test_the_time_of_day_is_that_of_the_api_server(lab):
    """It verifies the certificate, and the clocks of the replicas may differ."""
    lab.now = None
    async with lab.running():
        await eventually(lab.judged, timeout=LONG)
        before = await lab.secret()
        await lab.healed(lab.judged)
        assert (await lab.secret()).metadata.resource_version == before.metadata.resource_version


async def test_no_request_fails_while_certificate_and_authority_are_renewed(lab):
    """The API server verifies the certificate anew for each request; the managers' time of day moves on.

    The API server's does not, so the certificates are made in the past.
    """
    today, asked, enough = lab.now, 0, asyncio.Event()
    lab.now = today - 2100 * DAY

    async def load():
        nonlocal asked
        while not enough.is_set():
            await lab.ask()
            asked += 1

    async def served(authorities, but=""):
        (bundle,) = await lab.bundles()
        assert bundle.count(b"BEGIN") == authorities
        addresses = [("127.0.0.1", port) for port in lab.ports]
        certificates = {await asyncio.to_thread(ssl.get_server_certificate, each) for each in addresses}
        assert len(certificates) == 1
        certificate = certificates.pop()
        assert certificate != but
        return certificate

    async def asked_more():
        before = asked

        def more():
            assert asked > before + 20

        await eventually(more, timeout=LONG)

    async with lab.running(life=120 * DAY, authority_life=3000 * DAY):
        lab.now = today - 101 * DAY  # the first certificate has expired, and the API server accepts the second
        await lab.healed(lab.judged)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(load())
            first = await served(1)
            lab.now = today - 95 * DAY  # the authority is due
            assert await lab.healed(lambda: served(2)) == first
            await asked_more()
            lab.now = today - 15 * DAY  # the certificate is due, and gets the new authority
            await lab.healed(lambda: served(2, but=first))
            await asked_more()
            enough.set()


async def test_a_deleted_secret_comes_back_as_it_was(lab, caplog):
    """What the replicas serve stays trusted. Nobody may create another Secret."""
    caplog.set_level(logging.INFO)
    async with lab.running(2):
        before = (await lab.secret()).data
        await lab.admin.delete(Secret, SECRET, namespace=lab.namespace)
        await lab.admin.delete(ConfigMap, SECRET, namespace=lab.namespace)

        async def restored():
            assert (await lab.secret()).data == before
            assert (await lab.admin.get(ConfigMap, SECRET, namespace=lab.namespace)).data

        await lab.healed(restored)
    assert "the Secret of the certificates is missing" in caplog.messages
    logged = [TextFormatter().format(record) for record in caplog.records]
    assert any(f"restored the certificates  object=secrets/{SECRET}  " in line for line in logged)
    with pytest.raises(Forbidden):
        await lab.user.create(Secret(metadata=ObjectMeta(name="other", namespace=lab.namespace)))
    with pytest.raises(Forbidden):
        await lab.user.list(Secret, namespace=lab.namespace)


async def test_an_emptied_caBundle_and_a_broken_secret_are_healed(lab, caplog):
    """Also one with another authority."""
    caplog.set_level(logging.INFO)
    async with lab.running(1):
        (authorities,) = await lab.bundles()
        for value in (None, base64.b64encode(Authority().pair.certificate).decode()):
            where = "/webhooks/1/clientConfig/caBundle"
            change = {"op": "remove", "path": where} if value is None else {"op": "add", "path": where, "value": value}
            configuration = await lab.admin.get(CONFIGURATION, lab.configuration)
            await lab.admin.patch(configuration, JsonPatch([change]))
            assert await lab.bundles() != {authorities}

            async def healed():
                assert await lab.bundles() == {authorities}

            await lab.healed(healed)
        secret = await lab.secret()
        before = dict(secret.data)
        await lab.admin.patch(secret, MergePatch({"data": {"tls.key": None, "ca.key": "aHVudGVyMg=="}}))

        async def restored():
            assert (await lab.secret()).data == before

        await lab.healed(restored)
    assert "authority replaced in caBundle" in caplog.messages


async def test_a_replica_is_not_ready_while_the_api_server_trusts_none_of_its_certificate(lab, caplog):
    """If one webhook still works, it must stay so. The manager lost a permission, so it cannot heal the others."""
    foreign = base64.b64encode(Authority().pair.certificate).decode()

    async def replace_bundles(*numbers):
        paths = [f"/webhooks/{number}/clientConfig/caBundle" for number in numbers]
        configuration = await lab.admin.get(CONFIGURATION, lab.configuration)
        await lab.admin.patch(configuration, JsonPatch([{"op": "add", "path": p, "value": foreign} for p in paths]))

    async def allow(*verbs):
        (role,) = [each for each in lab.roles() if each["kind"] == "ClusterRole"]
        role["rules"][0]["verbs"] = list(verbs)
        await lab.admin.apply(role, field_manager="kubectl", force=True)

    async def refused():
        configuration = await lab.admin.get(CONFIGURATION, lab.configuration)
        try:
            await lab.user.with_options(dry_run=True).patch(configuration, MergePatch({}))
        except Forbidden:
            return True
        return False

    def verdict():
        try:
            server.check()
        except RuntimeError as error:
            return str(error)
        return "ready"

    async with lab.running(1):
        (server,) = lab.servers
        assert verdict() == "ready"
        await allow("get")
        await eventually(refused, timeout=LONG)
        await replace_bundles(0, 2)

        async def reported():
            assert "certificates not ensured" in caplog.messages

        await lab.healed(reported)
        assert verdict() == "ready"
        await replace_bundles(1)

        async def unready():
            assert verdict().startswith("the API server does not trust the certificate: ")
            assert "forbidden" in verdict()

        await lab.healed(unready)
        await allow("get", "patch")

        async def ready():
            assert len(await lab.bundles()) == 1
            assert verdict() == "ready"

        await lab.healed(ready)


async def test_another_deployment_empties_neither_secret_nor_caBundle(lab):
    """Neither field is in its manifests."""
    async with lab.running(1):
        before, data = await lab.bundles(), (await lab.secret()).data
        await lab.deploy()
        assert await lab.bundles() == before
        assert (await lab.secret()).data == data


async def test_webhooks_of_others_in_the_same_configuration_are_left_alone(lab):
    """The manager trusts itself with its own Services only."""
    configuration = await lab.admin.get(CONFIGURATION, lab.configuration)
    other = {**configuration.data["webhooks"][0], "name": "other.example.com"}
    other["clientConfig"] = {"service": {"name": "other", "namespace": lab.namespace}}
    await lab.admin.patch(configuration, JsonPatch([{"op": "add", "path": "/webhooks/0", "value": other}]))
    async with lab.running(1):
        found = await lab.admin.get(CONFIGURATION, lab.configuration)
        given = ["caBundle" in each["clientConfig"] for each in found.data["webhooks"]]
    assert given == [False, True, True, True]


GROUP = "managed.example.com"


class Part(CustomResource, group_version=GroupVersion(GROUP, "v1")):
    """The older version."""


class PartV2(CustomResource, group_version=GroupVersion(GROUP, "v2"), kind="Part"):
    """The hub."""


class PartConverter(Converter[Part, PartV2]):
    """Nothing differs."""

    def to_hub(self, spoke: Part) -> PartV2:
        """The same."""
        return carry_over(spoke, PartV2)

    def from_hub(self, hub: PartV2) -> Part:
        """The same."""
        return carry_over(hub, Part)


def definition(service, namespace, port):
    """A kind whose versions a webhook converts."""
    config = {"service": {"name": service, "namespace": namespace, "path": "/convert", "port": port}}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = ({"name": name, "served": True, "storage": name == "v2", "schema": schema} for name in ("v1", "v2"))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"parts.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Part", "plural": "parts", "singular": "part", "listKind": "PartList"},
            "versions": list(versions),
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]},
            },
        },
    }


async def test_a_manager_converts_and_serves_metrics_with_its_own_certificate(lab, control_plane):
    """The CRD gets the authority, and scrapers find it in the ConfigMap."""
    crd = definition(lab.services[0], lab.namespace, lab.ports[0])
    options = ManagerOptions(
        webhook_port=lab.ports[0],
        webhook_bind_host="127.0.0.1",
        metrics_bind_address="127.0.0.1:0",
        managed_certificate=ManagedCertificateOptions(SECRET, (lab.services[0],), namespace=lab.namespace),
    )
    manager = Manager(options, credentials=KubeconfigSource([control_plane.kubeconfig]))
    WebhookBuilder(manager).for_(PartV2).with_converter(PartConverter()).complete()
    await lab.admin.apply(crd, field_manager="kubectl")
    try:
        async with running(manager):
            await manager.webhook_server.listening()

            async def converted():
                try:
                    made = Part(metadata=ObjectMeta(generate_name="a-", namespace=lab.namespace))
                    await lab.admin.with_options(dry_run=True).create(made)
                except (ApiError, NoKindMatch) as error:
                    raise AssertionError(str(error)) from error

            await eventually(converted, timeout=LONG)
            published = await lab.admin.get(ConfigMap, SECRET, namespace=lab.namespace)
            trusting = ssl.create_default_context(cadata=published.data["ca.crt"])
            name = f"{lab.services[0]}.{lab.namespace}.svc"
            metrics = manager.servers.metrics
            assert metrics is not None
            await metrics.listening()
            _, writer = await asyncio.open_connection("127.0.0.1", metrics.port, ssl=trusting, server_hostname=name)
            writer.close()
    finally:
        await lab.admin.delete(crd)
