"""The project that the loop works on, as far as the loop needs it."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from pykb.dev._watch import Watched
from pykb.envtest.webhook_manifest import MANIFEST
from pykb.meta.gvk import GroupKind
from pykb.project import FILE_NAME
from pykb.project.file import read


@dataclass(frozen=True, slots=True)
class DevProject:
    """A generated project.

    Attributes:
        root: Folder of PROJECT.
        package: The import package with the manager in its ``__main__``.
        python: The interpreter of its environment.
    """

    root: Path
    package: str
    python: str = sys.executable

    @property
    def crds(self) -> Path:
        """The folder of the generated CRDs."""
        return self.root / "config" / "crd" / "bases"

    @property
    def watched(self) -> Watched:
        """The files that affect the manager and the manifests."""
        return Watched((self.root / self.package, self.root / FILE_NAME, self.root / "pyproject.toml"))

    @property
    def generate_command(self) -> tuple[str, ...]:
        """The command that writes the manifests. It runs in a new process, which imports the edited types."""
        return (self.python, "-P", "-m", "pykb", "generate")

    def manager_command(self, arguments: tuple[str, ...], webhooks: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The command that runs the manager. Probes are off by default, since two loops cannot share a port.

        Args:
            arguments: The user's flags, which win.
            webhooks: Flags about the webhook server.
        """
        quiet = () if any(a.startswith("--health-probe-bind-address") for a in arguments) else (PROBES_OFF,)
        return (self.python, "-m", self.package, *quiet, *webhooks, *arguments)

    @property
    def webhook_manifest(self) -> Path:
        """The file with the generated webhook configurations."""
        return self.root / MANIFEST

    def converted_kinds(self) -> frozenset[GroupKind]:
        """The kinds with a conversion webhook in PROJECT; empty when the file cannot be read."""
        return read(self.root)[0].converted_kinds

    def crds_digest(self) -> str:
        """A digest of the CRDs. It changes when a definition does."""
        digest = hashlib.sha256()
        for path in sorted(self.crds.glob("*.yaml")) if self.crds.is_dir() else []:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()


PROBES_OFF = "--health-probe-bind-address=0"
