"""What a manager mirrors through its engine: metadata only, selections, indexes; and who else wakes a controller."""

import asyncio
from urllib.parse import urlsplit

import pytest

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.login import KubeconfigSource
from pykb.runtime import (
    CacheOptions,
    ControllerBuilder,
    GenerationChanged,
    InformerOptions,
    LabelChanged,
    Manager,
    ManagerOptions,
    MergePatch,
    Reconciler,
    Request,
)
from pykb.testing import eventually, running

from .conftest import Widget, WidgetSpec, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver


class Noting(Reconciler):
    """Notes its requests."""

    def __init__(self, client):
        super().__init__(client)
        self.names = []

    async def reconcile(self, request: Request) -> None:
        """Note one."""
        self.names.append(request.name)


@pytest.fixture
async def client(widgets):
    """A client without a cache."""
    async with client_for(widgets) as client:
        yield client


def widget(namespace, name, **labels):
    """An object."""
    return Widget(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or None), spec=WidgetSpec(size=1))


def config_map(namespace, name, **labels):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or None), data={"heavy": "x"})


async def test_metadata_of_a_kind_can_be_watched_without_the_rest(widgets, client, namespace):
    """The list and the watch bring metadata only, under the real kind; reads of the kind are requests still."""
    await client.create(config_map(namespace, "early"))
    manager = manager_for(widgets, namespaces=(namespace,))
    reconciler = Noting(manager.client)
    ControllerBuilder(manager).for_(ConfigMap, metadata_only=True).complete(reconciler)
    informer = manager.cache.informer(ConfigMap, metadata_only=True)
    async with running(manager):
        await eventually(lambda: "early" in reconciler.names)
        await client.create(config_map(namespace, "late"))
        await eventually(lambda: "late" in reconciler.names)
        found = informer.lister.get("late", namespace=namespace)
        assert found.gvk == ConfigMap.gvk
        assert "data" not in found.data
        assert (await manager.client.get(ConfigMap, f"{namespace}/late")).data == {"heavy": "x"}
        reconciler.names.clear()
        await client.delete(ConfigMap, f"{namespace}/late")
        await eventually(lambda: reconciler.names == ["late"])


async def test_lists_watches_and_their_silence_are_exported(widgets, client, namespace):
    """A list in two pages and a watch are requests like any other; a kind is heard when something happens."""
    await client.create(widget(namespace, "a"))
    await client.create(widget(namespace, "b"))
    paged = CacheOptions(default=InformerOptions(namespaces=(namespace,), page_size=1))
    manager = manager_for(widgets, cache=paged)
    reconciler = Noting(manager.client)
    ControllerBuilder(manager).for_(Widget).complete(reconciler)
    registry = manager.metrics.registry
    request = {"code": "200", "method": "GET", "host": urlsplit(widgets.url).netloc}
    async with running(manager):
        await eventually(lambda: sorted(reconciler.names) == ["a", "b"])
        await client.create(widget(namespace, "c"))
        await eventually(lambda: "c" in reconciler.names)
        assert registry.get_sample_value("rest_client_requests_total", request) >= 3
        kind = {"group": Widget.gvk.group, "version": "v1", "kind": "Widget"}
        assert registry.get_sample_value("pykb_watch_failures_total", kind) == 0
        assert 0 <= registry.get_sample_value("pykb_watch_silence_seconds", kind) < 60


async def test_a_list_that_rbac_forbids_is_an_error_at_once(widgets, namespace, caplog):
    """With the marker to add; nobody waits for the start to time out first."""
    stranger = KubeconfigSource([widgets.user("stranger")])
    manager = Manager(ManagerOptions(namespaces=(namespace,)), credentials=stranger)
    ControllerBuilder(manager).for_(Widget).complete(Noting(manager.client))
    starting = asyncio.create_task(manager.start())
    await eventually(lambda: any(record.getMessage() == "cannot watch" for record in caplog.records))
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    record = next(record for record in caplog.records if record.getMessage() == "cannot watch")
    assert (record.levelname, record.status) == ("ERROR", 403)
    rule = "# +kubebuilder:rbac:groups=runtime.example.com,resources=widgets,verbs=get;list;watch"
    assert rule in record.error
    assert manager.metrics.registry.get_sample_value("rest_client_requests_total", _refused(widgets)) >= 1


