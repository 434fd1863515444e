"""Custom resources: schema, defaults, generations and subresources, on both API servers."""

import copy
import secrets

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.client import MergePatch, merge_from
from pykb.client.errors import BadRequest, Conflict, Invalid, NoKindMatch, NotFound
from pykb.meta.gvk import GroupVersionKind
from pykb.testing import eventually


async def test_defaults_of_the_schema_are_filled_in(client, namespace, widgets):
    """Also those inside the items of a list."""
    obj = await client.create(widgets.make(namespace, parts=[widgets.Part(name="p")]))
    assert (obj.spec.color, obj.spec.parts[0].weight) == ("red", 7)
    await client.patch(obj, MergePatch({"spec": {"color": None}}))
    assert obj.spec.color == "red"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"size": 0}, "spec.size"),
        ({"size": "1"}, "spec.size"),
        ({}, "spec.size"),
        ({"size": 1, "tags": ["a", "a"]}, "spec.tags[1]"),
        ({"size": 1, "parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]"),
        ({"size": 1, "parts": [{}]}, "spec.parts[0].name"),
        ({"size": 1, "color": 5}, "spec.color"),
    ],
)
async def test_what_breaks_the_schema_is_invalid(client, namespace, widgets, spec, field):
    """The cause names the field."""
    wire = {**widgets.make(namespace).to_wire(), "spec": spec}
    with pytest.raises(Invalid) as caught:
        await client.create(wire)
    assert field in [cause.field for cause in caught.value.causes]


async def test_an_update_is_judged_too(client, namespace, widgets):
    """By update and by patch. The object keeps what was asked for."""
    obj = await client.create(widgets.make(namespace))
    with pytest.raises(Invalid):
        await client.patch(obj, MergePatch({"spec": {"size": -1}}))
    obj.spec.size = -1
    with pytest.raises(Invalid):
        await client.update(obj)
    assert obj.spec.size == -1


async def test_unknown_fields_are_pruned_or_refused(client, namespace, widgets):
    """Dropped by default, an error when strict; inside of a status that preserves them they stay."""
    wire = {**widgets.make(namespace).to_wire(), "spec": {"size": 1, "novel": 1}, "other": 1}
    with pytest.raises(BadRequest, match="unknown field"):
        await client.with_options(field_validation="Strict").create(copy.deepcopy(wire))
    await client.with_options(field_validation="Ignore").create(copy.deepcopy(wire), dry_run=True)
    await client.create(wire)
    assert "novel" not in wire["spec"]
    assert "other" not in wire
    wire["status"] = {"novel": {"x": 1}}
    await client.status.update(wire)
    assert (await client.get(widgets.gvk, f"{namespace}/w")).data["status"] == {"novel": {"x": 1}}


async def test_the_generation_counts_changes_of_the_spec(client, namespace, widgets):
    """Not of metadata, not of the status, and not writes that change nothing."""
    obj = await client.create(widgets.make(namespace))
    assert obj.metadata.generation == 1
    await client.patch(obj, MergePatch({"metadata": {"labels": {"a": "b"}}}))
    obj.status.phase = "Running"
    await client.status.update(obj)
    await client.patch(obj, MergePatch({"spec": {"size": 1}}))
    assert obj.metadata.generation == 1
    await client.patch(obj, MergePatch({"spec": {"size": 2}}))
    assert obj.metadata.generation == 2


async def test_a_deletion_counts_as_a_change(client, namespace, widgets):
    """The generation of an object that is held goes up when it is deleted."""
    obj = widgets.make(namespace)
    obj.metadata.finalizers = ["example.com/a"]
    await client.create(obj)
    await client.delete(obj)
    assert (await client.get(widgets.Kind, obj)).metadata.generation == 2


async def test_the_status_is_apart(client, namespace, widgets):
    """Create and update ignore it; its subresource writes nothing else."""
    obj = widgets.make(namespace)
    obj.status.phase = "Ignored"
    await client.create(obj)
    assert obj.status.phase is None
    obj.status.phase = "Running"
    obj.spec.size = 9
    obj.metadata.labels = {"a": "b"}
    await client.status.update(obj)
    assert (obj.status.phase, obj.spec.size, obj.metadata.labels) == ("Running", 1, None)
    obj.spec.size = 2
    obj.status.phase = "Other"
    await client.update(obj)
    assert (obj.status.phase, obj.spec.size) == ("Running", 2)


async def test_the_status_can_be_patched(client, namespace, widgets):
    """A merge patch through the subresource changes the status only."""
    obj = await client.create(widgets.make(namespace))
    patch = merge_from(obj)
    obj.status.phase = "Running"
    obj.spec.size = 9
    await client.status.patch(obj, patch)
    assert (obj.status.phase, obj.spec.size) == ("Running", 1)


