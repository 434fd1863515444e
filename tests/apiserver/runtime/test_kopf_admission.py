"""Admission handlers of kopf inside a manager: the API server asks them, whichever replica answers."""

import asyncio
from datetime import timedelta

import kopf
import pytest

from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import ApiError, InternalServerError
from pykb.runtime import Validator, WebhookBuilder, WebhookListener, WebhookRecord, WebhookType
from pykb.runtime.records.lines import own_line_of
from pykb.serving.options import CertificateOptions
from pykb.serving.tls import self_signed
from pykb.testing import eventually, running

from .conftest import Widget, WidgetSpec, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

LONG = timedelta(seconds=60)
WIDGETS = ("runtime.example.com", "v1", "widgets")
PATH = "/validate-runtime-example-com-v1-widget"


class Validates(Validator[Widget]):
    """Allows everything."""


class Calls(WebhookListener):
    """Keeps the records of calls."""

    def __init__(self) -> None:
        self.records: list[WebhookRecord] = []

    def answered(self, record: WebhookRecord) -> None:
        """Keep it."""
        self.records.append(record)


def widget(namespace, name, size):
    """An object."""
    return Widget(metadata=ObjectMeta(name=name, namespace=namespace), spec=WidgetSpec(size=size))


@pytest.fixture
def registry(namespace):
    """Handlers that judge the objects of one namespace, and a webhook configuration that kopf keeps for them."""
    handlers = kopf.OperatorRegistry()
    ours = {"when": lambda namespace, **_: namespace == mine, "registry": handlers}
    mine = namespace

    @kopf.on.startup(registry=handlers)
    def configure(settings, **_):
        settings.admission.managed = f"{namespace}.runtime.example.com"

    @kopf.on.validate(*WIDGETS, id="judge", **ours)
    def judge(spec, warnings, **_):
        if spec.get("size", 0) > 10:
            raise kopf.AdmissionError("too large", code=422)
        if spec.get("size", 0) > 5:
            warnings.append("rather large")

    @kopf.on.mutate(*WIDGETS, **ours)
    def fill_in(spec, patch, **_):
        if not spec.get("size"):
            patch.spec["size"] = 3

    return handlers


async def refused(client, namespace):
    """Whether a large object is refused in the handler's words."""
    try:
        await client.with_options(dry_run=True).create(widget(namespace, "probe", 11))
    except ApiError as error:
        assert "too large" in str(error)  # noqa: PT017 - any other refusal means that it is not ready yet
        return
    raise AssertionError("a large object was let in")


async def let_in(client, obj):
    """Whether an object is created without anybody's being asked."""
    try:
        await client.create(obj)
    except InternalServerError as error:
        raise AssertionError(str(error)) from error


async def test_admission_handlers_validate_and_mutate(widgets, namespace, registry, caplog):
    """With nothing configured but the handlers: served at the webhook port, with a certificate made for it."""
    manager = manager_for(widgets, namespaces=(namespace,), webhook_port=0)
    manager.add_kopf_handlers(registry)
    calls = Calls()
    manager.listen(calls)
    async with client_for(widgets) as client:
        async with running(manager):
            await eventually(lambda: refused(client, namespace), timeout=LONG)
            made = await client.create(widget(namespace, "empty", 0))
            assert made.spec.size == 3
            await client.create(widget(namespace, "large", 6))
            assert "rather large" in [getattr(record, "warning", "") for record in caplog.records]
        told = {(record.type, record.object.name if record.object else ""): record for record in calls.records}
        refusal = told[WebhookType.VALIDATING, "probe"]
        assert (refusal.allowed, refusal.message, refusal.operation) == (False, "too large", "CREATE")
        assert isinstance(refusal.error, kopf.AdmissionError)
        assert (own_line_of(refusal.error) or ("",))[0] == __file__
        [change] = told[WebhookType.MUTATING, "empty"].changes
        assert (change.path, change.after) == ("spec.size", 3)
        assert told[WebhookType.VALIDATING, "large"].warnings == ("rather large",)
        # The configuration goes with the manager that kept it, so that nobody is refused for want of a server; the
        # API server takes a moment to notice.
        await eventually(lambda: let_in(client, widget(namespace, "anything", 11)), timeout=LONG)


async def test_admission_requests_are_counted(widgets, namespace, registry):
    """By webhook and HTTP code, under controller-runtime's names."""
    manager = manager_for(widgets, namespaces=(namespace,), webhook_port=0)
    manager.add_kopf_handlers(registry)
    async with client_for(widgets) as client, running(manager):
        await eventually(lambda: refused(client, namespace), timeout=LONG)
        labels = {"webhook": "/judge", "code": "200"}
        value = manager.metrics.registry.get_sample_value
        assert value("controller_runtime_webhook_requests_total", labels) >= 1
        assert value("controller_runtime_webhook_latency_seconds_count", {"webhook": "/judge"}) >= 1
        assert value("controller_runtime_webhook_requests_in_flight", {"webhook": "/judge"}) == 0


