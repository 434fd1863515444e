"""Sets up the project's webhooks on a local control plane, so that its API server calls the loop's manager."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pykb._regular_file import read_bytes
from pykb.dev.project import DevProject
from pykb.diagnostics import Diagnostic
from pykb.envtest.components import LOOPBACK, write_serving_certificate
from pykb.envtest.crds import Converted, clear_conversions, install_conversions, remove_conversions
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import Serving, WebhookManifest, install_webhooks, installed_with, remove_webhooks
from pykb.files.state import opened
from pykb.meta.gvk import GroupKind

_FOLDER = "webhooks"
PREFIX = "pykb-dev-"
"""The prefix of the configurations' names. It is stable, so that a new loop replaces those of a killed one."""

SWITCH = "ENABLE_WEBHOOKS"
_OFF = frozenset({"0", "f", "F", "false", "FALSE", "False"})


@dataclass(slots=True)
class LocalWebhooks:
    """Keeps configurations and conversions in step with the project, and removes them at the end.

    Attributes:
        project: The project.
        kubeconfig: The control plane.
    """

    project: DevProject
    kubeconfig: Path
    _serving: Serving | None = None
    _folder: Path | None = None
    _port: int = 0
    _manifest: bytes | None = None
    _definitions: tuple[str, frozenset[GroupKind]] | None = None
    _converted: dict[str, Converted] = field(default_factory=dict)
    _held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def wanted(self) -> bool:
        """Whether the project has webhooks that are enabled."""
        return is_wanted(self.project)

    @property
    def url(self) -> str:
        """The URL of their server; empty before it runs."""
        return self._serving.url if self._serving is not None else ""

    def flags(self) -> tuple[str, ...]:
        """The manager's flags for webhooks. Empty for a project without webhooks: its manager may not know them."""
        if not self.wanted:
            return ()
        self._prepare()
        return (
            f"--webhook-cert-path={self._folder}",
            f"--webhook-port={self._port}",
            f"--webhook-bind-host={LOOPBACK}",
        )

    def renew(self, installed: str) -> Iterator[str]:
        """Install the project's current webhooks. Yields a line for each change.

        Args:
            installed: Changes when the project's definitions were installed again.

        Raises:
            EnvironmentProblem: The manifest cannot be read, or the API server refuses something.
        """
        manifest = WebhookManifest.read(self.project.webhook_manifest)
        kinds = self.project.converted_kinds() if self.wanted else frozenset()
        text = read_bytes(manifest.file) if manifest.entries and self.wanted else b""
        rest = Rest.from_kubeconfig(self.kubeconfig)
        if self._manifest != text:
            configurations = manifest.configurations(self._prepare(), prefix=PREFIX) if text else []
            yield from self._renew_webhooks(rest, configurations)
            self._manifest = text
        if self._definitions != (installed, kinds):
            yield from self._renew_conversions(rest, kinds)
            self._definitions = (installed, kinds)

    def _renew_webhooks(self, rest: Rest, configurations: list[dict[str, Any]]) -> Iterator[str]:
        names = install_webhooks(rest, configurations)
        yield from (f"installed {name}" for name in names)
        old = [name for name in installed_with(rest, PREFIX) if name not in names]
        remove_webhooks(rest, old)
        yield from (f"removed {name}" for name in old)

    def _renew_conversions(self, rest: Rest, kinds: frozenset[GroupKind]) -> Iterator[str]:
        before = self._converted
        now = install_conversions(rest, kinds, self._prepare()) if kinds else []
        # A conversion that this loop set does not show what was there before.
        self._converted = {
            each.name: before[each.name] if each.is_renewed and each.name in before else each for each in now
        }
        yield from (f"installed the conversion of {name}" for name in self._converted if name not in before)
        gone = [each for name, each in before.items() if name not in self._converted]
        remove_conversions(rest, gone)
        first = self._definitions is None
        dead = clear_conversions(rest, but=self._converted.values()) if first else []  # left by a killed loop
        yield from (f"removed the conversion of {name}" for name in (*(each.name for each in gone), *dead))

    def unserved(self) -> list[Diagnostic]:
        """The findings for installed webhooks that the running manager does not serve."""
        # Paths are relative to the folder where the loop was started.
        manifest = WebhookManifest.read(Path(os.path.relpath(self.project.webhook_manifest)))
        return manifest.unserved({path for path in manifest.paths if self._is_served(path)})

    def answers(self) -> bool:
        """Whether the manager accepts connections."""
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self._port), timeout=1):
            return True
        return False

    def close(self, *, stays: bool) -> None:
        """Remove everything.

        Args:
            stays: Whether the control plane continues to run.

        Raises:
            EnvironmentProblem: It does not answer.
        """
        try:
            if stays and self._serving is not None:
                rest = Rest.from_kubeconfig(self.kubeconfig)
                # Another loop on this control plane may have replaced them in the meantime.
                remove_webhooks(rest, installed_with(rest, PREFIX, url=self.url))
                remove_conversions(rest, self._converted.values())
        finally:
            if self._folder is not None:
                with contextlib.suppress(OSError), opened(self.project.root, _FOLDER) as folders:
                    folders.remove_tree(self._folder.name)
            self._held.close()

    def _prepare(self) -> Serving:
        if self._serving is None:
            with socket.socket() as free:
                free.bind((LOOPBACK, 0))
                self._port = free.getsockname()[1]
            self._folder = self._new_folder(self._port)
            authority = write_serving_certificate(self._folder, (LOOPBACK, "localhost"))
            self._serving = Serving.at(LOOPBACK, self._port, authority)
        return self._serving

    def _new_folder(self, port: int) -> Path:
        """A private folder for the certificate, locked while this process runs. Removes those of killed loops."""
        with opened(self.project.root, _FOLDER) as folders:
            for name in folders.names():
                with contextlib.suppress(OSError), folders.inner(name) as left, left.lock("lock") as free:
                    if free:
                        folders.remove_tree(name)
            folder = self._held.enter_context(folders.inner(str(port), make=0o700))
            self._held.enter_context(folder.lock("lock"))
            return folder.path

    def _is_served(self, path: str) -> bool:
        """Whether a GET gets any answer but "not found". A webhook refuses GET, which proves that it is served."""
        if self._serving is None:
            return False
        tls = ssl.create_default_context(cadata=self._serving.authority.decode("ascii"))
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=tls, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status != http.client.NOT_FOUND
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def is_wanted(project: DevProject) -> bool:
    """Whether a project has webhooks that kubebuilder's variable does not disable."""
    if os.environ.get(SWITCH) in _OFF:
        return False
    return project.webhook_manifest.exists() or bool(project.converted_kinds())
