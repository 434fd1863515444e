"""Finds the source of credentials, in controller-runtime's order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.cluster import IN_CLUSTER, NO_CLUSTER
from pykb.runtime.login._incluster import SERVICE_ACCOUNT, InClusterSource
from pykb.runtime.login._kubeconfig import KubeconfigSource
from pykb.runtime.login.credentials import Credentials, CredentialSource, StaticCredentials


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
    listed = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
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


class DiscoveredCredentials:
    """Finds the cluster on first use, so that a program can be built without a cluster."""

    def __init__(
        self, *, kubeconfig: Path | None = None, context: str | None = None, master: str | None = None
    ) -> None:
        """Take the arguments of :func:`discover_credentials`."""
        self._kubeconfig = kubeconfig
        self._context = context
        self._master = master
        self._found: CredentialSource | None = None

    async def current(self) -> Credentials:
        """Return the present credentials; see :class:`~pykb.runtime.login.credentials.CredentialSource`."""
        return await self._source().current()

    async def refresh(self) -> Credentials:
        """Return new credentials in place of refused ones."""
        return await self._source().refresh()

    def _source(self) -> CredentialSource:
        if self._found is None:
            self._found = discover_credentials(kubeconfig=self._kubeconfig, context=self._context, master=self._master)
        return self._found


def _nothing(listed: list[Path], pod: InClusterSource, default: Path, service_account: Path) -> Diagnostic:
    start = "start a control plane on this host: `pykb cluster up`"
    if listed:
        names = ", ".join(f"`{path}`" for path in listed)
        help_text = (start, "or unset KUBECONFIG, or name an existing file: `--kubeconfig FILE`")
        return NO_CLUSTER.at(None, f"KUBECONFIG names {names}, which does not exist", help=help_text)
    if pod.has_environment:
        message = f"this is a pod, but `{service_account}/token` does not exist"
        return IN_CLUSTER.at(None, message, help=("set `automountServiceAccountToken: true` in the pod's spec",))
    notes = (f"looked for KUBECONFIG (not set), a pod's service account, and `{default}`",)
    return NO_CLUSTER.at(
        None, "no cluster is configured", notes=notes, help=(start, "or name a file: `--kubeconfig FILE`")
    )
