"""Webhooks as the API server calls them: defaulting, judging, converting; certificates and timeouts."""

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from pykb.api import Converter, CustomResource, Field, GroupVersion, Int32, Quantity, Struct, Unconvertible, carry_over
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.clock import SystemClock
from pykb.client.connection import Call
from pykb.client.errors import InternalServerError
from pykb.client.login import KubeconfigSource
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.components import Authority, write_private
from pykb.runtime import (
    ApiError,
    CertificateOptions,
    Client,
    ControllerBuilder,
    Defaulter,
    Denied,
    FieldError,
    Forbidden,
    Invalid,
    Manager,
    ManagerOptions,
    MergePatch,
    ObjectId,
    ReconcileListener,
    Reconciler,
    ReconcileRecord,
    Request,
    Validator,
    VirtualClock,
    WebhookBuilder,
    WebhookListener,
    WebhookRecord,
    WebhookType,
)
from pykb.serving.tls import POLL
from pykb.testing import eventually, running
from pykb.testing._managers import RunManager
from pykb.webhook.server import TOGETHER, WAITING, Turns

from .conftest import client_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

GROUP = "webhooks.example.com"
V1 = GroupVersion(GROUP, "v1")
V2 = GroupVersion(GROUP, "v2")
LONG = timedelta(seconds=60)


class BoxSpec(Struct):
    """What is wanted, in the older version."""

    cpu: Int32 = 0
    memory: Quantity | None = None
    owner: str | None = None
    place: str = ""


class Status(Struct):
    """What is there."""

    phase: str | None = None


class Box(CustomResource, group_version=V1):
    """The older version: the place is one text."""

    spec: BoxSpec = Field(default_factory=BoxSpec)
    status: Status = Field(default_factory=Status)


class Place(Struct):
    """A place in parts."""

    room: str = ""
    shelf: str = ""


class BoxSpecV2(Struct):
    """What is wanted, in the newer version."""

    cpu: Int32 = 0
    memory: Quantity | None = None
    owner: str | None = None
    place: Place = Field(default_factory=Place)


class BoxV2(CustomResource, group_version=V2, kind="Box"):
    """The newer version, which is stored."""

    spec: BoxSpecV2 = Field(default_factory=BoxSpecV2)
    status: Status = Field(default_factory=Status)


class BoxDefaulter(Defaulter[Box]):
    """Fills in who asks, and a size."""

    async def default(self, obj: Box) -> None:
        """Fill in."""
        if obj.spec.owner is None and not self.request.dry_run:
            obj.spec.owner = self.request.user.username
        obj.spec.cpu = obj.spec.cpu or 2


class BoxValidator(Validator[Box]):
    """Judges by the number of processors."""

    async def validate_create(self, obj: Box) -> list[str] | None:
        """Even ones, and a word about large ones."""
        if obj.spec.cpu == 13:
            raise Denied("no thirteens here")
        if obj.spec.cpu == 500:
            raise RuntimeError("hunter2")
        if obj.spec.cpu % 2:
            raise Invalid.of(obj, [FieldError("spec.cpu", "must be even", value=obj.spec.cpu)])
        return ["rather large"] if obj.spec.cpu > 10 else None

    def validate_update(self, old: Box, new: Box) -> None:
        """Never less; in a thread."""
        if new.spec.cpu < old.spec.cpu:
            raise Denied(f"{old.spec.cpu} processors cannot become {new.spec.cpu}")

    async def validate_delete(self, obj: Box) -> None:
        """Not while it is locked."""
        if (obj.metadata.labels or {}).get("locked") == "yes":
            raise Denied("it is locked")


class BoxConverter(Converter[Box, BoxV2]):
    """Splits and joins the place."""

    def to_hub(self, spoke: Box) -> BoxV2:
        """Parts of the text."""
        hub = carry_over(spoke, BoxV2)
        room, _, shelf = spoke.spec.place.partition("/")
        if room == "nowhere":
            raise Unconvertible("there is no place `nowhere`")
        if room == "void":
            raise RuntimeError("a bug")
        if room or shelf:
            hub.spec.place = Place(room=room, shelf=shelf)
        return hub

    def from_hub(self, hub: BoxV2) -> Box:
        """The text of the parts."""
        spoke = carry_over(hub, Box)
        if hub.spec.place.room or hub.spec.place.shelf:
            spoke.spec.place = "/".join(part for part in (hub.spec.place.room, hub.spec.place.shelf) if part)
        return spoke


