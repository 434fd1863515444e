"""A kind in two versions, and a manager whose webhooks are asked as the API server asks them: by HTTPS."""

import base64
import io
import json
import logging
import ssl
from contextlib import asynccontextmanager

import aiohttp
import pytest

from pykb.api import CustomResource, Field, GroupVersion, Int32, Quantity, Struct
from pykb.fake._merge import json_patch
from pykb.runtime import Manager, ManagerOptions
from pykb.runtime.fake import fake_client
from pykb.testing import running

GROUP = "infra.example.com"
V1 = GroupVersion(GROUP, "v1")
V2 = GroupVersion(GROUP, "v2")


class Disk(Struct):
    """A disk."""

    name: str
    size: Quantity | None = None


class MachineSpec(Struct):
    """What is wanted."""

    cpu: Int32 = Field(default=0, ge=0)
    memory: Quantity | None = None
    image: str | None = None
    disks: list[Disk] = []
    zones: set[str] = set()


class Machine(CustomResource, group_version=V1):
    """A machine."""

    spec: MachineSpec = Field(default_factory=MachineSpec)


def wire(**spec):
    """An object as the API server sends it, with a field that the class does not know and a null."""
    return {
        "apiVersion": V1.api_version,
        "kind": "Machine",
        "metadata": {"name": "m", "namespace": "demo", "creationTimestamp": None},
        "spec": {"unknown": {"a/b": 1}, "image": None, **spec},
    }


def review(obj=None, old=None, operation="CREATE", **request):
    """A question."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5",
            "kind": {"group": GROUP, "version": "v1", "kind": "Machine"},
            "resource": {"group": GROUP, "version": "v1", "resource": "machines"},
            "requestKind": {"group": GROUP, "version": "v1", "kind": "Machine"},
            "requestResource": {"group": GROUP, "version": "v1", "resource": "machines"},
            "name": "m",
            "namespace": "demo",
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["admins"], "extra": {"scopes": ["a"]}},
            "object": obj,
            "oldObject": old,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            **request,
        },
    }


class Caller:
    """Asks a webhook server, and trusts its own authority only."""

    def __init__(self, manager, session):
        self.manager = manager
        self.server = manager.webhook_server
        self._session = session
        self._trust = ssl.create_default_context(cadata=self.server.certificate.authority.decode())

    @asynccontextmanager
    async def post(self, path, body, **options):
        """The raw answer."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        options.setdefault("headers", {"Content-Type": "application/json"})
        async with self._session.post(
            self.server.url + path, data=io.BytesIO(content), ssl=self._trust, **options
        ) as response:
            yield response

    async def ask(self, path, body):
        """The answer within the review; it echoes the question's id."""
        async with self.post(path, body) as response:
            assert response.status == 200, await response.text()
            assert response.content_type == "application/json"
            answer = await response.json()
        assert answer["apiVersion"] == body["apiVersion"]
        assert answer["kind"] == body["kind"]
        assert answer["response"]["uid"] == body["request"]["uid"]
        return answer["response"]

    def value(self, metric, **labels):
        """The value of a metric of the manager."""
        return self.manager.metrics.registry.get_sample_value(metric, labels)


def patch_of(answer):
    """The operations of an answer."""
    if "patch" not in answer:
        return []
    assert answer["patchType"] == "JSONPatch"
    return json.loads(base64.b64decode(answer["patch"]))


def patched(obj, answer):
    """The object as the API server goes on with it."""
    return json_patch(obj, patch_of(answer))


@pytest.fixture
def manager_of():
    """Makes managers whose webhooks are served at a free port of loopback."""

    def make(*, clock=None, webhook_bind_host="127.0.0.1", **options):
        options |= {"webhook_port": 0, "webhook_bind_host": webhook_bind_host}
        return Manager(ManagerOptions(**options), client=fake_client(), clock=clock)

    return make


@pytest.fixture
def serving():
    """Runs a manager, and gives what asks it."""

    @asynccontextmanager
    async def serve(manager):
        async with running(manager), aiohttp.ClientSession() as session:
            await manager.webhook_server.listening()
            yield Caller(manager, session)

    return serve


@pytest.fixture
def told(caplog):
    """All log records."""
    caplog.set_level(logging.INFO)
    return caplog
