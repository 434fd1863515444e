"""Credentials of a pod: the service account's files, and the server from the environment.

Source: https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cluster import IN_CLUSTER
from pykb.runtime.login._kubeconfig import TOKEN_FILE_PERIOD
from pykb.runtime.login.credentials import Credentials

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class InClusterSource:
    """A :class:`~pykb.runtime.login.credentials.CredentialSource` of the pod's service account, read once a minute."""

    def __init__(
        self,
        *,
        directory: Path = SERVICE_ACCOUNT,
        environ: Mapping[str, str] | None = None,
        server: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a source. ``server`` overrides the environment's server (``--master``)."""
        self._directory = directory
        self._environ = os.environ if environ is None else environ
        self._server = server
        self._monotonic = monotonic
        self._credentials: Credentials | None = None
        self._read_at = 0.0

    @property
    def is_available(self) -> bool:
        """Whether this process seems to run in a pod with a service account."""
        return self.has_environment and (self._directory / "token").is_file()

    @property
    def has_environment(self) -> bool:
        """Whether the environment names a server. This is true in every pod, even without a token."""
        return bool(self._environ.get("KUBERNETES_SERVICE_HOST") and self._environ.get("KUBERNETES_SERVICE_PORT"))

    async def current(self) -> Credentials:
        """Return the present credentials; see :class:`~pykb.runtime.login.credentials.CredentialSource`."""
        fresh = self._monotonic() - self._read_at < TOKEN_FILE_PERIOD.total_seconds()
        if self._credentials is not None and fresh:
            return self._credentials
        return await self.refresh()

    async def refresh(self) -> Credentials:
        """Read the files again."""
        token = self._read("token")
        authority = self._read("ca.crt")
        namespace = self._directory / "namespace"
        self._credentials = Credentials(
            server=self._server or self._server_of_environment(),
            ca_data=authority,
            token=token.decode().strip(),
            namespace=namespace.read_text("utf-8").strip() if namespace.is_file() else "",
            origin=f"the service account in {self._directory}",
        )
        self._read_at = self._monotonic()
        return self._credentials

    def _server_of_environment(self) -> str:
        host = self._environ.get("KUBERNETES_SERVICE_HOST", "")
        port = self._environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            message = "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
            raise EnvironmentProblem(IN_CLUSTER.at(None, message, help=("use a kubeconfig: `--kubeconfig FILE`",)))
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    def _read(self, name: str) -> bytes:
        path = self._directory / name
        try:
            return path.read_bytes()
        except OSError as error:
            message = f"`{path}` cannot be read: {error.strerror or error}"
            help_text = "set `automountServiceAccountToken: true`, or use a kubeconfig: `--kubeconfig FILE`"
            raise EnvironmentProblem(IN_CLUSTER.at(None, message, help=(help_text,))) from error