def version(name: str, place: dict[str, Any], *, storage: bool) -> dict[str, Any]:
    """One version of the definition."""
    spec = {
        "cpu": {"type": "integer", "format": "int32"},
        "memory": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
        "owner": {"type": "string"},
        "place": place,
        "note": {"type": "string"},
        "more": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }


def definition() -> dict[str, Any]:
    """The kind in both versions."""
    texts = {"type": "string"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxes.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Box", "plural": "boxes", "singular": "box", "listKind": "BoxList"},
            "versions": [
                version("v1", texts, storage=False),
                version("v2", {"type": "object", "properties": {"room": texts, "shelf": texts}}, storage=True),
            ],
        },
    }


def webhook(path: str, operations: list[str], **more: Any) -> dict[str, Any]:
    """One webhook of a configuration, as a marker makes it."""
    return {
        "name": f"{path.strip('/')}.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": path}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [{"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": operations, "resources": ["boxes"]}],
        **more,
    }


MUTATE = "/mutate-webhooks-example-com-v1-box"
VALIDATE = "/validate-webhooks-example-com-v1-box"


def configuration(kind: str, *webhooks: dict[str, Any]) -> dict[str, Any]:
    """A configuration, as it is generated."""
    name = f"{kind.lower().removesuffix('webhookconfiguration')}-webhook-configuration"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }


@pytest.fixture(scope="session")
def boxes(control_plane, tmp_path_factory):
    """The control plane of the run, with the kind in two versions."""
    path = tmp_path_factory.mktemp("crds") / "boxes.json"
    path.write_text(json.dumps(definition()), "utf-8")
    control_plane.install_crds(path)
    return control_plane


@pytest.fixture
def project(tmp_path):
    """A project's folder with webhooks of both sorts listed."""
    folder = tmp_path / "project"
    (folder / "config/webhook").mkdir(parents=True)
    documents = (
        configuration("MutatingWebhookConfiguration", webhook(MUTATE, ["CREATE", "UPDATE"])),
        configuration("ValidatingWebhookConfiguration", webhook(VALIDATE, ["CREATE", "UPDATE", "DELETE"])),
    )
    list_webhooks(folder, *documents)
    return folder


def list_webhooks(folder, *documents):
    """Write a project's manifest."""
    (folder / "config/webhook/manifests.yaml").write_text("\n---\n".join(map(json.dumps, documents)), "utf-8")


def setup_box(manager: Manager) -> None:
    """All webhooks of the kind."""
    WebhookBuilder(manager).for_(Box).with_defaulter(BoxDefaulter()).with_validator(BoxValidator()).complete()
    WebhookBuilder(manager).for_(BoxV2).with_converter(BoxConverter()).complete()


@asynccontextmanager
async def served(boxes, project, setup=setup_box, **options: Any) -> AsyncIterator[tuple[Manager, Any]]:
    """A manager with webhooks, and a client."""
    run = RunManager(boxes.kubeconfig, project)
    chosen = ManagerOptions(graceful_shutdown_timeout=timedelta(seconds=5), **options)
    async with run(setup, options=chosen) as manager, client_for(boxes) as client:
        yield manager, client


def box(namespace: str, name: str, **spec: Any) -> Box:
    """An object."""
    return Box(metadata=ObjectMeta(name=name, namespace=namespace), spec=BoxSpec(**spec))


async def test_objects_are_defaulted(boxes, namespace, project):
    """By what the request says too; and nothing else of the object changes on its way."""
    async with served(boxes, project) as (_, client):
        made = await client.create(box(namespace, "a", memory=Quantity("1Gi")))
        assert (made.spec.cpu, made.spec.memory, made.spec.owner) == (2, Quantity("1Gi"), "admin")
        raw = {
            "apiVersion": V1.api_version,
            "kind": "Box",
            "metadata": {"generateName": "b-", "namespace": namespace},
            "spec": {"cpu": 4, "memory": 1024, "note": "unknown to the class", "owner": None},
        }
        stored = await client.create({**raw})
        assert stored["spec"] == {"cpu": 4, "memory": 1024, "note": "unknown to the class", "owner": "admin"}
        dry = await client.with_options(dry_run=True).create(box(namespace, "c"))
        assert dry.spec.owner is None
        applied = await client.apply({**raw, "metadata": {"name": "d", "namespace": namespace}}, field_manager="me")
        assert applied["spec"]["cpu"] == 4


