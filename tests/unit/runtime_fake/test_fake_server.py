"""What the in-memory API server offers to tests beyond being one: seeds, faults, compaction, a record of requests."""

import asyncio
import json
from datetime import UTC, datetime
from unittest import mock

import pytest
import yaml

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap, Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client, MergePatch
from pykb.client.clock import SystemClock
from pykb.client.connection import Call
from pykb.client.errors import (
    BadRequest,
    Conflict,
    Expired,
    Gone,
    Invalid,
    NoKindMatch,
    TooManyRequests,
    error_from_status,
)
from pykb.client.mapper import ResourceMapper
from pykb.fake._http import LEVELS
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import InformerCache
from pykb.runtime.fake import FakeApiServer, fake_client
from pykb.testing import eventually

GROUP_VERSION = GroupVersion("fake.example.com", "v1")


class MachineSpec(Struct):
    """What a machine should be."""

    cpu: int


class MachineStatus(Struct):
    """What a machine is."""

    phase: str | None = None


class Machine(CustomResource, group_version=GROUP_VERSION):
    """A kind of the user."""

    spec: MachineSpec
    status: MachineStatus = Field(default_factory=MachineStatus)


def _machine(name="m", **metadata):
    meta = ObjectMeta(name=name, namespace="team", **metadata)
    return Machine(metadata=meta, spec=MachineSpec(cpu=1), status=MachineStatus(phase="Running"))


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "machines.fake.example.com"},
    "spec": {
        "group": "fake.example.com",
        "scope": "Namespaced",
        "names": {"plural": "machines", "kind": "Machine"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "cpu": {"type": "integer", "minimum": 1},
                                    "disk": {"type": "string", "default": "ssd"},
                                },
                            },
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


async def test_seeded_objects_are_there_with_their_status_and_their_namespace():
    """A test starts from a state, its kind is served without a CRD."""
    client = fake_client(_machine(uid="u1"))
    found = await client.get(Machine, "team/m")
    assert (found.status.phase, found.metadata.uid) == ("Running", "u1")
    assert found.metadata.resource_version
    assert (await client.get(Namespace, "team")).status.phase == "Active"


async def test_an_object_that_is_being_deleted_can_be_seeded():
    """For the path of a reconciler that cleans up; with its last finalizer it goes."""
    obj = _machine(finalizers=["example.com/x"], deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    client = fake_client(obj)
    found = await client.get(Machine, "team/m")
    assert found.metadata.deletion_timestamp is not None
    await client.patch(found, MergePatch({"metadata": {"finalizers": None}}))
    assert await client.find(Machine, "team/m") is None


async def test_a_class_is_served_when_it_is_named():
    """Without an object and without a CRD; a kind that nobody named is not served."""
    client = fake_client(kinds=[Machine])
    assert len(await client.list(Machine)) == 0
    with pytest.raises(NoKindMatch):
        await fake_client().list(Machine)


async def test_a_kind_that_is_not_served_may_be_of_others():
    """`make install` does not install their CRDs."""
    server = FakeApiServer()
    with pytest.raises(NoKindMatch, match=r"its CRD is installed; `make install` installs those of this project$"):
        await Client(server, mapper=ResourceMapper(server)).list(Machine)


async def test_the_crds_of_a_project_give_defaults_and_validation(tmp_path):
    """The directory that `pykb generate` writes."""
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(CRD), "utf-8")
    client = fake_client(crds=tmp_path)
    await client.create(Namespace(metadata=ObjectMeta(name="team")))
    wire = _machine().to_wire()
    await client.create(wire)
    assert wire["spec"] == {"cpu": 1, "disk": "ssd"}
    with pytest.raises(Invalid):
        await client.patch(wire, MergePatch({"spec": {"cpu": 0}}))


async def test_a_crd_that_goes_takes_its_objects_with_it():
    """And the kind is served no more; created again it is empty."""
    client = fake_client(_machine(), crds=[CRD])
    crd = dict(CRD, metadata={"name": "machines.fake.example.com"})
    await client.delete(crd)
    client.mapper.forget(Machine.gvk)
    with pytest.raises(NoKindMatch):
        await client.list(Machine)
    await client.create(crd)
    assert len(await client.list(Machine)) == 0


async def test_faults_can_be_injected():
    """What the reactor raises is the answer; without it all is well again."""
    server = FakeApiServer()
    client = Client(server)

    def busy(call):
        if call.method == "POST":
            raise error_from_status(
                429, {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "busy"}
            )

    server.react = busy
    obj = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
    with pytest.raises(TooManyRequests):
        await client.create(obj)
    server.react = None
    await client.create(obj)
    assert [call.method for call in server.calls] == ["POST", "POST"]


