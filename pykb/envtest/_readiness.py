"""When a control plane is ready to be used."""

from __future__ import annotations

from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import Rest


def is_ready(kubeconfig: Path) -> bool:
    """Whether the apiserver says so, and has made the namespace that everybody starts in."""
    rest = Rest.from_kubeconfig(kubeconfig)
    try:
        return rest.call("GET", "/readyz").ok and rest.call("GET", "/api/v1/namespaces/default").ok
    except EnvironmentProblem:
        return False
