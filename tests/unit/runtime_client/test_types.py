"""What type checkers and start-up time see of the client."""

import subprocess
import sys

import pytest

PROGRAM = """
from typing import assert_type
from pykb.api import GroupVersion, ObjectList, Unstructured
from pykb.api.autoscaling.v1 import Scale
from pykb.api.conditions import find_condition, is_condition_true, remove_condition
from pykb.api.core.v1 import ConfigMap, Pod, PodCondition
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client, MergePatch, Watch, merge_from
from pykb.runtime import Event, InformerCache, Lister, Manager, Reconciler, await_in_thread
from pykb.client.ensure import OperationResult, create_or_update
from pykb.runtime.fake import fake_client
from pykb.testing import HandlerOutcome, RecordedEvents, call_handler, eventually, running
from pykb.runtime.requests.reconcile import Request

GVK = GroupVersion("example.com", "v1").with_kind("Thing")


def hear(event: Event[Pod]) -> None:
    assert_type(event.object, Pod)
    assert_type(event.old, Pod)


class Idle(Reconciler):
    async def reconcile(self, request: Request) -> None: ...


def plain(client: Client, request: Request) -> None:
    sync = client.sync
    assert_type(sync.get(ConfigMap, request), ConfigMap)
    assert_type(sync.get(GVK, "a/b"), Unstructured)
    assert_type(sync.find(ConfigMap, "a", namespace="b"), ConfigMap | None)
    assert_type(sync.list(Pod, labels={"a": "b"}), ObjectList[Pod])
    assert_type(sync.list(GVK, limit=3), ObjectList[Unstructured])
    for pod in sync.iterate(Pod, page_size=2):
        assert_type(pod, Pod)
    obj = ConfigMap(metadata=ObjectMeta(name="a"))
    assert_type(sync.create(obj), ConfigMap)
    assert_type(sync.patch(obj, merge_from(obj)), ConfigMap)
    assert_type(sync.status.update(obj, dry_run=True), ConfigMap)
    untyped: dict[str, object] = {}
    assert_type(sync.apply(untyped, force=True), dict[str, object])
    assert_type(sync.scale.set_replicas(obj, 3), Scale)
    sync.delete(obj)
    sync.delete(ConfigMap, request, missing_ok=True)
    assert_type(await_in_thread(create_or_update(client, obj, lambda: None)), tuple[ConfigMap, OperationResult])
    sync.patch(obj, {"data": None})  # type: ignore[arg-type]
    sync.create(obj, dry_rum=True)  # type: ignore[call-arg]
    sync.list(Pod, lables={})  # type: ignore[call-arg]
    sync.get("ConfigMap", "a")  # type: ignore[arg-type]


async def program(client: Client, request: Request) -> None:
    assert_type(await client.get(ConfigMap, request), ConfigMap)
    assert_type(await client.get(GVK, "a/b"), Unstructured)
    assert_type(await client.find(ConfigMap, "a", namespace="b"), ConfigMap | None)
    assert_type(await client.list(Pod, labels={"a": "b"}), ObjectList[Pod])
    assert_type(await client.list(GVK), ObjectList[Unstructured])
    async for pod in client.iterate(Pod):
        assert_type(pod, Pod)
        conditions = pod.status.conditions if pod.status else None
        assert_type(find_condition(conditions, "Ready"), PodCondition | None)
        assert_type(remove_condition(conditions, "Ready"), list[PodCondition])
        assert_type(is_condition_true(conditions, "Ready"), bool)
    watch = client.watch(Pod)
    assert_type(watch, Watch[Pod])
    async with watch as events:
        async for event in events:
            assert_type(event.object, Pod)
    obj = ConfigMap(metadata=ObjectMeta(name="a"))
    assert_type(await client.create(obj), ConfigMap)
    assert_type(await client.patch(obj, merge_from(obj)), ConfigMap)
    assert_type(await client.status.update(obj), ConfigMap)
    untyped: dict[str, object] = {}
    assert_type(await client.apply(untyped, force=True), dict[str, object])
    await client.delete(obj)
    await client.delete(ConfigMap, request, missing_ok=True)
    assert_type(await create_or_update(client, obj, lambda: None), tuple[ConfigMap, OperationResult])
    assert_type(client.namespaced("a").with_options(dry_run=True), Client)
    async with InformerCache.of(client) as informers:
        assert_type(informers, InformerCache)
        assert_type(informers.lister(Pod), Lister[Pod])
        assert_type(informers.lister(Pod).get("a", namespace="b"), Pod | None)
        assert_type(informers.lister(GVK).list(), list[Unstructured])
        informers.informer(Pod).add_handler(hear)
    manager = Manager(client=fake_client())
    async with running(manager) as same:
        assert_type(same, Manager)
    assert_type(await eventually(lambda: 1), int)
    assert_type(await call_handler(hear, obj), HandlerOutcome)
    Idle(client, recorder=RecordedEvents())
    client.with_options(dry_rum=True)  # type: ignore[call-arg]
    await client.patch(obj, {"data": None})  # type: ignore[arg-type]
    await client.get("ConfigMap", "a")  # type: ignore[arg-type]
"""

