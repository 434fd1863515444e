"""The samples as operators on an API server in memory, with a garbage collector of a few lines, and what disturbs them."""

from __future__ import annotations

import copy
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from pykb.api.object import Unstructured
from pykb.client.connection import Call, ExecResult
from pykb.meta.gvk import GroupVersion, GroupVersionKind
from pykb.runtime import ApiError, Client, NotControlled, Reconciler, Request, retry_on_conflict
from pykb.runtime.fake import FakeApiServer
from pykb.testing import RecordedEvents

TESTDATA = Path(__file__).parents[2] / "testdata"

APPS, CORE = GroupVersion("apps", "v1"), GroupVersion("", "v1")
DEPLOYMENT, STATEFUL_SET = APPS.with_kind("Deployment"), APPS.with_kind("StatefulSet")
SERVICE, CLAIM = CORE.with_kind("Service"), CORE.with_kind("PersistentVolumeClaim")
INGRESS = GroupVersion("networking.k8s.io", "v1").with_kind("Ingress")

COUNTED = {"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "observedGeneration"}
TIMES = {"lastTransitionTime", "lastUpdateTime"}

Edit = Callable[[dict[str, Any]], None]
"""Changes an object's spec."""


@dataclass
class Sample:
    """A sample's reconciler, its sample object, what it makes, and another spec for it."""

    folder: str
    reconciler: str
    manifest: str
    children: tuple[GroupVersionKind, ...]
    edit: Edit
    names: tuple[str, str] = ("", "")
    """Of the first child, before and after the edit."""
    outside: list[Any] = field(default_factory=list)
    """What the reconciler needs besides a client; it outlives its process."""

    def __str__(self) -> str:
        return self.folder

    @property
    def project(self) -> Path:
        """Where it is."""
        return TESTDATA / self.folder

    def object(self) -> Unstructured:
        """Its sample, in a namespace."""
        text = (self.project / "config/samples" / self.manifest).read_text(encoding="utf-8")
        obj = Unstructured(yaml.safe_load(text))
        obj.metadata["namespace"] = "team"
        return obj

    def start(self, client: Client) -> Reconciler:
        """A process of its own: nothing is remembered."""
        module, name = self.reconciler.split(":")
        made: Reconciler = getattr(import_module(module), name)(client, *self.outside)
        made._recorder = RecordedEvents()
        return made


def _rename_foo(spec: dict[str, Any]) -> None:
    spec.update(deploymentName="other", replicas=3)


def _rename_app(spec: dict[str, Any]) -> None:
    spec["deployment"].update(name="other", image="other:2")
    spec["service"]["name"] = "other"


def _switch_unit(spec: dict[str, Any]) -> None:
    spec["category"] = "StatefulSet"
    del spec["relationResource"]["ingress"]


def _resize(spec: dict[str, Any]) -> None:
    spec.update(size=3, containerPort=11212)


def _grow(spec: dict[str, Any]) -> None:
    spec["cpu"] = "2"


@contextmanager
def importable() -> Iterator[None]:
    """The packages of the samples can be imported during a block; later, other projects may have their names."""
    paths = [str(sample.project) for sample in samples()]
    before = set(sys.modules)
    sys.path[:0] = paths
    try:
        yield
    finally:
        del sys.path[: len(paths)]
        for name in sys.modules.keys() - before:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(tuple(paths)):
                del sys.modules[name]


def samples() -> list[Sample]:
    """Every sample that writes."""
    return [
        Sample(
            "foo",
            "sample_controller.controllers.foo_controller:FooReconciler",
            "samplecontroller_v1alpha1_foo.yaml",
            (DEPLOYMENT,),
            _rename_foo,
            ("example-foo", "other"),
        ),
        Sample(
            "app",
            "app_operator.controllers.app_controller:AppReconciler",
            "appcontroller_v1_app.yaml",
            (SERVICE, DEPLOYMENT),
            _rename_app,
            ("web", "other"),
        ),
        Sample(
            "memcached",
            "memcached_operator.controllers.memcached_controller:MemcachedReconciler",
            "cache_v1_memcached.yaml",
            (DEPLOYMENT,),
            _resize,
            ("memcached-sample", "memcached-sample"),
        ),
        Sample(
            "unit",
            "unit_operator.controllers.unit_controller:UnitReconciler",
            "custom_v1_unit.yaml",
            (STATEFUL_SET, DEPLOYMENT, SERVICE, INGRESS, CLAIM),
            _switch_unit,
            ("unit-sample", "unit-sample"),
        ),
        Sample(
            "virtulmachine",
            "sealvm.controllers.virtulmachine_controller:VirtulMachineReconciler",
            "infra_v1_virtulmachine.yaml",
            (),
            _grow,
        ),
    ]


class DiedError(Exception):
    """The process has ended."""


async def _die() -> None:
    raise DiedError


class Gate:
    """What a process writes through; something happens around one of its writes."""

    def __init__(
        self, server: FakeApiServer, at: int = 0, when: str = "before", act: Callable[[], Awaitable[None]] = _die
    ) -> None:
        self._server, self._at, self._when, self._act = server, at, when, act
        self.writes = 0

    async def request(self, call: Call) -> bytes:
        """Pass it on."""
        if call.method == "GET":
            return await self._server.request(call)
        self.writes += 1
        now = self.writes == self._at
        if now and self._when == "before":
            await self._act()
        answer = await self._server.request(call)
        if now and self._when == "after":
            await self._act()
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Pass it on."""
        async with self._server.stream(call) as lines:
            yield lines

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Pass it on."""
        return await self._server.execute(call, stdin, limit)

    async def close(self) -> None:
        """The server is shared."""


class Old:
    """A cache that stands still."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self._objects = objects

    def has(self, gvk: GroupVersionKind, namespace: str | None = None) -> bool:
        """Every kind."""
        return True

    async def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> dict[str, Any] | None:
        """As it was."""
        found = await self.list(gvk)
        return next((obj for obj in found if obj["metadata"]["name"] == name), None)

    async def list(self, gvk: GroupVersionKind, **_: Any) -> list[dict[str, Any]]:
        """As they were."""
        return [copy.deepcopy(obj) for obj in self._objects if obj["kind"] == gvk.kind]


@cache
def _definitions(project: Path) -> list[dict[str, Any]]:
    return [yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in (project / "config/crd/bases").glob("*.yaml")]


class Cluster:
    """An API server with one object of a sample, and processes of its operator that come and go."""

    def __init__(self, sample: Sample) -> None:
        self.server = FakeApiServer(crds=_definitions(sample.project))
        self.client = Client(self.server)
        self.sample = sample
        self.owner = sample.object()
        self.server.seed(Unstructured.of(CORE.with_kind("Namespace"), "team"))
        self.request = Request("team", self.owner.key.name)

    @property
    def writes(self) -> int:
        """How many requests were no reads."""
        return sum(call.method != "GET" for call in self.server.calls)

    async def create(self) -> None:
        """Somebody creates the object."""
        await self.client.create(self.sample.object())

    async def edit(self, edit: Edit) -> None:
        """Somebody changes it, whoever writes its status meanwhile."""

        async def change() -> None:
            found = await self.client.get(self.owner.gvk, self.owner)
            edit(found.data["spec"])
            await self.client.update(found)

        await retry_on_conflict(change)

    async def delete(self) -> None:
        """Somebody deletes it."""
        await self.client.delete(self.owner.gvk, self.owner, missing_ok=True)

    async def run(self, gate: Gate | None = None) -> int:
        """One process reconciles until it has nothing to write; tells how much it wrote."""
        gate = gate or Gate(self.server)
        reconciler = self.sample.start(Client(gate))
        for _ in range(20):
            before = gate.writes
            with suppress(ApiError, NotControlled, ExceptionGroup):
                await reconciler.reconcile(self.request)
            await self.collect()
            if gate.writes == before:
                return gate.writes
        raise AssertionError("it writes for ever")

    async def collect(self) -> None:
        """Delete what belongs to nobody any more."""
        for gvk in self.sample.children:
            for obj in await self.client.list(gvk):
                owners = obj.metadata.get("ownerReferences") or []
                if owners and not [owner for owner in owners if await self._is_there(owner)]:
                    await self.client.delete(obj)

    async def _is_there(self, reference: dict[str, Any]) -> bool:
        gvk = GroupVersion.parse(reference["apiVersion"]).with_kind(reference["kind"])
        found = await self.client.find(gvk, f"team/{reference['name']}")
        return found is not None and found.metadata["uid"] == reference["uid"]

    async def objects(self) -> list[dict[str, Any]]:
        """All that matters, as it is stored."""
        kinds = (self.owner.gvk, *self.sample.children)
        return [obj.to_wire() for gvk in kinds for obj in await self.client.list(gvk)]

    async def state(self) -> Any:
        """All that matters, without what the server counts; with what there is outside."""
        outside = [sorted(map(repr, each.machines.values())) for each in self.sample.outside]
        return [plain(obj) for obj in await self.objects()], outside


def plain(value: Any) -> Any:
    """A value of an object without what the server counts, and without times."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name not in COUNTED | TIMES}
    return value
