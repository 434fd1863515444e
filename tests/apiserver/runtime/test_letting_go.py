"""Objects that do not fit their type any more can be deleted: what fits of them is read, and only metadata is written."""

import json
import logging
from datetime import timedelta
from typing import Any

import pytest

from pykb.api import Converter, CustomResource, Field, GroupVersion, Struct, carry_over
from pykb.api.unreadable import UnreadableObject
from pykb.runtime import (
    ApiError,
    ControllerBuilder,
    Defaulter,
    Finalizers,
    Invalid,
    ManagerOptions,
    MergePatch,
    Reconciler,
    WebhookBuilder,
    release_finalizer,
)
from pykb.testing import eventually, running
from pykb.testing._managers import RunManager

from .conftest import client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

GROUP = "letting-go.example.com"
V1 = GroupVersion(GROUP, "v1")
V2 = GroupVersion(GROUP, "v2")
HELD = ["example.com/disk", "example.com/address"]


class VesselSpec(Struct):
    """As it is now: a field that was not required, one of another name, one of another type, one of fewer values."""

    memory: str
    disk_id: str
    cpu: int
    zone: str = Field(default="a", pattern="^[abc]$")
    size: int = 1


class Vessel(CustomResource, group_version=V1):
    """The kind as its operator knows it now."""

    spec: VesselSpec


class VesselSpecV2(Struct):
    """The version that is stored."""

    cpu: int | None = None
    memory: str = "1"
    zone: str = "a"


class VesselV2(CustomResource, group_version=V2, kind="Vessel"):
    """The version that is stored."""

    spec: VesselSpecV2


class VesselConverter(Converter[Vessel, VesselV2]):
    """As one writes it who thinks of whole objects."""

    def to_hub(self, spoke: Vessel) -> VesselV2:
        """What both have."""
        return carry_over(spoke, VesselV2)

    def from_hub(self, hub: VesselV2) -> Vessel:
        """What both have, and a disk."""
        spoke = carry_over(hub, Vessel)
        spoke.spec.disk_id = "none"
        spoke.spec.cpu = hub.spec.cpu or 0
        return spoke


class VesselDefaulter(Defaulter[VesselV2]):
    """Changes what is stored."""

    async def default(self, obj: VesselV2) -> None:
        """Another memory, always."""
        obj.spec.memory += "0"


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
BEFORE = {"memory": STRING, "diskID": STRING, "cpu": STRING, "zone": STRING, "size": INTEGER}
NOW = {
    "memory": STRING,
    "diskId": STRING,
    "cpu": INTEGER,
    "zone": {"type": "string", "pattern": "^[abc]$"},
    "size": INTEGER,
}
REQUIRED = "memory", "diskId", "cpu"
OLD = {"diskID": "d-1", "cpu": "four", "zone": "moon"}


def definition(spec: dict[str, Any], *versions: str, required: list[str], root: list[str]) -> dict[str, Any]:
    """The kind with a schema of `spec`, the last version stored."""
    fields = {"type": "object", "properties": spec, "required": required}
    schema = {"type": "object", "properties": {"spec": fields}, "required": root}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"vessels.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Vessel", "plural": "vessels", "singular": "vessel", "listKind": "VesselList"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[-1],
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in versions
            ],
        },
    }


@pytest.fixture
def define(control_plane, tmp_path):
    """Install a definition."""

    def install(spec, *versions, required=(), root=()):
        path = tmp_path / "vessels.json"
        path.write_text(json.dumps(definition(spec, *versions, required=[*required], root=[*root])), "utf-8")
        control_plane.install_crds(path)

    return install


def vessel(namespace: str, name: str, spec: dict[str, Any] | None, version: GroupVersion = V1) -> dict[str, Any]:
    """An object of the wire, held by two finalizers."""
    metadata = {"name": name, "namespace": namespace, "finalizers": HELD}
    wire = {"apiVersion": version.api_version, "kind": "Vessel", "metadata": metadata}
    return wire if spec is None else {**wire, "spec": spec}


class ByHelper(Reconciler):
    """Cleans up by `Finalizers`."""

    def __init__(self, manager, reader, cleaned):
        super().__init__(manager.client)
        self.reader, self.cleaned = reader, cleaned
        self.finalizers = Finalizers(manager.client, dict.fromkeys(HELD, self.clean_up))

    async def clean_up(self, obj):
        """Sees the object as far as it fits."""
        self.cleaned[obj.metadata.name] = (obj.spec.disk_id, obj.spec.memory, obj.spec.cpu, obj.spec.zone)

    async def reconcile(self, request):
        """Finalize, and nothing else."""
        found = await self.reader.find(Vessel, request)
        if found is not None:
            await self.finalizers.finalize(found)


class ByBranch(ByHelper):
    """Has a branch for deletion, and takes one finalizer after the other."""

    async def reconcile(self, request):
        """The branch."""
        found = await self.reader.find(Vessel, request)
        if found is not None and found.metadata.deletion_timestamp is not None:
            await self.clean_up(found)
            for name in HELD:
                await release_finalizer(self.client, found, name)


