"""The API server in memory calls a manager's webhooks and converters as a real one does."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pykb.api import Converter, CustomResource, Field, GroupVersion, Struct, carry_over
from pykb.client.mapper import ResourceMapper
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import (
    ApiError,
    Client,
    Conflict,
    Defaulter,
    Denied,
    FieldError,
    Invalid,
    Manager,
    MergePatch,
    Validator,
    Warnings,
    WebhookBuilder,
)
from pykb.runtime.fake import FakeApiServer

GROUP = "hooks.example.com"
V1, V2 = GroupVersion(GROUP, "v1"), GroupVersion(GROUP, "v2")


class SpecV1(Struct):
    """The old one."""

    size: str = ""


class SpecV2(Struct):
    """The stored one."""

    width: int | None = None
    note: str | None = None


class BoxV1(CustomResource, group_version=V1, kind="Box"):
    """A spoke."""

    spec: SpecV1 = Field(default_factory=SpecV1)


class Box(CustomResource, group_version=V2):
    """The hub."""

    spec: SpecV2 = Field(default_factory=SpecV2)


class BoxConverter(Converter[BoxV1, Box]):
    """Text to number."""

    def to_hub(self, spoke: BoxV1) -> Box:
        """A text without a number cannot be converted."""
        hub = carry_over(spoke, Box)
        hub.spec.width = int(spoke.spec.size) if spoke.spec.size else None
        return hub

    def from_hub(self, hub: Box) -> BoxV1:
        """The note is lost."""
        spoke = carry_over(hub, BoxV1)
        spoke.spec.size = "" if hub.spec.width is None else str(hub.spec.width)
        return spoke


class BoxDefaulter(Defaulter[Box]):
    """Fills in the width, and changes other objects meanwhile."""

    meanwhile: Any = None

    async def default(self, obj: Box) -> None:
        """Set it."""
        if obj.spec.width is None:
            obj.spec.width = 1
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            await act()


class BoxValidator(Validator[Box]):
    """Refuses large boxes."""

    def validate_create(self, obj: Box) -> Warnings:
        """In a thread."""
        return self.judge(obj)

    async def validate_update(self, old: Box, new: Box) -> Warnings:
        """On the loop."""
        if old.spec.note == "fixed" != new.spec.note:
            raise Denied("it is fixed")
        return self.judge(new)

    async def validate_delete(self, obj: Box) -> Warnings:
        """Some stay."""
        if obj.spec.note == "fixed":
            raise Denied("it is fixed", code=409)
        return None

    def judge(self, box: Box) -> Warnings:
        """The same for both."""
        if box.spec.width == 13:
            raise ZeroDivisionError
        if (box.spec.width or 0) > 10:
            raise Invalid.of(box, [FieldError("spec.width", "too wide", value=box.spec.width)])
        return ["wide"] if (box.spec.width or 0) > 5 else None


def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Of one version."""
    spec = {"type": "object", "properties": properties, "required": list(required)}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"boxes.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Box", "plural": "boxes"},
        "conversion": {"strategy": "Webhook"},
        "versions": [
            {"name": "v1", "served": True, "storage": False, "schema": schema({"size": {"type": "string"}})},
            {
                "name": "v2",
                "served": True,
                "storage": True,
                "schema": schema({"width": {"type": "integer"}, "note": {"type": "string"}}, "width"),
            },
        ],
    },
}