async def test_compaction_forgets_history():
    """A watch from before is gone, a continue token too; a watch from now goes on."""
    server = FakeApiServer()
    client = Client(server)
    for name in "ab":
        await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
    page = await client.list(ConfigMap, namespace="default", limit=1)
    await client.delete(ConfigMap, "default/a")
    server.storage.compact()
    with pytest.raises(Gone):
        await anext(client.watch(ConfigMap, namespace="default", resource_version="3"))
    with pytest.raises(Expired):
        await client.list(ConfigMap, namespace="default", limit=1, continue_token=page.continue_token)
    async with client.watch(ConfigMap, namespace="default") as events:
        assert (await anext(events)).object.metadata.name == "b"


async def test_a_watch_that_was_overtaken_by_compaction_says_so():
    """What it has not told is forgotten: that is 410 for a watch that runs, too, and never silence."""
    server = FakeApiServer()
    client = Client(server)
    async with client.watch(ConfigMap, namespace="default", resource_version="1") as events:
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        assert (await anext(events)).object.metadata.name == "a"
        await client.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="default")))
        server.storage.compact()
        with pytest.raises(Gone):
            await anext(events)


async def test_no_change_is_lost_while_a_watcher_is_busy():
    """Changes that come while an event is being handled are told afterwards, in order."""
    client = fake_client()
    seen = []
    async with client.watch(ConfigMap, namespace="default") as events:

        async def read():
            async for event in events:
                seen.append(event.object.metadata.name)
                await asyncio.sleep(0)
                if len(seen) == 50:
                    return

        reader = asyncio.create_task(read())
        for number in range(50):
            await client.create(ConfigMap(metadata=ObjectMeta(name=f"c{number:02}", namespace="default")))
        async with asyncio.timeout(60):
            await reader
    assert seen == [f"c{number:02}" for number in range(50)]


async def test_two_clients_share_a_server():
    """As two programs share a cluster."""
    server = FakeApiServer()
    one, two = Client(server), Client(server)
    mine = await one.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"k": "1"}))
    theirs = await two.get(ConfigMap, "default/a")
    theirs.data = {"k": "2"}
    await two.update(theirs)
    mine.data = {"k": "3"}
    with pytest.raises(Conflict):
        await one.update(mine)


async def test_a_built_in_object_of_the_wrong_shape_is_refused():
    """The server could not read it."""
    from pykb.client.errors import BadRequest

    client = fake_client()
    spec = {"replicas": "many"}
    with pytest.raises(BadRequest):
        await client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "d", "namespace": "default"},
                "spec": spec,
            }
        )
    assert len(await client.list(Deployment, namespace="default")) == 0


@pytest.mark.parametrize("bookmarks", [False, True])
async def test_a_bookmark_needs_nothing_that_its_class_demands(monkeypatch, bookmarks):
    """It carries a resource version and no spec; a watch of a typed kind goes on after it."""
    monkeypatch.setattr("random.uniform", lambda *_: 1)  # the seconds after which the server ends the watch
    client = fake_client(_machine("first"))
    async with asyncio.timeout(60), client.watch(Machine, namespace="team", bookmarks=bookmarks) as events:
        assert (await anext(events)).object.metadata.name == "first"
        following = asyncio.ensure_future(anext(events))
        if bookmarks:
            mark = await following
            assert (mark.type, mark.object.metadata.name) == ("BOOKMARK", None)
            assert mark.object.metadata.resource_version
            following = asyncio.ensure_future(anext(events))
        else:
            await asyncio.sleep(1.5)  # by now the server has most likely ended the watch, with a bookmark
        await client.create(_machine("second"))
        found = await following
        while found.type == "BOOKMARK":
            found = await anext(events)
        assert found.object.metadata.name == "second"


async def test_a_watch_that_does_not_come_back_is_told(monkeypatch, caplog):
    """One interruption is nothing; the third in a row is a warning with the server's words, and it goes on trying."""
    monkeypatch.setattr(SystemClock, "sleep", lambda *_: asyncio.sleep(0.001))
    server = FakeApiServer()
    failing = [5]

    def react(call):
        if ("watch", "true") in call.query and failing[0]:
            failing[0] -= 1
            raise error_from_status(500, {"kind": "Status", "reason": "InternalError", "message": "etcd is away"})

    server.react = react
    client = Client(server)
    async with asyncio.timeout(60), client.watch(ConfigMap, namespace="default") as events:
        following = asyncio.ensure_future(anext(events))
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        assert (await following).object.metadata.name == "a"
        if failing[0]:  # the list had it already: now the watch itself
            following = asyncio.ensure_future(anext(events))
            await client.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="default")))
            assert (await following).object.metadata.name == "b"
    told = [record for record in caplog.records if "watch interrupted" in record.getMessage()]
    assert [(record.levelname, record.failures) for record in told if record.levelname == "WARNING"] == [
        ("WARNING", number) for number in (3, 4, 5)
    ]
    assert "etcd is away" in told[-1].error


