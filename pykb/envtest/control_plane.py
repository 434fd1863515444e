"""A control plane on this machine, without Docker: etcd, kube-apiserver, and kube-controller-manager on request.

Tests can use an existing cluster in its place.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Self

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE, KUBECONFIG_UNUSABLE
from pykb.envtest import crds
from pykb.envtest.assets import Assets, get_assets
from pykb.envtest.cache import APISERVER, CONTROLLER_MANAGER, ETCD
from pykb.envtest.components import (
    Authority,
    Component,
    KeyPair,
    Layout,
    new_folder,
    port_of,
    reserve_port,
    start_problem,
    write_kubeconfig,
)
from pykb.envtest.processes import Processes
from pykb.envtest.reporter import Reporter, Silent
from pykb.envtest.rest import Rest, is_ready
from pykb.tools.process import describe_exit

EXISTING_CLUSTER = "USE_EXISTING_CLUSTER"
"""If this variable of controller-runtime is ``true``, tests run against the cluster of the kubeconfig.

A kubeconfig alone is not enough. Tests must not write to a cluster only because KUBECONFIG is still set.
"""
POLL_SECONDS = 0.05
START_TIMEOUT = timedelta(seconds=60)
STOP_GRACE = timedelta(seconds=5)


class ControlPlane:
    """A control plane with the lifetime of this object. It never outlives this process.

    Use it as a context manager, or call :meth:`start` and :meth:`stop`. Any number can run side by side.

    ::

        with ControlPlane() as control_plane:
            control_plane.install_crds("config/crd/bases")
            print(control_plane.url, control_plane.kubeconfig)

    Args:
        assets: The binaries. Defaults to the result of :func:`pykb.envtest.assets.get_assets`.
        controller_manager: Whether to run kube-controller-manager, if it is available: see ``has_controller_manager``.
        reporter: Gets the progress of getting the binaries and starting the processes.
        feature_gates: Features of the apiserver to switch on or off, e.g. ``{"ShardedListAndWatch": True}``.
    """

    def __init__(
        self,
        *,
        assets: Assets | None = None,
        controller_manager: bool = False,
        reporter: Reporter | None = None,
        feature_gates: Mapping[str, bool] | None = None,
    ) -> None:
        self.feature_gates = dict(feature_gates or {})
        """Features of the apiserver. A change takes effect when it is restarted."""
        self._reporter = reporter or Silent()
        self._assets = assets
        self._wants_controller_manager = controller_manager
        self._authority = Authority()
        self._layout: Layout | None = None
        self._processes: Processes | None = None
        self._reserved: socket.socket | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Start everything and wait until the apiserver is ready. Does nothing if it was already started.

        Raises:
            EnvironmentProblem: The binaries are not available, or a process did not start. The finding quotes its log.
        """
        if self._processes is not None:
            return self
        if self._assets is None:
            self._assets = get_assets(controller_manager=self._wants_controller_manager, reporter=self._reporter)
        step = self._reporter.step("start the control plane")
        self._reserved = reserve_port()
        folder = new_folder()
        self._layout = Layout(folder, port_of(self._reserved), sockets=folder)
        try:
            self._layout.create(self._authority)
            self._processes = Processes()
            self._run(self._layout.etcd(self._assets.etcd), until=lambda: _listens(self.layout.etcd_socket))
            self._run(self._apiserver(), until=self._is_ready)
            if self._wants_controller_manager and self._assets.kube_controller_manager:
                self.start_controller_manager(self._assets.kube_controller_manager)
        except BaseException:
            step.failed("it did not start")
            self.stop()
            raise
        step.done(self.url)
        return self

    def stop(self) -> None:
        """End everything, the apiserver before etcd, and remove the folder. Does nothing if already stopped."""
        if self._processes is not None:
            self._processes.stop((CONTROLLER_MANAGER, APISERVER, ETCD), grace=STOP_GRACE)
            self._processes.close()
            self._processes = None
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None
        if self._layout is not None:
            shutil.rmtree(self._layout.folder, ignore_errors=True)
            self._layout = None

    @property
    def layout(self) -> Layout:
        """Folder, files and addresses.

        Raises:
            RuntimeError: The control plane is not running.
        """
        if self._layout is None:
            raise RuntimeError("the control plane is not started")
        return self._layout

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, readable by this user only."""
        return self.layout.kubeconfig

    @property
    def url(self) -> str:
        """Address of the apiserver."""
        return self.layout.server

    @property
    def assets(self) -> Assets:
        """The binaries in use."""
        if self._assets is None:
            raise RuntimeError("the control plane is not started")
        return self._assets

    @property
    def has_controller_manager(self) -> bool:
        """Whether garbage collection, workloads and namespace deletion work."""
        return self._processes is not None and CONTROLLER_MANAGER in self._processes.state().running

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the running components, by name."""
        return self._processes.state().running if self._processes else {}

    def rest(self) -> Rest:
        """A client with the rights of the administrator."""
        return Rest.from_kubeconfig(self.kubeconfig)

    def log(self, component: str) -> str:
        """The log of a component."""
        path = self.layout.log(component)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def start_controller_manager(self, program: Path) -> None:
        """Add kube-controller-manager to a running control plane."""
        self._run(self.layout.controller_manager(program), until=lambda: True)

    def restart(self, component: str = APISERVER) -> None:
        """End a component and start it again. Waits until the apiserver is ready at the same address."""
        processes = self._running_processes()
        processes.stop((component,), grace=STOP_GRACE)
        match component:
            case "etcd":
                self._run(self.layout.etcd(self.assets.etcd), until=lambda: _listens(self.layout.etcd_socket))
            case "kube-controller-manager" if self.assets.kube_controller_manager:
                self.start_controller_manager(self.assets.kube_controller_manager)
            case _:
                self._run(self._apiserver(), until=self._is_ready)

    def kill(self, component: str = APISERVER) -> None:
        """End a component with SIGKILL. :meth:`restart` starts it again."""
        self._running_processes().stop((component,), grace=timedelta(0))

    def pause(self, component: str = APISERVER) -> None:
        """Freeze a component. Its connections stay open, and it does not answer."""
        self._running_processes().signal(component, signal.SIGSTOP)

    def resume(self, component: str = APISERVER) -> None:
        """Continue a frozen component."""
        self._running_processes().signal(component, signal.SIGCONT)

    def user(self, name: str, groups: Iterable[str] = ()) -> Path:
        """A kubeconfig for a user with a client certificate. RBAC decides what the user may do.

        ::

            async with Client.from_kubeconfig(control_plane.user("ann", ["developers"])) as ann:
                await ann.list(Pod, namespace="default")  # Forbidden, unless RBAC allows it to Ann
        """
        return self._kubeconfig_of(name, self._authority.client(name, groups))

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token of a ServiceAccount, like those that the kubelet projects into pods. Does not need a Secret.

        Args:
            namespace: The namespace of the account.
            name: The name of the account, which must exist.

        Raises:
            EnvironmentProblem: The account does not exist.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        answer = self.rest().call("POST", path, request)
        if not answer.ok:
            raise CLUSTER_UNREACHABLE.problem(
                f"no token for the ServiceAccount `{namespace}/{name}`", notes=answer.message
            )
        return str(answer.body["status"]["token"])

    def service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig for a ServiceAccount, with a token that is valid for an hour."""
        return self._kubeconfig_of(f"{namespace}.{name}", self.service_account_token(namespace, name))

    def install_crds(self, *paths: Path | str, timeout: timedelta = timedelta(seconds=20)) -> list[str]:
        """Apply the CRDs in files and folders and wait until they are served. Returns their names.

        Raises:
            EnvironmentProblem: A CRD was refused, or is not served in time.
        """
        return crds.install_crds(self.rest(), [Path(path) for path in paths], timeout=timeout)

    def _kubeconfig_of(self, name: str, credentials: KeyPair | str) -> Path:
        file = "".join(c if c.isalnum() or c in "-." else "_" for c in name)
        return write_kubeconfig(
            self.layout.folder / "users" / f"{file}.kubeconfig",
            server=self.url,
            authority=self._authority.pair.certificate,
            user=name,
            credentials=credentials,
        )

    def _apiserver(self) -> Component:
        admit = self._wants_controller_manager and self.assets.kube_controller_manager is not None
        return self.layout.apiserver(
            self.assets.kube_apiserver, service_account_admission=admit, feature_gates=self.feature_gates
        )

    def _running_processes(self) -> Processes:
        if self._processes is None:
            raise RuntimeError("the control plane is not started")
        return self._processes

    def _run(self, component: Component, *, until: Callable[[], bool]) -> None:
        """Start a component and wait until it is ready. Raises an error if it ends before."""
        processes = self._running_processes()
        processes.start(component)
        deadline = time.monotonic() + START_TIMEOUT.total_seconds()
        while not until():
            exited = processes.state().exited
            ended = next((name for name in (component.name, ETCD) if name in exited), None)
            if ended is not None:
                raise self._failure(ended, f"`{ended}` ended with {describe_exit(exited[ended])} while starting")
            if time.monotonic() > deadline:
                seconds = START_TIMEOUT.total_seconds()
                raise self._failure(component.name, f"`{component.name}` was not ready within {seconds:g} s")
            time.sleep(POLL_SECONDS)

    def _is_ready(self) -> bool:
        return is_ready(self.kubeconfig)

    def _failure(self, component: str, message: str) -> EnvironmentProblem:
        # The folder is removed with this control plane, so the log must be quoted here.
        return EnvironmentProblem(start_problem(message, self.log(component), self.layout.folder))


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0


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
            raise CLUSTER_UNREACHABLE.problem(f"`{self.url}` refuses the credentials", notes=answer.message)

    def install_crds(self, *paths: Path | str, timeout: timedelta = timedelta(seconds=20)) -> list[str]:
        """Apply the CRDs in files and folders and wait until they are served. Returns their names."""
        return crds.install_crds(self._rest, [Path(path) for path in paths], timeout=timeout)


def existing_cluster_wanted() -> bool:
    """Whether the environment asks for an existing cluster."""
    return os.environ.get(EXISTING_CLUSTER, "").lower() in {"1", "t", "true"}


def default_kubeconfig() -> Path:
    """The first file of KUBECONFIG that exists, else ``~/.kube/config``.

    Raises:
        EnvironmentProblem: Neither exists.
    """
    from pykb.client.login import listed_kubeconfigs

    candidates = listed_kubeconfigs(os.environ) or [Path.home() / ".kube" / "config"]
    for path in candidates:
        if path.is_file():
            return path
    looked = " and ".join(f"`{path}`" for path in candidates)
    raise KUBECONFIG_UNUSABLE.problem(
        f"no kubeconfig: there is no {looked}",
        "export KUBECONFIG=<file>",
        "or start a local control plane: `pykb cluster up`",
    )