async def test_an_old_version_of_the_status_is_a_conflict(client, namespace, widgets):
    """Status and spec share one version."""
    obj = await client.create(widgets.make(namespace))
    stale = copy.deepcopy(obj)
    await client.patch(obj, MergePatch({"spec": {"size": 2}}))
    stale.status.phase = "Running"
    with pytest.raises(Conflict):
        await client.status.update(stale)


async def test_the_status_of_nothing_is_not_found(client, namespace, widgets):
    """A status needs an object, also to be applied."""
    obj = widgets.make(namespace)
    with pytest.raises(NotFound):
        await client.status.patch(obj, MergePatch({"status": {"phase": "x"}}))
    with pytest.raises(NotFound):
        await client.status.apply(obj)


async def test_a_kind_without_a_status_subresource_has_none(client, namespace):
    """Not found, and not the object."""
    wire = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}
    await client.create(wire)
    with pytest.raises(NotFound):
        await client.status.patch(wire, MergePatch({"status": {}}))


async def test_scale_is_read_and_written(client, namespace, widgets):
    """By the paths of the CRD; an old version is a conflict."""
    parent = await client.create(widgets.make(namespace))
    scale = client.subresource("scale")
    current = await scale.get(widgets.Kind, parent)
    assert (current.data["kind"], current.data["spec"]["replicas"]) == ("Scale", 1)
    stale = copy.deepcopy(current)
    current.data["spec"]["replicas"] = 3
    await scale.update(parent, current)
    assert current.data["spec"]["replicas"] == 3
    with pytest.raises(Conflict):
        await scale.update(parent, stale)
    assert (await scale.patch(parent, MergePatch({"spec": {"replicas": 5}}))).data["spec"]["replicas"] == 5
    assert (await client.get(widgets.gvk, parent)).data["spec"]["replicas"] == 5


async def test_a_scale_is_typed(client, namespace, widgets):
    """Read, replaced and set: the answer is a Scale of autoscaling/v1; an old one is refused."""
    parent = await client.create(widgets.make(namespace))
    scale = await client.scale.get(widgets.Kind, parent)
    assert scale.spec.replicas == 1
    stale = await client.scale.get(widgets.Kind, parent)
    scale.spec.replicas = 3
    assert (await client.scale.update(parent, scale)).spec.replicas == 3
    with pytest.raises(Conflict):
        await client.scale.update(parent, stale)
    assert (await client.scale.set_replicas(parent, 5)).spec.replicas == 5
    assert (await client.get(widgets.gvk, parent)).data["spec"]["replicas"] == 5


async def test_a_deployment_has_a_scale(client, namespace):
    """Built-in kinds too, and their generation counts."""
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "img:1"}]}}
    metadata = {"name": "d", "namespace": namespace}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    obj = await client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    scale = await client.subresource("scale").get(Deployment, obj)
    assert scale.data["spec"]["replicas"] == 2
    assert scale.data["status"]["selector"] == "app=x"
    await client.subresource("scale").patch(obj, MergePatch({"spec": {"replicas": 4}}))
    found = await client.get(Deployment, f"{namespace}/d")
    assert (found.spec.replicas, found.metadata.generation) == (4, 2)
    del spec["replicas"]
    obj = await client.create({**obj, "metadata": {**metadata, "name": "e"}, "spec": spec})
    assert (await client.scale.get(Deployment, obj)).spec.replicas == 1


def _version(name: str, *, stored: bool, **fields: dict[str, str]) -> dict[str, object]:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, **fields}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": stored, "schema": schema}


async def test_an_object_is_stored_with_the_fields_of_the_stored_version(client, namespace):
    """Its defaults count in the other version's objects, too. What it does not know is lost, either way."""
    group = f"{secrets.token_hex(4)}.example.com"
    old = _version("v1", stored=False, color={"type": "string"})
    new = _version("v2", stored=True, shape={"type": "string", "default": "round"})
    names = {"kind": "Ring", "plural": "rings", "singular": "ring", "listKind": "RingList"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"rings.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [old, new]},
    }
    await client.create(crd)

    async def create() -> dict[str, object]:
        metadata = {"name": "a", "namespace": namespace}
        wanted = {
            "apiVersion": f"{group}/v1",
            "kind": "Ring",
            "metadata": metadata,
            "spec": {"size": 1, "color": "red"},
        }
        try:
            return await client.create(wanted)
        except NoKindMatch as error:
            raise AssertionError(str(error)) from error

    created = await eventually(create)
    assert created["spec"] == {"size": 1}
    found = await client.get(GroupVersionKind(group, "v2", "Ring"), "a", namespace=namespace)
    assert found.data["spec"] == {"size": 1, "shape": "round"}
    found = await client.get(GroupVersionKind(group, "v1", "Ring"), "a", namespace=namespace)
    assert found.data["spec"] == {"size": 1}