def _refused(plane):
    return {"code": "403", "method": "GET", "host": urlsplit(plane.url).netloc}


async def test_an_index_finds_the_objects_that_name_another(widgets, client, namespace):
    """Cached lists select by what an index gives; a map function uses it to wake whom a Secret concerns."""
    manager = manager_for(widgets, namespaces=(namespace,))
    manager.cache.add_index(Widget, "secret", lambda raw: [raw["metadata"].get("annotations", {}).get("secret", "")])
    reconciler = Noting(manager.client)

    async def users(secret):
        return [
            Request(found.metadata.namespace, found.metadata.name)
            for found in await manager.client.list(
                Widget, namespace=secret.metadata.namespace, fields={"secret": secret.metadata.name}
            )
        ]

    ControllerBuilder(manager).for_(Widget).watches(Secret, users).complete(reconciler)
    for name, secret in (("a", "password"), ("b", "other")):
        made = widget(namespace, name)
        made.metadata.annotations = {"secret": secret}
        await client.create(made)
    async with running(manager):
        await eventually(lambda: sorted(reconciler.names) == ["a", "b"])
        reconciler.names.clear()
        await client.create(Secret(metadata=ObjectMeta(name="password", namespace=namespace)))
        await eventually(lambda: reconciler.names == ["a"])


async def test_predicates_keep_a_controllers_own_writes_from_waking_it(widgets, client, namespace):
    """A status write raises no generation; a change of a label passes because it is asked for."""
    manager = manager_for(widgets, namespaces=(namespace,))
    reconciler = Noting(manager.client)
    ControllerBuilder(manager).for_(Widget).with_event_filter(GenerationChanged() | LabelChanged()).complete(reconciler)
    async with running(manager):
        made = await client.create(widget(namespace, "a"))
        await eventually(lambda: reconciler.names == ["a"])
        await client.status.patch(made, MergePatch({"status": {"phase": "Ready"}}))
        await client.patch(made, MergePatch({"metadata": {"annotations": {"note": "x"}}}))
        await client.patch(made, MergePatch({"metadata": {"labels": {"tier": "web"}}}))
        await eventually(lambda: reconciler.names == ["a", "a"])
        await client.patch(made, MergePatch({"spec": {"size": 2}}))
        await eventually(lambda: reconciler.names == ["a", "a", "a"])
        lister = manager.cache.lister(Widget)
        assert lister.get("a", namespace=namespace).metadata.annotations == {"note": "x"}


class Tenants(Reconciler[str]):
    """Sums up what several kinds have of a tenant, in an object of the tenant's name."""

    def __init__(self, client, namespace):
        super().__init__(client)
        self.namespace = namespace

    async def reconcile(self, tenant: str) -> None:
        """Sum up one tenant."""
        total = 0
        for kind in (ConfigMap, Secret, Widget):
            total += len((await self.client.list(kind, namespace=self.namespace, labels={"tenant": tenant})).items)
        wanted = config_map(self.namespace, tenant)
        wanted.data = {"total": str(total)}
        await self.client.apply(wanted)


async def test_a_controller_of_tenants_is_woken_by_several_kinds(widgets, client, namespace):
    """Its requests are names of tenants, collected from labels of objects; a change of the label wakes both tenants."""

    def tenant_of(obj):
        return [(obj.metadata.labels or {}).get("tenant")] if (obj.metadata.labels or {}).get("tenant") else None

    async def total(tenant, wanted):
        found = await client.get(ConfigMap, f"{namespace}/{tenant}")
        assert found.data == {"total": str(wanted)}

    await client.create(config_map(namespace, "c", tenant="red"))
    moved = await client.create(widget(namespace, "w", tenant="red"))
    manager = manager_for(widgets, namespaces=(namespace,))
    builder = ControllerBuilder[str](manager).named("tenant")
    for kind in (ConfigMap, Secret, Widget):
        builder.watches(kind, tenant_of)
    builder.complete(Tenants(manager.client, namespace))
    async with running(manager):
        await eventually(lambda: total("red", 2))
        secret = Secret(metadata=ObjectMeta(name="s", namespace=namespace, labels={"tenant": "blue"}))
        await client.create(secret)
        await eventually(lambda: total("blue", 1))
        await client.patch(moved, MergePatch({"metadata": {"labels": {"tenant": "blue"}}}))
        await eventually(lambda: total("blue", 2))
        await eventually(lambda: total("red", 1))
