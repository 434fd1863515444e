"""What an older server lacks. The newest one behaves like an older one here (``--emulated-version``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.components import Component
from pykb.gen._since import FORMATS
from pykb.project.settings import NEWEST, Minor, shown
from tests.apiserver.gen.test_cel_functions import complaints
from tests.unit.gen.test_since import RECORD, lacking

EMULATED: Minor = (NEWEST[0], NEWEST[1] - 2)
"""A server can behave like a version three before, but then takes in new objects what this one has already."""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Older(ControlPlane):
    """An API server that behaves like an older one."""

    def _apiserver(self) -> Component:
        component = super()._apiserver()
        return replace(component, argv=(*component.argv, f"--emulated-version={shown(EMULATED)}"))


@pytest.fixture(scope="module")
def older(control_plane: ControlPlane, server_minor: int) -> Iterator[tuple[ControlPlane, Minor]]:
    """Such an API server, with its version. Where the tests run on an older one, it is that one."""
    if server_minor < NEWEST[1]:
        yield control_plane, (NEWEST[0], server_minor)
        return
    with Older(assets=get_assets()) as plane:
        yield plane, EMULATED


def test_the_server_refuses_the_expressions_that_it_lacks(older: tuple[ControlPlane, Minor]) -> None:
    """And no others of the record."""
    plane, version = older
    expressions = [expression for _, expression in RECORD]
    refused = complaints(expressions, plane.rest())
    assert set(refused) == {expression for expression in expressions if lacking(expression, version)}


def test_the_server_ignores_the_formats_that_it_lacks(
    older: tuple[ControlPlane, Minor], control_plane: ControlPlane, server_minor: int, tmp_path: Path
) -> None:
    """It takes any string there. One that has them refuses it."""
    properties = {name: {"type": "string", "format": name} for name in FORMATS}
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "labels", "singular": "label", "kind": "Label", "listKind": "LabelList"}
    served = {"name": "v1", "served": True, "storage": True, "schema": schema}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "labels.since.example.com"},
        "spec": {"group": "since.example.com", "scope": "Cluster", "names": names, "versions": [served]},
    }
    (tmp_path / "crd.yaml").write_text(json.dumps(crd))
    for plane, version in (older, (control_plane, (NEWEST[0], server_minor))):
        plane.install_crds(tmp_path)
        takes_any = {}
        for name in FORMATS:
            label = {"apiVersion": "since.example.com/v1", "kind": "Label", "metadata": {"name": name}}
            path = "/apis/since.example.com/v1/labels?dryRun=All"
            takes_any[name] = plane.rest().call("POST", path, {**label, "spec": {name: "Not a name!"}}).ok
        assert takes_any == {name: feature.since > version for name, feature in FORMATS.items()}
        plane.rest().call("DELETE", f"{CRDS}/labels.since.example.com")
