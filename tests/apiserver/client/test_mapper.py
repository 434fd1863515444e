"""Discovery: where kinds are served, also those that came a moment ago."""

import copy

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.client.errors import NoKindMatch, NotFound
from pykb.meta.gvk import GroupVersionKind

pytestmark = pytest.mark.apiserver


async def test_a_built_in_kind_is_known_without_asking(client, monkeypatch):
    """Its class says where it is served."""

    async def refuse(call):
        raise AssertionError(call)

    monkeypatch.setattr(client.connection, "request", refuse)
    mapping = await client.mapper.mapping(ConfigMap.gvk, static=ConfigMap.resource)
    assert (mapping.plural, mapping.namespaced) == ("configmaps", True)


async def test_a_kind_that_is_not_served_says_what_to_do(client):
    """NoKindMatch, with help, for an unknown group, version and kind."""
    for gvk in (
        GroupVersionKind("none.example.com", "v1", "Thing"),
        GroupVersionKind("apps", "v9", "Deployment"),
        GroupVersionKind("apps", "v1", "Deploymint"),
    ):
        with pytest.raises(NoKindMatch, match="make install"):
            await client.list(gvk)


async def test_a_kind_is_found_when_its_crd_comes_and_lost_when_it_goes(client, widgets, namespace):
    """A miss is asked for again; a resource that went away is forgotten."""
    from pykb.testing import eventually

    gvk = GroupVersionKind("late.example.com", "v1", "Late")
    with pytest.raises(NoKindMatch):
        await client.list(gvk)
    found = await client.get(
        GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), "widgets.client.example.com"
    )
    wire = {key: copy.deepcopy(found.data[key]) for key in ("apiVersion", "kind", "spec")}
    wire["metadata"] = {"name": "lates.late.example.com"}
    wire["spec"] |= {"group": "late.example.com", "names": {"plural": "lates", "kind": "Late"}}
    await client.create(wire)

    async def served():
        try:
            return len(await client.list(gvk, namespace=namespace)) == 0
        except NoKindMatch:
            return False

    async def gone():
        try:
            await client.list(gvk, namespace=namespace)
        except NoKindMatch:
            return True
        except NotFound:
            return False
        return False

    await eventually(served)
    await client.delete(wire)
    await eventually(gone)


async def test_find_does_not_take_a_missing_resource_for_a_missing_object(client, namespace):
    """None means that the object is not there, not that nobody could know."""
    with pytest.raises(NoKindMatch):
        await client.find(GroupVersionKind("none.example.com", "v1", "Thing"), f"{namespace}/x")


async def test_everything_that_is_served_can_be_listed(client, widgets):
    """Aggregated discovery gives core, grouped and custom kinds, each with its verbs."""
    found = {mapping.gvk: mapping for mapping in await client.mapper.all()}
    assert found[GroupVersionKind("", "v1", "Pod")].namespaced
    assert not found[GroupVersionKind("", "v1", "Namespace")].namespaced
    assert "scale" in found[GroupVersionKind("apps", "v1", "Deployment")].subresources
    assert found[widgets.gvk].plural == "widgets"
