"""Server-side apply and the helpers that bring an object to what is wanted with the fewest writes."""

import copy
import logging

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import MergePatch
from pykb.client.ensure import OperationResult, create_or_patch, create_or_update, ensure_applied, patch_status
from pykb.client.errors import Conflict, NotFound
from pykb.client.finalizers import ensure_finalizer, release_finalizer
from pykb.runtime.cache.informer_cache import InformerCache
from pykb.testing import eventually

pytestmark = pytest.mark.apiserver


def _config_map(namespace, **data):
    return ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data=data)


def _deployment(namespace, replicas=None, image="img:1"):
    labels = {"app": "x"}
    container = {
        "name": "c",
        "image": image,
        "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": "500m"}},
    }
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    metadata = {"name": "d", "namespace": namespace}
    return Deployment.from_wire({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


async def test_an_object_that_was_read_can_be_applied(client, namespace, caplog):
    """Its resource version and managed fields are not sent, so that apply does not refuse it; the log says so."""
    caplog.set_level(logging.DEBUG, logger="pykb.client.writer")
    await client.create(_config_map(namespace, a="1"))
    found = await client.get(ConfigMap, f"{namespace}/a")
    found.data["a"] = "2"
    await client.apply(found, field_manager="me", force=True)
    assert (await client.get(ConfigMap, found)).data == {"a": "2"}
    (record,) = caplog.records
    assert (record.kind, record.object) == ("v1 ConfigMap", f"{namespace}/a")
    await client.apply(_config_map(namespace, a="2"), field_manager="me")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("helper", [create_or_update, create_or_patch])
async def test_create_or_update_does_not_fight_defaults(client, namespace, helper):
    """A template that is written anew each time lacks the server's defaults: sent once, found unchanged, not sent again.

    A write to the status in between makes no difference, a change of what is wanted or of what is there does.
    """
    obj = _deployment(namespace, replicas=2)
    sent = []
    client.connection.observer = lambda record: sent.append(record.method) if record.method != "GET" else None

    def want(replicas=2):
        fresh = _deployment(namespace, replicas=replicas)
        obj.spec.template = fresh.spec.template
        obj.spec.replicas = fresh.spec.replicas

    async def bring(**wanted):
        sent.clear()
        return (await helper(client, obj, lambda: want(**wanted)))[1], len(sent)

    assert await bring() == (OperationResult.CREATED, 1)
    assert await bring() == (OperationResult.UNCHANGED, 1)
    assert await bring() == (OperationResult.UNCHANGED, 0)
    assert obj.spec.template.spec.dns_policy == "ClusterFirst"
    await client.status.patch(_deployment(namespace), MergePatch({"status": {"observedGeneration": 1}}))
    assert await bring() == (OperationResult.UNCHANGED, 0)
    assert await bring(replicas=3) == (OperationResult.UPDATED, 1)
    await client.patch(_deployment(namespace), MergePatch({"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}))
    # Only a full update puts back what it does not name; a patch leaves what others wrote.
    assert (await bring(replicas=3))[1] == 1
    assert obj.spec.replicas == 3


async def test_create_or_patch_keeps_what_others_wrote(client, namespace):
    """Only the difference is sent, also with an async mutate."""
    obj = _config_map(namespace, a="1")

    async def want():
        obj.data = {**(obj.data or {}), "mine": "1"}

    assert (await create_or_patch(client, obj, want))[1] is OperationResult.CREATED
    await client.patch(copy.deepcopy(obj), MergePatch({"data": {"theirs": "1"}}))
    assert (await create_or_patch(client, obj, want))[1] is OperationResult.UNCHANGED
    assert obj.data == {"a": "1", "mine": "1", "theirs": "1"}


async def test_mutate_must_not_rename(client, namespace):
    """A change of the name would write another object."""
    obj = _config_map(namespace)

    def rename():
        obj.metadata.name = "b"

    with pytest.raises(ValueError, match="must not rename"):
        await create_or_update(client, obj, rename)


async def test_ensure_applied_writes_only_when_a_value_or_an_owner_would_change(client, namespace, monkeypatch):
    """Defaults and others' fields do not count; drift, a new field and a dropped field do."""
    applied = []
    apply = type(client).apply

    async def counting(self, obj, **options):
        applied.append(obj)
        return await apply(self, obj, **options)

    monkeypatch.setattr(type(client), "apply", counting)

    async def ensure(replicas=2, image="img:1"):
        return (await ensure_applied(client, _deployment(namespace, replicas, image), field_manager="me"))[1]

    assert await ensure() is OperationResult.CREATED
    assert await ensure() is OperationResult.UNCHANGED
    deployment = await client.get(Deployment, f"{namespace}/d")
    await client.patch(deployment, MergePatch({"metadata": {"labels": {"theirs": "1"}}}), field_manager="other")
    assert await ensure() is OperationResult.UNCHANGED
    assert len(applied) == 1
    await client.patch(deployment, MergePatch({"spec": {"replicas": 9}}), field_manager="other")
    assert await ensure() is OperationResult.UPDATED
    assert await ensure(image="img:2") is OperationResult.UPDATED
    assert await ensure(replicas=None, image="img:2") is OperationResult.UPDATED
    assert len(applied) == 4
    found = await client.get(Deployment, f"{namespace}/d")
    assert (found.spec.template.spec.containers[0].image, found.metadata.labels) == ("img:2", {"theirs": "1"})


async def test_ensure_applied_on_cached_reads_writes_once_and_on_drift(client, namespace, monkeypatch):
    """A mirror has no `managedFields`: what this process applied, and what still holds, is not applied again."""
    applied = []
    apply = type(client).apply

    async def counting(self, obj, **options):
        applied.append(obj)
        return await apply(self, obj, **options)

    monkeypatch.setattr(type(client), "apply", counting)
    async with InformerCache.of(client) as informers:
        cached = client.with_cache(informers)

        async def ensure(replicas=2, image="img:1"):
            result = (await ensure_applied(cached, _deployment(namespace, replicas, image), field_manager="me"))[1]
            await eventually(mirrored)
            return result

        async def mirrored():
            live = await client.get(Deployment, f"{namespace}/d")
            mirror = await cached.find(Deployment, f"{namespace}/d")
            return mirror is not None and mirror.metadata.resource_version == live.metadata.resource_version

        informers.informer(Deployment)
        assert await ensure() is OperationResult.CREATED
        assert await ensure() is OperationResult.UNCHANGED
        deployment = await client.get(Deployment, f"{namespace}/d")
        await client.patch(deployment, MergePatch({"metadata": {"labels": {"theirs": "1"}}}), field_manager="other")
        await eventually(mirrored)
        assert await ensure() is OperationResult.UNCHANGED
        assert len(applied) == 1
        await client.patch(deployment, MergePatch({"spec": {"replicas": 9}}), field_manager="other")
        await eventually(mirrored)
        assert await ensure() is OperationResult.UPDATED
        assert await ensure(replicas=None) is OperationResult.UPDATED
        assert len(applied) == 3


async def test_a_dry_run_is_not_taken_for_an_apply(client, namespace):
    """Where a cache knows of no owners, values that others set are still to be applied after a dry run."""
    await client.create(_config_map(namespace, k="v"))
    async with InformerCache.of(client) as informers:
        informers.informer(ConfigMap)
        cached = client.with_cache(informers)
        await ensure_applied(cached.with_options(dry_run=True), _config_map(namespace, k="v"), field_manager="me")
        await ensure_applied(cached, _config_map(namespace, k="v"), field_manager="me")
    managers = (await client.get(ConfigMap, f"{namespace}/a")).metadata.managed_fields
    assert "me" in {entry.manager for entry in managers}


async def test_a_status_is_patched_only_when_it_changed(client, namespace, widgets):
    """No write for an equal status; only the changed fields otherwise."""
    obj = await client.create(widgets.make(namespace))
    before = copy.deepcopy(obj)
    assert await patch_status(client, obj, before) is OperationResult.UNCHANGED
    obj.status.phase = "Running"
    assert await patch_status(client, obj, before) is OperationResult.UPDATED
    version = obj.metadata.resource_version
    assert await patch_status(client, obj, copy.deepcopy(obj)) is OperationResult.UNCHANGED
    assert (await client.get(widgets.Kind, obj)).metadata.resource_version == version
    stale = copy.deepcopy(before)
    stale.status.phase = "Failed"
    with pytest.raises(Conflict):
        await patch_status(client, stale, before, optimistic_lock=True)


async def test_a_finalizer_holds_an_object_until_it_is_released(client, namespace):
    """Ensured once, it survives the deletion; released, the object is gone, and releasing again is no error."""
    name = "example.com/clean-up"
    obj = await client.create(_config_map(namespace))
    assert await ensure_finalizer(client, obj, name)
    assert not await ensure_finalizer(client, obj, name)
    await client.delete(obj)
    held = await client.get(ConfigMap, obj)
    assert held.metadata.deletion_timestamp is not None
    stale = copy.deepcopy(held)
    assert await release_finalizer(client, held, name)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, obj)
    assert not await release_finalizer(client, stale, name)
