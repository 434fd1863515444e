"""Imported CRDs, given to a real API server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pykb.envtest import ControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Install = Callable[[Mapping[str, Any]], None]


@pytest.fixture
def dry_run(control_plane: ControlPlane) -> Install:
    """Asks the server whether it would create a CRD."""

    def ask(crd: Mapping[str, Any]) -> None:
        answer = control_plane.rest().call("POST", f"{CRDS}?dryRun=All", dict(crd))
        assert answer.ok, f"{crd['metadata']['name']}: {answer.message}"

    return ask


@pytest.fixture
def install(control_plane: ControlPlane) -> Install:
    """Creates a CRD and waits until it is established and known to be structural."""

    def create(crd: Mapping[str, Any]) -> None:
        rest, name = control_plane.rest(), crd["metadata"]["name"]
        created = rest.call("POST", CRDS, dict(crd))
        assert created.ok or "already exists" in created.message, f"{name}: {created.message}"
        conditions: dict[str, str] = {}
        for _ in range(1200):
            found = rest.call("GET", f"{CRDS}/{name}").body
            conditions = {c["type"]: c["status"] for c in found.get("status", {}).get("conditions") or ()}
            if conditions.get("Established") == "True":
                assert conditions.get("NonStructuralSchema", "False") == "False"
                return
            time.sleep(0.05)
        pytest.fail(f"{name} was not established: {conditions}")

    return create
