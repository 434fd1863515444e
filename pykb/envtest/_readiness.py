"""Checks whether a control plane is ready for use."""

from __future__ import annotations

from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import Rest


def is_ready(kubeconfig: Path) -> bool:
    """Whether the apiserver reports that it is ready, and has created the namespace `default`."""
    rest = Rest.from_kubeconfig(kubeconfig)
    try:
        return rest.call("GET", "/readyz").ok and rest.call("GET", "/api/v1/namespaces/default").ok
    except EnvironmentProblem:
        return False
