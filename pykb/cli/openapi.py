"""Saves the OpenAPI of the kubeconfig's cluster in the project, for runs without a cluster."""

from __future__ import annotations

from pathlib import Path

_FILE = "openapi.json"


def fetch_openapi(root: Path) -> str:
    """Save the cluster's OpenAPI in the project's git-ignored folder.

    Returns the file's absolute path.

    Raises:
        EnvironmentProblem: kubectl is not installed, or cannot reach the cluster.
    """
    from pykb.files import durable
    from pykb.files.state import state_folder
    from pykb.tools.kubectl import Kubectl

    text = Kubectl.find()("get", "--raw", "/openapi/v2")
    path = state_folder(root) / _FILE
    durable.put(path, text.encode(), mode=0o644)
    return str(path)