async def test_objects_are_judged_when_created_changed_and_deleted(boxes, namespace, project, caplog):
    """In the words of the author, with the API server's around them."""
    name = "validate-webhooks-example-com-v1-box.example.com"
    async with served(boxes, project) as (_, client):
        with pytest.raises(Forbidden) as denied:
            await client.create(box(namespace, "a", cpu=13))
        assert denied.value.message == f'admission webhook "{name}" denied the request: no thirteens here'
        with pytest.raises(Invalid) as invalid:
            await client.create(box(namespace, "a", cpu=3))
        assert invalid.value.message == (
            f'admission webhook "{name}" denied the request: '
            'Box.webhooks.example.com "a" is invalid: spec.cpu: Invalid value: 3: must be even'
        )
        (cause,) = invalid.value.causes
        assert (cause.field, cause.reason) == ("spec.cpu", "FieldValueInvalid")
        with pytest.raises(InternalServerError, match="denied the request: internal error") as internal:
            await client.create(box(namespace, "a", cpu=500))
        assert "hunter2" not in str(internal.value)
        made = await client.create(box(namespace, "a", cpu=12))
        assert "rather large" in [getattr(record, "warning", "") for record in caplog.records]
        with pytest.raises(Forbidden, match="12 processors cannot become 10"):
            await client.patch(made, MergePatch({"spec": {"cpu": 10}}))
        await client.patch(made, MergePatch({"metadata": {"labels": {"locked": "yes"}}}))
        with pytest.raises(Forbidden, match="it is locked"):
            await client.delete(made)
        await client.patch(made, MergePatch({"metadata": {"labels": {"locked": "no"}}}))
        await client.delete(made)
        assert await client.find(Box, "a", namespace=namespace) is None


class Calls(WebhookListener):
    """Keeps the records of calls."""

    def __init__(self) -> None:
        self.records: list[WebhookRecord] = []

    def answered(self, record: WebhookRecord) -> None:
        """Keep it."""
        self.records.append(record)