PARTIAL = """
from typing import Annotated, assert_type
from pykb.api import CustomResource, Field, GroupVersion, ListMap, Struct
from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.core.v1 import ConfigMap, Container, ContainerPort, PodSpec, PodTemplateSpec
from pykb.runtime import Client, Request, ensure_applied, extract_applied, partial


class Part(Struct):
    name: str
    weight: int = 1


class AppSpec(Struct):
    image: str
    parts: Annotated[list[Part], ListMap("name")] = Field(default_factory=list)


class App(CustomResource, group_version=GroupVersion("example.com", "v1")):
    spec: AppSpec


async def built_in(client: Client, request: Request) -> None:
    web = partial(Deployment, request)
    assert_type(web, Deployment)
    web.metadata.labels = {"a": "b"}
    web.spec = partial(DeploymentSpec)
    web.spec.replicas = 3
    web.spec.template = partial(PodTemplateSpec)
    web.spec.template.spec = partial(PodSpec)
    container = partial(Container)
    container.name = "a"
    container.ports = [ContainerPort(container_port=80)]
    web.spec.template.spec.containers = [container, Container(name="b", image="b:1")]
    assert_type(web.spec.template.spec.containers, list[Container])
    assert_type(await client.apply(web), Deployment)
    assert_type(client.sync.apply(web), Deployment)
    await ensure_applied(client, web, owner=partial(ConfigMap, "a", namespace="b"))
    assert_type(extract_applied(web, "me", subresource="status"), Deployment)
    web.spec = partial(PodSpec)  # type: ignore[assignment]
    web.spec = spec = partial(DeploymentSpec)
    spec.replicas = "3"  # type: ignore[assignment]
    spec.replica = 3  # type: ignore[attr-defined]
    spec.template.metadata = {"labels": {}}  # type: ignore[assignment]
    container.ports[0].container_port = "80"  # type: ignore[assignment]
    partial(DeploymentSpec, "a/b")  # type: ignore[type-var]
    partial(dict)  # type: ignore[type-var]


async def ones_own(client: Client) -> None:
    app = partial(App, "web", namespace="default")
    app.spec = partial(AppSpec)
    app.spec.parts = [partial(Part)]
    app.spec.parts[0].weight = 2
    assert_type(await client.status.apply(app), App)
    del app.spec.parts
    app.spec.parts[0].wieght = 2  # type: ignore[attr-defined]
    app.spec.image = 1  # type: ignore[assignment]
    app.spec.parts = [partial(Container)]  # type: ignore[list-item]
"""


@pytest.mark.parametrize("text", [PROGRAM, PARTIAL], ids=["client", "partial"])
def test_type_checkers_know_what_each_call_gives(tmp_path, mypy, text):
    """`await client.get(Kind, key)` is a Kind under `mypy --strict`, and mistakes are found."""
    program = tmp_path / "program.py"
    program.write_text(text, "utf-8")
    done = mypy(program)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "what",
    [
        "import pykb.client, pykb.client.login",
        "from pykb.runtime import InformerCache, Lister; import pykb.client.listwatch",
    ],
)
def test_the_client_loads_neither_kopf_nor_the_command_line(what):
    """A program that only talks to a cluster, or follows it, pays for nothing else."""
    code = f"import sys\n{what}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "kopf",
        "aiohttp",
        "typer",
        "rich",
        "jinja2",
        "cookiecutter",
        "ruamel",
        "yaml",
        "prometheus_client",
    }