async def test_admission_is_served_by_a_standby_too(widgets, namespace, registry):
    """The API server may ask any replica; handlers that react to objects run on the leader only."""
    created = []

    @kopf.on.create(*WIDGETS, registry=registry)
    def react(name, **_):
        created.append(name)

    election = {"leader_elect": True, "leader_election_id": namespace, "leader_election_namespace": namespace}
    async with client_for(widgets) as client:
        leader = manager_for(widgets, namespaces=(namespace,), **election)
        async with running(leader):
            standby = manager_for(widgets, namespaces=(namespace,), webhook_port=0, **election)
            standby.add_kopf_handlers(registry)
            task = asyncio.create_task(standby.start())
            await eventually(lambda: refused(client, namespace), timeout=LONG)
            await client.create(widget(namespace, "small", 1))
            await asyncio.sleep(0.5)
            assert not standby.elected.is_set()
            assert created == []
        await eventually(lambda: created == ["small"], timeout=LONG)
        await refused(client, namespace)
        standby.stop()
        await task


async def test_the_managers_webhook_certificate_is_used(widgets, namespace, registry, tmp_path):
    """The files that cert-manager mounts; the webhook's configuration carries their authority."""
    certificate, key = self_signed(("localhost",))
    for name, content in (("tls.crt", certificate), ("tls.key", key), ("ca.crt", certificate)):
        (tmp_path / name).write_bytes(content)
    manager = manager_for(
        widgets, namespaces=(namespace,), webhook_port=0, webhook_certificate=CertificateOptions(tmp_path)
    )
    manager.add_kopf_handlers(registry)
    async with client_for(widgets) as client, running(manager):
        await eventually(lambda: refused(client, namespace), timeout=LONG)


async def test_two_registries_and_typed_webhooks_share_the_server(widgets, namespace, registry):
    """One port, one certificate; each answers at its own paths."""
    other = kopf.OperatorRegistry()

    @kopf.on.startup(registry=other)
    def configure(settings, **_):
        settings.admission.managed = f"other.{namespace}.runtime.example.com"

    @kopf.on.mutate(*WIDGETS, id="enlarge", when=lambda namespace, **_: namespace == mine, registry=other)
    def enlarge(spec, patch, **_):
        if spec.get("size") == 4:
            patch.spec["size"] = 5

    mine = namespace
    manager = manager_for(widgets, namespaces=(namespace,), webhook_port=0)
    manager.add_kopf_handlers(registry)
    manager.add_kopf_handlers(other)
    WebhookBuilder(manager).for_(Widget).with_validator(Validates()).complete()

    async def enlarged(client):
        made = await client.with_options(dry_run=True).create(widget(namespace, "four", 4))
        assert made.spec.size == 5

    async with client_for(widgets) as client, running(manager):
        await eventually(lambda: refused(client, namespace), timeout=LONG)
        await eventually(lambda: enlarged(client), timeout=LONG)
        assert {"/judge", "/enlarge", PATH} <= manager.webhook_server.paths


async def test_a_server_of_the_users_own_is_kept(widgets, namespace, registry):
    """What a startup handler chooses is served by that, and the manager's server does not listen."""
    chosen = kopf.WebhookServer(port=0, certfile=None)
    chosen.build_certificate = lambda hostnames, password=None: self_signed(tuple(dict.fromkeys(hostnames)))

    @kopf.on.startup(registry=registry)
    def choose(settings, **_):
        settings.admission.server = chosen

    manager = manager_for(widgets, namespaces=(namespace,), webhook_port=0)
    manager.add_kopf_handlers(registry)
    async with client_for(widgets) as client, running(manager):
        await eventually(lambda: refused(client, namespace), timeout=LONG)
        assert not manager.webhook_server.is_listening


async def test_webhooks_may_be_switched_off(widgets, namespace, registry):
    """With the other handlers still running, and nothing served."""
    created = []

    @kopf.on.create(*WIDGETS, registry=registry)
    def react(name, **_):
        created.append(name)

    manager = manager_for(widgets, namespaces=(namespace,), webhook_port=0, webhooks=False)
    manager.add_kopf_handlers(registry)
    async with client_for(widgets) as client, running(manager):
        await client.create(widget(namespace, "huge", 100))
        await eventually(lambda: created == ["huge"], timeout=LONG)
        assert not manager.webhook_server.paths
