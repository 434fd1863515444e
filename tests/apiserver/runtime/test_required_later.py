"""Objects without what their types require, as API servers have them: stored before, or cut up by an apply."""

import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from pykb.api import Converter, CustomResource, GroupVersion, Int32, Struct, carry_over
from pykb.runtime import Defaulter, Denied, Invalid, ManagerOptions, MergePatch, Validator, WebhookBuilder
from pykb.testing._managers import RunManager

from .conftest import client_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

GROUP = "required.example.com"
V1 = GroupVersion(GROUP, "v1")
V2 = GroupVersion(GROUP, "v2")
RULES = [{"apiGroups": [GROUP], "apiVersions": ["v2"], "operations": ["CREATE", "UPDATE"], "resources": ["crates"]}]


class CrateSpec(Struct):
    """The place is one text."""

    size: Int32
    place: str
    note: str | None = None


class Crate(CustomResource, group_version=V1):
    """The older version."""

    spec: CrateSpec


class Place(Struct):
    """In parts."""

    room: str


class CrateSpecV2(Struct):
    """The place is in parts."""

    size: Int32
    place: Place
    note: str | None = None


class CrateV2(CustomResource, group_version=V2, kind="Crate"):
    """The newer version, which is stored."""

    spec: CrateSpecV2


class CrateConverter(Converter[Crate, CrateV2]):
    """As one writes it who thinks of whole objects."""

    def to_hub(self, spoke: Crate) -> CrateV2:
        """A room of the text."""
        hub = carry_over(spoke, CrateV2)
        hub.spec.place = Place(room=spoke.spec.place.removeprefix("room "))
        return hub

    def from_hub(self, hub: CrateV2) -> Crate:
        """A text of the room."""
        spoke = carry_over(hub, Crate)
        spoke.spec.place = f"room {hub.spec.place.room}"
        return spoke


class CrateDefaulter(Defaulter[CrateV2]):
    """Notes."""

    async def default(self, obj: CrateV2) -> None:
        """Where there is none."""
        obj.spec.note = obj.spec.note or "none"


class CrateValidator(Validator[CrateV2]):
    """Never smaller."""

    async def validate_update(self, old: CrateV2, new: CrateV2) -> None:
        """Never smaller."""
        if new.spec.size < old.spec.size:
            raise Denied("it shrinks")


def definition(*required):
    """The kind, with what is required of a spec."""
    places = {"v1": {"type": "string"}, "v2": {"type": "object", "properties": {"room": {"type": "string"}}}}
    versions = []
    for name, place in places.items():
        fields = {"size": {"type": "integer", "format": "int32"}, "place": place, "note": {"type": "string"}}
        spec = {"type": "object", "properties": fields, **({"required": list(required)} if required else {})}
        schema = {"type": "object", "properties": {"spec": spec}}
        versions.append({"name": name, "served": True, "storage": name == "v2", "schema": {"openAPIV3Schema": schema}})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crates.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Crate", "plural": "crates", "singular": "crate", "listKind": "CrateList"},
            "versions": versions,
        },
    }


@pytest.fixture
def define(control_plane, tmp_path):
    """Install the definition."""

    def install(*required):
        path = tmp_path / "crates.json"
        path.write_text(json.dumps(definition(*required)), "utf-8")
        control_plane.install_crds(path)

    return install


def configuration(kind, path):
    """A configuration of one webhook."""
    webhook = {
        "name": f"{path.strip('/')}.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": path}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": RULES,
    }
    metadata = {"name": f"{kind.lower().removesuffix('webhookconfiguration')}-webhook-configuration"}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
    return json.dumps({**head, "metadata": metadata, "webhooks": [webhook]})


def setup(manager):
    """All webhooks of the kind."""
    builder = WebhookBuilder(manager).for_(CrateV2).with_converter(CrateConverter())
    builder.with_defaulter(CrateDefaulter()).with_validator(CrateValidator()).complete()


@asynccontextmanager
async def served(control_plane, folder):
    """A client while the webhooks are in effect."""
    (folder / "config/webhook").mkdir(parents=True, exist_ok=True)
    documents = (
        configuration("MutatingWebhookConfiguration", "/mutate-required-example-com-v2-crate"),
        configuration("ValidatingWebhookConfiguration", "/validate-required-example-com-v2-crate"),
    )
    (folder / "config/webhook/manifests.yaml").write_text("\n---\n".join(documents), "utf-8")
    options = ManagerOptions(graceful_shutdown_timeout=timedelta(seconds=5))
    async with (
        RunManager(control_plane.kubeconfig, folder)(setup, options=options),
        client_for(control_plane) as client,
    ):
        yield client


def crate(version, namespace, name, **metadata):
    """An object of the wire."""
    identity = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": version.api_version, "kind": "Crate", "metadata": identity}


async def test_what_was_stored_before_a_field_was_required_is_read_mended_and_let_go(
    control_plane, define, namespace, tmp_path
):
    """In both versions, and it hides no others; who changes only metadata need not mend it."""
    define()
    async with client_for(control_plane) as client:
        await client.create({**crate(V2, namespace, "old", finalizers=["a/b"]), "spec": {"place": {"room": "7"}}})
        await client.create({**crate(V2, namespace, "bare", finalizers=["a/b"]), "spec": {}})
        await client.create({**crate(V2, namespace, "whole"), "spec": {"place": {"room": "7"}, "size": 1}})
    define("size", "place")
    older, newer = V1.with_kind("Crate"), V2.with_kind("Crate")
    async with served(control_plane, tmp_path / "project") as client:
        listed = await client.list(older, namespace=namespace)
        assert {each.metadata["name"]: each.data["spec"].get("place") for each in listed} == {
            "old": "room 7",
            "bare": "room ",
            "whole": "room 7",
        }
        for kind, name in ((newer, "old"), (older, "bare")):
            found = await client.get(kind, name, namespace=namespace)
            await client.patch(found, MergePatch({"metadata": {"labels": {"seen": "yes"}}}))
        found = await client.get(newer, "old", namespace=namespace)
        with pytest.raises(Invalid, match=r"spec\.size: Required value"):
            await client.patch(found, MergePatch({"spec": {"note": "changed"}}))
        await client.patch(found, MergePatch({"spec": {"size": 3}}))
        assert found.data["spec"] == {"place": {"room": "7"}, "size": 3, "note": "none"}
        found = await client.get(newer, "bare", namespace=namespace)
        await client.delete(found)
        await client.patch(found, MergePatch({"metadata": {"finalizers": None}}))
        assert await client.find(newer, "bare", namespace=namespace) is None


async def test_who_applied_one_version_may_apply_another(control_plane, define, namespace, tmp_path):
    """To find what is not applied any more the API server converts what is left without it: an object of nearly nothing."""
    define("size", "place")
    async with served(control_plane, tmp_path / "project") as client:
        await client.apply(
            {**crate(V1, namespace, "a"), "spec": {"size": 1, "place": "room 7", "note": "x"}}, field_manager="g"
        )
        await client.apply(
            {**crate(V2, namespace, "a"), "spec": {"size": 2, "place": {"room": "8"}}}, field_manager="g"
        )
        found = await client.get(V1.with_kind("Crate"), "a", namespace=namespace)
        assert (found.data["spec"]["size"], found.data["spec"]["place"]) == (2, "room 8")
        await client.apply({**crate(V1, namespace, "a"), "spec": {"size": 3, "place": "room 9"}}, field_manager="g")
        found = await client.get(V2.with_kind("Crate"), "a", namespace=namespace)
        assert (found.data["spec"]["size"], found.data["spec"]["place"]) == (3, {"room": "9"})