class Doubles(Reconciler):
    """Creates a second box for each first one."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.ids: list[str] = []

    async def reconcile(self, request: Request) -> None:
        """Create it."""
        if request.name.endswith("-2") or await self.client.find(Box, f"{request.name}-2", namespace=request.namespace):
            return
        await self.client.create(box(request.namespace, f"{request.name}-2", cpu=2))


async def test_a_call_for_a_write_of_a_reconcile_names_it(boxes, namespace, project):
    """The API server passes on the trace parent to admission, and not to conversions."""
    calls = Calls()
    reconciles: list[ReconcileRecord] = []

    class Reconciles(ReconcileListener):
        def ended(self, record: ReconcileRecord) -> None:
            reconciles.append(record)

    def setup(manager: Manager) -> None:
        setup_box(manager)
        manager.listen(calls)
        manager.listen(Reconciles())
        ControllerBuilder(manager).for_(Box).complete(Doubles(manager.client))

    async def is_doubled() -> None:
        assert any(record.sent and record.sent[-1].method == "POST" for record in reconciles)

    async with served(boxes, project, setup, namespaces=(namespace,)) as (_, client):
        await client.create(box(namespace, "a", cpu=2))
        await eventually(is_doubled, timeout=LONG)
    [writer] = [record.id for record in reconciles if any(sent.method == "POST" for sent in record.sent)]
    assert reconciles[0].object == ObjectId(V1.api_version, "Box", namespace, "a")
    found = {}
    for record in calls.records:
        if record.object is not None and record.object.namespace == namespace:
            found.setdefault((record.object.name, record.type), []).append(record)
    for kind in (WebhookType.MUTATING, WebhookType.VALIDATING):
        assert [record.sent_by for record in found["a", kind]] == [None]
        assert [record.sent_by for record in found["a-2", kind]] == [writer]
    assert {record.sent_by for record in found["a-2", WebhookType.CONVERSION]} == {None}


async def test_an_object_of_a_wrong_type_is_refused_with_its_fields(boxes, namespace, project):
    """Before the schema is looked at, which comes after defaulting."""
    raw = {"apiVersion": V1.api_version, "kind": "Box", "metadata": {"name": "a", "namespace": namespace}}
    async with served(boxes, project) as (_, client):
        with pytest.raises(Invalid) as refused:
            await client.create({**raw, "spec": {"cpu": "hunter2", "owner": 5}})
    assert {cause.field for cause in refused.value.causes} == {"spec.cpu", "spec.owner"}
    assert "Invalid value: should be a valid integer, found a string" in refused.value.message
    assert "hunter2" not in refused.value.message


async def test_kinds_of_kubernetes_are_defaulted_too(boxes, namespace, project):
    """Those of the core group as well; what their class does not know is left alone."""

    class Marks(Defaulter[ConfigMap]):
        def default(self, obj):
            obj.metadata.labels = {**(obj.metadata.labels or {}), "marked/by": "pykb"}
            obj.data = {key: value.strip() for key, value in (obj.data or {}).items()}

    def setup(manager):
        WebhookBuilder(manager).for_(ConfigMap).with_defaulter(Marks()).complete()

    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    listed = webhook("/mutate--v1-configmap", ["CREATE"], rules=rules, namespaceSelector=chosen)
    list_webhooks(project, configuration("MutatingWebhookConfiguration", {**listed, "name": "core.example.com"}))
    async with served(boxes, project, setup) as (_, client):
        made = ConfigMap(
            metadata=ObjectMeta(name="a", namespace=namespace, labels={"x": "y"}),
            data={"a.b_c": " 1 ", "d": "2"},
            binary_data={"e": b"\0"},
        )
        await client.create(made)
    assert made.metadata.labels == {"x": "y", "marked/by": "pykb"}
    assert made.data == {"a.b_c": "1", "d": "2"}
    assert made.binary_data == {"e": b"\0"}


class Etcd:
    """The store behind an apiserver."""

    def __init__(self, plane):
        self._socket = str(plane.layout.etcd_socket)

    async def stored(self, namespace, name):
        """An object as it is stored."""
        key = base64.b64encode(f"/registry/{GROUP}/boxes/{namespace}/{name}".encode()).decode()
        connector = aiohttp.UnixConnector(path=self._socket)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.post("http://etcd/v3/kv/range", json={"key": key}) as response,
        ):
            (found,) = (await response.json())["kvs"]
        return json.loads(base64.b64decode(found["value"]))


async def test_both_versions_are_read_and_written_and_one_is_stored(boxes, namespace, project):
    """Reads, writes, lists, patches and the status of either; webhooks of the older version see the newer's objects."""
    async with served(boxes, project) as (manager, client):
        await client.create(box(namespace, "a", place="cellar/3"))
        newer = await client.get(BoxV2, "a", namespace=namespace)
        assert (newer.spec.place.room, newer.spec.place.shelf, newer.spec.cpu) == ("cellar", "3", 2)
        stored = await Etcd(boxes).stored(namespace, "a")
        assert (stored["apiVersion"], stored["spec"]["place"]) == (V2.api_version, {"room": "cellar", "shelf": "3"})

        newer.spec.place.shelf = "4"
        newer.metadata.annotations = {"moved": "yes"}
        await client.update(newer)
        older = await client.get(Box, "a", namespace=namespace)
        assert older.spec.place == "cellar/4"
        assert older.metadata.annotations == {"moved": "yes"}
        older.status.phase = "Ready"
        await client.status.update(older)
        assert (await client.get(BoxV2, "a", namespace=namespace)).status.phase == "Ready"

        made = BoxV2(metadata=ObjectMeta(name="b", namespace=namespace), spec=BoxSpecV2(place=Place(room="attic")))
        await client.create(made)
        assert made.spec.cpu == 2  # by the defaulter of the older version
        with pytest.raises(Forbidden, match="no thirteens here"):
            await client.create(BoxV2(metadata=ObjectMeta(name="c", namespace=namespace), spec=BoxSpecV2(cpu=13)))
        await client.patch(made, MergePatch({"spec": {"place": {"room": "barn"}}}))
        assert [each.spec.place for each in await client.list(Box, namespace=namespace)] == ["cellar/4", "barn"]
        assert [each.spec.place.room for each in await client.list(BoxV2, namespace=namespace)] == ["cellar", "barn"]
        (count,) = [
            sample.value
            for metric in manager.metrics.registry.collect()
            for sample in metric.samples
            if sample.name == "controller_runtime_webhook_requests_total" and sample.labels["webhook"] == "/convert"
        ]
        assert count > 0


