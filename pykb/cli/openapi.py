"""The OpenAPI of the cluster of the kubeconfig, kept in the project for runs without one."""

from __future__ import annotations

from pathlib import Path

_FILE = "openapi.json"


def fetch_openapi(root: Path) -> str:
    """Read the cluster's OpenAPI into the project's git-ignored folder; gives the absolute path of the file.

    Raises:
        EnvironmentProblem: There is no kubectl, or it cannot reach the cluster.
    """
    from pykb.files import durable
    from pykb.files.state import state_folder
    from pykb.tools.kubectl import Kubectl

    text = Kubectl.find()("get", "--raw", "/openapi/v2")
    path = state_folder(root) / _FILE
    durable.put(path, text.encode(), mode=0o644)
    return str(path)
