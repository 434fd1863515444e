"""A real API server accepts every CRD that we hold as golden, and finds nothing to warn about."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.diagnostics import Diagnostics
from pykb.envtest import ControlPlane
from pykb.envtest.crds import wait_until_deleted
from pykb.envtest.rest import APPLY
from pykb.gen.request import Given, make_request
from pykb.gen.run import generate

pytestmark = pytest.mark.apiserver

TESTDATA = Path(__file__).parents[3] / "testdata"
GOLDEN = sorted((TESTDATA / "crd").glob("*/expected.yaml"))
DIFFERENTIAL = sorted(
    {path.relative_to(TESTDATA / "differential").parts[0] for path in TESTDATA.glob("differential/*/**/*.py")}
)
WITHOUT_KINDS = {"internal"}
# `builtin` embeds all of Kubernetes. Types of its own whose list keys can be missing, which a CRD cannot have:
REFUSED_UPSTREAM = ("resource_v1_ResourceClaimStatus",)
PATIENCE = 60.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install(plane: ControlPlane, crd: dict[str, Any]) -> dict[str, str]:
    """Create a CRD, wait until the server made up its mind, remove it; gives its conditions.

    The control plane is that of the whole session. Where the tests of a sample have left the CRD, with objects that
    finalizers hold, it is applied anew and stays.
    """
    rest, name = plane.rest(), crd["metadata"]["name"]
    answer = rest.call("POST", CRDS, crd)
    is_ours = answer.status != 409
    if not is_ours:
        answer = rest.call("PATCH", f"{CRDS}/{name}?fieldManager=tests&force=true", crd, content_type=APPLY)
    assert answer.ok, answer.message
    try:
        conditions: dict[str, str] = {}

        def is_decided() -> bool:
            found = rest.call("GET", f"{CRDS}/{name}").body
            conditions.update({c["type"]: c["status"] for c in found["status"].get("conditions") or ()})
            return conditions.get("Established") == "True" or conditions.get("NamesAccepted") == "False"

        until(is_decided, f"{name} is established or refused")
        return conditions
    finally:
        if is_ours:
            assert rest.call("DELETE", f"{CRDS}/{name}").ok
            wait_until_deleted(rest, name, time.monotonic() + PATIENCE)


def until(check: Callable[[], bool], what: str) -> None:
    """Wait, as long as a busy machine may take."""
    deadline = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {PATIENCE:g} s: {what}")
        time.sleep(0.05)


def check(plane: ControlPlane, crd: dict[str, Any]) -> None:
    """A CRD is accepted, established and structural."""
    status = install(plane, crd)
    assert status["Established"] == "True"
    assert status.get("NonStructuralSchema", "False") == "False"


@pytest.mark.parametrize("expected", GOLDEN, ids=lambda path: path.parent.name)
def test_golden_crds_are_accepted(expected: Path, control_plane: ControlPlane) -> None:
    """What is committed can be installed."""
    for crd in yaml.safe_load_all(expected.read_text(encoding="utf-8")):
        check(control_plane, crd)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] if case == "builtin" else []) for case in DIFFERENTIAL]
)
def test_crds_of_differential_pairs_are_accepted(case: str, control_plane: ControlPlane) -> None:
    """Equal to controller-gen's is not enough: they can be installed, too."""
    root = TESTDATA / "differential"
    file = root / case / "options.txt"
    words = file.read_text(encoding="utf-8").split() if file.exists() else ["crd"]
    found = Diagnostics()
    request = make_request(root, Given(tuple(words), {"paths": [case]}), found)
    result = generate(request.options)
    assert not result.diagnostics.has_errors()
    assert (len(result.artifacts["crd"]) == 0) == (case in WITHOUT_KINDS)
    for artifact in result.artifacts["crd"]:
        (crd,) = yaml.safe_load_all(artifact.render())
        if case == "builtin":
            spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
            for name in REFUSED_UPSTREAM:
                del spec["properties"][name]
                if name in spec.get("required", ()):
                    spec["required"].remove(name)
        check(control_plane, crd)


def test_the_crd_of_every_agreement_is_accepted(control_plane: ControlPlane) -> None:
    """The types that hold Pydantic's judgement against the server's."""
    request = make_request(
        TESTDATA, Given(("crd",), {"paths": ["agreement"], "allow-dangerous-types": True}), Diagnostics()
    )
    result = generate(request.options)
    assert not result.diagnostics.has_errors()
    for artifact in result.artifacts["crd"]:
        for crd in yaml.safe_load_all(artifact.render()):
            check(control_plane, crd)
