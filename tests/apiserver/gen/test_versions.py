"""What markers say about versions and subresources, a real API server does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest

pytestmark = pytest.mark.apiserver

EXPECTED = Path(__file__).parents[3] / "testdata" / "crd" / "versions" / "expected.yaml"
SHIPS = "/apis/fleet.example.com/v1/ships"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ships.fleet.example.com"


@pytest.fixture(scope="module")
def ship(control_plane: ControlPlane) -> Iterator[tuple[Rest, Any]]:
    """The kind of `testdata/crd/versions`, and an object of it."""
    rest = control_plane.rest()
    control_plane.install_crds(EXPECTED)
    body = {
        "apiVersion": "fleet.example.com/v1",
        "kind": "Ship",
        "metadata": {"name": "victory"},
        "spec": {
            "name": "Victory",
            "boat": {"metadata": {"name": "gig", "labels": {"a": "b"}, "generateName": "dropped"}},
        },
    }
    created = rest.call("POST", SHIPS, body)
    assert created.ok, created.message
    yield rest, created.body
    rest.call("DELETE", f"{SHIPS}/victory")
    rest.call("DELETE", CRD)


def test_defaults_and_embedded_metadata_are_stored(ship: tuple[Rest, Any]) -> None:
    """An embedded ObjectMeta keeps its known fields, and only those."""
    _, created = ship
    assert created["spec"] == {
        "name": "Victory",
        "masts": 3,
        "boat": {"metadata": {"name": "gig", "labels": {"a": "b"}}},
    }


def test_the_scale_subresource_changes_the_field_that_it_names(ship: tuple[Rest, Any]) -> None:
    """`specpath`, `statuspath`, `selectorpath`."""
    rest, created = ship
    status = {**rest.call("GET", f"{SHIPS}/victory").body, "status": {"masts": 2, "selector": "a=b"}}
    assert rest.call("PUT", f"{SHIPS}/victory/status", status).ok
    scale = rest.call("GET", f"{SHIPS}/victory/scale").body
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})
    assert rest.call("PUT", f"{SHIPS}/victory/scale", {**scale, "spec": {"replicas": 4}}).ok
    assert rest.call("GET", f"{SHIPS}/victory").body["spec"]["masts"] == 4
    del created


def test_the_selectable_field_selects(ship: tuple[Rest, Any]) -> None:
    """`fieldSelector` takes it; no other."""
    rest, _ = ship
    found = rest.call("GET", f"{SHIPS}?fieldSelector=spec.name%3DVictory").body["items"]
    assert [item["metadata"]["name"] for item in found] == ["victory"]
    assert rest.call("GET", f"{SHIPS}?fieldSelector=spec.name%3DOther").body["items"] == []
    assert not rest.call("GET", f"{SHIPS}?fieldSelector=spec.masts%3D3").ok


def test_versions_are_served_as_said(ship: tuple[Rest, Any]) -> None:
    """The deprecated one still is, the unserved one is not; the stored one is the one that was marked."""
    rest, _ = ship
    served = {version["version"] for version in rest.call("GET", "/apis/fleet.example.com").body["versions"]}
    assert served == {"v1", "v1beta1"}
    crd = rest.call("GET", CRD).body
    assert crd["status"]["storedVersions"] == ["v1"]
    (old,) = [version for version in crd["spec"]["versions"] if version["name"] == "v1beta1"]
    assert old["deprecationWarning"] == "fleet.example.com/v1beta1 Ship is deprecated; use v1"
    assert crd["metadata"]["annotations"]["fleet.example.com/owner"] == "admiral=first"
    assert crd["metadata"]["labels"] == {"fleet": "example"}
    conversion = crd["spec"]["conversion"]
    assert conversion["webhook"]["clientConfig"]["service"] == {
        "name": "webhook-service",
        "namespace": "system",
        "path": "/convert",
        "port": 443,
    }
    assert yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))["spec"]["conversion"]["strategy"] == "Webhook"


def test_the_column_shows_the_field(ship: tuple[Rest, Any]) -> None:
    """`kubectl get` reads a table from the server."""
    rest, _ = ship
    crd = rest.call("GET", CRD).body
    (stored,) = [version for version in crd["spec"]["versions"] if version["storage"]]
    assert stored["additionalPrinterColumns"] == [{"jsonPath": ".spec.masts", "name": "Masts", "type": "integer"}]