async def test_unknown_fields_of_the_schema_survive_both_ways(boxes, namespace, project):
    """`note` is in both schemas and in no class."""
    raw = {
        "apiVersion": V1.api_version,
        "kind": "Box",
        "metadata": {"name": "a", "namespace": namespace, "labels": {"x": "y"}},
        "spec": {"cpu": 2, "note": "kept", "place": "cellar"},
    }
    async with served(boxes, project) as (_, client):
        await client.create(raw)
        newer = await client.get(V2.with_kind("Box"), "a", namespace=namespace)
        assert newer.data["spec"]["note"] == "kept"
        assert newer.metadata["labels"] == {"x": "y"}
        newer.data["spec"]["cpu"] = 4
        await client.update(newer)
        older = await client.get(V1.with_kind("Box"), "a", namespace=namespace)
        assert (older.data["spec"]["note"], older.data["spec"]["cpu"]) == ("kept", 4)


async def test_a_converter_that_fails_is_told_to_the_client(boxes, namespace, project, caplog):
    """With the object and the reason, or with the converter where it is a bug."""
    async with served(boxes, project) as (manager, client):
        with pytest.raises(
            ApiError, match=f"Box.webhooks.example.com `{namespace}/a` from v1 to v2: there is no place"
        ):
            await client.create(box(namespace, "a", place="nowhere"))
        with pytest.raises(ApiError, match=r"BoxConverter\.to_hub failed: internal error"):
            await client.create(box(namespace, "a", place="void"))
        assert manager.metrics.registry.get_sample_value("controller_runtime_conversion_webhook_panics_total") == 1
    assert "conversion failed" in caplog.text


async def post_deep(client, namespace, name, version, deep):
    """Create a box with this JSON in a field that preserves everything."""
    metadata = {"name": name, "namespace": namespace}
    whole = {"apiVersion": version.api_version, "kind": "Box", "metadata": metadata, "spec": {"cpu": 2, "more": "HERE"}}
    path = f"/apis/{version.api_version}/namespaces/{namespace}/boxes"
    body = json.dumps(whole).replace('"HERE"', deep).encode()
    return await client.connection.request(Call("POST", path, body=body))


@pytest.mark.parametrize("depth", [300, 3000])
async def test_an_object_that_is_nested_too_deeply_hides_no_other_in_any_version(boxes, namespace, project, depth):
    """The API server lists a kind only if all objects can be converted. This one comes back as it was."""
    deep = '{"a":' * depth + "1" + "}" * depth
    async with client_for(boxes) as client:
        await post_deep(client, namespace, "deep", V2, deep)  # before there are webhooks
    async with served(boxes, project) as (_, client):
        await client.create(box(namespace, "plain", cpu=4))
        found = await client.list(Box, namespace=namespace)
        assert "plain" in [each.metadata.name for each in found]
        assert len(found) + len(found.unreadable) == 2
        path = f"/apis/{V1.api_version}/namespaces/{namespace}/boxes/deep"
        answer = (await client.connection.request(Call("GET", path))).decode()
        assert deep in answer
        assert f'"apiVersion":"{V1.api_version}"' in answer
        with pytest.raises(Invalid, match=r"spec\.more\.a.*nested deeper than 250 levels"):
            await post_deep(client, namespace, "another", V1, deep)
        stub = {"apiVersion": V1.api_version, "kind": "Box", "metadata": {"name": "deep", "namespace": namespace}}
        await client.patch(stub, MergePatch({"spec": {"more": None}}))
        assert "more" not in stub["spec"]
        await client.delete(stub)


async def test_the_api_server_comes_back_when_the_server_has_no_room(boxes, namespace, project):
    """By itself: the client's request is answered a moment later."""
    async with served(boxes, project) as (manager, client):
        registry = manager.metrics.registry
        # Reviews in flight, such as conversions for the API server's watch cache, leave room in the turns of before.
        manager.webhook_server._turns = turns = Turns(SystemClock())
        turns._taken, turns._waiting = TOGETHER, WAITING
        making = asyncio.create_task(client.create(made := box(namespace, "a")))
        asked_back = {"webhook": MUTATE, "code": "503"}
        count = "controller_runtime_webhook_requests_total"
        await eventually(lambda: bool(registry.get_sample_value(count, asked_back)))
        assert not making.done()
        turns._taken = turns._waiting = 0
        await making
    assert made.spec.cpu == 2