def configuration(kind: str, path: str, **extra: Any) -> dict[str, Any]:
    """Of one webhook."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["v2"], "resources": ["boxes"]}
    hook = {
        "name": f"{kind[0].lower()}box.example.com",
        "clientConfig": {"service": {"path": path}},
        "rules": [{**rule, "operations": ["CREATE", "UPDATE", "DELETE"]}],
        **extra,
    }
    return {"kind": f"{kind}WebhookConfiguration", "metadata": {"name": kind}, "webhooks": [hook]}


class Cluster:
    """A server with the webhooks of a manager."""

    def __init__(self, **extra: Any) -> None:
        self.server = FakeApiServer(crds=[copy.deepcopy(CRD)])
        self.client = Client(self.server, mapper=ResourceMapper(self.server))
        manager = Manager(client=self.client)
        self.defaulter = BoxDefaulter()
        builder = WebhookBuilder(manager).for_(Box).with_converter(BoxConverter())
        builder.with_defaulter(self.defaulter, path="/mutate").with_validator(BoxValidator(), path="/validate")
        builder.complete()
        self.seen: list[BaseException] = []
        manager.webhook_server.observer = self.seen.append
        both = [configuration("Mutating", "/mutate", **extra), configuration("Validating", "/validate", **extra)]
        self.server.use_webhooks(manager.webhook_server, both)

    async def create(self, spec: dict[str, Any], version: str = "v2", **metadata: Any) -> dict[str, Any]:
        """Create a box."""
        named = {"name": "one", "namespace": "default", **metadata}
        made = {"apiVersion": f"{GROUP}/{version}", "kind": "Box", "metadata": named, "spec": spec}
        return await self.client.create(made)

    def stored(self) -> list[dict[str, Any]]:
        """The boxes as they are stored."""
        return list(self.server.storage.all((GROUP, "boxes"), ""))

    async def read(self, version: str = "v2") -> dict[str, Any]:
        """Read it."""
        gvk = GroupVersionKind(GROUP, version, "Box")
        return (await self.client.get(gvk, "one", namespace="default")).data


async def test_a_defaulter_changes_what_is_stored():
    """Also what the schema requires and the client has left out. Nothing of it is validated before."""
    cluster = Cluster()
    assert (await cluster.create({}))["spec"] == {"width": 1}
    assert (await cluster.read())["spec"] == {"width": 1}


async def test_a_validator_refuses_with_its_message_and_warns():
    """With its name, code and fields, as a client sees it."""
    cluster = Cluster()
    with pytest.raises(Invalid, match=r'admission webhook "vbox.example.com" denied the request: .*too wide') as caught:
        await cluster.create({"width": 11})
    assert [cause.field for cause in caught.value.details.causes] == ["spec.width"]
    await cluster.create({"width": 6})
    assert cluster.server.warnings == ["wide"]


async def test_updates_and_deletions_are_asked_for_as_well():
    """With the stored object."""
    cluster = Cluster()
    made = await cluster.create({"width": 1, "note": "fixed"})
    with pytest.raises(ApiError, match="it is fixed") as caught:
        await cluster.client.patch(identity(made), MergePatch({"spec": {"note": "other"}}))
    assert caught.value.status == 403
    with pytest.raises(Conflict, match="it is fixed"):
        await cluster.client.delete(identity(made))
    assert (await cluster.read())["spec"]["note"] == "fixed"


async def test_an_error_of_a_webhook_is_told_to_who_listens():
    """The client learns nothing of it."""
    cluster = Cluster()
    with pytest.raises(ApiError, match="internal error") as caught:
        await cluster.create({"width": 13})
    assert caught.value.status == 500
    assert [type(error) for error in cluster.seen] == [ZeroDivisionError]


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", None)])
async def test_a_webhook_that_is_not_served_fails_by_its_policy(policy, status):
    """As one that cannot be reached."""
    cluster = Cluster(failurePolicy=policy, clientConfig={"service": {"path": "/nowhere"}})
    if status is None:
        await cluster.create({"width": 1})
        return
    with pytest.raises(ApiError, match=r"failed calling webhook \"mbox\.example\.com\"") as caught:
        await cluster.create({"width": 1})
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("extra", "labels", "width"),
    [
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, {"a": "b"}, 11),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, {}, None),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, {}, 11),
        ({"namespaceSelector": {"matchExpressions": [{"key": "no", "operator": "Exists"}]}}, {}, None),
        ({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]}, {}, 11),
        (
            {"rules": [{"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]},
            {},
            None,
        ),
        ({"clientConfig": {"url": "https://elsewhere.example.com"}}, {}, None),
    ],
)
async def test_only_what_a_webhook_asks_for_is_sent_to_it(extra, labels, width):
    """Rules, selectors of objects and of namespaces."""
    cluster = Cluster(**extra)
    if width is None:
        assert (await cluster.create({"width": 11}, labels=labels))["spec"]["width"] == 11
        return
    with pytest.raises(Invalid, match="too wide"):
        await cluster.create({"width": width}, labels=labels)


async def test_a_change_during_a_webhook_is_not_lost():
    """A patch begins again, an update with a version is refused."""
    cluster = Cluster()
    made = await cluster.create({"width": 1})

    async def meanwhile() -> None:
        await cluster.client.patch(identity(made), MergePatch({"spec": {"note": "theirs"}}))

    cluster.defaulter.meanwhile = meanwhile
    await cluster.client.patch(identity(made), MergePatch({"spec": {"width": 2}}))
    assert (await cluster.read())["spec"] == {"width": 2, "note": "theirs"}
    cluster.defaulter.meanwhile = meanwhile
    with pytest.raises(Conflict):
        await cluster.client.update({**made, "spec": {"width": 3}})
    cluster.defaulter.meanwhile = lambda: cluster.create({}, name="two")
    await cluster.create({}, name="three")


async def test_objects_are_stored_in_one_version_and_served_in_all():
    """Gets, lists, watches and answers. A webhook gets the version that it asks for."""
    cluster = Cluster()
    assert (await cluster.create({"size": "7"}, "v1"))["spec"] == {"size": "7"}
    assert cluster.server.warnings == ["wide"]
    assert (await cluster.read("v2"))["spec"] == {"width": 7}
    [stored] = cluster.stored()
    assert stored["apiVersion"] == f"{GROUP}/v2"
    assert [box.spec.size for box in (await cluster.client.list(BoxV1)).items] == ["7"]
    box = await cluster.client.get(BoxV1, "one", namespace="default")
    box.spec.size = "8"
    assert (await cluster.client.update(box)).spec.size == "8"
    assert (await cluster.read("v2"))["spec"] == {"width": 8}


async def test_a_conversion_that_fails_fails_the_request():
    """Nothing is stored."""
    cluster = Cluster()
    with pytest.raises(ApiError, match=r"^conversion webhook for hooks\.example\.com/v1, Kind=Box failed") as caught:
        await cluster.create({"size": "large"}, "v1")
    assert caught.value.status == 500
    assert {type(error) for error in cluster.seen} == {ValueError}
    assert not cluster.stored()


def identity(obj: dict[str, Any]) -> dict[str, Any]:
    """The least manifest."""
    metadata = {name: obj["metadata"][name] for name in ("name", "namespace")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
