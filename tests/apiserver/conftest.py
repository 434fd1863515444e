"""A kind of our own, installed once, typed and untyped."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pykb.api import CustomResource, Field, Struct
from pykb.api.meta.v1 import Condition, ObjectMeta
from pykb.envtest import ControlPlane
from pykb.meta.gvk import GroupVersion
from pykb.runtime import Client
from pykb.testing import eventually

GROUP_VERSION = GroupVersion("client.example.com", "v1")

_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "replicas": {"type": "integer", "default": 1},
                "color": {"type": "string", "default": "red"},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 7}},
                    },
                },
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.client.example.com"},
    "spec": {
        "group": "client.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
            }
        ],
    },
}


class Part(Struct):
    """A part of a widget."""

    name: str
    weight: int | None = None


class WidgetSpec(Struct):
    """What a widget should be."""

    size: int
    color: str | None = None
    tags: list[str] | None = None
    parts: list[Part] | None = None


class WidgetStatus(Struct):
    """What a widget is."""

    phase: str | None = None
    conditions: list[Condition] | None = None


class Widget(CustomResource, group_version=GROUP_VERSION):
    """A kind for tests."""

    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)


class Widgets:
    """The kind and its parts, as attributes: test modules cannot import from here."""

    Kind = Widget
    Part = Part
    Spec = WidgetSpec
    Status = WidgetStatus
    gvk = Widget.gvk

    @staticmethod
    def make(namespace: str, name: str = "w", **spec: object) -> Widget:
        """A widget that is not in the cluster yet."""
        return Widget(metadata=ObjectMeta(name=name, namespace=namespace), spec=WidgetSpec(**{"size": 1, **spec}))


@pytest.fixture(scope="session")
def server_minor(control_plane: ControlPlane) -> int:
    """The minor version of the API server, for what another version does in another way."""
    return int(control_plane.rest().call("GET", "/version").body["minor"])


@pytest.fixture
async def widgets(client: Client) -> type[Widgets]:
    """The kind `Widget`, served."""
    await client.apply(dict(CRD), force=True)

    async def is_served() -> bool:
        try:
            await client.list(Widget, namespace="default")
        except Exception:  # noqa: BLE001 - not served yet, in one of several ways
            return False
        return True

    await eventually(is_served, timeout=timedelta(minutes=1))
    return Widgets
