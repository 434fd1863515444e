"""A reconciler of a version that is not stored: what it lists has to be converted before it can begin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.api.conversion import Converter, carry_over
from pykb.api.meta.v1 import ObjectMeta
from pykb.envtest import ControlPlane
from pykb.runtime import Client, ControllerBuilder, Manager, Reconciler, Request, Result, WebhookBuilder
from pykb.testing import RunManager, eventually

pytestmark = pytest.mark.apiserver

GROUP = "stored.example.com"


class OldSpec(Struct):
    """A name of its own for what the hub calls length."""

    size: int = 0


class OldRope(CustomResource, group_version=GroupVersion(GROUP, "v1"), kind="Rope"):
    """The spoke, which is stored."""

    spec: OldSpec = Field(default_factory=OldSpec)


class RopeSpec(Struct):
    """As it is called today."""

    length: int = 0


class Rope(CustomResource, group_version=GroupVersion(GROUP, "v2")):
    """The hub."""

    spec: RopeSpec = Field(default_factory=RopeSpec)


class RopeConverter(Converter[OldRope, Rope]):
    """Renames a field."""

    def to_hub(self, spoke: OldRope) -> Rope:
        """Call it length."""
        hub = carry_over(spoke, Rope)
        hub.spec = RopeSpec(length=spoke.spec.size)
        return hub

    def from_hub(self, hub: Rope) -> OldRope:
        """Call it size."""
        spoke = carry_over(hub, OldRope)
        spoke.spec = OldSpec(size=hub.spec.length)
        return spoke


class RopeReconciler(Reconciler):
    """Remembers what it saw."""

    seen: dict[str, int]

    async def reconcile(self, request: Request) -> Result:
        """Look at it, in the hub's version."""
        found = await self.client.find(Rope, request)
        if found is not None:
            self.seen[str(request)] = found.spec.length
        return Result()


def version(name: str, field: str) -> dict[str, object]:
    """A version of the definition; the old one is stored."""
    spec = {"type": "object", "properties": {field: {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}


CLIENT_CONFIG = {"service": {"name": "webhook-service", "namespace": "system", "path": "/convert"}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"ropes.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Rope", "plural": "ropes"},
        "scope": "Namespaced",
        "versions": [version("v1", "size"), version("v2", "length")],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": CLIENT_CONFIG, "conversionReviewVersions": ["v1"]},
        },
    },
}


async def test_objects_that_are_there_already_are_converted_for_the_first_list(
    client: Client, namespace: str, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """The definition names a service, as it is generated, and nobody is there: again in every block."""
    (tmp_path / "crd.yaml").write_text(json.dumps(CRD))
    control_plane.install_crds(tmp_path / "crd.yaml")
    run = RunManager(control_plane.kubeconfig, tmp_path)
    await client.create(OldRope(metadata=ObjectMeta(name="a", namespace=namespace), spec=OldSpec(size=7)))
    for _ in range(2):
        seen: dict[str, int] = {}

        def register(manager: Manager, seen: dict[str, int] = seen) -> None:
            WebhookBuilder(manager).for_(Rope).with_converter(RopeConverter()).complete()
            reconciler = RopeReconciler(manager.client)
            reconciler.seen = seen
            ControllerBuilder(manager).for_(Rope).complete(reconciler)

        async with run(register):

            def is_seen(seen: dict[str, int] = seen) -> bool:
                return seen == {f"{namespace}/a": 7}

            await eventually(is_seen)
