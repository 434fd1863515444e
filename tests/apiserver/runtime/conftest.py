"""A kind to reconcile, and a control plane of one's own where a test breaks it."""

import base64
import json
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.client.login import KubeconfigSource
from pykb.envtest import ControlPlane
from pykb.runtime import Client, Manager, ManagerOptions

GROUP_VERSION = GroupVersion("runtime.example.com", "v1")
NO_PORTS = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
"""Flags of a program beside which others run, also with another Python."""


class WidgetSpec(Struct):
    """What is wanted."""

    size: int = 0


class WidgetStatus(Struct):
    """What is there."""

    phase: str | None = None
    size: int | None = None


class Widget(CustomResource, group_version=GROUP_VERSION):
    """Something to reconcile."""

    spec: WidgetSpec = Field(default_factory=WidgetSpec)
    status: WidgetStatus = Field(default_factory=WidgetStatus)


def _definition(kind: str, plural: str, scope: str) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP_VERSION.group}"},
        "spec": {
            "group": GROUP_VERSION.group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


WIDGETS = _definition("Widget", "widgets", "Namespaced")
FLEETS = _definition("Fleet", "fleets", "Cluster")


def install(plane: ControlPlane, folder: Any) -> None:
    """Define the kinds on a control plane."""
    path = folder / "crds.yaml"
    path.write_text("\n---\n".join(json.dumps(definition) for definition in (WIDGETS, FLEETS)), encoding="utf-8")
    plane.install_crds(path)


@pytest.fixture(scope="session")
def widgets(control_plane, tmp_path_factory):
    """The control plane of the run, with the test's kinds."""
    install(control_plane, tmp_path_factory.mktemp("crds"))
    return control_plane


@pytest.fixture(scope="module")
def _breakable():
    """The control plane of the tests of a module that break it."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
def own_plane(_breakable, tmp_path):
    """A control plane that a test may break, with the test's kinds and no objects of them."""
    install(_breakable, tmp_path)
    answer = _breakable.rest().call("DELETE", f"/apis/{GROUP_VERSION}/namespaces/default/widgets")
    assert answer.ok, answer.message
    return _breakable


def manager_for(plane: ControlPlane, **options: Any) -> Manager:
    """A manager for a control plane, without servers unless asked for."""
    quiet = {"graceful_shutdown_timeout": timedelta(seconds=5)} | options
    return Manager(ManagerOptions(**quiet), credentials=KubeconfigSource([plane.kubeconfig]))


def client_for(plane: ControlPlane) -> Client:
    """A client as administrator."""
    return Client.from_kubeconfig(plane.kubeconfig)


class Etcd:
    """The store behind an apiserver, reached past it."""

    def __init__(self, plane: ControlPlane) -> None:
        self._socket = str(plane.layout.etcd_socket)

    async def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        connector = aiohttp.UnixConnector(path=self._socket)
        url = f"http://etcd/v3/{path}"
        async with aiohttp.ClientSession(connector=connector) as session, session.post(url, json=body) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def delete(self, namespace: str, name: str) -> None:
        """Remove a Widget."""
        key = f"/registry/{GROUP_VERSION.group}/widgets/{namespace}/{name}"
        answer = await self._call("kv/deleterange", {"key": base64.b64encode(key.encode()).decode()})
        assert answer.get("deleted") == "1", answer

    async def compact(self) -> None:
        """Forget all history."""
        answer = await self._call("kv/range", {"key": base64.b64encode(b"/").decode()})
        await self._call("kv/compaction", {"revision": answer["header"]["revision"], "physical": True})
