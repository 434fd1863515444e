"""Login: finds the API server and the credentials for it, in the order and the formats of client-go.

Source for pods: https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pykb.client.login._kubeconfig import TOKEN_FILE_PERIOD
from pykb.client.login._kubeconfig import KubeconfigSource as KubeconfigSource
from pykb.client.login.credentials import Credentials as Credentials
from pykb.client.login.credentials import CredentialSource as CredentialSource
from pykb.client.login.credentials import Impersonation as Impersonation
from pykb.client.login.credentials import StaticCredentials as StaticCredentials
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import IN_CLUSTER, NO_CLUSTER

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class InClusterSource:
    """A :class:`~pykb.client.login.credentials.CredentialSource` of the pod's service account, read once a minute."""

    def __init__(
        self,
        *,
        directory: Path = SERVICE_ACCOUNT,
        environ: Mapping[str, str] | None = None,
        server: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a source. ``server`` overrides the environment's server (``--master``)."""
        self.directory = directory
        self._environ = os.environ if environ is None else environ
        self._server = server
        self._monotonic = monotonic
        self._credentials: Credentials | None = None
        self._read_at = 0.0

    @property
    def is_available(self) -> bool:
        """Whether this process seems to run in a pod with a service account."""
        return self.has_environment and (self.directory / "token").is_file()

    @property
    def has_environment(self) -> bool:
        """Whether the environment names a server. This is true in every pod, even without a token."""
        return bool(self._environ.get("KUBERNETES_SERVICE_HOST") and self._environ.get("KUBERNETES_SERVICE_PORT"))

    async def current(self) -> Credentials:
        """Return the present credentials; see :class:`~pykb.client.login.credentials.CredentialSource`."""
        fresh = self._monotonic() - self._read_at < TOKEN_FILE_PERIOD.total_seconds()
        if self._credentials is not None and fresh:
            return self._credentials
        return await self.refresh()

    async def refresh(self) -> Credentials:
        """Read the files again."""
        token = self._read("token")
        authority = self._read("ca.crt")
        namespace = self.directory / "namespace"
        self._credentials = Credentials(
            server=self._server or self._server_of_environment(),
            ca_data=authority,
            token=token.decode().strip(),
            namespace=namespace.read_text("utf-8").strip() if namespace.is_file() else "",
            origin=f"the service account in {self.directory}",
        )
        self._read_at = self._monotonic()
        return self._credentials

    def _server_of_environment(self) -> str:
        host = self._environ.get("KUBERNETES_SERVICE_HOST", "")
        port = self._environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            message = "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
            raise IN_CLUSTER.problem(message, "use a kubeconfig: `--kubeconfig FILE`")
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    def _read(self, name: str) -> bytes:
        path = self.directory / name
        try:
            return path.read_bytes()
        except OSError as error:
            message = f"`{path}` cannot be read: {error.strerror or error}"
            help_text = "set `automountServiceAccountToken: true`, or use a kubeconfig: `--kubeconfig FILE`"
            raise IN_CLUSTER.problem(message, help_text) from error


def discover_credentials(
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    master: str | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> CredentialSource:
    """Find the cluster: ``kubeconfig``, else KUBECONFIG, else the pod's service account, else ``~/.kube/config``.

    ::

        credentials = await discover_credentials(context="staging").current()
        print(credentials.server, credentials.origin)

    Args:
        kubeconfig: A file that must exist (``--kubeconfig``).
        context: The context to use instead of the current one.
        master: The URL of the server (``--master``). It overrides the source.
        environ: The environment.
        home: The home directory.
        service_account: The directory of a pod's token.

    Raises:
        EnvironmentProblem: No cluster was found. The diagnostic says where pykb looked and what to
            type.
    """
    environment = os.environ if environ is None else environ
    if kubeconfig is not None:
        return KubeconfigSource([kubeconfig.expanduser()], context=context, server=master)
    listed = listed_kubeconfigs(environment)
    if any(path.exists() for path in listed):
        return KubeconfigSource(listed, context=context, server=master, missing_ok=True)
    pod = InClusterSource(directory=service_account, environ=environment, server=master)
    if not listed and pod.is_available:
        return pod
    default = (home or Path.home()) / ".kube" / "config"
    if not listed and default.is_file():
        return KubeconfigSource([default], context=context, server=master)
    if master:
        return StaticCredentials(Credentials(server=master.rstrip("/"), origin="--master"))
    raise EnvironmentProblem(_nothing(listed, pod, default, service_account))


def listed_kubeconfigs(environment: Mapping[str, str]) -> list[Path]:
    """The files that KUBECONFIG names. They need not exist."""
    return [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]


def none_exists(listed: Sequence[Path]) -> Diagnostic:
    """The finding that KUBECONFIG names files of which none exists."""
    names, verb = ", ".join(f"`{path}`" for path in listed), "do" if listed[1:] else "does"
    helps = (_START, "or unset KUBECONFIG, or name an existing file: `--kubeconfig FILE`")
    return NO_CLUSTER.at(None, f"KUBECONFIG names {names}, which {verb} not exist", *helps)


_START = "start a control plane on this host: `pykb cluster up`"


@dataclass(slots=True, eq=False)
class DiscoveredCredentials:
    """Finds the cluster on first use, so that a program can be built without a cluster."""

    kubeconfig: Path | None
    context: str | None
    master: str | None
    _found: CredentialSource | None = None

    async def current(self) -> Credentials:
        """Return the present credentials; see :class:`~pykb.client.login.credentials.CredentialSource`."""
        return await self.found.current()

    async def refresh(self) -> Credentials:
        """Return new credentials in place of refused ones."""
        return await self.found.refresh()

    @property
    def found(self) -> CredentialSource:
        """The source that was found.

        Raises:
            EnvironmentProblem: No cluster was found.
        """
        if self._found is None:
            self._found = discover_credentials(kubeconfig=self.kubeconfig, context=self.context, master=self.master)
        return self._found


def _nothing(listed: list[Path], pod: InClusterSource, default: Path, service_account: Path) -> Diagnostic:
    if listed:
        return none_exists(listed)
    if pod.has_environment:
        message = f"this is a pod, but `{service_account}/token` does not exist"
        return IN_CLUSTER.at(None, message, "set `automountServiceAccountToken: true` in the pod's spec")
    notes = (f"looked for KUBECONFIG (not set), a pod's service account, and `{default}`",)
    return NO_CLUSTER.at(None, "no cluster is configured", _START, "or name a file: `--kubeconfig FILE`", notes=notes)