@pytest.mark.parametrize("reads", ["cached", "live"])
@pytest.mark.parametrize("reconciler", [ByHelper, ByBranch])
async def test_an_object_that_does_not_fit_any_more_is_cleaned_up(
    control_plane, define, namespace, caplog, reads, reconciler
):
    """It is an error with a remedy while it lives; deleted, its finalizers are worked off."""
    define(BEFORE, "v1")
    async with client_for(control_plane) as client:
        await client.create(vessel(namespace, "old", OLD))
        define(NOW, "v1", required=REQUIRED)
        manager = manager_for(control_plane, namespaces=(namespace,))
        cleaned: dict[str, Any] = {}
        reader = manager.client if reads == "cached" else manager.api_reader
        ControllerBuilder(manager).for_(Vessel).complete(reconciler(manager, reader, cleaned))
        async with running(manager):
            await eventually(lambda: any("reconcile failed" in each.getMessage() for each in caplog.records))
            assert cleaned == {}
            await client.delete(Vessel.gvk, f"{namespace}/old")
            await eventually(lambda: cleaned == {"old": ("", "", 0, "moon")})

            async def gone() -> bool:
                return await client.find(Vessel.gvk, f"{namespace}/old") is None

            await eventually(gone)
    (told,) = [each for each in caplog.records if each.levelno == logging.ERROR and "lists leave" in each.getMessage()]
    assert "`spec.memory` is missing" in told.error
    assert told.help.startswith("let the type accept what is stored")
    assert any("read without these fields" in each.getMessage() for each in caplog.records)


async def test_what_lists_leave_out_has_what_fits_when_it_is_being_deleted(control_plane, define, namespace):
    """For those who wait until nothing is left; who writes all of it sees what is refused."""
    define(BEFORE, "v1")
    async with client_for(control_plane) as client:
        await client.create(vessel(namespace, "old", OLD))
        define(NOW, "v1", required=REQUIRED)
        with pytest.raises(UnreadableObject):
            await client.get(Vessel, f"{namespace}/old")
        await client.delete(Vessel.gvk, f"{namespace}/old")
        found = await client.list(Vessel, namespace=namespace)
        assert list(found) == []
        (partial,) = [error.partial for error in found.unreadable]
        assert partial.spec.zone == "moon"
        for name in HELD:
            assert await release_finalizer(client, partial, name)
        assert await client.find(Vessel, f"{namespace}/old") is None


async def test_what_is_demanded_at_the_root_keeps_an_object_and_the_log_says_so(
    control_plane, define, namespace, caplog
):
    """The server judges the root anew whenever metadata changes."""
    define(BEFORE, "v1")
    async with client_for(control_plane) as client:
        await client.create(vessel(namespace, "bare", None))
        define(BEFORE, "v1", root=["spec"])
        await client.delete(Vessel.gvk, f"{namespace}/bare")
        found = await client.get(Vessel, f"{namespace}/bare")
        with pytest.raises(Invalid, match="spec: Required value"):
            await release_finalizer(client, found, HELD[0])
        (told,) = [each for each in caplog.records if "cannot be removed" in each.getMessage()]
        assert "make the field optional" in told.help
        define(BEFORE, "v1")
        found = await client.get(Vessel, f"{namespace}/bare")
        for name in HELD:
            assert await release_finalizer(client, found, name)
        assert await client.find(Vessel, f"{namespace}/bare") is None


def mutating() -> str:
    """A configuration that has the defaulter called."""
    webhook = {
        "name": "vessel.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": "webhook-service",
                "namespace": "system",
                "path": "/mutate-letting-go-example-com-v2-vessel",
            }
        },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [{"apiGroups": [GROUP], "apiVersions": ["v2"], "operations": ["UPDATE"], "resources": ["vessels"]}],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return json.dumps({**head, "metadata": {"name": "mutating-webhook-configuration"}, "webhooks": [webhook]})


def setup(manager):
    """The webhooks of the kind."""
    builder = WebhookBuilder(manager).for_(VesselV2).with_converter(VesselConverter())
    builder.with_defaulter(VesselDefaulter()).complete()


async def test_what_cannot_be_converted_is_let_go_in_both_versions(control_plane, define, namespace, tmp_path):
    """While it lives the conversion is refused, since something would be lost; and a defaulter does not touch what goes."""
    project = tmp_path / "project/config/webhook"
    project.mkdir(parents=True)
    (project / "manifests.yaml").write_text(mutating(), "utf-8")
    define(BEFORE, "v1", "v2")
    async with client_for(control_plane) as client:
        for name in ("old", "older"):
            await client.create(vessel(namespace, name, OLD, V2))
    define(NOW, "v1", "v2", required=["memory"])
    options = ManagerOptions(graceful_shutdown_timeout=timedelta(seconds=5))
    running_manager = RunManager(control_plane.kubeconfig, tmp_path / "project")(setup, options=options)
    async with running_manager, client_for(control_plane) as client:
        with pytest.raises(ApiError, match="does not fit its type"):
            await client.patch(vessel(namespace, "old", None), MergePatch({"metadata": {"labels": {"seen": "yes"}}}))
        for kind, name in ((Vessel, "old"), (VesselV2, "older")):
            await client.delete(VesselV2.gvk, f"{namespace}/{name}")
            found = await client.get(kind, f"{namespace}/{name}")
            await client.patch(found, MergePatch({"metadata": {"labels": {"seen": "yes"}}}))
            assert found.metadata.labels == {"seen": "yes"}
            for finalizer in HELD:
                assert await release_finalizer(client, found, finalizer)
            assert await client.find(VesselV2.gvk, f"{namespace}/{name}") is None
