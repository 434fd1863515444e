"""Definitions that a development loop applies to somebody's cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.dev.loop import RealTarget
from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.crds import COLLECTION
from pykb.envtest.rest import Rest
from pykb.tools.kubectl import Kubectl

pytestmark = pytest.mark.apiserver


def definition(plural: str, kind: str, conversion: dict[str, Any] | None = None) -> dict[str, Any]:
    """A CRD of one version."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.real.example.com"},
        "spec": {
            "group": "real.example.com",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
            **({"conversion": conversion} if conversion else {}),
        },
    }


def service(name: str, namespace: str) -> dict[str, Any]:
    """A conversion by a Service."""
    config = {"service": {"name": name, "namespace": namespace, "path": "/convert"}}
    return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}


def test_the_deployed_manager_goes_on_converting(tmp_path: Path, control_plane: ControlPlane) -> None:
    """Definitions come as `make deploy` applies them: those of `config/crd/bases` name a Service that is nowhere."""
    bases, default = tmp_path / "config/crd/bases", tmp_path / "config/default"
    bases.mkdir(parents=True)
    default.mkdir()
    converted = definition("ropes", "Rope", service("webhook-service", "system"))
    (bases / "ropes.yaml").write_text(yaml.safe_dump(converted))
    (bases / "knots.yaml").write_text(yaml.safe_dump(definition("knots", "Knot")))
    (default / "deployed.yaml").write_text(
        yaml.safe_dump(definition("ropes", "Rope", service("shop-webhook-service", "shop-system")))
    )
    (default / "kustomization.yaml").write_text("resources:\n- deployed.yaml\n")
    kubectl = get_assets(kubectl=True).kubectl
    assert kubectl is not None
    target = RealTarget("a cluster", control_plane.kubeconfig, Kubectl(kubectl, control_plane.kubeconfig))
    assert target.install(bases) == ["knots.real.example.com", "ropes.real.example.com"]
    rest = Rest.from_kubeconfig(control_plane.kubeconfig)
    try:
        spec = rest.call("GET", f"{COLLECTION}/ropes.real.example.com").body["spec"]
        address = spec["conversion"]["webhook"]["clientConfig"]["service"]
        assert (address["name"], address["namespace"]) == ("shop-webhook-service", "shop-system")
    finally:
        for plural in ("ropes", "knots"):
            rest.call("DELETE", f"{COLLECTION}/{plural}.real.example.com")
