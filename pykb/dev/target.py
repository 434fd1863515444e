"""The cluster that the manager works on: a new control plane, the project's background cluster, or a real cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pykb.deployment.apply import apply_all
from pykb.deployment.manifests import as_deployed, is_converted
from pykb.diagnostics.codes.environment import DEV_RUNNING
from pykb.envtest.assets import get_assets
from pykb.envtest.cluster import Cluster
from pykb.envtest.control_plane import ControlPlane, ExistingCluster
from pykb.envtest.crds import install_crds, read_crds
from pykb.envtest.reporter import Reporter, Silent
from pykb.envtest.rest import Rest
from pykb.files.state import opened
from pykb.project import FILE_NAME
from pykb.project.settings import config_path
from pykb.tools.kubectl import Kubectl

CRD_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class LocalTarget:
    """A control plane that pykb started.

    Attributes:
        title: The name of this cluster, for people.
        kubeconfig: The kubeconfig of the cluster.
        own: The control plane, if it ends with the loop.
        is_local: Whether its API server runs on this machine and can call webhooks here.
    """

    title: str
    kubeconfig: Path
    own: ControlPlane | None = None
    is_local: bool = True

    def install(self, crds: Path) -> list[str]:
        """Apply the definitions of a folder and wait until they are served; returns their names."""
        return install_crds(Rest.from_kubeconfig(self.kubeconfig), [crds], timeout=CRD_TIMEOUT)


@dataclass(frozen=True, slots=True)
class RealTarget:
    """An existing cluster; see :class:`LocalTarget`.

    kubectl applies the definitions, since it supports every kind of login.
    """

    title: str
    kubeconfig: Path
    kubectl: Kubectl
    own: None = None
    is_local: bool = False

    def install(self, crds: Path) -> list[str]:
        """Apply the definitions of a folder and wait until they are established; returns their names."""
        definitions = {definition["metadata"]["name"]: definition for _, definition in read_crds([crds])}
        root = next((folder for folder in crds.parents if (folder / FILE_NAME).is_file()), crds.parents[2])
        if any(map(is_converted, definitions.values())) and config_path(root, "default").is_dir():
            definitions |= {each["metadata"]["name"]: each for each in as_deployed(root, set(definitions))}
        names = list(definitions)
        if names:
            apply_all(self.kubectl, list(definitions.values()), Silent())
        return names


Target = LocalTarget | RealTarget
"""A cluster for the loop."""


@contextlib.contextmanager
def open_target(root: Path, kubeconfig: Path | None, reporter: Reporter) -> Iterator[Target]:
    """Open the cluster of ``kubeconfig``, else the project's running background cluster, else a new control plane.

    A new control plane writes its kubeconfig to the same path in every run, so that KUBECONFIG in another shell stays
    valid.

    Raises:
        EnvironmentProblem: The cluster cannot be reached or started, or another loop runs one in this project.
    """
    if kubeconfig is not None:
        cluster = ExistingCluster(kubeconfig.absolute())
        yield RealTarget(cluster.url, cluster.kubeconfig, Kubectl.find(kubeconfig=cluster.kubeconfig))
        return
    background = Cluster(root / ".pykb" / "cluster").status()
    if background.complete:
        yield LocalTarget(f"the cluster of `pykb cluster up`, {background.url}", background.kubeconfig)
        return
    with _only_one(root):
        assets = get_assets(reporter=reporter)
        # True even before the controller manager is available: it is added while the loop runs.
        with ControlPlane(assets=assets, controller_manager=True, reporter=reporter) as control_plane:
            with opened(root, "dev") as folder:
                folder.put("kubeconfig", control_plane.kubeconfig.read_bytes())
                stable = folder.path / "kubeconfig"
            try:
                yield LocalTarget(f"a control plane of its own, {control_plane.url}", stable, control_plane)
            finally:
                with contextlib.suppress(OSError), opened(root) as state:
                    state.remove_tree("dev")


@contextlib.contextmanager
def _only_one(root: Path) -> Iterator[None]:
    """Hold the lock that allows one loop with its own control plane per project.

    The system frees the lock if this process dies.
    """
    with opened(root) as state, state.lock("dev.lock") as free:
        if not free:
            helps = ("stop the other one", "or use one cluster for both: `pykb cluster up`")
            raise DEV_RUNNING.problem("`pykb dev` already runs in this project, with its own control plane", *helps)
        yield