async def test_copies_answer_alike_whoever_was_asked_first():
    """They share what came of earlier writes. Each has its own uids, versions and rules."""
    origin = FakeApiServer(crds=[CRD])
    first, second = [await origin.copy() for _ in range(2)]
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    made = []
    for server in (first, second, first):
        client = Client(server, mapper=ResourceMapper(server))
        with mock.patch("pykb.fake._admission.datetime", mock.Mock(now=lambda _: moment)):
            found = await client.create(_config_map("a"))
            changed = await client.patch(found, MergePatch({"data": {"b": "2", "a": None}}))
            again = await client.patch(changed, MergePatch({"data": {"b": "2"}}))
        assert again.metadata.resource_version == changed.metadata.resource_version
        made.append(changed)
        await client.delete(changed)
        with pytest.raises(Invalid, match="a valid config key must consist of"):
            await client.create(_config_map("a", data={"#": ""}))
    plain = [each.to_wire() for each in made]
    assert len({each["metadata"].pop("uid") for each in plain}) == 3
    assert plain[0] == plain[1]
    assert plain[2]["metadata"].pop("resourceVersion") != plain[0]["metadata"].pop("resourceVersion")
    assert plain[0] == plain[2]
    assert plain[0]["data"] == {"b": "2"}


def _config_map(name, **fields):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), **({"data": {"a": "1"}} | fields))


async def test_copies_with_other_rules_judge_anew():
    """What one of them accepted, another may refuse."""
    origin = FakeApiServer(kinds=[Machine])
    first, second = [await origin.copy() for _ in range(2)]
    second.use_rules(lambda *_: [("spec", '"object": never')])
    for server in (first, second):
        server.seed(Namespace(metadata=ObjectMeta(name="team")))
    await Client(first, mapper=ResourceMapper(first)).create(_machine())
    with pytest.raises(Invalid, match="never"):
        await Client(second, mapper=ResourceMapper(second)).create(_machine())


VATS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "vats.fake.example.com"},
    "spec": {
        "group": "fake.example.com",
        "scope": "Namespaced",
        "names": {"plural": "vats", "kind": "Vat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def send():
    """Sends requests about an object of which the spec has any fields."""
    client = fake_client(crds=[VATS])

    async def send(method, body, kind="json"):
        path = f"/apis/{GROUP_VERSION}/namespaces/default/vats{'' if method == 'POST' else '/v'}"
        return await client.connection.request(
            Call(method, path, body=body.encode(), content_type=f"application/{kind}")
        )

    send.client = client
    return send


def _vat(depth):
    spec = '{"a":' * (depth - 1) + "1" + "}" * (depth - 1)
    return f'{{"apiVersion": "{GROUP_VERSION}", "kind": "Vat", "metadata": {{"name": "v"}}, "spec": {spec}}}'


async def test_a_deep_object_is_stored_listed_watched_and_changed(send):
    """As deep as it may be."""
    await send("POST", _vat(LEVELS))
    kind = GroupVersionKind("fake.example.com", "v1", "Vat")
    async with InformerCache.of(send.client) as informers:
        lister = informers.lister(kind)
        await informers.wait_for_sync()
        await send("PATCH", '{"metadata": {"labels": {"a": "b"}}}', "merge-patch+json")
        await eventually(lambda: lister.get("v", namespace="default").metadata.get("labels") == {"a": "b"})


@pytest.mark.parametrize("depth", [LEVELS + 1, 255, 900, 5000])
async def test_an_object_that_is_nested_too_deeply_is_refused(send, depth):
    """By an answer, and not by an error of the JSON library."""
    with pytest.raises(BadRequest, match="exceeded max depth"):
        await send("POST", _vat(depth))


@pytest.mark.parametrize("times", [1, 2, 9])
async def test_a_json_patch_that_nests_too_deeply_is_refused(send, times):
    """It copies a part of the object into itself."""
    await send("POST", _vat(200))
    copies = [{"op": "copy", "from": "/spec", "path": "/spec" + "/a" * 198 * 2**number} for number in range(times)]
    with pytest.raises(Invalid, match="exceeded max depth"):
        await send("PATCH", json.dumps(copies), "json-patch+json")