async def test_the_request_ends_when_the_api_server_waits_no_longer(boxes, namespace, project):
    """It says how long that is; then the failure policy decides."""
    entered, broken_off, release = asyncio.Event(), asyncio.Event(), threading.Event()

    class Slow(Validator[Box]):
        async def validate_create(self, obj):
            entered.set()
            try:
                await asyncio.sleep(60)
            finally:
                broken_off.set()

    class Blocking(Validator[Box]):
        def validate_create(self, obj):
            release.wait(30)

    def setup(manager):
        WebhookBuilder(manager).for_(Box).with_validator(Slow(), path="/validate-slow").complete()
        WebhookBuilder(manager).for_(Box).with_validator(Blocking(), path="/validate-blocking").complete()

    def only(name):
        return {"objectSelector": {"matchLabels": {"for": name}}, "timeoutSeconds": 1}

    list_webhooks(
        project,
        configuration(
            "ValidatingWebhookConfiguration",
            webhook("/validate-slow", ["CREATE"], **only("slow")),
            webhook("/validate-blocking", ["CREATE"], **only("blocking") | {"failurePolicy": "Ignore"}),
        ),
    )

    def labelled(name):
        made = box(namespace, name)
        made.metadata.labels = {"for": name}
        return made

    async with served(boxes, project, setup) as (manager, client):
        with pytest.raises(InternalServerError, match="failed calling webhook"):
            await client.create(labelled("slow"))
        assert entered.is_set()
        await asyncio.wait_for(broken_off.wait(), 60)
        await client.create(labelled("blocking"))
        release.set()

        def counted():
            labels = {"webhook": "/validate-slow", "code": "504"}
            assert manager.metrics.registry.get_sample_value("controller_runtime_webhook_requests_total", labels) == 1

        await eventually(counted)


async def test_a_renewed_certificate_is_trusted_once_the_configuration_says_so(boxes, namespace, tmp_path):
    """Another authority altogether, as after its own renewal, without a restart."""
    folder = tmp_path / "certificates"
    folder.mkdir()

    def renew():
        authority = Authority()
        write_private(folder / "ca.crt", authority.pair.certificate)
        authority.server(("127.0.0.1", "localhost"), title="webhooks").write(folder, "tls")

    renew()
    clock = VirtualClock()
    manager = Manager(
        ManagerOptions(webhook_port=0, webhook_bind_host="127.0.0.1", webhook_certificate=CertificateOptions(folder)),
        credentials=KubeconfigSource([boxes.kubeconfig]),
        clock=clock,
    )
    WebhookBuilder(manager).for_(Box).with_validator(BoxValidator()).complete()
    server = manager.webhook_server

    def trusting():
        selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        judge = webhook(VALIDATE, ["CREATE"], namespaceSelector=selector)
        bundle = base64.b64encode(server.certificate.authority).decode()
        judge["clientConfig"] = {"url": server.url + VALIDATE, "caBundle": bundle}
        made = configuration("ValidatingWebhookConfiguration", judge)
        made["metadata"]["name"] = namespace
        return made

    async def judged(client):
        try:
            await client.with_options(dry_run=True).create(box(namespace, "probe", cpu=13))
        except ApiError as error:
            assert "no thirteens here" in str(error)  # noqa: PT017 - any other refusal means that it is not ready yet
            return
        raise AssertionError("nobody was asked")

    async with client_for(boxes) as client, running(manager):
        await server.listening()
        try:
            await client.apply(trusting(), field_manager="test")
            await eventually(lambda: judged(client), timeout=LONG)
            before = server.certificate.authority
            renew()

            def renewed():
                clock.advance(POLL)
                value = manager.metrics.registry.get_sample_value("certwatcher_read_certificate_total")
                assert value == 2

            await eventually(renewed)
            assert server.certificate.authority != before
            await client.apply(trusting(), field_manager="test")
            await eventually(lambda: judged(client), timeout=LONG)
        finally:
            await client.delete(trusting())


async def test_a_webhook_that_no_configuration_lists_is_found_by_the_test_run(boxes, project):
    """It would never be called."""

    def setup(manager):
        WebhookBuilder(manager).for_(Box).with_validator(BoxValidator(), path="/validate-other").complete()

    with pytest.raises(EnvironmentProblem, match="/validate-other"):
        async with served(boxes, project, setup):
            pass
