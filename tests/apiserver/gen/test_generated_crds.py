"""A real API server accepts every CRD that we hold as golden, and finds nothing to warn about."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.diagnostics import Diagnostics
from pykb.envtest import ControlPlane
from pykb.gen.request import Given, make_request
from pykb.gen.run import generate

pytestmark = pytest.mark.apiserver

TESTDATA = Path(__file__).parents[3] / "testdata"
GOLDEN = sorted((TESTDATA / "crd").glob("*/expected.yaml"))
# `builtin` embeds all of Kubernetes; some of its status types are beyond what the server takes in a CRD.
DIFFERENTIAL = sorted(
    {path.relative_to(TESTDATA / "differential").parts[0] for path in (TESTDATA / "differential").rglob("*.py")}
    - {"builtin"}
)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install(plane: ControlPlane, crd: dict[str, Any]) -> dict[str, str]:
    """Create a CRD, wait until the server made up its mind, remove it; gives its conditions."""
    rest, name = plane.rest(), crd["metadata"]["name"]
    created = rest.call("POST", CRDS, crd)
    assert created.ok, created.message
    try:
        conditions: dict[str, str] = {}
        for _ in range(200):
            found = rest.call("GET", f"{CRDS}/{name}").body
            conditions = {c["type"]: c["status"] for c in found["status"].get("conditions") or ()}
            if conditions.get("Established") == "True" or conditions.get("NamesAccepted") == "False":
                return conditions
            time.sleep(0.05)
        raise AssertionError(f"{name} was not established: {conditions}")
    finally:
        rest.call("DELETE", f"{CRDS}/{name}")


def check(plane: ControlPlane, text: str) -> None:
    """Each CRD in a text is accepted, established and structural."""
    for crd in yaml.safe_load_all(text):
        status = install(plane, crd)
        assert status["Established"] == "True"
        assert status.get("NonStructuralSchema", "False") == "False"


@pytest.mark.parametrize("expected", GOLDEN, ids=lambda path: path.parent.name)
def test_golden_crds_are_accepted(expected: Path, control_plane: ControlPlane) -> None:
    """What is committed can be installed."""
    check(control_plane, expected.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", DIFFERENTIAL)
def test_crds_of_differential_pairs_are_accepted(case: str, control_plane: ControlPlane) -> None:
    """Equal to controller-gen's is not enough: they can be installed, too."""
    root = TESTDATA / "differential"
    found = Diagnostics()
    request = make_request(root, Given(words=("crd",), paths=(case,)), found)
    result = generate(request.options)
    for artifact in result.artifacts["crd"]:
        check(control_plane, artifact.render())
