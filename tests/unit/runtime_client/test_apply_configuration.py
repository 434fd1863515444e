"""Partial objects and the client: their names, what refuses them, and what a cache has of them."""

import pytest

from pykb.api import NamespacedName, Unstructured
from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.core.v1 import ConfigMap, Container, Namespace, PodSpec, PodTemplateSpec
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    InformerCache,
    Request,
    add_finalizer,
    call_in_thread,
    ensure_applied,
    extract_applied,
    has_finalizer,
    is_controlled_by,
    partial,
)
from pykb.runtime.fake import fake_client
from pykb.testing import eventually

_META = ObjectMeta(name="web", namespace="team")


@pytest.mark.parametrize(
    "key",
    [
        "team/web",
        Request("team", "web"),
        NamespacedName("team", "web"),
        ConfigMap(metadata=_META),
        Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team"}}),
    ],
)
def test_whatever_names_an_object_names_a_partial_one(key):
    """As it does in `client.get`."""
    made = partial(Deployment, key)
    assert type(made) is Deployment
    assert made.to_wire() == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team"},
    }
    assert partial(Deployment, made, namespace="other") == made


def test_the_namespace_may_come_apart_or_not_at_all():
    """From the client, or because the kind has none."""
    assert partial(Deployment, "web", namespace="team") == partial(Deployment, "team/web")
    assert partial(Namespace, "team").to_wire()["metadata"] == {"name": "team"}


def test_mistaken_calls_say_what_to_type():
    """A kind has a key, a part has none."""
    with pytest.raises(TypeError, match=r'`partial\(Deployment, "namespace/name"\)`'):
        partial(Deployment)
    with pytest.raises(TypeError, match=r"`partial\(DeploymentSpec\)`"):
        partial(DeploymentSpec, "team/web")  # type: ignore[type-var]
    with pytest.raises(ValueError, match="a name is needed"):
        partial(Deployment, "")


def test_the_metadata_is_partial_too():
    """Nobody takes its labels, or whether it is deleted, for known; who asks for the object's owners finds none."""
    made = partial(ConfigMap, "team/web")
    for name in ("labels", "deletion_timestamp", "uid"):
        with pytest.raises(AttributeError, match=f"ObjectMeta has no '{name}' yet"):
            getattr(made.metadata, name)
    assert not is_controlled_by(made, ConfigMap(metadata=ObjectMeta(name="a", uid="1")))
    assert not has_finalizer(made, "example.com/a")
    assert add_finalizer(made, "example.com/a")
    assert made.to_wire()["metadata"]["finalizers"] == ["example.com/a"]


async def test_a_namespaced_client_knows_the_namespace():
    """As for whole objects."""
    client = fake_client().namespaced("team")
    await client.create(Namespace(metadata=ObjectMeta(name="team")))
    made = partial(ConfigMap, "web")
    made.data = {"a": "1"}
    assert (await client.apply(made)).metadata.namespace == "team"


async def test_threads_apply_it():
    """By `client.sync`; and what was applied is extracted there."""
    client = fake_client(Namespace(metadata=ObjectMeta(name="team")))

    def work():
        made = partial(ConfigMap, "team/web")
        made.data = {"a": "1"}
        stored = client.sync.apply(made, field_manager="one")
        again = extract_applied(stored, "one")
        again.data["b"] = "2"
        return client.sync.apply(again, field_manager="one")

    assert (await call_in_thread(work)).data == {"a": "1", "b": "2"}


async def test_a_status_update_takes_none():
    """It would remove the rest of the status."""
    client = fake_client(ConfigMap(metadata=_META))
    with pytest.raises(ValueError, match="ConfigMap `team/web` is partial"):
        await client.status.update(partial(ConfigMap, "team/web"))
    stored = await client.get(ConfigMap, "team/web")
    del stored.metadata.labels
    await client.update(stored)


async def test_one_container_of_several_is_applied_once_through_a_cache(monkeypatch):
    """Where the cache knows of no owners: the containers of others are no change."""
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "x"}),
        spec=PodSpec(containers=[Container(name=name, image=f"{name}:1") for name in ("a", "b", "c")]),
    )
    spec = DeploymentSpec(selector=LabelSelector(match_labels={"app": "x"}), template=template)
    client = fake_client(Deployment(metadata=_META, spec=spec))

    def wanted(*names, image="new"):
        made = partial(Deployment, "team/web")
        made.spec = partial(DeploymentSpec)
        made.spec.template = partial(PodTemplateSpec)
        made.spec.template.spec = partial(PodSpec)
        made.spec.template.spec.containers = [Container(name=name, image=image) for name in names]
        return made

    async with InformerCache.of(client) as informers:
        cached = client.with_cache(informers)
        sent = []
        apply = type(client).apply
        monkeypatch.setattr(
            type(client), "apply", lambda self, obj, **rest: sent.append(obj) or apply(self, obj, **rest)
        )
        for names, image, count in (
            (["b"], "new", 1),
            (["b"], "new", 1),
            (["b"], "newer", 2),
            (["a", "c"], "new", 3),
            (["a", "c"], "new", 3),
        ):
            stored, _ = await ensure_applied(cached, wanted(*names, image=image), field_manager="me")
            assert len(sent) == count

            async def mirrored(version=stored.metadata.resource_version):
                return (await cached.get(Deployment, "team/web")).metadata.resource_version == version

            await eventually(mirrored)
