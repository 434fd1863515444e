"""An existing cluster, used in place of a new control plane."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cluster import CLUSTER_UNREACHABLE
from pykb.diagnostics.codes.environment import KUBECONFIG_UNUSABLE
from pykb.envtest import crds
from pykb.envtest.rest import Rest

VARIABLE = "USE_EXISTING_CLUSTER"
"""If this variable of controller-runtime is ``true``, tests run against the cluster of the kubeconfig.

A kubeconfig alone is not enough. Tests must not write to a cluster only because KUBECONFIG is still set.
"""


class ExistingCluster:
    """The cluster of a kubeconfig, with the attributes of :class:`ControlPlane` that make sense for any cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._rest = Rest.from_kubeconfig(kubeconfig)

    @property
    def url(self) -> str:
        """URL of the apiserver."""
        return self._rest.server

    def rest(self) -> Rest:
        """A client with the rights of the kubeconfig's user."""
        return self._rest

    def check(self) -> None:
        """Ask the server for its version.

        Raises:
            EnvironmentProblem: The server does not answer, or refuses the credentials.
        """
        answer = self._rest.call("GET", "/version")
        if not answer.ok:
            raise EnvironmentProblem(
                CLUSTER_UNREACHABLE.at(None, f"`{self.url}` refuses the credentials", notes=(answer.message,))
            )

    def install_crds(self, *paths: Path | str, timeout: timedelta = timedelta(seconds=20)) -> list[str]:
        """Apply the CRDs in files and folders and wait until they are served. Returns their names."""
        return crds.install_crds(self._rest, [Path(path) for path in paths], timeout=timeout)


def existing_cluster_wanted() -> bool:
    """Whether the environment asks for an existing cluster."""
    return os.environ.get(VARIABLE, "").lower() in {"1", "t", "true"}


def default_kubeconfig() -> Path:
    """The first file of KUBECONFIG that exists, else ``~/.kube/config``.

    Raises:
        EnvironmentProblem: Neither exists.
    """
    named = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    candidates = named or [Path.home() / ".kube" / "config"]
    for path in candidates:
        if path.is_file():
            return path
    looked = " and ".join(f"`{path}`" for path in candidates)
    raise EnvironmentProblem(
        KUBECONFIG_UNUSABLE.at(
            None,
            f"no kubeconfig: there is no {looked}",
            help=("export KUBECONFIG=<file>", "or start a local control plane: `pykb cluster up`"),
        )
    )
