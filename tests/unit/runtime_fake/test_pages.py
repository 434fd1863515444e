"""The programs of the pages do what the pages say."""

import inspect

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap, Pod, Service
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Request
from pykb.runtime.fake import fake_client
from tests.pages import PROGRAMS, program


def shown_tests(page: str) -> list[str]:
    """The tests that a page shows, without those that need a cluster."""
    found = {name: value for name, value in program(page).items() if name.startswith("test_")}
    return [name for name, value in found.items() if "client" not in inspect.signature(value).parameters]


@pytest.mark.parametrize(
    ("page", "name"),
    [(page, name) for page in PROGRAMS for name in shown_tests(page)],
)
async def test_the_shown_tests_a_page_pass(page, name):
    """As a reader would run them."""
    outcome = program(page)[name]()
    if inspect.isawaitable(outcome):
        await outcome


def pod(name, node, **labels):
    """A pod as the server has it."""
    metadata = {"name": name, "namespace": "default", "labels": labels}
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    return Pod.from_wire({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


async def test_the_programs_of_the_page_on_other_programs_work():
    """Deployments are scaled down by label; pods are found by index and by label."""
    names = program("docs/how-to/use-in-another-program.md")

    def deployment(name, **labels):
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        metadata = {"name": name, "namespace": "default", "labels": labels}
        spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        return Deployment.from_wire({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})

    client = fake_client(deployment("night", nightly="off"), deployment("day"))
    assert await names["scale_down"](client, "default") == ["night"]
    assert await names["scale_down"](client, "default") == []
    assert (await client.get(Deployment, "default/day")).spec.replicas == 2
    client = fake_client(pod("web-0", "worker-2", tier="web"), pod("db", "worker-1"), pod("other", "worker-2"))
    assert await names["follow"](client) == ["db", "web-0"]


async def test_the_reconciler_of_the_page_on_owned_objects_works():
    """It makes a Service, renames it, and takes away its own and no other."""
    names = program("docs/how-to/own-objects.md")
    app = ConfigMap(metadata=ObjectMeta(name="x", namespace="team"), data={"service": "a"})
    client = fake_client(app, Service(metadata=ObjectMeta(name="web", namespace="team")))
    request = Request("team", "x")
    reconciler = names["AppReconciler"](client)
    await reconciler.reconcile(request)
    app = await client.get(ConfigMap, request)
    app.data = {"service": "b"}
    await client.update(app)
    await reconciler.reconcile(request)
    assert await names["withdraw"](client, app)
    assert [service.metadata.name for service in await client.list(Service)] == ["b", "web"]


async def test_the_programs_of_the_page_on_own_objects_apply_a_part():
    """The image of one container, the replicas and a label, and then only the label is another one."""
    names = program("docs/how-to/own-objects.md")
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": name, "image": "old"} for name in ("proxy", "web")]},
    }
    metadata = {"name": "shop", "namespace": "team", "labels": {"theirs": "1"}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    wire = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    client = fake_client(Deployment.from_wire(wire))
    await names["roll_out"](client, "team/shop", "new")
    await names["hand_over"](client, "team/shop", "orders")
    shop = await client.get(Deployment, "team/shop")
    assert [container.image for container in shop.spec.template.spec.containers] == ["old", "new"]
    assert (shop.spec.replicas, shop.metadata.labels) == (3, {"theirs": "1", "team": "orders"})
